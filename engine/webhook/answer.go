package webhook

import (
	"time"

	"dialler/engine"
)

// Answer is the result of one try.
type Answer struct {
	Status     int           // 0 means that there was none
	RetryAfter time.Duration // requested by the server, 0 if it did not
	Body       string        // its first ExcerptCap bytes
	// Problem is why there was no answer, as a stable code: refused, timeout, tls, dns,
	// address_forbidden, broken, url.
	Problem string
	Took    time.Duration
}

// ExcerptCap is how much of an answer is stored, in bytes.
const ExcerptCap = 1024

// waits are the delays between tries; the first try is made at once.
var waits = [...]time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}

// Tries is how often a message is sent at most.
const Tries = len(waits) + 1

const (
	// askedCap limits the wait that a server may request.
	askedCap = 24 * time.Hour
	// spread is the maximum random extension of a wait, so that messages that failed together are
	// not retried together.
	spread = 0.1
)

// Verdict is the consequence of an answer.
type Verdict struct {
	State DeliveryState
	Wait  time.Duration // until the next try, if pending
	// Disable is why nothing more must be sent to the endpoint, "" if that is allowed.
	Disable string
	// Forget says that the address which a request named is to be told nothing more.
	Forget bool
}

// OfAddress is the verdict on a message to an address that a request named. Its answers say nothing of the endpoint,
// which others depend on: what would disable that only has the address forgotten.
func (v Verdict) OfAddress() Verdict {
	v.Forget, v.Disable = v.Disable != "", ""
	return v
}

// Judge decides the consequence of the answer to a try: tries counts the tries so far, this one
// included; worked says whether anything was delivered there since the message was created; chance is from [0, 1).
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

// DeliveryState is the state of one message for one endpoint.
type DeliveryState string

const (
	Pending   DeliveryState = "pending" // it is being sent, or will be sent again at its time
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed" // not retried unless it is replayed
)

// DeliveryStates lists them.
var DeliveryStates = []DeliveryState{Pending, Delivered, Failed}

// Problems of a message that was not sent when it was due.
const (
	ProblemInactive = "endpoint_inactive" // the endpoint was inactive
	ProblemCampaign = "other_campaign"    // the endpoint is no longer told of its campaign
	ProblemAddress  = "other_address"     // the endpoint no longer permits the address that a request named
)

// Delivery is one message to one endpoint, as the log shows it.
type Delivery struct {
	ID        int64 // grows with time
	Message   string
	Type      string
	Campaign  engine.CampaignID
	Attempt   engine.AttemptID // "" if it is about none
	Own       bool             // it goes to an address that a request named
	State     DeliveryState
	Tries     int
	Status    int    // of the last answer, 0 = none came
	Problem   string // why none came
	Excerpt   string // of its body
	CreatedAt time.Time
	TriedAt   *time.Time
	NextAt    *time.Time // if pending
}

// DeliveryQuery asks for a part of the log, newest first.
type DeliveryQuery struct {
	Before int64               // 0 means from the newest on
	State  DeliveryState       // "": all
	Of     []engine.CampaignID // messages of other campaigns are left out, tests are not; nil: none is left out
	Size   int
}
