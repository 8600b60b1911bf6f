package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Dialout is a request for one call outside campaigns.
type Dialout struct {
	BotID     string            `json:"bot_id"`
	ToNumber  string            `json:"to_number"`             // E.164 with plus
	From      string            `json:"from_number,omitempty"` // one of the dialler's numbers; chosen when ""
	Variables map[string]string `json:"variables,omitempty"`
	// Targets are where the bot may transfer the call: numbers, sip: or tel: addresses.
	Targets []string `json:"transfer_targets,omitempty"`
	// NotBefore schedules the call; it is placed then, and not from ExpiresAt on (an hour later unless
	// given). Priority, 0 to 9, orders those that wait; 5 if nil.
	NotBefore time.Time `json:"not_before,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Priority  *int      `json:"priority,omitempty"`
	// StatusCallback is told of the call's progress, below the URL of a webhook that allows it, of StatusEvents or,
	// without, of all: call.initiated, call.ringing, …
	StatusCallback string   `json:"status_callback,omitempty"`
	StatusEvents   []string `json:"status_callback_events,omitempty"`
	// IdempotencyKey makes a repeat by the caller harmless for 24 h; if "", a fresh one is used.
	IdempotencyKey string `json:"-"`
}

// Placed is a call that was started, or scheduled.
type Placed struct {
	Status    string    `json:"status"` // ok, scheduled
	CallID    string    `json:"call_id"`
	AttemptID string    `json:"attempt_id"`
	BotID     string    `json:"bot_id"`
	To        string    `json:"to_number"`
	From      string    `json:"from_number"` // "" while it is scheduled
	CreatedAt time.Time `json:"created_at"`
	// Of a scheduled call:
	NotBefore time.Time `json:"not_before"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Dialout places a call, or schedules it. Codes: bot_not_found, bot_inactive, suppressed,
// no_capacity and others; see openapi.yaml.
func (c *Client) Dialout(ctx context.Context, d Dialout) (p Placed, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: "/api/v1/sip/dialout", body: d, key: keyed(d.IdempotencyKey)},
		&p)
	return p, err
}

// Attempt is one dial.
type Attempt struct {
	AttemptID string `json:"attempt_id"`
	Direction string `json:"direction"`       // outbound, or inbound: the person called
	Returns   string `json:"returns_call_id"` // of an inbound call: the one that they call back, "" if unknown
	Run       int    `json:"run"`
	Pass      int    `json:"pass"`
	Number    int    `json:"number"`  // 0 means it did not count
	State     string `json:"state"`   // scheduled, reserved … ended
	Outcome   string `json:"outcome"` // "" while it is not final
	// AwaitingResult means that the conversation is over, and its result has neither come nor been
	// given up.
	AwaitingResult bool       `json:"awaiting_result"`
	To             string     `json:"to_number"` // of a contact with several numbers, the one that was called
	From           string     `json:"from_number"`
	Trunk          string     `json:"trunk"`
	StartedAt      *time.Time `json:"started_at"`
	RingingAt      *time.Time `json:"ringing_at"`
	AnsweredAt     *time.Time `json:"answered_at"`
	ConnectedAt    *time.Time `json:"connected_at"`
	EndedAt        *time.Time `json:"ended_at"` // nil: still open
	SIPReason      string     `json:"sip_reason"`
	SIPCode        int        `json:"sip_code"`
	AMDVerdict     string     `json:"amd_verdict"`
	HungUpBy       string     `json:"hung_up_by"`
	Disposition    string     `json:"disposition"`
	TalkSeconds    float64    `json:"talk_s"`
}

// Call is an attempt as GET /api/v1/calls/{call_id} shows it.
type Call struct {
	Attempt
	CallID     string `json:"call_id"`
	CampaignID string `json:"campaign_id"` // "" for a dialout
	ContactID  string `json:"contact_id"`
	BotID      string `json:"bot_id"`
	To         string `json:"to_number"`
	Result     *struct {
		Disposition    string            `json:"disposition"`
		SubDisposition string            `json:"sub_disposition"`
		Summary        string            `json:"summary"`
		Variables      map[string]string `json:"variables"`
		DoNotCall      bool              `json:"do_not_call"`
		// UnknownFields are fields of the result that the API does not define.
		UnknownFields map[string]string `json:"unknown_fields"`
		ReceivedAt    time.Time         `json:"received_at"`
	} `json:"result"`
	// Scheduled and Explanation are set while a dialout waits for its time.
	Scheduled *struct {
		NotBefore time.Time `json:"not_before"`
		ExpiresAt time.Time `json:"expires_at"`
		Priority  int       `json:"priority"`
	} `json:"scheduled"`
	Explanation *struct {
		Code    string     `json:"code"`
		Message string     `json:"message"`
		NextAt  *time.Time `json:"next_at"`
	} `json:"explanation"`
}

// Call returns a call. Code call_not_found if there is none.
func (c *Client) Call(ctx context.Context, callID string) (call Call, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: "/api/v1/calls/" + url.PathEscape(callID)}, &call)
	return call, err
}

// CallFilter selects calls; the zero value selects all.
type CallFilter struct {
	CampaignID string
	ContactID  string
	Number     string // the number called
	Direction  string // outbound or inbound
	Trunk      string // of the last leg
	State      string // reserved … ended
	Outcome    string
	From, To   time.Time // begun at From or later, and before To
}

// Calls iterates over the calls, newest first. It ends at the first error.
func (c *Client) Calls(ctx context.Context, f CallFilter) iter.Seq2[Call, error] {
	q := url.Values{"page_size": {strconv.Itoa(pageSize)}}
	for k, v := range map[string]string{"campaign_id": f.CampaignID, "contact_id": f.ContactID, "number": f.Number,
		"direction": f.Direction, "trunk": f.Trunk,
		"state": f.State, "outcome": f.Outcome} {
		if v != "" {
			q.Set(k, v)
		}
	}
	for k, at := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !at.IsZero() {
			q.Set(k, at.Format(time.RFC3339Nano))
		}
	}
	return func(yield func(Call, error) bool) {
		for {
			var part struct {
				Calls []Call `json:"calls"`
				Next  string `json:"next_cursor"` // "" at the end; an empty part may still lead on
			}
			if err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/calls", query: q}, &part); err != nil {
				yield(Call{}, err)
				return
			}
			for _, call := range part.Calls {
				if !yield(call, nil) {
					return
				}
			}
			if part.Next == "" {
				return
			}
			q.Set("cursor", part.Next)
		}
	}
}

// CancelDialout ends a dialout that waits for its time. Code dialout_placed when it does not wait any more.
func (c *Client) CancelDialout(ctx context.Context, callID string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: "/api/v1/calls/" + url.PathEscape(callID)}, nil)
}

// HangUp ends a live call. Code call_ended when it is over.
func (c *Client) HangUp(ctx context.Context, callID string) error {
	return c.do(ctx, request{method: http.MethodPost, path: "/api/v1/calls/" + url.PathEscape(callID) + "/hang-up"}, nil)
}

// Trigger adds one contact to a campaign.
type Trigger struct {
	CampaignID string `json:"campaign_id"`
	Mobile     string `json:"mobile"` // E.164 with plus
	// Alternates are the person's other numbers, at most four; none leaves a known contact those it has.
	Alternates []Alternate `json:"alternates,omitempty"`
	Metadata   any         `json:"metadata,omitempty"` // an object; it reaches the bot as variables
	// NotBefore and ExpiresAt say when the person may be called, Priority, from 0 to 9, how soon among
	// those due; nil for not at all.
	NotBefore *time.Time `json:"not_before,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Priority  *int       `json:"priority,omitempty"`
	// StatusCallback and StatusEvents as in Dialout, for all calls of the contact.
	StatusCallback string   `json:"status_callback,omitempty"`
	StatusEvents   []string `json:"status_callback_events,omitempty"`
	// IdempotencyKey as in Dialout.
	IdempotencyKey string `json:"-"`
}

// Triggered is the result of a trigger.
type Triggered struct {
	Status         string     `json:"status"` // dialled or queued
	ContactID      string     `json:"contact_id"`
	CampaignID     string     `json:"campaign_id"`
	AttemptID      string     `json:"attempt_id"` // of dialled
	NextEligibleAt *time.Time `json:"next_eligible_at"`
	Reason         string     `json:"reason"` // if queued: why not now
	// NumberPosition is which of the contact's numbers Mobile is, from 2 on; 0 for the first.
	NumberPosition int `json:"number_position"`
}

// Dialled says whether the dial has begun.
func (t *Triggered) Dialled() bool { return t.Status == "dialled" }

// Trigger adds a contact and dials or queues it. Codes: campaign_not_found,
// outside_window, campaign_not_running, contact_excluded and others.
func (c *Client) Trigger(ctx context.Context, t Trigger) (got Triggered, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: "/api/v1/campaigns/trigger", body: t,
		key: keyed(t.IdempotencyKey)}, &got)
	return got, err
}

// Exclude suppresses contacts of a campaign, by number or by one or two metadata keys that must all
// match: set either Mobile or Match.
type Exclude struct {
	CampaignID string            `json:"campaign_id"`
	Mobile     string            `json:"mobile,omitempty"`
	Match      map[string]string `json:"match,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	// IdempotencyKey as in Dialout.
	IdempotencyKey string `json:"-"`
}

// Excluded counts the contacts affected by an exclusion.
type Excluded struct {
	Matched          int `json:"matched"`
	Excluded         int `json:"excluded"`
	CancelledRinging int `json:"cancelled_ringing"`
	InCall           int `json:"in_call"` // excluded after their conversation
}

// Exclude returns once no new call to them can begin.
func (c *Client) Exclude(ctx context.Context, x Exclude) (got Excluded, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: "/api/v1/contacts/exclude", body: x,
		key: keyed(x.IdempotencyKey)}, &got)
	return got, err
}
