package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Campaign is a campaign as the API shows it; further fields are in Settings, Counters and
// openapi.yaml.
type Campaign struct {
	CampaignID       string          `json:"campaign_id"`
	Status           string          `json:"status"` // draft, running, paused, completed, failed
	Settings         json.RawMessage `json:"settings"`
	Version          int             `json:"version"`
	Run              int             `json:"run"` // the original run is 1
	PreparedRestart  bool            `json:"prepared_restart"`
	Draining         bool            `json:"draining"` // ended, with calls still live
	CompletionReason string          `json:"completion_reason"`
	FailureReason    string          `json:"failure_reason"`
	StartedAt        *time.Time      `json:"started_at"`
	CompletedAt      *time.Time      `json:"completed_at"`
	Counters         Counters        `json:"counters"`
}

// Counters count events of the run; rates are fractions in 0…1, nil if the divisor is zero.
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
	AnswerRate      *float64 `json:"answer_rate"`
	CompletionRate  *float64 `json:"completion_rate"`
	AbandonRate     *float64 `json:"abandon_rate"`
	AHTSeconds      *float64 `json:"aht_s"`
	Progress        *float64 `json:"progress"`
}

func campaignPath(id string) string { return "/api/v1/campaigns/" + url.PathEscape(id) }

// Campaign returns a campaign. Code campaign_not_found if there is none.
func (c *Client) Campaign(ctx context.Context, id string) (got Campaign, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: campaignPath(id)}, &got)
	return got, err
}

// Campaigns iterates over the campaigns, newest first: all, or those in one state. It ends at the
// first error.
func (c *Client) Campaigns(ctx context.Context, status string) iter.Seq2[Campaign, error] {
	q := url.Values{}
	if status != "" {
		q.Set("status", status)
	}
	return pages[Campaign](ctx, c, "/api/v1/campaigns", "campaigns", q)
}

// CreateCampaign makes a draft from settings as in openapi.yaml.
func (c *Client) CreateCampaign(ctx context.Context, settings any) (got Campaign, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: "/api/v1/campaigns", body: settings}, &got)
	return got, err
}

// EditCampaign changes settings of the version that the caller has seen; code version_conflict,
// with Error.Current, if someone else changed them first.
func (c *Client) EditCampaign(ctx context.Context, id string, version int, change any) (got Campaign, err error) {
	err = c.do(ctx, request{method: http.MethodPatch, path: campaignPath(id), body: change,
		etag: strconv.Quote(strconv.Itoa(version))}, &got)
	return got, err
}

// DeleteCampaign removes a draft that never ran.
func (c *Client) DeleteCampaign(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: campaignPath(id)}, nil)
}

func (c *Client) act(ctx context.Context, id, action string, body any) (got Campaign, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: campaignPath(id) + "/" + action, body: body}, &got)
	return got, err
}

// Start begins a draft's run. Code preflight_failed, with the reasons.
func (c *Client) Start(ctx context.Context, id string) (Campaign, error) {
	return c.act(ctx, id, "start", nil)
}

// Pause stops new calls; those in flight may finish.
func (c *Client) Pause(ctx context.Context, id string) (Campaign, error) {
	return c.act(ctx, id, "pause", nil)
}

// Resume continues a paused campaign.
func (c *Client) Resume(ctx context.Context, id string) (Campaign, error) {
	return c.act(ctx, id, "resume", nil)
}

// Stop ends the run for good.
func (c *Client) Stop(ctx context.Context, id string) (Campaign, error) {
	return c.act(ctx, id, "stop", nil)
}

// Restart prepares the next run; with onlyUnreached, only for contacts that no call has reached.
// Dialling does not start.
func (c *Client) Restart(ctx context.Context, id string, onlyUnreached bool) (Campaign, error) {
	return c.act(ctx, id, "restart", map[string]bool{"only_unreached": onlyUnreached})
}

// CancelRestart discards the prepared run.
func (c *Client) CancelRestart(ctx context.Context, id string) (Campaign, error) {
	return c.act(ctx, id, "cancel-restart", nil)
}

const pageSize = 200

// pages iterates over a paged list.
func pages[T any](ctx context.Context, c *Client, path, name string, q url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for page := 1; ; page++ {
			query := url.Values{"page": {strconv.Itoa(page)}, "page_size": {strconv.Itoa(pageSize)}}
			for k, v := range q {
				query[k] = v
			}
			got := map[string]json.RawMessage{}
			var list []T
			err := c.do(ctx, request{method: http.MethodGet, path: path, query: query}, &got)
			if err == nil {
				err = json.Unmarshal(got[name], &list)
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			if len(list) < pageSize {
				return
			}
		}
	}
}
