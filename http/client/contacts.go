package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Alternate is a number of a person beside the first.
type Alternate struct {
	Number string `json:"number"` // E.164 with plus
	Label  string `json:"label,omitempty"`
	// Barred means that it is invalid, or on the suppression list, and is not called any more in this run;
	// it is never sent.
	Barred bool `json:"barred,omitempty"`
}

// Contact is one person in a campaign.
type Contact struct {
	ContactID   string            `json:"contact_id"`
	PhoneNumber string            `json:"phone_number"` // the first
	Alternates  []Alternate       `json:"alternates"`
	NextNumber  string            `json:"next_number"` // of several, the one that is called next
	Status      string            `json:"status"`      // pending, waiting, connected, …
	Reason      string            `json:"reason"`
	Attempts    int               `json:"attempts"`
	MaxAttempts int               `json:"max_attempts"`
	Run         int               `json:"run"`
	Source      string            `json:"source"` // csv, api, trigger
	LastResult  string            `json:"last_result"`
	Variables   map[string]string `json:"variables"`
	NextAt      *time.Time        `json:"next_eligible_at"`
	NotBefore   *time.Time        `json:"not_before"`
	ExpiresAt   *time.Time        `json:"expires_at"`
	Priority    int               `json:"priority"`
	Callback    *struct {
		State string     `json:"state"`
		At    *time.Time `json:"at"`
	} `json:"callback"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Trail     []Attempt `json:"attempt_trail"` // newest last
	CallsBack []Attempt `json:"calls_back"`    // calls by the contact that return one of them
	// Explain says why the contact is not dialled now, and when it will be; set only for a single
	// contact.
	Explain *struct {
		Code    string     `json:"code"`
		Message string     `json:"message"`
		NextAt  *time.Time `json:"next_at"`
	} `json:"explain"`
}

// ContactFilter selects contacts; the zero value selects all.
type ContactFilter struct {
	Status string // a contact status, or "unanswered": the last attempt rang without an answer
	Number string // the one with this number
	// Callback is the state of the newest callback: requested (all contacts with one), pending
	// (still to be called back), completed, cancelled.
	Callback string
}

// Contacts iterates over a campaign's contacts in list order. It ends at the first error.
func (c *Client) Contacts(ctx context.Context, campaignID string, f ContactFilter) iter.Seq2[Contact, error] {
	q := url.Values{}
	for k, v := range map[string]string{"status": f.Status, "number": f.Number, "callback": f.Callback} {
		if v != "" {
			q.Set(k, v)
		}
	}
	return pages[Contact](ctx, c, campaignPath(campaignID)+"/contacts", "contacts", q)
}

// Contact returns one contact with the explanation why it is not dialled now.
func (c *Client) Contact(ctx context.Context, campaignID, contactID string) (got Contact, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: campaignPath(campaignID) + "/contacts/" +
		url.PathEscape(contactID)}, &got)
	return got, err
}

func (c *Client) onContact(ctx context.Context, campaignID, contactID, action string, body any,
	harmless bool) (got Contact, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: campaignPath(campaignID) + "/contacts/" +
		url.PathEscape(contactID) + "/" + action,
		body: body, harmless: harmless}, &got)
	return got, err
}

// ExcludeContact excludes a contact as an operator; the reason may be "". It returns once no new
// call to it can begin.
func (c *Client) ExcludeContact(ctx context.Context, campaignID, contactID, reason string) (Contact, error) {
	body := map[string]string{}
	if reason != "" {
		body["reason"] = reason
	}
	return c.onContact(ctx, campaignID, contactID, "exclude", body, true)
}

// CallBackContact promises a contact a call at a time, up to 14 days ahead. Codes:
// callbacks_off, call_in_progress, outside_window and others.
func (c *Client) CallBackContact(ctx context.Context, campaignID, contactID string, at time.Time) (Contact, error) {
	return c.onContact(ctx, campaignID, contactID, "call-back", map[string]time.Time{"at": at}, true)
}

// RetryContact has a contact dialled next; it is not retried after a lost answer, which might dial
// twice. Codes: call_in_progress, result_awaited and others.
func (c *Client) RetryContact(ctx context.Context, campaignID, contactID string) (Contact, error) {
	return c.onContact(ctx, campaignID, contactID, "retry-now", nil, false)
}

// NewContact is a contact to be added.
type NewContact struct {
	Mobile     string      `json:"mobile"` // E.164 with plus
	Alternates []Alternate `json:"alternates,omitempty"`
	Metadata   any         `json:"metadata,omitempty"`
}

// Added counts contacts by result.
type Added struct {
	Added      int `json:"added"`
	Duplicates int `json:"duplicates"`
	Readmitted int `json:"readmitted"`
	Excluded   int `json:"excluded"`
	Total      int `json:"total"`
}

// AddContacts adds up to 1,000 contacts to a draft or a running campaign, all or
// none of them.
func (c *Client) AddContacts(ctx context.Context, campaignID string, list []NewContact) (got Added, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: campaignPath(campaignID) + "/contacts",
		body: map[string]any{"contacts": list}}, &got)
	return got, err
}

// Batch is a list of up to 1,000 contacts, each judged by itself.
type Batch struct {
	Contacts []NewContact `json:"contacts"`
	// IdempotencyKey as in Dialout.
	IdempotencyKey string `json:"-"`
}

// BatchReply is the result of a batch.
type BatchReply struct {
	Added      int         `json:"added"`
	Duplicates int         `json:"duplicates"`
	Readmitted int         `json:"readmitted"`
	Excluded   int         `json:"excluded"`
	Suppressed int         `json:"suppressed"`
	Invalid    int         `json:"invalid"`
	Results    []BatchItem `json:"results"` // in the order of the contacts
}

// BatchItem is the result for one contact.
type BatchItem struct {
	Status    string `json:"status"` // added, duplicate, readmitted, excluded, suppressed, invalid
	ContactID string `json:"contact_id"`
	Problem   *struct {
		Code   string       `json:"code"`
		Detail string       `json:"detail"`
		Errors []FieldError `json:"errors"`
	} `json:"problem"` // of invalid
}

// AddBatch adds the valid contacts of a list to a draft or a running campaign, in one transaction;
// an error in one does not affect the others.
func (c *Client) AddBatch(ctx context.Context, campaignID string, b Batch) (got BatchReply, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: campaignPath(campaignID) + "/contacts:batch", body: b,
		key: keyed(b.IdempotencyKey)}, &got)
	return got, err
}

// Import is a file of contacts on its way into a campaign.
type Import struct {
	ImportID   string     `json:"import_id"`
	CampaignID string     `json:"campaign_id"`
	State      string     `json:"state"` // staging, activating, active, failed
	Filename   string     `json:"filename"`
	Rows       int        `json:"rows"`
	Added      int        `json:"added"`
	Invalid    int        `json:"invalid"`
	Duplicate  int        `json:"duplicate"`
	Readmitted int        `json:"readmitted"` // of the duplicates: they were excluded and can be called again
	Excluded   int        `json:"excluded"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at"`
	Problem    *struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	} `json:"problem"`
}

// ImportCSV streams a file with a phone_number column into a campaign and waits until its rows are
// contacts, all in one switch. It is not retried: after an error none of the rows are in the
// campaign.
func (c *Client) ImportCSV(ctx context.Context, campaignID, filename string, file io.Reader) (got Import, err error) {
	r := request{method: http.MethodPost, path: campaignPath(campaignID) + "/imports",
		query: url.Values{"filename": {filename}}}
	req, err := c.request(ctx, &r, file)
	if err != nil {
		return got, err
	}
	req.Header.Set("Content-Type", "text/csv")
	err = c.read(req, &got)
	return got, err
}

// Import shows one.
func (c *Client) Import(ctx context.Context, campaignID, importID string) (got Import, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: campaignPath(campaignID) + "/imports/" +
		url.PathEscape(importID)}, &got)
	return got, err
}

// RejectedRow is a row that did not become a contact.
type RejectedRow struct {
	Line        int    `json:"line"` // the file's first line is 1
	PhoneNumber string `json:"phone_number"`
	Reason      string `json:"reason"`
	Message     string `json:"message"`
}

// RejectedRows iterates over the rejected rows in file order.
func (c *Client) RejectedRows(ctx context.Context, campaignID, importID string) iter.Seq2[RejectedRow, error] {
	return pages[RejectedRow](ctx, c, campaignPath(campaignID)+"/imports/"+url.PathEscape(importID)+"/rejected", "rows",
		nil)
}
