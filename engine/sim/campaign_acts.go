package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	corecall "dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// plan lets a campaign's acts happen: a command that finds no process, or no
// database, is repeated.
func (w *office) plan(i int) {
	for _, a := range w.in.Campaigns[i].Acts {
		w.actAt(i, a, a.At)
	}
}

func (w *office) actAt(i int, a PlannedAct, in time.Duration) {
	w.later(in, func() {
		if w.life == 0 || w.dbAway > 0 || w.runs[i].resting {
			w.actAt(i, a, 5*time.Second)
			return
		}
		w.runs[i].act(a)
	})
}

var kindOf = map[campaign.Action]campaign.Kind{
	campaign.ActionStart: campaign.Start, campaign.ActionPause: campaign.Pause, campaign.ActionResume: campaign.Resume,
	campaign.ActionStop: campaign.Stop, campaign.ActionRestart: campaign.Restart, campaign.ActionCancelRestart: campaign.CancelRestart,
}

func (r *desk) act(a PlannedAct) {
	switch {
	case a.Action != "":
		r.command(a.Action)
	case a.Add > 0:
		r.add(a.Add)
	case a.Trigger > 0:
		r.trigger(a.Trigger - 1)
	case a.Exclude > 0:
		r.exclude([]int{a.Exclude - 1}, true)
	case a.Segment > 0:
		var places []int
		for i := range int32(len(r.d.book.rows)) { //nolint:gosec // bounded by the plan
			if r.d.book.segment(i) == a.Segment {
				places = append(places, r.d.book.place(i))
			}
		}
		r.exclude(places, false)
	}
}

func (r *desk) command(a campaign.Action) {
	ev := campaign.Event{Kind: kindOf[a], At: r.w.wall(), Who: engine.Who{Name: "operator"}, Draining: r.engaged > 0 || len(r.lines) > 0}
	if ev.Kind == campaign.Start || ev.Kind == campaign.Resume {
		facts := campaign.PreflightFacts{BotKnown: true, Trunks: len(r.w.in.Trunks), OpenContacts: r.d.open}
		if campaign.Preflight(&r.m.C, facts, ev.At) != nil && r.m.C.State != campaign.Running {
			return
		}
		if ev.Kind == campaign.Start {
			ev.WindowEndsAt = campaign.SingleDayEnd(&r.m.C, ev.At)
		}
	}
	r.take(ev)
}

// take carries an event of the campaign out. A command that is refused changes
// nothing.
func (r *desk) take(ev campaign.Event) {
	before := r.m.C.State
	effects, err := r.m.Apply(ev, nil)
	if err != nil {
		return
	}
	x := &write{}
	for _, e := range effects {
		switch e := e.(type) {
		case campaign.CloseWaiting:
			as, reason := e.As, string(r.m.C.CompletionReason)
			x.bulk = func() {
				r.d.closeWaiting(r.w, as, reason)
				r.afterBulk()
			}
		case campaign.Record:
			row := r.m.C
			who := e.Who
			x.row = &row
			x.events = append(x.events, journal.Event{At: r.w.wall(), Type: journal.Type("campaign." + e.Action), Version: 1,
				Data: journal.Data{Who: &who, Reason: e.Reason}})
		case campaign.CancelRinging:
			for _, l := range r.order() {
				l.end(attempt.CancelRequested)
			}
		case campaign.HangUpCalls:
			for _, l := range r.order() {
				l.end(attempt.HangUpRequested)
			}
		case campaign.ResetContacts:
			r.resting = true
			x.bulk = r.resetContacts
		case campaign.RestoreContacts:
			r.resting = true
			x.bulk = r.restoreContacts
		case campaign.Pump, campaign.Retune, campaign.Remove:
		}
	}
	r.rules = corecall.RulesOf(r.m.C)
	r.windowUntil = time.Time{}
	if ev.Kind == campaign.Start || ev.Kind == campaign.Restart {
		r.begin()
	}
	r.w.check.moved(r, before)
	if x.row != nil {
		r.sequence(x)
		x.row.Seq = r.m.C.Seq
		r.w.submit(x)
	}
}

// begin opens the ledger of a run.
func (r *desk) begin() {
	now := r.w.wall()
	r.books.Roll(now, campaign.NextMidnight(&r.m.C, now))
	r.books.Begin(now)
	r.exhausted = false
}

func (l *contactLine) end(k attempt.Kind) {
	c := l.call
	if c == nil || !c.m.A.Live() {
		return
	}
	l.r.w.after(0, func() {
		if c.m.A.Live() {
			c.apply(attempt.Event{Kind: k, At: l.r.w.mono(), By: engine.PartySystem})
		}
	})
}

// afterBulk: many rows changed at once.
func (r *desk) afterBulk() {
	for _, l := range r.order() {
		if l.pending == 0 && (l.call == nil || !l.call.m.A.Live()) {
			l.m.C = r.d.book.get(l.i)
		}
	}
	r.retally()
	r.fill()
}

// retally takes the figures of the tables, with what is on its way to them.
func (r *desk) retally() {
	r.tally = tally.From(r.d.fold.Counters(r.m.C.Run))
	for _, x := range r.w.writes {
		if x.d != r.d {
			continue
		}
		for i := range x.events {
			if x.events[i].Run == r.m.C.Run {
				r.tally.Apply(&x.events[i])
			}
		}
	}
}

func (r *desk) resetContacts() {
	d := r.d
	d.previous = slices.Clone(d.book.rows)
	d.c.Run = r.m.C.Run
	d.each(r.w, contact.RunReset, nil, func(int32) bool { return true })
	r.resting = false
	r.afterBulk()
}

func (r *desk) restoreContacts() {
	d := r.d
	added := len(d.book.rows) - len(d.previous)
	_ = added // a prepared run takes no contacts
	for i := range d.previous {
		was := d.book.open(int32(i))
		v := d.book.rows[i].version
		d.book.rows[i] = d.previous[i]
		d.book.rows[i].version = v + 1
		d.reckon(was, d.book.open(int32(i)))
	}
	delete(d.fold, r.m.C.Run+1)
	r.resting = false
	r.restore() // the ledger of the run that is shown again
	r.afterBulk()
}

// add puts contacts behind those that are there.
func (r *desk) add(n int) {
	if _, err := r.m.Apply(campaign.Event{Kind: campaign.AddRows, At: r.w.wall()}, nil); err != nil {
		return
	}
	r.write(&write{bulk: func() {
		from := len(r.d.book.rows)
		var places []int
		for p := r.d.book.first + r.d.plan.Contacts; len(places) < n; p++ {
			_, there := r.d.book.find(p)
			_, excluded := r.d.excluded.Reason(numberOf(r.w.in.Prefixes, p), nil)
			if !there && !excluded {
				places = append(places, p)
			}
		}
		r.w.addRows(r.d, 0, places, 0)
		r.retally()
		for i := from; i < len(r.d.book.rows); i++ {
			r.agenda.note(int32(i)) //nolint:gosec // bounded by the plan
		}
	}})
}

// trigger adds a contact, or merges into the one that is there.
func (r *desk) trigger(p int) {
	s := &r.m.C.Settings
	no := numberOf(r.w.in.Prefixes, p)
	if r.m.C.State != campaign.Running && r.m.C.State != campaign.Paused || s.SingleDay && !r.windowOf(no).Open(r.w.wall()) {
		return
	}
	if r.d.excluded.Refuses(no, nil, s.StickyExclusion) {
		return
	}
	if i, ok := r.d.book.find(p); ok {
		l := r.line(i)
		if s.StickyExclusion && (l.m.C.State == contact.Excluded || l.m.C.ExcludeAfterCall) {
			l.rest()
			return
		}
		r.d.excluded.DropNumber(no)
		r.w.check.lifted(r.d, no)
		r.w.check.reopened(r.d, l.m.C.ID)
		l.trigger()
		l.rest()
		return
	}
	r.d.excluded.DropNumber(no)
	r.w.check.lifted(r.d, no)
	r.write(&write{bulk: func() {
		if _, ok := r.d.book.find(p); ok {
			return
		}
		r.w.addRows(r.d, 0, []int{p}, 0)
		i := int32(len(r.d.book.rows) - 1) //nolint:gosec // bounded by the plan
		c := r.d.book.get(i)
		c.DueClass, c.Source = contact.DueTrigger, "trigger"
		if at, ok := r.policyFor(no).Clip(r.w.wall()); ok {
			c.DueAt = &at
		}
		r.d.book.set(i, &c)
		if st := r.m.C.State; st == campaign.Completed { // it ended meanwhile
			r.d.closeWaiting(r.w, r.rules.Policy.ClosedAs, string(r.m.C.CompletionReason))
		}
		r.retally()
		r.agenda.note(i)
	}})
}

// exclude suppresses contacts by their places in the world; in advance those
// that are not in the campaign.
func (r *desk) exclude(places []int, ahead bool) {
	const reason = "asked for"
	for _, p := range places {
		no := numberOf(r.w.in.Prefixes, p)
		i, ok := r.d.book.find(p)
		if !ok && !ahead {
			continue
		}
		if ahead {
			r.d.excluded.Add(&journal.Exclusion{Number: no, Reason: reason}) // of the process and durable: the exclusion's own write is first in the queue
		}
		if !ok {
			r.w.check.excluded(r.d, no)
			continue
		}
		r.write(&write{then: func(error) {
			l := r.line(i)
			l.exclude(reason, func() {
				if l.m.C.State == contact.Excluded {
					r.w.check.excluded(r.d, no)
				}
			})
			l.rest()
		}})
	}
}

// --- faults ------------------------------------------------------------------------

func (w *office) planFaults() {
	for _, f := range w.in.Faults {
		w.later(f.At, func() { w.fault(f) })
	}
}

func (w *office) fault(f Fault) {
	until := func(undo func()) { w.later(f.Length, undo) }
	switch f.Kind {
	case FaultTrunkDown:
		w.down[f.Trunk]++
		w.keepalive(f.Trunk)
		until(func() {
			w.down[f.Trunk]--
			w.keepalive(f.Trunk)
		})
	case FaultTrunkRefuses:
		w.refuses[f.Trunk]++
		until(func() { w.refuses[f.Trunk]-- })
	case FaultSeats:
		w.setSeats(f.Value)
		until(func() { w.setSeats(w.in.Seats) })
	case FaultDatabase:
		w.dbAway++
		until(func() {
			w.dbAway--
			w.commitSoon()
		})
	case FaultSlowCommit:
		was := w.commit
		w.commit = time.Duration(f.Value) * time.Millisecond
		until(func() { w.commit = was })
	case FaultClock:
		w.offset += time.Duration(f.Value) * time.Second
		w.stepped = w.now
		if w.life != 0 {
			for _, r := range w.runs {
				r.windowUntil, r.tickAt = time.Time{}, 0
			}
		}
	case FaultCrash:
		w.crash()
		until(w.boot)
	}
}

func (w *office) setSeats(n int) {
	w.seats = n
	if w.life == 0 {
		return
	}
	for _, g := range w.fleet.SetSeats(w.mono(), n) {
		for _, r := range w.runs {
			if r.holder() == g.Holder {
				r.allotted(g.Granted, g.Target)
			}
		}
	}
}

// crash takes the process down: what was not durable is gone, and nobody knows
// of the legs.
func (w *office) crash() {
	if w.life == 0 {
		return
	}
	w.crashes++
	for i, d := range w.plans {
		d.clock.pass(w, i)
		d.clock.open = false
	}
	w.check.crashed()
	w.life = 0
	w.writes, w.committing = nil, false
	for _, x := range w.wires {
		x.sink = nil
	}
}

// keepalive: OPTIONS go on; what they find is heard some time later.
func (w *office) keepalive(trunk int) {
	if w.life != 0 {
		w.options(trunk)
	}
}
