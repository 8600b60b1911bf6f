package sim

import (
	"flag"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/journal"
)

// callers is how many installations with calls back a test plays.
var callers = flag.Int("callers", 40, "how many drawn campaigns whose people call back are played")

// calledBack is a campaign of 60 people of whom most call back; bot, message or no answer by seed.
func calledBack(seed uint64) Installation {
	d := &dice{c: callee.ChanceOf(seed, 77)}
	in := plain(60)
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.2)
	in.CallsBack, in.Length = 0.9, 12*time.Hour
	s := &in.Campaigns[0].Settings
	s.MaxAttempts, s.RetryDelaySec, s.Concurrency = 4, 300, d.in(1, 10)
	s.RetryOnCustom = []string{"AGAIN"}
	in.Seats = d.in(1, s.Concurrency+3)
	in.Bot = drawBot(d)
	s.CallbackPolicy = pick(d, "bot", "bot", "bot", "message", "reject", "")
	for _, n := range s.Numbers {
		in.Numbers = append(in.Numbers, engine.NumberSettings{Number: n, State: "active", CallbackBot: botID,
			CallbackPolicy: pick(d, "bot", "bot", "message", "reject")})
	}
	for range d.in(0, 6) {
		in.Faults = append(in.Faults, Fault{At: d.span(time.Minute, time.Hour), Length: d.span(time.Second, time.Minute),
			Kind: pick(d, FaultCrash, FaultCrash, FaultCallInCrash, FaultContactCrash, FaultRunCrash, FaultHandOver,
				FaultDatabase, FaultBot), Value: d.in(0, 1000)})
	}
	in.Several = pick(d, 0, 0.5)
	return in
}

// People call while we call them, after we missed them and about when we call again, from known, unknown and
// withheld numbers; processes and actors crash, campaigns are handed over and the database is away meanwhile.
func TestCallsBackBreakNoInvariant(t *testing.T) {
	outcomes, cross, offered, begun, withheld, returned := map[engine.Outcome]int{}, crossed{}, 0, 0, 0, 0
	for i := range *callers {
		seed := *seedFrom + uint64(i)
		in := calledBack(seed)
		in.Clock = twoClocks
		w := newCampaignWorld(in.WithDefaults(), seed)
		w.play()
		if w.check.broken != nil {
			t.Fatalf("%v\nreplay: go test ./engine/sim -run %s -callers 1 -campaign-seed %d", w.check.broken, t.Name(), seed)
		}
		for a := range w.store.AllAttempts() {
			if !a.Inbound {
				continue
			}
			outcomes[a.Outcome]++
			if begun++; a.To == "" {
				withheld++
			}
		}
		events, _ := w.store.Events(background, "cmp_1", 0, 1<<30)
		for i := range events {
			if events[i].Data.Reason == journal.ReasonCalledBack {
				returned++
			}
		}
		offered += w.callers
		cross.dials, cross.callsIn = cross.dials+w.check.crossed.dials, cross.callsIn+w.check.crossed.callsIn
	}
	t.Logf("%d people called, %d calls began, %d withheld; %v; held: %+v; %d results for contacts", offered, begun,
		withheld, outcomes, cross, returned)
	for _, o := range []engine.Outcome{engine.OutcomeCompleted, engine.OutcomeConnectedNoResult,
		engine.OutcomeCallerHungUp, engine.OutcomeLost} {
		if outcomes[o] == 0 {
			t.Errorf("no call that came in ended %s", o)
		}
	}
	if begun == offered || withheld == 0 || cross.callsIn == 0 || returned == 0 {
		t.Error("this says little")
	}
}

// Without the hold of a call that came in, its caller is dialled meanwhile.
func TestACallThatCameInWithoutItsHoldIsSeen(t *testing.T) {
	for seed := range uint64(40) {
		in := calledBack(seed)
		in.Campaigns[0].Settings.CallbackPolicy, in.Clock = "bot", twoClocks
		w := newCampaignWorld(in.WithDefaults(), seed)
		w.persisted = func(x *journal.Write) { x.Intent = nil }
		w.play()
		if b := w.check.broken; b != nil && strings.Contains(b.What, "two calls with ") {
			return
		}
	}
	t.Error("nobody was called who was calling")
}

// Whose contact is told nothing is rung while they call us, and after they asked not to be; and in the end the contact
// does not know what was said.
func TestAContactThatIsNotToldOfACallBackIsSeen(t *testing.T) {
	left := map[string]bool{"has been calling us since": true, "though the person asked at ": true,
		"the contact has not heard of call back": true}
	for seed := uint64(0); seed < 60 && len(left) > 0; seed++ {
		in := calledBack(seed)
		in.Campaigns[0].Settings.CallbackPolicy, in.Clock, in.Several = "bot", twoClocks, 0.9*float64(seed%2)
		w := newCampaignWorld(in.WithDefaults(), seed)
		w.deaf = true
		w.play()
		for what := range left {
			if b := w.check.broken; b != nil && strings.Contains(b.What, what) {
				delete(left, what)
			}
		}
	}
	for what := range left {
		t.Errorf("never seen: %s", what)
	}
}
