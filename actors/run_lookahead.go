package actors

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/pacing"
)

type (
	refilled struct {
		exhausted bool // nobody is open any more, and somebody used up its attempts
		rows      []contact.Contact
		next      *time.Time
		open      int
		err       error
	}
	overdue struct {
		look look
		rows []contact.Contact
	}
)

func (r *run) refill() {
	if r.refilling || r.sweeping != nil || (r.nextDue != nil && r.nextDue.After(r.now)) {
		return
	}
	r.refilling = true
	// A contact whose line lives is hardly ever due in the table; refilled()
	// leaves out the few whose intent is on its way there.
	except := r.queue.IDs(make([]engine.ContactID, 0, r.queue.Len()+len(r.loads)))
	for id := range r.lines {
		r.touched[id] = struct{}{}
	}
	for id := range r.loads {
		except = append(except, id)
		r.touched[id] = struct{}{}
	}
	if r.round != nil {
		for i := range r.round.cands {
			except = append(except, r.round.cands[i].row.ID)
		}
	}
	n := max(r.d.cfg.LookAhead-r.queue.Len(), r.d.cfg.LookAhead/2)
	d, id, self, now, order, run := r.d, r.id, r.self, r.now, r.order(), r.m.C.Run
	ends := !r.m.C.Settings.AlwaysOn
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m := &refilled{}
		m.rows, m.err = d.store.DueContacts(ctx, id, run, order, n, except)
		if m.err == nil {
			m.err = d.lookForAbandons(ctx, m.rows, now)
		}
		if m.err == nil && len(m.rows) < n {
			m.next, m.open, m.err = d.store.NextDue(ctx, id, run)
			if m.err == nil && m.open == 0 && ends { // all of it is durable then
				m.exhausted, m.err = d.store.Exhausted(ctx, id, run)
			}
		} else {
			m.open = -1
		}
		d.root.Send(self, m)
	}()
}

// lookForAbandons notes which of the contacts' numbers were abandoned of late.
func (d *deps) lookForAbandons(ctx context.Context, rows []contact.Contact, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	numbers := make([]engine.PhoneNumber, len(rows))
	for i := range rows {
		numbers[i] = rows[i].Number
	}
	found, err := d.store.AbandonedSince(ctx, numbers, now.Add(-pacing.SeatedAfterAbandon))
	for n, at := range found {
		d.abandons.add(n, at, now)
	}
	return err
}

func (r *run) refilled(m *refilled) {
	r.refilling = false
	expected := r.expected
	r.expected = nil
	touched := r.touched
	r.touched = map[engine.ContactID]struct{}{}
	if m.err != nil {
		if !passes(m.err) {
			r.d.log.Error().Err(m.err).Str("campaign_id", string(r.id)).Msg("look-ahead not loaded")
		}
		retry := r.now.Add(time.Second)
		r.nextDue = &retry
		r.setWake()
		return
	}
	if r.refillStale || r.sweeping != nil || r.over() {
		r.refillStale, r.refillAgain, r.nextDue = false, false, nil // of before all contacts were changed
		return
	}
	added := 0
	for i := range m.rows {
		row := &m.rows[i]
		if _, ok := touched[row.ID]; ok || r.lines[row.ID] != nil {
			continue
		}
		if r.excluded.Covers(row) {
			if !r.excluding(row) {
				// Stored, but a crash came before its contact: that one is owed still.
				reason, _ := r.excluded.Reason(row.Number, nil)
				r.touchRow(*row, &call.Exclude{Reason: reason})
			}
			continue
		}
		r.queue.Push(*row)
		added++
	}
	if r.refillAgain {
		r.refillAgain = false
		r.nextDue = nil
		return
	}
	if m.open < 0 { // the page was full: more are due now
		r.nextDue = nil
		return
	}
	r.openRows = m.open
	r.nextDue = nil
	// What is due now is in the queue or lives; the next look is when something
	// else becomes due, or soon, while a number hold delays a due contact.
	next := r.now.Add(time.Second)
	if m.next != nil && m.next.After(next) {
		next = *m.next
	}
	if m.next == nil {
		next = r.now.Add(5 * time.Second)
	}
	if expected != nil && expected.Before(next) {
		next = *expected
	}
	r.nextDue = &next
	r.setWake()
	if m.open == 0 {
		r.maybeExhausted(m.exhausted)
	}
}

// lookAgain makes the next pump ask the database, whatever it said before.
func (r *run) lookAgain() {
	r.nextDue = nil
	if r.refilling {
		r.refillAgain = true
	}
}

// dropLookAhead forgets the rows at hand, whose contacts the database is about
// to change.
func (r *run) dropLookAhead() {
	r.queue.Clear()
	if r.round != nil {
		if r.round.touched == nil {
			r.round.touched = map[engine.ContactID]struct{}{}
		}
		for i := range r.round.cands {
			if c := &r.round.cands[i]; c.trigger == nil {
				r.round.touched[c.row.ID] = struct{}{}
			}
		}
	}
	r.lookAgain()
	r.refillStale = r.refilling
}

// maybeExhausted completes the run when no contact will ever be due again.
// exhausted says whether any of them used up its attempts.
func (r *run) maybeExhausted(exhausted bool) {
	if r.m.C.State != campaign.Running || r.openRows != 0 || r.queue.Len() > 0 || len(r.lines) > 0 ||
		len(r.loads) > 0 || len(r.triggers) > 0 || r.round != nil || len(r.ops) > 0 || r.activation != nil || r.sweeping != nil || r.adding > 0 {
		return
	}
	// A running campaign takes it.
	_ = r.applyCampaign(campaign.Event{Kind: campaign.Exhausted, At: r.now, Reason: campaign.Complete(r.tally.C, exhausted)})
}
