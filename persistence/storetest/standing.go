package storetest

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/forecast"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// foretold plays calls of which 55 dials in 100 are answered and 20 answers in 100 are machines;
// talks last 3 to 9 s from the answer on, including classification.
func foretold(t *testing.T, w *world) {
	const contacts = 400
	w.c.Settings = campaign.Settings{Name: "past", Bot: "bot", Concurrency: 24, MaxAttempts: 2, RetryDelaySec: 10,
		RingTimeoutSec: 15, AMD: engine.AMDParallel, Numbers: []engine.PhoneNumber{"+493012345601"}}
	w.c.Settings = w.c.Settings.WithDefaults()
	r := rand.New(rand.NewPCG(1, 2))
	between := func(least, most float64) time.Duration {
		return time.Duration((least + (most-least)*r.Float64()) * float64(time.Second))
	}
	var write journal.Write
	connected, dials := 0, 0
	for i := range contacts {
		c := w.contact(func(c *contact.Contact) { c.State, c.DueAt, c.Max = contact.Completed, nil, 2 })
		begin := w.now.Add(time.Duration(i) * 50 * time.Millisecond)
		for pass := 1; pass <= 2; pass++ {
			a := w.attempt(c)
			invite, ring := begin.Add(5*time.Millisecond), between(0.5, 4)
			a.ReservedAt, a.InviteAt, a.Pass, a.Number, a.Consumed, a.State = &begin, &invite, pass, pass, true, attempt.Ended
			dials++
			u := r.Float64()
			rang := invite.Add(ring)
			over := rang
			switch {
			case u < 0.55*0.8:
				verdict := rang.Add(between(1, 2.5))
				over = rang.Add(between(3, 9))
				a.Outcome, a.HungUpBy, a.SIPCode = engine.OutcomeCompleted, engine.PartyCallee, 200
				a.AnsweredAt, a.BotConnectedAt, a.ServedAt, a.VerdictAt = &rang, &rang, &verdict, &verdict
				a.Verdict, a.AMDTook = engine.VerdictHuman, verdict.Sub(rang)
				a.Result = &attempt.Result{Disposition: "interested", ReceivedAt: over}
				connected++
			case u < 0.55:
				verdict := rang.Add(between(1, 2.5))
				over = verdict
				a.Outcome, a.HungUpBy, a.SIPCode = engine.OutcomeMachine, engine.PartySystem, 200
				a.AnsweredAt, a.VerdictAt, a.Verdict, a.AMDTook = &rang, &verdict, engine.VerdictMachine, verdict.Sub(rang)
			case u < 0.67:
				a.Outcome, a.SIPCode, a.SIPReason = engine.OutcomeBusy, 486, "Busy Here"
			case u < 0.7:
				a.Outcome, a.SIPCode, a.SIPReason = engine.OutcomeInvalidNumber, 404, "Not Found"
			default:
				a.Outcome, a.SIPCode, over = engine.OutcomeNoAnswer, 487, invite.Add(15*time.Second)
			}
			a.EndedAt = &over
			write.Attempts = append(write.Attempts, a)
			if a.Outcome != engine.OutcomeBusy && a.Outcome != engine.OutcomeNoAnswer {
				break
			}
			begin = over.Add(10 * time.Second)
		}
		write.Contacts = append(write.Contacts, c)
	}
	w.commit(w.write(func(x *journal.Write) { x.Contacts, x.Attempts = write.Contacts, write.Attempts }))
	later := w.now.Add(time.Hour)
	people, err := w.pg.People(w.ctx, w.c.ID, later)
	must(t, err)
	f := people.Figures()
	if people.Dials != dials || math.Abs(f.Talk-6) > 0.3 || math.Abs(f.Ring-2.25) > 0.2 ||
		math.Abs(f.Answer-0.55) > 0.05 || math.Abs(f.Machines-0.2) > 0.05 {
		t.Errorf("%d dials, %+v", people.Dials, f)
	}
	told, ok := forecast.Ask(&forecast.Question{Settings: w.c.Settings, Start: later, Seats: 24, CPS: 20, Channels: 200,
		People:   people,
		Standing: campaign.Position{At: later, Ahead: []campaign.Ahead{{Count: contacts}}}, Seed: 1}, nil)
	got := told.Forecast
	if !ok || math.Abs(got.Connected.Median-float64(connected)) > 0.1*float64(connected) ||
		math.Abs(got.Dials.Median-float64(dials)) > 0.1*float64(dials) {
		t.Errorf("%d conversations of %d dials; foretold are %+v", connected, dials, got)
	}
	t.Logf("%d conversations of %d dials; foretold are %+v", connected, dials, got)
}

// stood plays a run in which everything happens within one minute, and looks at its middle.
func stood(t *testing.T, w *world) {
	started := w.now.Add(-time.Minute)
	w.c.StartedAt, w.c.Settings.RetryDelaySec = &started, 60
	after := func(s int) *time.Time {
		x := started.Add(time.Duration(s) * time.Second)
		return &x
	}
	var write journal.Write
	add := func(state contact.State, updated *time.Time, tried ...attempt.Attempt) {
		c := w.contact(func(c *contact.Contact) {
			c.State, c.DueAt, c.CreatedAt, c.UpdatedAt = state, nil, started, *updated
		})
		if state == contact.Pending || state == contact.Waiting {
			c.DueAt = after(90)
		}
		for i := range tried {
			a := w.attempt(c)
			x := &tried[i]
			x.ID, x.Campaign, x.Contact, x.Run = a.ID, a.Campaign, a.Contact, a.Run
			x.To, x.Legs, x.SendBy = a.To, a.Legs, a.SendBy
			x.Pass, x.Number, x.Consumed, x.State, x.InviteAt = i+1, i+1, true, attempt.Ended, x.ReservedAt
			write.Attempts = append(write.Attempts, *x)
			c.Used++
		}
		write.Contacts = append(write.Contacts, c)
	}
	busy := func(from, to int) attempt.Attempt {
		return attempt.Attempt{ReservedAt: after(from), EndedAt: after(to), Outcome: engine.OutcomeBusy}
	}
	served := func(from, answered, to int) attempt.Attempt {
		return attempt.Attempt{ReservedAt: after(from), AnsweredAt: after(answered), ServedAt: after(answered),
			BotConnectedAt: after(answered), EndedAt: after(to), Outcome: engine.OutcomeCompleted}
	}
	add(contact.Completed, after(20), served(1, 5, 20))               // over
	add(contact.Completed, after(40), served(1, 5, 40))               // talks
	add(contact.Completed, after(50), served(28, 35, 50))             // rings
	add(contact.Completed, after(55), busy(1, 2), served(40, 45, 55)) // waited: due at 62 then
	add(contact.Waiting, after(10), busy(5, 10))                      // waits still
	add(contact.Pending, after(0))                                    // was never dialled
	add(contact.ManuallyStopped, after(58))                           // … and was stopped later
	add(contact.Excluded, after(3))                                   // was excluded before
	add(contact.Failed, after(45), busy(20, 25), busy(40, 45))        // waits: due at 85 then
	add(contact.Abandoned, after(25), attempt.Attempt{ReservedAt: after(20), AnsweredAt: after(22), EndedAt: after(25),
		Outcome: engine.OutcomeAbandoned, Cause: engine.AbandonNoSeat})
	w.commit(w.write(func(x *journal.Write) { x.Contacts, x.Attempts = write.Contacts, write.Attempts }))
	x, err := w.pg.Standing(w.ctx, &w.c, *after(30))
	must(t, err)
	want := map[campaign.Ahead]bool{
		{Used: 0, Due: 0, Count: 1}: true, {Used: 0, Due: 60 * time.Second, Count: 1}: true,
		{Used: 1, Due: 32 * time.Second, Count: 1}: true, {Used: 1, Due: 60 * time.Second, Count: 1}: true,
		{Used: 1, Due: 55 * time.Second, Count: 1}: true,
	}
	for _, a := range x.Ahead {
		if a.Used == 0 && a.Due == 0 {
			a.Count-- // the one that rings and the one that was stopped
		}
		if !want[a] {
			t.Errorf("%+v is ahead", a)
		}
		delete(want, a)
	}
	if len(want) > 0 {
		t.Errorf("%v are not ahead", want)
	}
	if !x.Begun || !x.Started.Equal(started) || x.Dials != 6 || x.Connected != 2 || x.Abandoned != 1 || x.Learnt != nil {
		t.Errorf("%+v", x)
	}
	var sum pacing.Counts
	for _, p := range x.Answers {
		sum.Add(p.Counts)
	}
	if sum != (pacing.Counts{Live: 2, Abandoned: 1}) { // a call in progress counts when it ends
		t.Errorf("answers %+v", sum)
	}
}

// backTested checks that a run is claimed once, and that the result is stored with its campaign.
func backTested(t *testing.T, w *world) {
	ended := w.now
	done := w.campaign(func(c *campaign.Campaign) {
		started := ended.Add(-time.Minute)
		c.State, c.CompletionReason = campaign.Completed, campaign.ReasonAllFinal
		c.StartedAt, c.CompletedAt = &started, &ended
	})
	w.campaign(func(c *campaign.Campaign) { // stopped by hand: it has no natural end
		c.State, c.CompletionReason = campaign.Completed, campaign.ReasonManuallyStopped
		c.StartedAt, c.CompletedAt = &ended, &ended
	})
	claim := func(in time.Duration, want bool) {
		t.Helper()
		c, ok, err := w.pg.ClaimBackTest(w.ctx, ended.Add(in))
		must(t, err)
		if ok != want || ok && c.ID != done.ID {
			t.Errorf("%s after the end: %v, %s", in, ok, c.ID)
		}
	}
	claim(time.Second, false) // results may still arrive
	claim(time.Minute, true)
	claim(2*time.Minute, false)
	claim(2*time.Hour, true) // the previous claimer never finished
	_, course, few, err := w.pg.BackTestMoments(w.ctx, &done)
	must(t, err)
	if !few || course.Dials != 0 || course.Ended.Sub(course.Started) != time.Minute {
		t.Errorf("%+v %v", course, few)
	}
	points := []forecast.BackTestPoint{{SharePct: 10, At: ended, Plays: 20,
		Connected: forecast.Foretold{Band: forecast.Band{Low: 1, Median: 2, High: 3}, Real: 2}}}
	must(t, w.pg.KeepBackTest(w.ctx, done.ID, 1, points))
	claim(5*time.Hour, false)
	list, err := w.pg.BackTests(w.ctx, done.ID)
	must(t, err)
	if want := []forecast.RunBackTest{{Run: 1, Points: points}}; !reflect.DeepEqual(list, want) {
		t.Errorf("%+v", list)
	}
	trusted, err := w.pg.Trusted(w.ctx)
	must(t, err)
	if len(trusted) == 0 {
		t.Error("no back-test says how far to trust a forecast")
	}
}
