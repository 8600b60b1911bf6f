package campaign

import "time"

// Pass is a row of the pass breakdown: pass n is the set of the contacts' nth
// attempts in a run. All of it is counted by attempts, so that a contact that
// was opened again, and has a first attempt once more, is in its pass twice.
type Pass struct {
	Number int `json:"pass"`
	// Eligible became due for the pass: they were attempted, or they are or were
	// in line for it when they were closed. Who is excluded while he waits is in
	// none.
	Eligible  int `json:"eligible"`
	Attempted int `json:"attempted"` // consumed attempts, and those that live
	Connected int `json:"connected"`
	// ConnectedRate is Connected / Attempted, nil while nobody was attempted.
	ConnectedRate *float64 `json:"connected_rate"`
	// FirstDialAt and LastDialAt are when its first and its last dial were
	// begun, those that did not count among them.
	FirstDialAt *time.Time `json:"first_dial_at"`
	LastDialAt  *time.Time `json:"last_dial_at"`
	// Running: it has begun, and an attempt lives or a contact still waits.
	Running bool `json:"running"`

	// What the fold and the tables count; the rest is worked out of it.
	Consumed int `json:"-"` // attempts that ended and count
	Live     int `json:"-"` // attempts that live
	Awaiting int `json:"-"` // contacts in line, or that were when they were closed
	Waiting  int `json:"-"` // of those, who may still be dialled
}

// Callbacks are the figures of the callbacks panel: contacts by what became of
// the callback that they asked for last, in this run.
type Callbacks struct {
	Requested int `json:"requested"` // all of them
	Pending   int `json:"pending"`   // still to come
	Completed int `json:"completed"` // dialled
	Cancelled int `json:"cancelled"`
	// MeanDelaySeconds is how long after their time callbacks were dialled, nil
	// before the first.
	MeanDelaySeconds *float64 `json:"mean_delay_s"`

	Calls   int   `json:"-"` // consumed attempts for a callback
	DelayMS int64 `json:"-"` // the sum of their delays
}

// passesCap bounds the rows, whatever an event or a row says.
const passesCap = 1000

// Pass gives the row of pass n, which is added when there is none.
func (c *Counters) Pass(n int) *Pass {
	n = min(max(n, 1), passesCap)
	for len(c.Passes) < n {
		c.Passes = append(c.Passes, Pass{Number: len(c.Passes) + 1})
	}
	return &c.Passes[n-1]
}

// Dialled takes the moment of a dial into the pass's range.
func (p *Pass) Dialled(at time.Time) {
	at = at.UTC().Truncate(time.Microsecond) // what the database keeps
	if p.FirstDialAt == nil || at.Before(*p.FirstDialAt) {
		p.FirstDialAt = &at
	}
	if p.LastDialAt == nil || at.After(*p.LastDialAt) {
		p.LastDialAt = &at
	}
}
