// Package tally folds the events of a campaign's run into the counters and
// rates of the specification (SEMANTICS §13): the same figure from live actor
// state, from the tables and from the event log.
//
// It must not know the database or actors. A Tally is a fold: Apply every
// event of one run, in the order of its sequence, once.
//
// What it relies on in an event:
//
//   - Before and After are the facts of the contact that the event changed. An
//     event about several contacts has Count, and speaks of as many with the
//     same facts: the end of a run is one event for each kind of waiting contact.
//   - AttemptConnected comes once for each conversation, AttemptEnded once for
//     each attempt.
//   - ResultStored says Connected for the first result of a connected attempt
//     only (attempt.CountsResult): results may be repeated and corrected.
package tally

import (
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Tally is the running fold.
type Tally struct{ C campaign.Counters }

// New is an empty campaign.
func New() *Tally { return &Tally{C: campaign.Counters{States: map[contact.State]int{}}} }

// From goes on from counters that the tables gave.
func From(c campaign.Counters) *Tally {
	if c.States == nil {
		c.States = map[contact.State]int{}
	}
	return &Tally{C: c}
}

// Apply folds one event.
func (t *Tally) Apply(e *journal.Event) {
	d := &e.Data
	n := 1
	if e.Type == journal.ContactsAdded || d.Count > 0 {
		n = d.Count
	}
	if d.Before != nil {
		t.facts(d.Before, -n)
	}
	if d.After != nil {
		t.facts(d.After, n)
	}
	switch e.Type {
	case journal.AttemptConnected:
		t.C.ConnectedCalls++
		t.C.LiveAnswers++
	case journal.AttemptEnded:
		t.ended(d)
	case journal.ResultStored:
		if d.Connected {
			t.C.ResultCalls++
		}
	default: // the facts before and after are all that it changes
	}
}

func (t *Tally) ended(d *journal.Data) {
	if d.Consumed {
		t.C.Attempts++
	}
	if d.Answered {
		t.C.Answered++
	}
	if d.Connected {
		t.C.Conversations++
	}
	t.C.TalkSeconds += float64(d.TalkMS) / 1000
	if d.Outcome == engine.OutcomeAbandoned {
		t.C.LiveAnswers++
		if d.Cause == engine.AbandonCapacityLoss {
			t.C.CapacityLoss++
		}
	}
}

func (t *Tally) facts(f *contact.Facts, n int) {
	c := &t.C
	c.Total += n
	c.States[f.State] += n
	if c.States[f.State] == 0 {
		delete(c.States, f.State)
	}
	if f.Used == 0 && f.Open {
		c.Pending += n
	}
	if f.Connected {
		c.Connected += n
	}
	if f.Result {
		c.Completed += n
	}
	if f.Unanswered {
		c.Unanswered += n
	}
	if f.Open {
		c.RetriesLeft += n * max(0, f.Max-f.Used)
	}
	switch f.State {
	case contact.Abandoned:
		c.Abandoned += n
	case contact.MachineDetected:
		c.MachineDetected += n
	case contact.WindowClosed:
		c.WindowClosed += n
	case contact.ManuallyStopped:
		c.ManuallyStopped += n
	case contact.Failed:
		c.Failed += n
	case contact.Excluded:
		c.Excluded += n
	case contact.Pending, contact.Unanswered, contact.Connected, contact.Completed:
	}
}

// Counters gives the counters with their rates worked out.
func (t *Tally) Counters() campaign.Counters {
	c := t.C
	c.States = make(map[contact.State]int, len(t.C.States))
	for s, n := range t.C.States {
		c.States[s] = n
	}
	Rates(&c)
	return c
}

// Rates works out the rates of counters: nil while a denominator is 0.
func Rates(c *campaign.Counters) {
	share := func(a, b float64) *float64 {
		if b <= 0 {
			return nil
		}
		r := a / b
		return &r
	}
	c.AnswerRate = share(float64(c.Answered), float64(c.Attempts))
	c.CompletionRate = share(float64(c.ResultCalls), float64(c.ConnectedCalls))
	c.AbandonRate = share(float64(c.LiveAnswers-c.ConnectedCalls), float64(c.LiveAnswers))
	c.AHTSeconds = share(c.TalkSeconds, float64(c.Conversations))
	processed := 0
	for s, n := range c.States {
		if s.Processed() {
			processed += n
		}
	}
	c.Progress = share(float64(processed), float64(c.Total-c.Excluded))
}
