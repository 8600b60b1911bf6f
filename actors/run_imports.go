package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
)

// The run's side of imports (ADR 11). While rows of a file are being inserted
// their numbers are locked in the database: whoever inserted one of them would
// wait for the switch, and with it the group commit of every campaign of its
// writer. So the run keeps such additions until the switch is over: lists of
// contacts, and triggers whose number is staged. Between the gate and the end,
// a few milliseconds, it also keeps what the new rows would miss: exclusions
// and lifecycle commands.

// activation is a switch that is under way.
type activation struct {
	id engine.ImportID
	// Before it begins, what adds contacts already must be done: triggers that
	// are older than before are stored, no list is being added.
	before int
	begin  chan<- *answer // who waits for that, nil once answered
	since  time.Time
	gated  bool
}

type (
	// mayImport asks whether the campaign takes contacts; answered with
	// importTerms.
	mayImport   struct{ to chan<- *answer }
	importTerms struct{ Sticky bool }
	// beginActivation asks for the same, and for the moment when no addition is
	// under way; answered with activationStart.
	beginActivation struct {
		id engine.ImportID
		to chan<- *answer
	}
	activationStart struct {
		Run, Max int
		Sticky   bool
		At       time.Time
	}
	activationGoesOn struct{ id engine.ImportID }
	// closeGate asks for the event's place in the sequence; answered with
	// gatePass once everything that was let through before is durable.
	closeGate struct {
		id  engine.ImportID
		run int
		to  chan<- *answer
	}
	gatePass struct {
		Epoch, Seq int64
		At         time.Time
	}
	activationEnded struct {
		id    engine.ImportID
		done  bool
		epoch int64 // of the run that let it pass
		event journal.Event
		out   journal.Activated
	}
	activationDue struct{ id engine.ImportID }
	parkedLate    struct{}
)

// parked is a command that waits for the end of a switch.
type parked struct {
	msg    any
	sender *actor.PID
	until  time.Time
}

const (
	// drainTimeout bounds how long a switch waits for additions under way; past
	// it the worst is that a trigger waits for the switch.
	drainTimeout = 5 * time.Second
	// parkTimeout is how long a command without a deadline waits; those with one
	// are answered a little before it.
	parkTimeout = 8 * time.Second
	parkMargin  = 200 * time.Millisecond
)

// answerTo answers a question once, however often it was asked.
func answerTo(to chan<- *answer, value any, err error) {
	select {
	case to <- &answer{value, err}:
	default:
	}
}

// mayAdd says whether contacts can be added now: the campaign's table decides.
func (r *run) mayAdd() error {
	switch {
	case r.m.C.ID == "":
		return errCampaignNotFound
	case r.storing:
		return engine.Conflict("contacts_locked", "the contacts are being prepared or removed; nothing can be added now")
	}
	m := r.m
	_, err := m.Apply(campaign.Event{Kind: campaign.AddRows, At: r.now}, nil)
	return err
}

func (r *run) importing(msg any) {
	switch m := msg.(type) {
	case *mayImport:
		answerTo(m.to, importTerms{Sticky: r.m.C.Settings.StickyExclusion}, r.mayAdd())
	case *beginActivation:
		r.beginActivation(m)
	case *activationDue:
		if a := r.activation; a != nil && a.id == m.id {
			r.drained()
		}
	case *activationGoesOn:
		if r.activation == nil {
			r.activation = &activation{id: m.id} // begun with an earlier life of this run
		}
	case *closeGate:
		r.closeGate(m)
	case *activationEnded:
		r.activationEnded(m)
	case *call.Stored:
		r.settled(m.Number)
	case *parkedLate:
		r.refuseLate()
	}
}

func (r *run) beginActivation(m *beginActivation) {
	err := r.mayAdd()
	if err == nil && r.activation != nil && r.activation.id != m.id {
		err = engine.Conflict("import_in_progress", "another file is being imported into this campaign")
	}
	if err != nil {
		answerTo(m.to, nil, err)
		return
	}
	if a := r.activation; a != nil {
		a.begin = m.to
	} else {
		r.additions++
		r.activation = &activation{id: m.id, before: r.additions, begin: m.to, since: r.now}
		r.d.after(drainTimeout, r.self, &activationDue{m.id})
	}
	r.drained()
}

// drained lets the switch begin once no addition is under way that was not
// weighed against the staged rows.
func (r *run) drained() {
	a := r.activation
	if a == nil || a.begin == nil {
		return
	}
	if r.now.Sub(a.since) < drainTimeout {
		if r.adding > 0 {
			return
		}
		for _, n := range r.fresh {
			if n < a.before {
				return
			}
		}
	}
	to := a.begin
	a.begin = nil
	r.afterWrites(func() {
		answerTo(to, activationStart{Run: r.m.C.Run, Max: r.m.C.Settings.MaxAttempts, Sticky: r.m.C.Settings.StickyExclusion, At: r.now}, nil)
	})
}

// settled: a trigger's contact is stored, or will not be.
func (r *run) settled(n engine.PhoneNumber) {
	if _, ok := r.fresh[n]; ok {
		delete(r.fresh, n)
		r.drained()
	}
}

// closeGate: the campaign must still be in the run that the rows were made
// for. A pause since then does not matter: they wait with the others.
func (r *run) closeGate(m *closeGate) {
	a := r.activation
	err := r.mayAdd()
	if r.m.C.State == campaign.Paused {
		err = nil
	}
	switch {
	case err != nil:
	case a == nil || a.id != m.id:
		err = engine.Unavailable("import_unknown", "the campaign was restarted while the file was imported; nothing was added, upload it again", time.Second)
	case r.m.C.Run != m.run:
		err = engine.Conflict("contacts_locked", "the campaign is in another run by now; nothing was added")
	}
	if err != nil {
		answerTo(m.to, nil, err)
		return
	}
	a.gated = true
	r.afterWrites(func() {
		r.m.C.Seq++
		answerTo(m.to, gatePass{Epoch: r.m.C.Epoch, Seq: r.m.C.Seq, At: r.now}, nil)
	})
}

func (r *run) gated() bool { return r.activation != nil && r.activation.gated }

// activationEnded takes the new contacts in and goes on with what waited.
func (r *run) activationEnded(m *activationEnded) {
	if a := r.activation; a == nil || a.id == m.id {
		r.activation = nil
	}
	if m.done {
		for _, n := range m.out.Lifted {
			r.excluded.DropNumber(n)
		}
		r.readmit(m.out.Readmit)
		// A run that was loaded since then has counted them in the tables.
		if m.epoch == r.m.C.Epoch && r.tally != nil && m.out.Import.Added > 0 {
			ev := m.event
			ev.Data.Count = m.out.Import.Added
			r.tally.Apply(&ev)
			r.live.Note(&ev)
		}
	}
	if r.m.C.ID != "" {
		r.lookAgain()
	}
	waiting := r.parked
	r.parked = nil
	for _, p := range waiting {
		if !r.now.Before(p.until) {
			r.refuseParked(p)
			continue
		}
		r.handle(p.msg, p.sender)
	}
}

// park keeps a command that has to wait for the end of the switch.
func (r *run) park(msg any, sender *actor.PID) bool {
	if r.activation == nil {
		return false
	}
	switch msg.(type) {
	case *addRows:
	case *act, *actReady, *exclude, *lift:
		if !r.activation.gated {
			return false
		}
	default:
		return false
	}
	r.parkNow(msg, sender)
	return true
}

func (r *run) parkNow(msg any, sender *actor.PID) {
	var deadline time.Time
	switch m := msg.(type) {
	case *exclude:
		deadline = m.cmd.Deadline
	case *lift:
		deadline = m.cmd.Deadline
	case *trigger:
		deadline = m.cmd.Deadline
	}
	until := deadline.Add(-parkMargin)
	if deadline.IsZero() {
		until = r.now.Add(parkTimeout)
	}
	r.parked = append(r.parked, parked{msg, sender, until})
	r.d.after(until.Sub(r.now), r.self, &parkedLate{})
}

func (r *run) refuseLate() {
	keep := r.parked[:0]
	for _, p := range r.parked {
		if r.now.Before(p.until) {
			keep = append(keep, p)
			continue
		}
		r.refuseParked(p)
	}
	clear(r.parked[len(keep):])
	r.parked = keep
}

// overtakeParked refuses the triggers that wait for the end of a switch and
// that an exclusion concerns.
func (r *run) overtakeParked(cmd *campaign.Exclude) {
	keep := r.parked[:0]
	for _, p := range r.parked {
		if t, ok := p.msg.(*trigger); ok && exclusion.Concerns(cmd.Number, cmd.Match, t.cmd.Number, t.cmd.Variables) {
			reply(r.d, p.sender, nil, errContactExcluded)
			continue
		}
		keep = append(keep, p)
	}
	clear(r.parked[len(keep):])
	r.parked = keep
}

var errImportActivating = engine.Unavailable("import_activating", "a file is being imported into this campaign; nothing was done, try again", time.Second)

// asks is who waits for the answer.
func (p *parked) asks() *actor.PID {
	if m, ok := p.msg.(*actReady); ok {
		return m.replyTo
	}
	return p.sender
}

func (r *run) refuseParked(p parked) { reply(r.d, p.asks(), nil, errImportActivating) }

// newContact is a contact that a trigger makes; until it is stored a switch
// that has not begun waits for it.
func (r *run) newContact(cmd *campaign.Trigger) contact.Contact {
	now := r.now
	r.fresh[cmd.Number] = r.additions
	return contact.Contact{
		ID: newContactID(now), Campaign: r.id, Number: cmd.Number, Variables: cmd.Variables, Position: now.UnixMicro(),
		Source: "trigger", Run: r.m.C.Run, State: contact.Pending, Max: r.m.C.Settings.MaxAttempts, DueAt: &now,
		DueClass: contact.DueTrigger, DuePass: 1, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// activating is the import whose numbers are locked, "" when there is none.
func (r *run) activating() engine.ImportID {
	if r.activation == nil {
		return ""
	}
	return r.activation.id
}
