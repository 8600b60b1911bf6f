package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Exclusion is what a campaign excludes: a number, or all contacts whose metadata has all of Match.
type Exclusion struct {
	Mobile    string            `json:"mobile,omitempty"`
	Match     map[string]string `json:"match,omitempty"`
	Reason    string            `json:"reason"`
	CreatedAt time.Time         `json:"created_at"`
}

func exclusionsPath(campaignID string) string { return campaignPath(campaignID) + "/exclusions" }

// Exclusions iterates over a campaign's exclusions, newest first: all, or the one of a number. It
// ends at the first error.
func (c *Client) Exclusions(ctx context.Context, campaignID, number string) iter.Seq2[Exclusion, error] {
	q := url.Values{}
	if number != "" {
		q.Set("number", number)
	}
	return pages[Exclusion](ctx, c, exclusionsPath(campaignID), "exclusions", q)
}

// ExclusionsCSV streams all of them as CSV, ordered by number: phone_number, match, reason,
// created_at. It must be closed; if the server breaks off, it ends with io.ErrUnexpectedEOF.
func (c *Client) ExclusionsCSV(ctx context.Context, campaignID string) (io.ReadCloser, error) {
	r := request{method: http.MethodGet, path: exclusionsPath(campaignID) + ".csv"}
	resp, err := c.begun(ctx, &r)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// AddExclusion is Exclude for operators, who are named in the campaign and the activity log. It
// returns once no new call to them can begin.
func (c *Client) AddExclusion(ctx context.Context, x Exclude) (got Excluded, err error) {
	body := Exclusion{Mobile: x.Mobile, Match: x.Match, Reason: x.Reason}
	err = c.do(ctx, request{method: http.MethodPost, path: exclusionsPath(x.CampaignID), body: body.words(),
		harmless: true}, &got)
	return got, err
}

// words returns an exclusion's fields in a request.
func (x *Exclusion) words() map[string]any {
	body := map[string]any{}
	if x.Mobile != "" {
		body["mobile"] = x.Mobile
	}
	if len(x.Match) > 0 {
		body["match"] = x.Match
	}
	if x.Reason != "" {
		body["reason"] = x.Reason
	}
	return body
}

// LiftExclusion lifts an exclusion by number or by metadata; readmitted contacts can be called
// again. Codes: exclusion_not_found, run_over.
func (c *Client) LiftExclusion(ctx context.Context, campaignID, mobile string, match map[string]string) (readmitted int,
	err error) {
	var got struct {
		Readmitted int `json:"readmitted"`
	}
	x := Exclusion{Mobile: mobile, Match: match}
	err = c.do(ctx, request{method: http.MethodPost, path: exclusionsPath(campaignID) + "/lift", body: x.words()}, &got)
	return got.Readmitted, err
}

// ExcludedFile is the result of a file of numbers.
type ExcludedFile struct {
	Excluded
	Rows     int           `json:"rows"`
	Invalid  int           `json:"invalid"`
	Rejected []RejectedRow `json:"rejected"` // the first 100 invalid rows
}

// ImportExclusions excludes the numbers of a CSV with a phone_number column as they
// come in: after an error some may be excluded, and sending the file again is
// harmless. The reason may be "".
func (c *Client) ImportExclusions(ctx context.Context, campaignID, reason string, file io.Reader) (got ExcludedFile,
	err error) {
	r := request{method: http.MethodPost, path: exclusionsPath(campaignID) + "/imports"}
	if reason != "" {
		r.query = url.Values{"reason": {reason}}
	}
	req, err := c.request(ctx, &r, file)
	if err != nil {
		return got, err
	}
	req.Header.Set("Content-Type", "text/csv")
	err = c.read(req, &got)
	return got, err
}
