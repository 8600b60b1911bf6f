package run

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
)

// check verifies after every input that the run's counts match its lines, and that the abandon cap
// is kept.
func (p *played) check() {
	s := p.s
	busy, held := 0, 0
	var phases [len(phaseOrder)]int
	for _, l := range s.Lines {
		if l.Seated {
			busy++
		}
		if l.Held {
			held++
		}
		phases[phaseIndex(l.Phase)]++
	}
	if s.Round != nil {
		for i := range s.Round.Candidates {
			c := &s.Round.Candidates[i]
			if c.Seated {
				busy++
			}
			if l := s.Lines[c.Row.ID]; l != nil && l.Phase != attempt.PhaseOver {
				p.rt.Fatalf("%s is a candidate and a line", c.Row.ID)
			}
		}
	}
	if busy != s.Busy || held != s.Held || held > busy {
		p.rt.Fatalf("%d busy and %d held, counted %d and %d", s.Busy, s.Held, busy, held)
	}
	if phases != s.Phases {
		p.rt.Fatalf("phases %v, counted %v", s.Phases, phases)
	}
	for _, l := range []*pacing.Ledger{&s.Pace.Books.Run, &s.Pace.Books.Day, &s.Pace.Books.Thirty} {
		if l.Abandoned*1_000_000 > s.M.C.Settings.AbandonCapPPM*l.Live {
			p.rt.Fatalf("%s: %d of %d were abandoned", l.Period, l.Abandoned, l.Live)
		}
	}
}

var acts = []string{"trigger", "exclude", "lift", "pause", "resume", "stop", "restart", "add", "result", "crash",
	"import", "edit", "detail", "time", "time", "step", "step", "step", "step"}

// act draws an action.
func (p *played) act(i int) {
	n := fmt.Sprint("c", rapid.IntRange(1, 14).Draw(p.rt, "contact"))
	id := engine.ContactID(n)
	switch what := rapid.SampledFrom(acts).Draw(p.rt, "act"); what {
	case "trigger":
		if !p.s.M.C.Settings.StickyExclusion { // it lifts the exclusion
			delete(p.excluded, phone(n))
		}
		t := triggers(n)
		t.Command.Times = p.times()
		p.ask(what, t)
	case "exclude":
		p.excluded[phone(n)] = p.excluded[phone(n)] || !p.s.gated()
		p.ask(what, excludes(n))
	case "lift":
		delete(p.excluded, phone(n))
		p.ask(what, lifts(n))
	case "pause":
		p.ask(what, act(campaign.ActionPause))
	case "resume":
		p.ask(what, act(campaign.ActionResume))
	case "stop":
		if i%3 == 0 { // not too often
			p.ask(what, act(campaign.ActionStop))
		}
	case "restart":
		p.ask(what, act(campaign.ActionRestart))
		p.ask("start", act(campaign.ActionStart))
	case "add":
		if !p.s.M.C.Settings.StickyExclusion {
			delete(p.excluded, phone(n))
		}
		p.ask(what, &AddRows{Command: campaign.AddContacts{Contacts: []campaign.NewContact{{Number: phone(n)}}}})
	case "result":
		p.ask(what, result(id))
	case "crash":
		if a := p.actors[id]; a != nil {
			a.crash()
		}
	case "import":
		switch {
		case p.s.Activation == nil:
			p.ask(what, begins("imp"))
		case p.s.Activation.Begin != "" && p.yes("ended early", 80) || beginning(p.s): // still waiting for the start
		case p.s.Activation.Begin != "": // it is given up before it began
			p.tell(&ActivationEnded{Import: "imp"})
		case !p.s.Activation.Gated:
			p.ask(what, &CloseGate{Import: "imp", Run: p.s.M.C.Run})
		default:
			p.tell(&ActivationEnded{Import: "imp"})
		}
	case "edit":
		s := p.s.M.C.Settings
		s.MaxAttempts = rapid.IntRange(1, 5).Draw(p.rt, "attempts")
		p.ask(what, &Act{campaign.Act{Action: campaign.ActionEdit, Settings: &s}})
	case "detail":
		p.ask(what, &Detail{})
	case "time":
		p.pass2(time.Duration(rapid.IntRange(1, 3000).Draw(p.rt, "ms")) * time.Millisecond)
	default:
		p.step()
	}
}

// beginning says that an import's activation is about to be allowed to begin.
func beginning(s *State) bool {
	for _, c := range s.Pending {
		if c.Do == thenBegin {
			return true
		}
	}
	return false
}

func TestWhateverHappensARunKeepsItsCountsItsLeasesAndItsWord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlayed(rt, rapid.IntRange(0, 12).Draw(rt, "contacts"), set(func(s *campaign.Settings) {
			s.Concurrency = rapid.IntRange(1, 8).Draw(rt, "concurrency")
			s.AbandonCapPPM = rapid.SampledFrom([]int{0, 30_000, 200_000}).Draw(rt, "cap")
			s.StickyExclusion = rapid.Bool().Draw(rt, "sticky")
			s.AlwaysOn = rapid.Bool().Draw(rt, "always on")
		}))
		for i := range rapid.IntRange(10, 150).Draw(rt, "steps") {
			p.act(i)
			for range rapid.IntRange(0, 6).Draw(rt, "goes on") {
				p.step()
			}
		}
		for i := 0; i < 10 && p.s.Activation != nil && p.s.Activation.Begin != ""; i++ { // twice drainTimeout
			p.pass2(time.Second)
		}
		if p.s.Activation != nil {
			p.tell(&ActivationEnded{Import: "imp"})
		}
		p.rest()
		p.atRest()
	})
}

// atRest verifies that nothing is outstanding.
func (p *played) atRest() {
	s := p.s
	if len(p.open) > 0 {
		p.rt.Fatalf("nobody answers %v", p.open)
	}
	n := []int{len(s.Pending), len(s.Ops), len(s.Lifts), len(s.Reads), len(s.TriggersOf), len(s.Fresh), len(s.Lines),
		len(s.Waiting), s.Busy, s.Held, s.Adding, len(s.Parked), len(s.HeldBack), len(s.StoppedSince), len(s.Triggers),
		s.LookUps, len(s.Newer), s.Readmission.Running}
	if fmt.Sprint(n) != fmt.Sprint(make([]int, len(n))) {
		p.rt.Fatalf("at rest something is left: %v", n)
	}
	for leg, is := range p.trunk {
		if is == "granted" {
			p.rt.Fatalf("the trunk of %s is nobody's", leg)
		}
	}
	for a, is := range p.number {
		if is == "granted" {
			p.rt.Fatalf("the number of %s is nobody's", a)
		}
	}
	s.Pace.ledgers, p.twin.Pace.ledgers = nil, nil // mere room
	if a, b := dump(s), dump(p.twin); a != b {
		p.rt.Fatalf("the same inputs gave another state:\n%s", differ(a, b))
	}
}
