package bot

import (
	"testing"
	"time"

	"dialler/bench/draw"
)

func TestBotThatListensRarelyHearsEveryFrame(t *testing.T) {
	b := start(t, Config{ReadEvery: 50 * time.Millisecond,
		Conversations: []Conversation{{Mute: true, Result: &Result{None: true}}}})
	p := connect(t, b).begin()
	const frames = 200 // more than one read takes
	for range frames {
		p.media(0xff)
	}
	p.stop()
	until(t, b, "the session has ended", func(b *Bot) bool { return b.Summary().EndedBy[EndedByCallee] == 1 })
	if s := p.session(b); s.FramesIn != frames || len(s.Violations) != 0 {
		t.Fatalf("%+v", s)
	}
}

// The bot's wait after its goodbye, or its end, is not prolonged by a nap.
func TestBotThatListensRarelyWakesToSayGoodbye(t *testing.T) {
	b := start(t, Config{ReadEvery: time.Hour,
		Conversations: []Conversation{{Mute: true, Talk: draw.Exactly(30 * time.Millisecond), Result: &Result{None: true}}}})
	p := connect(t, b).begin()
	p.media(0xff)
	if _, err := p.read(); err == nil { // the library answers the close frame
		t.Fatal("the bot said something")
	}
	until(t, b, "the session has ended", func(b *Bot) bool { return b.Summary().EndedBy[EndedByBot] == 1 })
	if s := p.session(b); s.FramesIn != 1 || len(s.Violations) != 0 {
		t.Fatalf("%+v", s)
	}
	connect(t, b).begin()
	until(t, b, "the second session has begun", func(b *Bot) bool { return len(b.Sessions()) == 2 })
	_ = b.Close()
	if n := b.Summary().Open; n != 0 {
		t.Fatalf("%d sessions are open", n)
	}
}

func TestSessionsThatAreNotKeptAreCounted(t *testing.T) {
	b := start(t, Config{KeepSessions: 3, Conversations: []Conversation{{Mute: true, Result: &Result{None: true}}}})
	const sessions = 20
	for n := range sessions {
		p := connect(t, b).begin()
		p.media(0xff)
		p.stop()
		until(t, b, "the session has ended", func(b *Bot) bool { return b.Summary().Results[ReportNone] == n+1 })
	}
	sum := b.Summary()
	if sum.Sessions != sessions || sum.FramesIn != sessions || sum.Results[ReportNone] != sessions ||
		len(sum.Violations) != 0 {
		t.Fatalf("%+v", sum)
	}
	if n := len(b.Sessions()); n < 3 || n > 7 { // the last one may not have ended yet
		t.Fatalf("%d sessions are kept", n)
	}
}
