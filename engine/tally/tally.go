// Package tally folds the events of a campaign's run into the counters and rates of the
// specification (SEMANTICS §13): the same figure from live actor state, from the tables and from
// the event log.
//
// It must not know the database or actors. A Tally is a fold: Apply every event of one run, in the
// order of its sequence, once.
//
// What it relies on in an event:
//
//   - Before and After are the facts of the contact that the event changed. An
//     event about several contacts has Count or, if they were of several kinds
//     (the end of a run, the beginning of the next), a move for each.
//   - ContactsReset restarts the count of its run: a run that was prepared,
//     discarded and prepared again has it twice.
//   - AttemptReserved and AttemptEnded come once for each attempt, in this
//     order, AttemptAnswered between them when it was answered, AttemptConnected
//     once for each conversation, AttemptRevised when it turned out to be none; all
//     but AttemptAnswered name the pass. An attempt whose intent the database refused
//     has both too, written together.
//   - ResultStored says Connected only for the first result of a connected attempt
//     (attempt.CountsResult): results may be repeated and corrected.
package tally

import (
	"maps"
	"slices"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Tally is the running fold.
type Tally struct{ C campaign.Counters }

// New returns the tally of an empty campaign.
func New() *Tally { return &Tally{C: campaign.Counters{States: map[contact.State]int{}}} }

// From continues from counters of the tables.
func From(c campaign.Counters) *Tally {
	c.States, c.Passes = maps.Clone(c.States), slices.Clone(c.Passes)
	if c.States == nil {
		c.States = map[contact.State]int{}
	}
	return &Tally{C: c}
}

// Apply folds one event.
func (t *Tally) Apply(e *journal.Event) { t.apply(e, 1) }

// Revoke reverses an event whose write was refused. The range of a pass's dials does not change:
// the event of the dial's end corrects it.
func (t *Tally) Revoke(e *journal.Event) { t.apply(e, -1) }

func (t *Tally) apply(e *journal.Event, sign int) {
	d := &e.Data
	n := sign
	if e.Type == journal.ContactsAdded {
		n *= d.Count
	}
	if e.Type == journal.ContactsReset && sign > 0 {
		*t = *New()
	}
	t.move(d.Before, d.After, n)
	for i := range d.Moves {
		m := &d.Moves[i]
		t.move(m.Before, m.After, sign*m.Count)
	}
	switch e.Type {
	case journal.AttemptReserved:
		p := t.C.Pass(d.Pass)
		p.Dialled(e.At)
		p.Live += sign
	case journal.AttemptAnswered:
		t.C.Answered += sign
		t.C.Decided += sign
	case journal.AttemptConnected:
		t.C.ConnectedCalls += sign
		t.C.LiveAnswers += sign
		t.C.Pass(d.Pass).Connected += sign
	case journal.AttemptRevised:
		if d.Connected {
			break // it had counted for good
		}
		// The row in the table no longer says that it was served.
		t.C.ConnectedCalls -= sign
		t.C.LiveAnswers -= sign
		t.C.Pass(d.Pass).Connected -= sign
	case journal.AttemptEnded:
		t.ended(d, sign)
	case journal.ResultStored:
		if d.Connected {
			t.C.ResultCalls += sign
		}
	default: // it changes only the facts
	}
}

// move moves n contacts from one kind to another; nil is outside.
func (t *Tally) move(before, after *contact.Facts, n int) {
	if before != nil {
		t.Contacts(before, -n)
	}
	if after != nil {
		t.Contacts(after, n)
	}
}

func (t *Tally) ended(d *journal.Data, sign int) {
	p := t.C.Pass(d.Pass)
	p.Live -= sign
	if d.ReservedAt != nil {
		p.Dialled(*d.ReservedAt)
	}
	if d.Consumed {
		t.C.Attempts += sign
		p.Consumed += sign
		if d.CallbackDelayMS != nil {
			t.C.Callbacks.Completed += sign
			t.C.Callbacks.DelayMS += sign * int(*d.CallbackDelayMS)
		}
	}
	if d.Consumed && !d.Answered {
		t.C.Decided += sign
	}
	if d.Connected {
		t.C.Conversations += sign
	}
	t.C.TalkMS += sign * int(d.TalkMS)
	switch d.Outcome { //nolint:exhaustive // the others count as attempts alone
	case engine.OutcomeMachine:
		t.C.MachineDetected += sign
	case engine.OutcomeAbandoned:
		t.C.LiveAnswers += sign
		if d.Cause == engine.AbandonCapacityLoss {
			t.C.CapacityLoss += sign
		}
	}
}

// Contacts adds n contacts with the same facts, or removes -n.
func (t *Tally) Contacts(f *contact.Facts, n int) {
	c := &t.C
	c.States[f.State] += n
	if c.States[f.State] == 0 {
		delete(c.States, f.State)
	}
	for _, x := range ofContacts {
		if k := x.Contact(f); k != 0 {
			*x.At(c, f.Awaits) += n * k
		}
	}
}

// Counters returns the counters with the derived figures.
func (t *Tally) Counters() campaign.Counters {
	c := t.C
	c.States = maps.Clone(t.C.States)
	c.Passes = slices.Clone(t.C.Passes)
	Rates(&c)
	return c
}

// Rates computes the derived figures: rates are nil while a denominator is 0.
func Rates(c *campaign.Counters) {
	c.TalkSeconds = float64(c.TalkMS) / 1000
	c.Abandoned = c.LiveAnswers - c.ConnectedCalls
	b := &c.Callbacks
	b.Requested = b.Pending + b.Completed + b.Cancelled
	for i := range c.Passes {
		p := &c.Passes[i]
		p.Attempted = p.Consumed + p.Live
		p.Eligible = p.Attempted + p.Awaiting
		p.Running = p.FirstDialAt != nil && p.Live+p.Waiting > 0
		rates(c, ofPasses, p.Number)
	}
	for n := len(c.Passes); n > 0 && c.Passes[n-1].Eligible == 0 && c.Passes[n-1].FirstDialAt == nil; n-- {
		c.Passes = c.Passes[:n-1] // of nobody
	}
	rates(c, ofCounts, 0)
}

func rates(c *campaign.Counters, of []*Figure, pass int) {
	for _, f := range of {
		at, part, over := f.rate(c, pass)
		*at = share(part, over)
	}
}

func share(a, b float64) *float64 {
	if b <= 0 {
		return nil
	}
	r := a / b
	return &r
}
