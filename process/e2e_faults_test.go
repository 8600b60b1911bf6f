package process

import (
	"context"
	"slices"
	"testing"
	"time"

	"dialler/actors/actortest"
	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/attempt"
)

// flows waits until audio has gone both ways: the carrier heard the bot and the bot heard the
// callee.
func (w *world) flows(model *carrier.Carrier, id engine.CallID, leg engine.LegID) {
	w.t.Helper()
	before, ok := model.Ledger().Call(string(leg))
	heard, _ := w.bot.Session(id)
	if !ok {
		w.t.Fatalf("the carrier has no leg %s", leg)
	}
	eventually(w.t, "RTP flows both ways and the bot session stays", func() bool {
		row, _ := model.Ledger().Call(string(leg))
		s, _ := w.bot.Session(id)
		if !row.ByeAt.IsZero() || row.State != carrier.StateAnswered || !s.EndedAt.IsZero() {
			w.t.Fatalf("the call is over: %+v, session ended %v", row, s.EndedAt)
		}
		return row.RTP.Received >= before.RTP.Received+25 && row.RTP.Sent >= before.RTP.Sent+25 &&
			s.FramesIn >= heard.FramesIn+25 &&
			s.FramesOut > heard.FramesOut
	})
}

func TestAPanicInMidCallHangsUpNobody(t *testing.T) {
	t.Parallel()
	faults := new(actortest.Faults)
	w := newWorld(t, tuning{tree: faults.Inject}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(300 * time.Millisecond)}})
	id := w.running(map[string]any{"concurrency": 8})
	type conversation struct {
		number  string
		contact engine.ContactID
		call    engine.CallID
		leg     engine.LegID
	}
	begin := func() conversation {
		t.Helper()
		c := conversation{number: newNumber()}
		rep := w.trigger(id, c.number, nil)
		c.contact, c.call, c.leg = rep.ContactID, rep.AttemptID.Call(), rep.AttemptID.Leg(1)
		return c
	}
	// While the phone rings, and in mid-call.
	crash := map[string]func(c conversation){
		"run":     func(conversation) { faults.Crash("run", id, "") },
		"contact": func(c conversation) { faults.Crash("contact", id, c.contact) },
	}
	for _, top := range []string{"fleet", "trunks", "numbers", "campaigns"} {
		crash[top] = func(conversation) { faults.Crash(top, "", "") }
	}
	restarts := 0.0
	for _, target := range []string{"contact", "run", "fleet", "trunks", "numbers", "campaigns"} {
		talking := begin()
		w.session(talking.call, "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
		sibling := begin()
		w.session(sibling.call, "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
		ringing := begin()
		crash[target](ringing)
		if target == "contact" {
			crash[target](talking)
			restarts++
		}
		restarts++
		eventually(t, target+" is restarted", func() bool { return w.metric("dialler_actor_restarts_total") == restarts })
		w.session(ringing.call, "begun after the crash of "+target, func(s bot.Session) bool { return s.FramesIn > 0 })
		for _, c := range []conversation{talking, sibling, ringing} {
			w.flows(model, c.call, c.leg)
		}
		// They end like any other: by the bot, and by the callee.
		if !w.bot.HangUp(talking.call) || !w.bot.HangUp(ringing.call) || !model.HangUp(string(sibling.leg)) {
			t.Fatalf("a session is gone after the crash of %s", target)
		}
		for _, c := range []conversation{talking, sibling, ringing} {
			w.ended(c.call, engine.OutcomeCompleted)
			row, _ := model.Ledger().Call(string(c.leg))
			if row.FinalCode != 200 || len(row.Violations) > 0 || row.Invites != 1 {
				t.Errorf("%s crashed; at the carrier: %+v", target, row)
			}
			eventually(t, "the contact is completed", func() bool { return w.contact(id, c.number).Status == "completed" })
			if got := w.contact(id, c.number); got.Attempts != 1 {
				t.Errorf("%s crashed; contact %+v", target, got)
			}
		}
	}
	if d := w.detail(id); d.Counters.Completed != 18 || d.Counters.Attempts != 18 || d.Counters.LiveAnswers != 18 ||
		d.Counters.Abandoned != 0 {
		t.Errorf("%+v", d.Counters)
	}
	for range 21 { // poison: the last restart is delayed
		faults.Crash("run", id, "")
	}
	eventually(t, "the run waits before it is restarted", func() bool { return w.metric("dialler_actors_failing") == 1 })
	eventually(t, "it is restarted", func() bool {
		return w.metric("dialler_actors_failing") == 0 && w.detail(id).Status == "running"
	})
	if dup := model.Ledger().DuplicateInvites(); len(dup) > 0 || len(model.Ledger().Calls()) != 18 {
		t.Errorf("duplicates %v, %d calls", dup, len(model.Ledger().Calls()))
	}
	if v := w.bot.Summary().Violations; len(v) > 0 {
		t.Errorf("the bot's protocol: %v", v)
	}
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestTheNextLifeEndsTheCallsOfAnEarlierOneAndDialsNobodyTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	talks, rings := newNumber(), newNumber()
	model := w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(talks): {person(50 * time.Millisecond)},
		engine.PhoneNumber(rings): {{Kind: carrier.NoAnswer}},
	}})
	id := w.running(map[string]any{"max_attempts": 2, "retry_on_system": []string{"lost"}, "retry_delay_s": 3600})
	talking, ringing := w.trigger(id, talks, nil).AttemptID, w.trigger(id, rings, nil).AttemptID
	begun := w.session(talking.Call(), "begun", func(s bot.Session) bool { return s.FramesIn > 0 && s.Parameters != nil })
	eventually(t, "the other rings", func() bool { return w.call(ringing.Call()).State == "ringing" })
	eventually(t, "it is stored as connected", func() bool { return w.stored(talking.Call()).State == attempt.Connected })
	w.restart() // without draining, as after a crash
	for _, a := range []engine.AttemptID{talking, ringing} {
		w.ended(a.Call(), engine.OutcomeLost)
		eventually(t, "its leg is over at the carrier and in the database", func() bool {
			row, _ := model.Ledger().Call(string(a.Leg(1)))
			return row.State == carrier.StateEnded && w.stored(a.Call()).Legs[0].EndedAt != nil
		})
	}
	row, _ := model.Ledger().Call(string(talking.Leg(1)))
	if row.ByeBy != carrier.Caller || len(row.Violations) > 0 {
		t.Errorf("the conversation: %+v", row)
	}
	row, _ = model.Ledger().Call(string(ringing.Leg(1)))
	// It is unknown whether the INVITE was challenged, so one CANCEL goes out for either CSeq.
	if row.FinalCode != 487 || slices.ContainsFunc(row.Violations,
		func(v string) bool { return v != "cancel_of_other_transaction" }) {
		t.Errorf("the ringing leg: %+v", row)
	}
	for _, a := range []engine.AttemptID{talking, ringing} {
		if s := w.stored(a.Call()); !s.Consumed || s.State != attempt.Ended {
			t.Errorf("row %+v", s)
		}
	}
	if d := w.detail(id); d.Counters.Attempts != 2 || d.Counters.Answered != 1 || d.Counters.ConnectedCalls != 1 ||
		d.Status != "running" {
		t.Errorf("%s %+v", d.Status, d.Counters)
	}
	// A contact who was talked to is not called again for that, once the bot has posted a result.
	w.result(talking.Call(), begun.Parameters["result_token"], map[string]any{"disposition": "interested"}).expect(200)
	eventually(t, "of two that were lost one is due, and the one with a result completed", func() bool {
		return w.rows("contacts WHERE state = 'completed' AND due_at IS NULL AND number = '"+talks+"'") == 1 &&
			w.rows("contacts WHERE due_at IS NOT NULL AND number = '"+rings+"'") == 1
	})
	eventually(t, "no number is held any more",
		func() bool { return w.rows("number_holds WHERE hold_until IS NULL") == 0 })
	eventually(t, "nothing lives at the carrier", func() bool { return len(model.Ledger().Live()) == 0 })
	if dup, lap := model.Ledger().DuplicateInvites(), model.Ledger().Overlaps(); len(dup)+len(lap) > 0 {
		t.Errorf("duplicates %v, overlaps %v", dup, lap)
	}
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestDrainingPlacesNoCallAndWaitsForTheLiveOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	call := w.trigger(id, newNumber(), nil).AttemptID
	w.session(call.Call(), "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	drained := make(chan struct{})
	go func() { w.p.Drain(context.Background()); close(drained) }()
	eventually(t, "it is not ready", func() bool { return w.send("GET", "/readyz", nil).status == 503 })
	if r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot,
		"to_number": newNumber()}); r.status != 503 || r.code() != "node_draining" {
		t.Errorf("a dialout: %s", r)
	}
	if rep := w.trigger(id, newNumber(), nil); rep.Status != "queued" || rep.Reason != "node_draining" {
		t.Errorf("a trigger: %+v", rep)
	}
	w.flows(model, call.Call(), call.Leg(1))
	select {
	case <-drained:
		t.Error("it did not wait for the live call")
	default:
	}
	if !w.bot.HangUp(call.Call()) {
		t.Error("the session is gone")
	}
	<-drained
	if row, _ := model.Ledger().Call(string(call.Leg(1))); row.State != carrier.StateEnded || row.ByeBy != carrier.Caller {
		t.Errorf("the live call went on to its end: %+v", row)
	}
	if n := len(model.Ledger().Calls()); n != 1 {
		t.Errorf("%d calls were placed", n)
	}
}

func TestAnAnswerThatNoBotTakesIsAbandonedWithTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(2 * time.Second)}})
	w.heard()
	id := w.dialout(newNumber())
	// The bot disappears while the phone rings.
	if err := w.bot.Configure(bot.Config{Door: bot.Door{RefuseShare: 1},
		Conversations: []bot.Conversation{conversation(time.Second)}}); err != nil {
		t.Fatal(err)
	}
	w.ended(id, engine.OutcomeAbandoned)
	if n, m := w.metric("dialler_abandoned_total"), w.labelled("dialler_outcomes_total", "outcome", "abandoned"); n != 1 ||
		m != 1 {
		t.Errorf("%v and %v abandoned", n, m)
	}
	a := w.stored(id)
	if (a.Cause != engine.AbandonCapacityLoss && a.Cause != engine.AbandonLateConnect) || a.AnsweredAt == nil ||
		a.ServedAt != nil || !a.Consumed {
		t.Errorf("row %+v", a)
	}
	row, _ := model.Ledger().Call(string(a.ID.Leg(1)))
	if row.ByeBy != carrier.Caller || row.RTP.AudioAt.IsZero() ||
		row.RTP.AudioAt.Sub(row.AnsweredAt) > 2500*time.Millisecond {
		t.Errorf("the callee hears the message within two seconds: %+v", row.RTP)
	}
	w.quiet()
}

func TestATrunkThatIsDownAtTheStartIsKnownToBeDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.trunk("nowhere", "no..such..name", 5060, nil) // a name that fails without a resolver
	w.restart()
	// The keepalive reports once, here before the tree is up.
	eventually(t, "the keepalive has tried", func() bool { return w.shownTrunk("nowhere").Status.Health == "down" })
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
	if r.status != 503 || r.code() != "no_capacity" || w.rows("attempts") != 0 {
		t.Errorf("a dialout: %s, %d attempts", r, w.rows("attempts"))
	}
}

func TestAPanicOfDialoutInMidCallHangsUpNobody(t *testing.T) {
	t.Parallel()
	faults := new(actortest.Faults)
	w := newWorld(t, tuning{tree: faults.Inject}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.dialout(newNumber())
	w.session(id, "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	faults.Crash("dialout", "", "")
	eventually(t, "the fault is counted", func() bool { return w.metric("dialler_actor_restarts_total") == 1 })
	w.flows(model, id, w.stored(id).ID.Leg(1))
	if !w.bot.HangUp(id) {
		t.Fatal("the session is gone")
	}
	w.ended(id, engine.OutcomeCompleted)
	w.quiet()
}
