package campaign

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

// Every constraint has words, whatever else is known: no codes, no gaps.
func TestEveryConstraintHasWords(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z0-9].*\.$`)
	odd := regexp.MustCompile(`_|%!|<nil>|\b1 (lines|workers|conversations|contacts|credits)\b|\.\.|  `)
	titles := map[string]engine.Constraint{}
	for i := range engine.ConstraintCount {
		c := engine.ConstraintAt(i)
		for _, r := range []Reason{{}, {Waits: 1, NobodyLeft: true, Doubted: true, Bot: &engine.Bot{Active: true, Seats: 24},
			BotDown: "the bot takes no calls since 2030-03-01 09:00:00 UTC (refused)", Late: "commits are 600 ms late",
			Supplies: SuppliesOf(nil, nil)}} {
			l := Live{
				Ringing:    1,
				InProgress: 1,
				Seats:      1,
				Ledgers:    []LedgerView{{Binding: true, Credit: 1, CreditAfter: 1}},
			}
			r.Constraint, r.Share = c, 1
			if c == engine.ConstraintOverload && r.Late == "" {
				r.Late = "messages are 700 ms late"
			}
			camp := &Campaign{
				State:    Running,
				Settings: Settings{Concurrency: 5, Numbers: []engine.PhoneNumber{"+4930100"}},
			}
			l.Explain(camp, &r)
			if l.Title == "" || l.Line == "" || l.Standing == "" || l.Severity == "" ||
				strings.HasSuffix(l.Title, ".") ||
				!sentence.MatchString(l.Explanation) ||
				odd.MatchString(l.Title+l.Line+l.Explanation) {
				t.Errorf("%q: %+v", c, l.Why)
			}
			if other, ok := titles[l.Title]; ok && other != c && c != engine.ConstraintRetryDelay {
				t.Errorf("%q and %q are both called %q", c, other, l.Title)
			}
			titles[l.Title] = c
		}
	}
}

// docs/faults.md quotes these.
func TestEachFaultHasItsSentence(t *testing.T) {
	says := func(want string, r Reason) {
		t.Helper()
		var l Live
		l.Explain(&Campaign{State: Running}, &r)
		if got := l.Title + ". " + l.Explanation; !strings.HasPrefix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	says(
		"The database does not answer. No call is placed whose intent cannot be stored. Calls in progress go on; dialling "+
			"resumes by itself.",
		Reason{Constraint: engine.ConstraintDatabase},
	)
	says(
		"No trunk is usable. The trunks do not answer, refuse our calls or are switched off. Dialling resumes as soon as "+
			"one recovers.",
		Reason{Constraint: engine.ConstraintTrunkHealth},
	)
	says("The bot takes no calls. The bot takes no calls since", Reason{Constraint: engine.ConstraintSeats,
		BotDown: "the bot takes no calls since 2030-03-01 09:00:00 UTC (refused); nothing is dialled before it does, " +
			"live calls go on"})
	says(
		"The dialler is at its limit. Commits to the database are 620 ms late",
		Reason{Constraint: engine.ConstraintOverload,
			Late: "commits to the database are 620 ms late"},
	)
}

// When all contacts are in calls or await results, nobody can be dialled before that ends: this is
// not shown as dialling.
func TestACampaignWhoseContactsAreAllInCallsWaitsForThem(t *testing.T) {
	soon := time.Now()
	for want, l := range map[string]Live{"Waiting for the calls under way": {InProgress: 2},
		"Waiting for results": {}} {
		l.Explain(&Campaign{State: Running}, &Reason{Constraint: engine.ConstraintNoDueContacts, Until: &soon})
		if l.Line != want || l.Standing != StandingWaiting || l.Severity != SeverityNotice || l.Until != nil {
			t.Errorf("want %q: %+v", want, l.Why)
		}
	}
}

func TestWhatStopsACampaignStandsInItsLine(t *testing.T) {
	var l Live
	l.Explain(&Campaign{State: Running}, &Reason{Constraint: engine.ConstraintTrunkHealth, Stopped: true})
	if l.Line != "Stopped: no trunk is usable" || l.Standing != StandingStopped || l.Severity != SeverityOutage ||
		l.Until != nil {
		t.Errorf("%+v", l.Why)
	}
	l = Live{InProgress: 2}
	l.EndingAfterStop()
	l.Explain(&Campaign{State: Completed, CompletionReason: ReasonManuallyStopped}, &Reason{})
	if l.Line != "Ending: 0 lines are dialled, 2 conversations go on" || l.Constraint != "" ||
		l.Standing != StandingEnding {
		t.Errorf("%+v", l.Why)
	}
}

// The least room counts, and among equal ones the longest period.
func TestTheLedgerThatBindsIsMarkedOnce(t *testing.T) {
	marked := func(list ...LedgerView) (n int) {
		MarkStrictest(list)
		n = -1
		for i := range list {
			if list[i].Binding {
				if n >= 0 {
					t.Error("two are marked")
				}
				n = i
			}
		}
		return n
	}
	for want, list := range [][]LedgerView{
		{{Credit: 1}, {Credit: 2}, {Credit: 2}},
		{{Credit: 1, CreditAfter: 5}, {Credit: 1, CreditAfter: 6}, {Credit: 3}},
		{{Credit: 1, CreditAfter: 5}, {Credit: 1, CreditAfter: 5}, {Credit: 1, CreditAfter: 5}},
	} {
		if got := marked(list...); got != want {
			t.Errorf("%d of %+v", got, list)
		}
	}
	if marked() != -1 {
		t.Error("of none")
	}
}

func TestAContactIsToldHowLongThoseBeforeItTake(t *testing.T) {
	due := time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)
	rate := 0.5
	q := contactOf(&due)
	q.Facts.Ahead = 90
	q.Live = &Live{
		DialsPerSec: &rate,
		Why: Why{Constraint: engine.ConstraintConcurrency, Title: "The conversations are taken",
			Explanation: "Concurrency is 5."},
	}
	e := Explain(q)
	if e.AheadSeconds == nil || *e.AheadSeconds != 180 ||
		e.Message != "90 due contacts are dialled before it, which takes about 3 min at the current pace; the "+
			"conversations are taken" {
		t.Errorf("%+v", e)
	}
	if q.Live.DialsPerSec = nil; Explain(q).AheadSeconds != nil {
		t.Error("nobody knows the pace")
	}
}
