package webhook

import (
	"time"

	"dialler/engine"
)

// Answer is what came of one try.
type Answer struct {
	Status     int           // 0: there was none
	RetryAfter time.Duration // that the server asked for, 0 when it did not
	Body       string        // its first ExcerptCap bytes
	// Problem is why there was no answer, a stable code: refused, timeout, tls,
	// dns, address_forbidden, broken, url.
	Problem string
	Took    time.Duration
}

// ExcerptCap is how much of an answer is kept, in bytes.
const ExcerptCap = 1024

// waits are the times from one try to the next; the first is made at once.
var waits = [...]time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}

// Tries is how often a message is sent, at most.
const Tries = len(waits) + 1

const (
	// askedCap bounds the wait that a server may ask for.
	askedCap = 24 * time.Hour
	// spread is by how much a wait is longer, at most: what failed together is not
	// tried again together.
	spread = 0.1
)

// Verdict is what an answer means.
type Verdict struct {
	State DeliveryState
	Wait  time.Duration // of one that is pending: until the next try
	// Disable is why the endpoint must not be told anything more, "" = it may.
	Disable string
}

// Judge says what the answer to a try means: tries counts those that were made,
// this one included; worked says whether anything was delivered to the endpoint
// since the message was made; chance is from [0, 1).
func Judge(a *Answer, tries int, worked bool, chance float64) Verdict {
	switch {
	case a.Status >= 200 && a.Status < 300:
		return Verdict{State: Delivered}
	case a.Status == 410:
		return Verdict{State: Failed, Disable: DisabledGone}
	case tries >= Tries && !worked:
		return Verdict{State: Failed, Disable: DisabledFailing}
	case tries >= Tries:
		return Verdict{State: Failed}
	}
	wait := waits[max(tries, 1)-1]
	switch a.Status {
	case 429, 502, 503, 504:
		wait = max(wait, min(a.RetryAfter, askedCap))
	}
	return Verdict{State: Pending, Wait: wait + time.Duration(spread*chance*float64(wait))}
}

// DeliveryState of one message to one endpoint.
type DeliveryState string

const (
	Pending   DeliveryState = "pending" // it is sent now, or again at its time
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed" // it is not tried again, unless it is replayed
)

// DeliveryStates lists them.
var DeliveryStates = []DeliveryState{Pending, Delivered, Failed}

// ProblemInactive: the endpoint was inactive when the message's turn came.
const ProblemInactive = "endpoint_inactive"

// Delivery is one message to one endpoint, as the log shows it.
type Delivery struct {
	ID        int64 // grows with time
	Message   string
	Type      string
	Campaign  engine.CampaignID
	State     DeliveryState
	Tries     int
	Status    int    // of the last answer, 0 = none came
	Problem   string // why none came
	Excerpt   string // of its body
	CreatedAt time.Time
	TriedAt   *time.Time
	NextAt    *time.Time // of one that is pending
}

// DeliveryQuery is a part of the log, newest first.
type DeliveryQuery struct {
	Before int64         // 0: from the newest on
	State  DeliveryState // "": all
	Size   int
}
