package pacing

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheBrakeHoldsWhileSomethingIsLateAndLetsGoAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		upTo := func(name string, least, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, name))
		}
		within := func(share time.Duration) Late {
			return Late{upTo("commit", 0, CommitBound/share), upTo("bot", 0, BotBound/share),
				upTo("mailbox", 0, MailboxBound/share)}
		}
		var b Brake
		admits := true
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			var l Late
			var want bool
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				l, want = within(letGo), true
			case 1: // unchanged, unless a value is above the release level
				l = within(1)
				want = admits || l.Commit <= CommitBound/letGo && l.Bot <= BotBound/letGo && l.Mailbox <= MailboxBound/letGo
			default:
				l = within(1)
				bound, one := CommitBound, &l.Commit
				switch rapid.IntRange(0, 2).Draw(t, "which") {
				case 0:
					bound, one = BotBound, &l.Bot
				case 1:
					bound, one = MailboxBound, &l.Mailbox
				}
				*one, want = upTo("late", bound+1, time.Hour), false
			}
			if admits = b.Admits(l); admits != want {
				t.Fatalf("with %+v it admits: %v", l, admits)
			}
		}
		if !b.Admits(Late{}) {
			t.Fatal("nothing is late, and it does not let go")
		}
	})
}

func TestTheBrakeSaysWhatIsLatest(t *testing.T) {
	f := func(l Late, want string) {
		t.Helper()
		var b Brake
		if b.Admits(l) || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s; want %s", b.String(), want)
		}
	}
	f(Late{Commit: 620 * time.Millisecond}, "commits to the database are 620 ms late, 500 ms is allowed;")
	f(Late{Commit: 620 * time.Millisecond, Bot: 1200 * time.Millisecond},
		"connections to the bot are 1200 ms late, 1000 ms is allowed;")
	f(Late{Mailbox: 700 * time.Millisecond}, "the campaign's own messages are 700 ms late, 500 ms is allowed;")
}
