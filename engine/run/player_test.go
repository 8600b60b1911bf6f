package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// actor plays one contact and keeps only these rules: it sends its messages in order, gives back no
// seat that it does not hold, and answers every question.
type actor struct {
	p             *played
	row           contact.Contact
	inbox, outbox []any
	attempt       engine.AttemptID
	phase         attempt.Phase
	seated        bool
	since         time.Time // of the phase
	step, unsaved int
	saved         []func() // actions after a write
	said          bool     // has reported that it is idle
	tentative     bool
	closing       bool // its run has ended
}

func (p *played) spawn(e Spawn) {
	if p.actors[e.Row.ID] != nil {
		p.rt.Fatalf("%s is brought up twice", e.Row.ID)
	}
	a := &actor{p: p, row: e.Row, inbox: append([]any(nil), e.First...), phase: attempt.PhaseOver}
	p.actors[e.Row.ID] = a
	a.outbox = append(a.outbox, &call.Up{Contact: e.Row.ID})
	for _, c := range e.First {
		d, ok := c.(*call.Dial)
		if !ok {
			continue
		}
		if p.excluded[e.Row.Number] {
			p.rt.Fatalf("%s is dialled though its number is excluded", e.Row.ID)
		}
		if d.SendWithin <= 0 || !d.Reopens && e.Row.DialWithin(p.now, d.SendWithin) < d.SendWithin {
			p.rt.Fatalf("%s is dialled for %s outside its times", e.Row.ID, d.SendWithin)
		}
		leg := d.Attempt.Leg(1)
		if p.trunk[leg] != "granted" || p.number[d.Attempt] != "granted" {
			p.rt.Fatalf("dialled with a trunk that is %q and a number that is %q", p.trunk[leg], p.number[d.Attempt])
		}
		p.trunk[leg], p.number[d.Attempt] = "dialled", "dialled"
		a.attempt, a.phase = d.Attempt, attempt.PhaseDialling
	}
}

func (a *actor) send(m any) { a.outbox = append(a.outbox, m) }

// say sends the run the contact's next message.
func (a *actor) say() {
	m := a.outbox[0]
	a.outbox = a.outbox[1:]
	if _, ok := m.(*call.Stopped); ok {
		delete(a.p.actors, a.row.ID)
	}
	a.p.tell(m)
}

// save makes the contact's row durable, then continues.
func (a *actor) save(then func()) {
	a.step++
	a.unsaved++
	a.row.Version++
	a.saved = append(a.saved, then)
	a.send(&call.Persist{Contact: a.row.ID, Step: a.step, Write: &journal.Write{Contacts: []contact.Contact{a.row}}})
}

func (a *actor) written() {
	if len(a.saved) == 0 {
		return // from before a crash
	}
	a.unsaved--
	f := a.saved[0]
	a.saved = a.saved[1:]
	if f != nil {
		f()
	}
	a.idle()
}

// refused handles a refused write: the database already has a contact with the number.
func (a *actor) refused() {
	if a.attempt != "" {
		a.move(attempt.PhaseOver)
		a.attempt = ""
	}
	a.row.State, a.row.DueAt, a.row.Attempt = contact.Completed, nil, ""
	a.written()
}

// idle reports that the contact has nothing to do.
func (a *actor) idle() {
	if !a.said && a.attempt == "" && a.unsaved == 0 && len(a.inbox) == 0 {
		a.said = true
		a.send(&call.Idle{Contact: a.row.ID})
	}
}

func (a *actor) move(phase attempt.Phase, change ...func(*call.LineMoved)) {
	m := &call.LineMoved{Contact: a.row.ID, Attempt: a.attempt, Phase: phase, At: a.p.now}
	for _, c := range change {
		c(m)
	}
	a.phase, a.since = phase, a.p.now
	a.send(m)
}

// over ends the attempt: the contact may be dialled again.
func (a *actor) over() {
	a.move(attempt.PhaseOver)
	a.attempt, a.seated = "", false
	a.row.Attempt = ""
	a.row.Used++
	switch {
	case a.row.ExcludeAfterCall || a.row.State == contact.Excluded:
		a.row.State, a.row.DueAt, a.row.ExcludeAfterCall = contact.Excluded, nil, false
	case a.closing:
		a.row.State, a.row.DueAt = contact.ManuallyStopped, nil
	case a.row.Used < a.row.Max && a.p.yes("again", 50):
		due := a.p.now.Add(2 * time.Second)
		a.row.DueAt, a.row.DueClass = &due, contact.DueRetry
	default:
		a.row.State, a.row.DueAt = contact.Completed, nil
	}
	a.save(nil)
}

// hear handles the next command.
func (a *actor) hear() {
	m := a.inbox[0]
	a.inbox = a.inbox[1:]
	_, stop := m.(*call.Stop)
	if !stop {
		a.said = false
	}
	live := a.attempt != "" && a.phase != attempt.PhaseReleased && a.phase != attempt.PhaseAbandoned
	talks := live && (a.phase == attempt.PhaseWaiting || a.phase == attempt.PhaseServed)
	switch m := m.(type) {
	case *call.Dial:
		a.dial(m)
	case *call.SeatGranted:
		a.seated = a.attempt == m.Attempt
	case *call.Exclude:
		was := a.row.State == contact.Excluded
		a.p.tellLater(a, &call.Excluded{Op: m.Op, Cancelled: live && !talks, InCall: talks, Excluded: !was})
		if talks {
			a.row.ExcludeAfterCall = true
		} else {
			a.row.State, a.row.DueAt = contact.Excluded, nil
			if live {
				a.over()
			} else {
				a.save(nil)
			}
		}
	case *call.End:
		if live && (!talks || m.HangUp) {
			a.over()
		}
		if m.Op != 0 {
			a.send(&call.Excluded{Op: m.Op, Cancelled: live})
		}
	case *call.Readmit:
		if a.row.State == contact.Excluded {
			due := a.p.now
			a.row.State, a.row.DueAt, a.row.DueClass = contact.Pending, &due, contact.DueFirst
			a.save(nil)
		}
		if m.Op != 0 {
			a.send(&call.Lifted{Op: m.Op, Readmitted: true})
		}
	case *call.Reopen:
		if !a.row.Open() && a.row.State != contact.Excluded {
			due := a.p.now
			a.row.State, a.row.DueAt, a.row.DueClass, a.row.Used = contact.Pending, &due, contact.DueTrigger, 0
		}
		a.save(func() { a.p.answered(m.Trigger.Request) })
	case *call.StoreResult:
		a.save(func() { a.p.answered(m.Request) })
	case *call.RunEnded:
		a.closing = true
		if a.attempt == "" && a.row.Open() {
			a.row.State, a.row.DueAt = contact.ManuallyStopped, nil
			a.save(nil)
		}
	case *call.Reload:
		a.row = a.p.rows[a.row.ID]
	case *call.Stop:
		if a.attempt == "" && a.unsaved == 0 && len(a.outbox) == 0 {
			a.send(&call.Stopped{Row: a.row})
		} else {
			a.said = false
			a.send(&call.NotIdle{Contact: a.row.ID})
			a.idle()
		}
		return
	}
	a.idle()
}

// tellLater sends a message after the earlier ones.
func (p *played) tellLater(a *actor, m any) { a.send(m) }

func (a *actor) dial(d *call.Dial) {
	if a.row.State == contact.Excluded {
		a.move(attempt.PhaseOver)
		a.attempt = ""
		if d.Trigger != nil {
			a.p.answered(d.Trigger.Request)
		}
		return
	}
	a.row.Attempt, a.row.DueAt = d.Attempt, nil
	a.since = time.Time{}
	a.save(func() {
		if d.Trigger != nil {
			a.p.answered(d.Trigger.Request)
			a.send(&call.Stored{Number: a.row.Number})
		}
		if a.attempt == d.Attempt && a.phase == attempt.PhaseDialling {
			for other, b := range a.p.actors {
				left := b.attempt != "" && b.phase != attempt.PhaseDialling
				if left && other != a.row.ID && b.row.Number == a.row.Number {
					a.p.rt.Fatalf("two calls to one number")
				}
			}
			a.send(&call.InviteLeft{At: a.p.now})
			a.move(attempt.PhaseRinging)
		}
	})
}

// playing says whether the call can proceed by itself.
func (a *actor) playing() bool {
	switch a.phase {
	case attempt.PhaseRinging, attempt.PhaseServed, attempt.PhaseReleased, attempt.PhaseAbandoned:
		return a.attempt != ""
	case attempt.PhaseWaiting:
		return a.attempt != "" && (a.seated || a.p.now.Sub(a.since) >= attempt.BridgeBudget && a.hopeless())
	}
	return false
}

// hopeless says that the run knows that the call waits, but has no seat for it.
func (a *actor) hopeless() bool {
	l := a.p.s.Lines[a.row.ID]
	return len(a.outbox) == 0 && l != nil && !l.Seated
}

// play advances the call.
func (a *actor) play() {
	switch a.phase {
	case attempt.PhaseRinging:
		if a.p.yes("answered", 60) {
			a.move(attempt.PhaseWaiting)
		} else {
			a.over()
		}
	case attempt.PhaseWaiting:
		switch {
		case !a.seated:
			a.move(attempt.PhaseAbandoned, cause(engine.AbandonNoSeat))
		case a.p.yes("person", 80):
			a.tentative = !a.p.yes("certain", 70)
			a.move(attempt.PhaseServed, func(m *call.LineMoved) { m.Tentative = a.tentative })
		default:
			a.move(attempt.PhaseReleased, machine)
		}
	case attempt.PhaseServed:
		if a.tentative && a.p.yes("stands", 80) {
			a.send(&call.AnswerStands{Contact: a.row.ID, Attempt: a.attempt})
			a.tentative = false
		}
		a.move(attempt.PhaseReleased, func(m *call.LineMoved) { m.Machine = a.tentative })
	case attempt.PhaseReleased, attempt.PhaseAbandoned:
		a.over()
	}
}

// crash restarts the contact: it reports where it stands, and repeats its writes that were not
// durable.
func (a *actor) crash() {
	if len(a.inbox) > 0 || len(a.outbox) > 0 || a.unsaved > 0 || a.said {
		return
	}
	m := &Reported{Actor: "actor"}
	m.Row, m.Attempt, m.Phase, m.Seated = a.row, a.attempt, a.phase, a.seated
	if a.attempt == "" {
		m.Phase = attempt.PhaseOver
	}
	m.Tentative = a.tentative
	a.step = 0
	a.p.tell(m)
}
