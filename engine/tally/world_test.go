package tally

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/redial"
)

// person is one contact with its attempts, driven by the real machines.
type person struct {
	m        contact.Machine
	attempts []*attempt.Machine
	legSeq   int
	mediaSeq int
	reserved [2]*contact.Facts
	ended    map[contact.State]bool // its ends before it was excluded or reopened
}

// world is a campaign that writes the same events as the actors.
type world struct {
	rnd    *rand.Rand
	fold   *Tally
	now    time.Time
	people []*person
	policy contact.Policy
	cfg    attempt.Config
}

func (w *world) emit(t journal.Type, d journal.Data) {
	w.fold.Apply(&journal.Event{Type: t, At: w.now, Data: d})
}

// change applies an event to a contact and returns the facts before and after.
func (w *world) change(p *person, ev contact.Event) (before, after *contact.Facts) {
	ev.At, ev.Policy = w.now, w.policy
	b := p.m.C.Facts()
	if p.m.Apply(ev) != nil {
		return nil, nil
	}
	n := p.m.C.Facts()
	if ev.Kind == contact.ExcludedBy || ev.Kind == contact.Triggered {
		if p.ended == nil {
			p.ended = map[contact.State]bool{}
		}
		p.ended[b.State] = true
	}
	return &b, &n
}

func (p *person) live() *attempt.Machine {
	if n := len(p.attempts); n > 0 && p.attempts[n-1].A.State != attempt.Ended {
		return p.attempts[n-1]
	}
	return nil
}

func summary(a *attempt.Attempt, now time.Time) *contact.Attempt {
	s := &contact.Attempt{ID: a.ID, Run: a.Run, Outcome: a.Outcome, Consumed: a.Consumed, Connected: a.WasConnected(),
		Rang: a.RangUnanswered(), Talk: a.Talk(), RetryAfter: a.RetryAfter, EndedAt: now}
	if a.EndedAt != nil {
		s.EndedAt = *a.EndedAt
	}
	if r := a.Result; r != nil {
		s.HasResult, s.Repeated, s.Disposition = true, r.Wished, r.Disposition
		if r.Callback != nil {
			s.Callback = &contact.CallbackWish{At: r.Callback.At}
		}
	}
	return s
}

func (w *world) dial(p *person) {
	id := engine.AttemptID(fmt.Sprintf("%032x", len(p.attempts)+1))
	class, wished := p.m.C.DueClass, p.m.C.CallbackAt
	b, n := w.change(p, contact.Event{Kind: contact.Reserved, Attempt: &contact.Attempt{ID: id}})
	if b == nil {
		return
	}
	p.reserved = [2]*contact.Facts{b, n}
	cfg := w.cfg
	cfg.MustConsume = p.m.C.Unconsumed >= contact.MaxUnconsumed
	m := &attempt.Machine{Config: cfg, A: attempt.Attempt{ID: id, Run: 1, State: attempt.Reserved, Trunk: "a",
		Number: p.m.C.Used + 1, Pass: p.m.C.Used + 1}}
	if class == contact.DueCallback {
		m.A.Callback, m.A.CallbackAt = true, wished
	}
	p.attempts, p.legSeq, p.mediaSeq = append(p.attempts, m), 0, 0
	w.apply(p, m, attempt.Event{Kind: attempt.Began})
}

// apply takes an event through an attempt and writes what it records.
func (w *world) apply(p *person, m *attempt.Machine, ev attempt.Event) {
	ev.At = w.now
	effects, err := m.Apply(ev, nil)
	if err != nil {
		return
	}
	a := &m.A
	for _, e := range effects {
		switch e := e.(type) {
		case attempt.Record:
			w.record(p, a, e.What)
		case attempt.Over:
			d := journal.Data{Outcome: a.Outcome, Cause: a.Cause, Consumed: a.Consumed, Connected: a.WasConnected(),
				Answered: a.AnsweredAt != nil,
				Pass:     a.Pass, ReservedAt: a.ReservedAt}
			if a.WasConnected() {
				d.TalkMS = a.TalkMS()
			}
			if ms, ok := a.CallbackDelayMS(); ok {
				d.CallbackDelayMS = &ms
			}
			d.Before, d.After = w.change(p, contact.Event{Kind: contact.Attempted, Attempt: summary(a, w.now)})
			w.emit(journal.AttemptEnded, d)
		}
	}
}

func (w *world) record(p *person, a *attempt.Attempt, what attempt.What) {
	d := journal.Data{Pass: a.Pass}
	switch what {
	case attempt.WhatReserved:
		d.Before, d.After = p.reserved[0], p.reserved[1]
		w.emit(journal.AttemptReserved, d)
	case attempt.WhatLeg:
		w.emit(journal.LegAdded, d)
	case attempt.WhatAnswered:
		w.emit(journal.AttemptAnswered, d)
	case attempt.WhatConnected:
		d.Before, d.After = w.change(p, contact.Event{Kind: contact.Reached})
		w.emit(journal.AttemptConnected, d)
		if a.CountsResult() { // one that came before
			w.record(p, a, attempt.WhatResult)
		}
	case attempt.WhatResult:
		d.Connected = a.CountsResult()
		d.Before, d.After = w.change(p, contact.Event{Kind: contact.ResultStored, Attempt: summary(a, w.now)})
		w.emit(journal.ResultStored, d)
	case attempt.WhatAbandoned, attempt.WhatOptedOut, attempt.WhatEnded:
	}
}

func (w *world) pick(n int) int { return w.rnd.IntN(n) }

// step performs a random action.
func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.pick(600)) * time.Second)
	if len(w.people) < 3 || w.pick(40) == 0 {
		n := 1 + w.pick(3)
		for range n {
			w.add("csv")
		}
		w.emit(journal.ContactsAdded,
			journal.Data{Count: n, After: &contact.Facts{State: contact.Pending, Max: w.policy.MaxAttempts, Open: true}})
		return
	}
	if len(w.people) == 0 {
		return
	}
	p := w.people[w.pick(len(w.people))]
	if m := p.live(); m != nil && w.pick(8) > 0 {
		for range 1 + w.pick(4) {
			if p.live() == m {
				w.progress(p, m)
			}
		}
		return
	}
	switch w.pick(10) {
	case 0: // excluded
		m := p.live()
		inCall := m != nil && m.A.AnsweredAt != nil && m.A.Ending == nil
		b, n := w.change(p, contact.Event{Kind: contact.ExcludedBy, InCall: inCall, Reason: "asked"})
		if m != nil && !inCall {
			w.apply(p, m, attempt.Event{Kind: attempt.ExcludeRequested})
		}
		w.emit(journal.ContactExcluded, journal.Data{Before: b, After: n})
	case 1: // triggered again
		b, n := w.change(p, contact.Event{Kind: contact.Triggered})
		w.emit(journal.ContactTriggered, journal.Data{Before: b, After: n})
	case 2: // a trigger for a new contact
		f := w.add("trigger").m.C.Facts()
		w.emit(journal.ContactTriggered, journal.Data{After: &f})
	case 3: // a late or repeated result
		if n := len(p.attempts); n > 0 {
			w.store(p, p.attempts[w.pick(n)])
		}
	case 4:
		if c := &p.m.C; c.Used == 1 && c.DueAt != nil && c.ResultDueAt == nil {
			now := w.now
			c.ExpiresAt = &now
			b, n := w.change(p, contact.Event{Kind: contact.Lapsed})
			w.emit(journal.ContactExpired, journal.Data{Before: b, After: n})
			break
		}
		b, n := w.change(p, contact.Event{Kind: contact.ResultTimedOut})
		w.emit(journal.ContactChanged, journal.Data{Before: b, After: n})
	default:
		if at := p.m.C.DueAt; at != nil && w.now.Before(*at) {
			w.now = *at
		}
		w.dial(p)
	}
}

func (w *world) add(source string) *person {
	due := w.now
	p := &person{m: contact.Machine{C: contact.Contact{ID: engine.ContactID(fmt.Sprint(len(w.people))), Source: source,
		Run: 1, State: contact.Pending, Max: w.policy.MaxAttempts, DueAt: &due, DueClass: contact.DueFirst}}}
	w.people = append(w.people, p)
	return p
}

func (w *world) store(p *person, m *attempt.Machine) {
	r := &attempt.Result{Disposition: []string{"sold", "call again", "later"}[w.pick(3)]}
	if r.Disposition == "later" {
		at := w.now.Add(time.Hour)
		r.Callback = &attempt.Callback{Requested: true, At: &at}
	}
	w.apply(p, m, attempt.Event{Kind: attempt.ResultStored, Result: r})
}

// progress advances a live attempt by a step.
func (w *world) progress(p *person, m *attempt.Machine) {
	leg := func(kind engine.LegEventKind, code int) {
		p.legSeq++
		ev, _ := attempt.FromLeg(engine.LegEvent{Attempt: m.A.ID, Leg: m.A.ID.Leg(1), Seq: p.legSeq, At: w.now, Kind: kind,
			Code: code})
		w.apply(p, m, ev)
	}
	media := func(kind engine.MediaEventKind, v engine.Verdict) {
		p.mediaSeq++
		ev, _ := attempt.FromMedia(engine.MediaEvent{Attempt: m.A.ID, Seq: p.mediaSeq, At: w.now, Kind: kind, Verdict: v})
		w.apply(p, m, ev)
	}
	switch {
	case m.A.Ending != nil:
		leg(engine.LegClosed, 0)
	case m.A.AnsweredAt == nil:
		switch w.pick(8) {
		case 0:
			leg(engine.LegRefused, []int{486, 480, 404, 429, 603}[w.pick(5)])
		case 1:
			w.apply(p, m, attempt.Event{Kind: attempt.IntentRefused, Err: engine.CodeNumberHeld})
		case 2:
			w.apply(p, m, attempt.Event{Kind: attempt.OwnerLost})
		case 3, 4:
			leg(engine.LegProvisional, 180)
		default:
			leg(engine.LegAnswered, 200)
		}
	case m.A.State == attempt.Connected:
		switch w.pick(4) {
		case 0:
			w.store(p, m)
		case 1:
			media(engine.MediaBotClosed, "")
		case 2:
			media(engine.MediaSilent, "")
		default:
			leg(engine.LegHungUp, 0)
		}
	default:
		switch w.pick(10) {
		case 0:
			media(engine.MediaVerdict, engine.VerdictMachine)
		case 1:
			media(engine.MediaBotFailed, "")
		case 2:
			leg(engine.LegHungUp, 0)
		case 3:
			w.store(p, m)
		case 4, 5:
			media(engine.MediaVerdict, engine.VerdictHuman)
		case 6, 7:
			w.apply(p, m, attempt.Event{Kind: attempt.SeatGranted})
		default: // the bot connected at once, whenever that is reported
			p.mediaSeq++
			ev, _ := attempt.FromMedia(engine.MediaEvent{Attempt: m.A.ID, Seq: p.mediaSeq, At: *m.A.AnsweredAt,
				Kind: engine.MediaBotConnected})
			now := w.now
			w.now = *m.A.AnsweredAt
			w.apply(p, m, ev)
			w.now = now
		}
	}
}

// stop ends the run as a bulk write does: one event with a move for each kind of
// waiting contact.
func (w *world) stop() {
	type move struct{ before, after contact.Facts }
	n := map[move]int{}
	for _, p := range w.people {
		b, a := w.change(p, contact.Event{Kind: contact.RunStopped})
		n[move{*b, *a}]++
	}
	var d journal.Data
	for m, count := range n {
		d.Moves = append(d.Moves, journal.Move{Before: &m.before, After: &m.after, Count: count})
	}
	w.emit(journal.ContactsClosed, d)
	w.policy.ClosedAs = contact.ManuallyStopped
}

// counted counts the present states directly, by the formulas.
func (w *world) counted() campaign.Counters {
	c := campaign.Counters{States: map[contact.State]int{}}
	for _, p := range w.people {
		r := &p.m.C
		c.Total++
		c.States[r.State]++
		open := r.State == contact.Pending || r.State == contact.Waiting || r.State == contact.Connected
		used := r.Used
		if p.live() != nil {
			used++
		}
		if open && used == 0 {
			c.Pending++
		}
		if open && r.Max > used {
			c.RetriesLeft += r.Max - used
		}
		if r.DuePass == used+1 && p.live() == nil && r.State != contact.Excluded {
			c.Pass(r.DuePass).Awaiting++
			if open {
				c.Pass(r.DuePass).Waiting++
			}
		}
		switch r.Callback {
		case contact.CallbackRequested, contact.CallbackPending:
			c.Callbacks.Pending++
		case contact.CallbackCancelled:
			c.Callbacks.Cancelled++
		case contact.CallbackCompleted, contact.CallbackNone:
		}
		if m := p.live(); m != nil && m.A.Callback && r.Callback != contact.CallbackPending {
			c.Callbacks.Pending++ // another replaced it while it was being dialled
		}
		c.Callbacks.Cancelled += r.CallbacksCancelled
		for s, at := range map[contact.State]*int{contact.Failed: &c.Failed, contact.WindowClosed: &c.WindowClosed,
			contact.ManuallyStopped: &c.ManuallyStopped, contact.Expired: &c.Expired} {
			if r.State == s || p.ended[s] {
				*at++
			}
		}
		connected, result, unanswered := false, false, false
		for _, m := range p.attempts {
			a := &m.A
			pass := c.Pass(a.Pass)
			pass.Dialled(*a.ReservedAt)
			if a.State != attempt.Ended {
				pass.Live++
			}
			if a.ServedAt != nil {
				pass.Connected++
			}
			if a.State == attempt.Ended && a.Consumed {
				c.Attempts++
				pass.Consumed++
				if ms, ok := a.CallbackDelayMS(); ok {
					c.Callbacks.Completed++
					c.Callbacks.DelayMS += int(ms)
				}
				unanswered = a.RingingAt != nil && a.AnsweredAt == nil
			}
			if a.AnsweredAt != nil {
				c.Answered++
				c.Decided++
			} else if a.State == attempt.Ended && a.Consumed {
				c.Decided++
			}
			if a.Outcome == engine.OutcomeMachine && a.State == attempt.Ended {
				c.MachineDetected++
			}
			if a.ServedAt != nil {
				connected = true
				c.ConnectedCalls++
				c.LiveAnswers++
				if a.Result != nil {
					result = true
					c.ResultCalls++
				}
				if a.State == attempt.Ended {
					c.Conversations++
					c.TalkMS += int(a.EndedAt.Sub(*a.BotConnectedAt).Milliseconds())
				}
			}
			if a.Outcome == engine.OutcomeAbandoned && a.State == attempt.Ended {
				c.LiveAnswers++
				if a.Cause == engine.AbandonCapacityLoss {
					c.CapacityLoss++
				}
			}
		}
		if connected {
			c.Connected++
		}
		if result {
			c.Completed++
		}
		if unanswered {
			c.Unanswered++
		}
	}
	c.Excluded = c.States[contact.Excluded]
	Rates(&c)
	return c
}

// partition checks that the states of the contacts are disjoint parts of Total, and that open,
// processed and excluded contacts add up to it as well.
func partition(t *testing.T, c *campaign.Counters) {
	t.Helper()
	all, processed := 0, 0
	for s, n := range c.States {
		if !slices.Contains(contact.States, s) || n < 1 {
			t.Errorf("%d contacts are %q", n, s)
		}
		if all += n; s.Processed() {
			processed += n
		}
	}
	open := c.States[contact.Pending] + c.States[contact.Waiting] + c.States[contact.Connected]
	if all != c.Total || open+processed+c.States[contact.Excluded] != c.Total || c.Excluded != c.States[contact.Excluded] {
		t.Errorf("of %d contacts %d have a state: %v", c.Total, all, c.States)
	}
	if c.Failed < c.States[contact.Failed] || c.WindowClosed < c.States[contact.WindowClosed] ||
		c.ManuallyStopped < c.States[contact.ManuallyStopped] || c.Expired < c.States[contact.Expired] {
		t.Errorf("fewer ends are counted than contacts are there that ended so: %+v", c)
	}
}

// rows counts the stored rows by the table of figures.
func (w *world) rows() campaign.Counters {
	t := New()
	for _, p := range w.people {
		f := p.m.C.Facts()
		t.Contacts(&f, 1)
		for _, m := range p.attempts {
			t.Attempt(&m.A)
		}
	}
	return t.Counters()
}

// The fold, the states and the rows are equal after every step, not only at the end.
func TestTheFoldOfTheEventsEqualsTheCountOfTheStates(t *testing.T) {
	seen := map[contact.State]bool{}
	modes := []engine.AMDMode{engine.AMDOff, engine.AMDSequential, engine.AMDParallel}
	for seed := range uint64(300) {
		w := &world{rnd: rand.New(rand.NewPCG(seed, 0)), fold: New(), now: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC),
			policy: contact.Policy{MaxAttempts: 2, ResultTimeout: 15 * time.Minute, Callbacks: true,
				Redial: redial.Rule{Delay: time.Minute,
					OnSystem: []engine.Outcome{engine.OutcomeNoAnswer, engine.OutcomeBusy}, OnCustom: []string{"call again"}}},
			cfg: attempt.Config{RingTimeout: 30 * time.Second, CallLimit: time.Hour, AMD: modes[seed%3]}}
		step := func() {
			before := w.fold.Counters().Callbacks
			w.step()
			now := w.fold.Counters()
			if b := now.Callbacks; b.Requested < before.Requested || b.Requested > before.Requested+1 ||
				b.Completed < before.Completed || b.Cancelled < before.Cancelled-1 {
				t.Fatalf("seed %d: callbacks %+v, they were %+v", seed, b, before)
			}
			partition(t, &now)
			for name, want := range map[string]campaign.Counters{"states": w.counted(), "rows": w.rows()} {
				if !reflect.DeepEqual(now, want) {
					t.Fatalf("seed %d: the fold is\n%+v, the %s are\n%+v", seed, now, name, want)
				}
			}
		}
		for range w.pick(300) {
			step()
		}
		if w.pick(2) == 0 {
			w.stop()
			for range 20 {
				step()
			}
		}
		for s := range w.fold.Counters().States {
			seen[s] = true
		}
	}
	for _, s := range contact.States {
		if s != contact.WindowClosed && !seen[s] {
			t.Errorf("no world came to a contact that is %s", s)
		}
	}
}
