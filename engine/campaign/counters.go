package campaign

import (
	"time"

	"dialler/engine/contact"
)

// Counters are the specification's campaign counters and rates (formulas:
// engine/tally). Rates are shares in 0…1, nil while their denominator is 0.
type Counters struct {
	Total           int      `json:"total"`
	Pending         int      `json:"pending"`
	Connected       int      `json:"connected"`
	Completed       int      `json:"completed"`
	Unanswered      int      `json:"unanswered"`
	Failed          int      `json:"failed"`
	Excluded        int      `json:"excluded"`
	RetriesLeft     int      `json:"retries_left"`
	Abandoned       int      `json:"abandoned"`
	MachineDetected int      `json:"machine_detected"`
	WindowClosed    int      `json:"window_closed"`
	ManuallyStopped int      `json:"manually_stopped"`
	Expired         int      `json:"expired"`
	Attempts        int      `json:"attempts"`      // consumed
	Answered        int      `json:"answered"`      // from the answer on
	Decided         int      `json:"decided"`       // answered, or ended and consumed: denominator of the answer rate
	Conversations   int      `json:"conversations"` // connected attempts that ended
	ConnectedCalls  int      `json:"connected_calls"`
	ResultCalls     int      `json:"result_calls"` // connected attempts with a result
	LiveAnswers     int      `json:"live_answers"` // served + abandoned
	CapacityLoss    int      `json:"capacity_loss"`
	TalkSeconds     float64  `json:"talk_s"`
	AnswerRate      *float64 `json:"answer_rate"`
	CompletionRate  *float64 `json:"completion_rate"`
	AbandonRate     *float64 `json:"abandon_rate"`
	AHTSeconds      *float64 `json:"aht_s"`
	Progress        *float64 `json:"progress"`
	// States counts contacts by state; the sum is Total.
	States map[contact.State]int `json:"states"`

	Passes    []Pass    `json:"-"` // shown beside the counters
	Callbacks Callbacks `json:"-"`
	TalkMS    int       `json:"-"` // TalkSeconds, exactly
}

// Pass is a row of the pass breakdown: pass n is the set of the contacts' nth attempts in a run.
// Everything is counted by attempts, so that a contact that was reopened, and has another first
// attempt, is in its pass twice.
type Pass struct {
	Number int `json:"pass"`
	// Eligible became due for the pass: they were attempted, or are waiting for it, or were when
	// they were closed. A contact excluded while it waits is in none.
	Eligible  int `json:"eligible"`
	Attempted int `json:"attempted"` // consumed attempts, and live ones
	Connected int `json:"connected"`
	// ConnectedRate is Connected / Attempted, nil while nobody was attempted.
	ConnectedRate *float64 `json:"connected_rate"`
	// FirstDialAt and LastDialAt are when the first and the last dial of the pass began, unconsumed
	// ones included.
	FirstDialAt *time.Time `json:"first_dial_at"`
	LastDialAt  *time.Time `json:"last_dial_at"`
	// Running says that it has begun, and that an attempt is live or a contact still waits.
	Running bool `json:"running"`

	// Counted by the fold and the tables; the other fields are derived from these.
	Consumed int `json:"-"` // attempts that ended and count
	Live     int `json:"-"` // attempts that live
	Awaiting int `json:"-"` // contacts that wait for it, or did when they were closed
	Waiting  int `json:"-"` // how many of them may still be dialled
}

// Callbacks are the figures of the callbacks panel: the fate of each callback of this run, a
// contact's second included. Requested is the sum of the others. The call list filters contacts by
// their newest callback (contact.CallbackState.Covers).
type Callbacks struct {
	Requested int `json:"requested"` // by a result, granted or not, or promised by an operator
	Pending   int `json:"pending"`   // to come, or being dialled
	Completed int `json:"completed"` // dialled: consumed attempts for a callback
	Cancelled int `json:"cancelled"` // refused, dropped, or replaced by a newer one
	// MeanDelaySeconds is how long after their time the completed callbacks were dialled, nil
	// before the first.
	MeanDelaySeconds *float64 `json:"mean_delay_s"`

	DelayMS int `json:"-"` // the sum of their delays
}

// passesCap limits the number of rows, whatever an event or a row says.
const passesCap = 1000

// Pass returns the row of pass n, and adds it if there is none.
func (c *Counters) Pass(n int) *Pass {
	n = min(max(n, 1), passesCap)
	for len(c.Passes) < n {
		c.Passes = append(c.Passes, Pass{Number: len(c.Passes) + 1})
	}
	return &c.Passes[n-1]
}

// Dialled extends the pass's range to include the time of a dial.
func (p *Pass) Dialled(at time.Time) {
	at = at.UTC().Truncate(time.Microsecond) // as stored in the database
	if p.FirstDialAt == nil || at.Before(*p.FirstDialAt) {
		p.FirstDialAt = &at
	}
	if p.LastDialAt == nil || at.After(*p.LastDialAt) {
		p.LastDialAt = &at
	}
}
