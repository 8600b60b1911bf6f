package sim

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// write is one atomic step on its way to what is durable.
type write struct {
	d       *dossier
	line    *contactLine // whose contact, attempt and step it carries; nil: the run's own
	step    int
	contact *contact.Contact
	attempt *attempt.Attempt
	intent  bool
	held    bool          // the hold of the attempt's number ends …
	until   time.Duration // … then, 0: now
	events  []journal.Event
	row     *campaign.Campaign
	block   engine.PhoneNumber
	bulk    func() // changes of many rows
	then    func(err error)
}

// submit queues a write; writes become durable in their order, several at once
// when they come while one is under way.
func (w *office) submit(x *write) {
	w.writes = append(w.writes, x)
	w.commitSoon()
}

func (w *office) commitSoon() {
	if w.committing || w.dbAway > 0 || len(w.writes) == 0 || w.life == 0 {
		return
	}
	w.committing = true
	n := len(w.writes)
	w.after(w.commit, func() {
		if w.dbAway == 0 { // else it went away in between: nothing was taken
			w.take(n)
		}
		w.committing = false
		w.commitSoon()
	})
}

// take makes the first writes durable, one by one: who counts anew meanwhile
// finds each either on its way or in the tables.
func (w *office) take(n int) {
	for range n {
		x := w.writes[0]
		w.writes[0] = nil
		w.writes = w.writes[1:]
		err := w.apply(x)
		if x.line != nil {
			x.line.durable(x, err)
		} else if x.then != nil {
			x.then(err)
		}
	}
}

func (w *office) apply(x *write) error {
	d := x.d
	if x.intent {
		n := x.attempt.To
		if h, ok := w.holds[n]; ok && h.attempt != x.attempt.ID && (h.until == 0 || w.now < h.until) {
			return journal.ErrNumberHeld
		}
		if w.blocked[n] {
			return journal.ErrSuppressed
		}
		w.holds[n] = hold{attempt: x.attempt.ID}
	}
	if a := x.attempt; a != nil {
		d.store(w, a)
		if x.held {
			if h, ok := w.holds[a.To]; ok && h.attempt == a.ID {
				if x.until == 0 {
					delete(w.holds, a.To)
				} else {
					w.holds[a.To] = hold{a.ID, x.until}
				}
			}
		}
	}
	if x.contact != nil {
		d.put(x.line.i, x.contact)
	}
	for i := range x.events {
		d.fold.Apply(&x.events[i])
	}
	if x.row != nil {
		d.c = *x.row
	}
	if x.block != "" {
		w.blocked[x.block] = true
	}
	if x.bulk != nil {
		x.bulk()
	}
	return nil
}

// store keeps an attempt as it stands.
func (d *dossier) store(w *office, a *attempt.Attempt) {
	old := d.live[a.ID]
	if kept := d.kept[a.ID]; kept != nil {
		old = kept
	}
	if old != nil && old.State == attempt.Ended && a.State != attempt.Ended {
		return
	}
	if a.ServedAt != nil && (old == nil || old.ServedAt == nil) {
		d.answers = append(d.answers, liveAnswer{at: a.ServedAt.Add(w.offset).UnixNano()})
	}
	if a.State != attempt.Ended {
		d.live[a.ID] = a
		return
	}
	if a.ServedAt == nil && a.Outcome == engine.OutcomeAbandoned && (old == nil || old.State != attempt.Ended) {
		d.answers = append(d.answers, liveAnswer{a.EndedAt.Add(w.offset).UnixNano(), true})
		w.abandoned[a.To] = *a.EndedAt
	}
	w.check.ended(d, a, old)
	if a.OpenLeg() {
		d.live[a.ID] = a // its legs are watched still
		return
	}
	delete(d.live, a.ID)
	if !w.in.Large || d.reports[a.ID] > 0 {
		d.kept[a.ID] = a
	}
}

func (d *dossier) put(i int32, c *contact.Contact) {
	before := d.book.open(i)
	d.book.put(i, c)
	d.reckon(before, d.book.open(i))
}

func (d *dossier) reckon(before, after bool) {
	switch {
	case before && !after:
		d.open--
	case after && !before:
		d.open++
	}
}

// ledger counts the live answers since a time, as the database does: those
// served and abandoned, and those about to be.
func (d *dossier) ledger(since time.Time) (live, abandoned int) {
	s := since.UnixNano()
	for _, a := range d.answers {
		if a.at >= s {
			live++
			if a.abandoned {
				abandoned++
			}
		}
	}
	for _, a := range d.live {
		if a.State != attempt.Ended && a.ServedAt == nil && a.Ending != nil && a.Ending.Outcome == engine.OutcomeAbandoned && !a.AnsweredAt.Before(since) {
			live++
			abandoned++
		}
	}
	return live, abandoned
}

// closeWaiting moves every waiting contact of the run to a final state.
func (d *dossier) closeWaiting(w *office, as contact.State, reason string) {
	kind := contact.RunStopped
	if as == contact.WindowClosed {
		kind = contact.WindowEnded
	}
	d.each(w, kind, func(c *contact.Machine) { c.C.Reason = reason }, func(i int32) bool { return d.book.waits(i) })
}

// each applies an event to the rows that it is for, and folds it.
func (d *dossier) each(w *office, kind contact.Kind, also func(*contact.Machine), concerns func(int32) bool) {
	type change struct{ before, after contact.Facts }
	counts := map[change]int{}
	var order []change
	for i := range int32(len(d.book.rows)) { //nolint:gosec // bounded by the plan
		if !concerns(i) {
			continue
		}
		m := contact.Machine{C: d.book.get(i)}
		before := m.C.Facts()
		if err := m.Apply(contact.Event{Kind: kind, At: w.wall(), Policy: contact.Policy{MaxAttempts: d.c.Settings.MaxAttempts}, Run: d.c.Run}); err != nil {
			w.check.illegal(d, err)
			continue
		}
		if also != nil {
			also(&m)
		}
		open := d.book.open(i)
		d.book.set(i, &m.C)
		d.reckon(open, d.book.open(i))
		c := change{before, m.C.Facts()}
		if counts[c]++; counts[c] == 1 {
			order = append(order, c)
		}
	}
	e := journal.Event{Campaign: d.c.ID, Run: d.c.Run, At: w.wall(), Type: journal.ContactsClosed}
	if kind == contact.RunReset { // what they were is the figure of the run before
		e.Type = journal.ContactsReset
	}
	for _, c := range order {
		m := journal.Move{Before: &c.before, After: &c.after, Count: counts[c]}
		if kind == contact.RunReset {
			m.Before = nil
		}
		e.Data.Moves = append(e.Data.Moves, m)
	}
	d.fold.Apply(&e)
}

// recount counts everything anew from what is stored.
func (d *dossier) recount(run int) campaign.Counters {
	t := tally.New()
	for i := range int32(len(d.book.rows)) { //nolint:gosec // bounded by the plan
		c := d.book.get(i)
		f := c.Facts()
		t.Contacts(&f, 1)
	}
	for _, list := range []map[engine.AttemptID]*attempt.Attempt{d.live, d.kept} {
		for _, a := range list {
			if a.Run == run {
				t.Attempt(a)
			}
		}
	}
	return t.Counters()
}
