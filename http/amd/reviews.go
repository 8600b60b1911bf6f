package amd

import (
	"context"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/number"
	"dialler/http/download"
	"dialler/http/form"
	"dialler/http/wire"
)

// Reviews: people listen to calls and say who answered. That yields a confusion matrix of real
// calls, and training recordings.

const trunkIDCap = 64

// API serves reviews of answer classification, and the messages left on machines.
type API struct {
	store Classification
	files *download.Files
}

// New makes the API.
func New(store Classification, f *download.Files) *API {
	return &API{store: store, files: f}
}

type reviewView struct {
	AttemptID  engine.AttemptID  `json:"attempt_id"`
	CampaignID engine.CampaignID `json:"campaign_id"`
	Trunk      engine.TrunkID    `json:"trunk"`
	Country    string            `json:"country"`
	Verdict    engine.Verdict    `json:"verdict"`
	Revised    engine.Verdict    `json:"revised_from,omitempty"`
	Confidence float64           `json:"confidence"`
	TookMS     int64             `json:"took_ms"`
	AnsweredAt time.Time         `json:"answered_at"`
	AudioURL   string            `json:"audio_url,omitempty"` // absent once the audio is deleted
	Label      engine.Verdict    `json:"label,omitempty"`
	LabelledBy string            `json:"labelled_by,omitempty"`
	LabelledAt *time.Time        `json:"labelled_at,omitempty"`
}

type reviewList struct {
	Reviews  []reviewView `json:"reviews"`
	Page     int          `json:"page"`
	PageSize int          `json:"page_size"`
	Total    int          `json:"total"`
}

func viewReview(v *engine.AMDReview) reviewView {
	out := reviewView{
		AttemptID: v.Attempt, CampaignID: v.Campaign, Trunk: v.Trunk, Country: v.Country, Verdict: v.Verdict,
		Revised:    v.RevisedFrom,
		Confidence: v.Confidence, TookMS: v.Took.Milliseconds(), AnsweredAt: v.AnsweredAt.UTC(), Label: v.Label,
		LabelledBy: v.LabelledBy, LabelledAt: v.LabelledAt,
	}
	if v.Audio {
		out.AudioURL = "/api/v1/amd/reviews/" + string(v.Attempt) + "/audio"
	}
	return out
}

// reviewFilters parses the filters and the page of a review request.
func reviewFilters(r *wire.Request) (q engine.AMDReviewQuery, page campaign.Page, err error) {
	page.Number, page.Size, _, err = r.PageOf(nil, func(key, val string, errs *form.Errors) bool {
		switch key {
		case "campaign_id":
			q.Campaign = engine.CampaignID(val)
		case "trunk":
			q.Trunk = engine.TrunkID(val)
		case "country":
			if q.Country = strings.ToUpper(val); !number.SupportedRegion(q.Country) {
				errs.Add(key, "unknown_value", "must be a country of two letters, such as DE")
			}
		case "verdict":
			if q.Verdict = engine.Verdict(val); !slices.Contains(engine.Verdicts, q.Verdict) {
				errs.Add(key, "unknown_value", "must be one of "+verdictNames())
			}
		case "labelled":
			yes := val == "true"
			if q.Labelled = &yes; !yes && val != "false" {
				errs.Add(key, "unknown_value", "must be true or false")
			}
		default:
			return false
		}
		if len(val) > trunkIDCap || !form.Printable(val) {
			errs.Add(key, "too_long", "must be at most 64 printable characters")
		}
		return true
	})
	if err == nil && !r.MayUse(q.Campaign) {
		err = wire.ErrCampaignForbidden // a key that is bound to campaigns must name one of them
	}
	return q, page, err
}

func verdictNames() string {
	names := make([]string, len(engine.Verdicts))
	for i, v := range engine.Verdicts {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}

func (s *API) ListReviews(r *wire.Request) error {
	q, page, err := reviewFilters(r)
	if err != nil {
		return err
	}
	list, total, err := s.store.AMDReviews(r.Ctx(), q, page)
	if err != nil {
		return err
	}
	out := reviewList{Reviews: make([]reviewView, len(list)), Page: page.Number, PageSize: page.Size, Total: total}
	for i := range list {
		out.Reviews[i] = viewReview(&list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

var errNoReview = engine.NotFound("review_not_found", "")

func (s *API) reviewOf(r *wire.Request) (engine.AMDReview, error) {
	id := engine.AttemptID(r.Param("attempt_id"))
	if _, ok := id.Call().Attempt(); !ok {
		return engine.AMDReview{}, errNoReview
	}
	v, err := s.store.AMDReview(r.Ctx(), id)
	if err == nil && !r.MayUse(v.Campaign) {
		return engine.AMDReview{}, errNoReview
	}
	return v, err
}

func (s *API) ShowReview(r *wire.Request) error {
	v, err := s.reviewOf(r)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewReview(&v))
}

// ReviewAudio sends the callee's side of the call's first minute.
func (s *API) ReviewAudio(r *wire.Request) error {
	v, err := s.reviewOf(r)
	if err != nil {
		return err
	}
	wav, err := s.store.AMDAudio(r.Ctx(), v.Attempt)
	if err != nil {
		return err
	}
	r.Send(nethttp.StatusOK, wire.ContentWAV, wav)
	r.HTTP.Response.Header.Set("Content-Disposition", `inline; filename="`+string(v.Attempt)+`.wav"`)
	return nil
}

// LabelReview stores a person's label; null removes it.
func (s *API) LabelReview(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	label := engine.Verdict(f.Term("label", ""))
	switch {
	case !f.Has("label"):
		f.Fail("label", "required", "is required; none removes a label")
	case label == "none":
		label = ""
	case label != "" && !slices.Contains(engine.Verdicts, label):
		f.Fail("label", "unknown_value", "must be none or one of "+verdictNames())
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	v, err := s.reviewOf(r)
	if err != nil {
		return err
	}
	if err := s.store.LabelAMDReview(r.Ctx(), v.Attempt, label, r.Who()); err != nil {
		return err
	}
	if v, err = s.store.AMDReview(r.Ctx(), v.Attempt); err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewReview(&v))
}

// confusionRow is one cell: how often a verdict was given for a label.
type confusionRow struct {
	Trunk   engine.TrunkID `json:"trunk"`
	Country string         `json:"country"`
	Label   engine.Verdict `json:"label"`
	Verdict engine.Verdict `json:"verdict"`
	Count   int            `json:"count"`
}

// confusionSum is the total of one trunk and country.
type confusionSum struct {
	Trunk    engine.TrunkID `json:"trunk"`
	Country  string         `json:"country"`
	Labelled int            `json:"labelled"`
	Right    int            `json:"right"`
	// People and screeners that were disconnected, and machines that were sent to the bot.
	Humans         int `json:"humans"`
	HumansTakenOff int `json:"humans_taken_off"`
	Machines       int `json:"machines"`
	MachinesToBot  int `json:"machines_to_bot"`
}

type confusionTable struct {
	Cells []confusionRow `json:"cells"`
	Sums  []confusionSum `json:"sums"`
}

func (s *API) Confusion(r *wire.Request) error {
	q, _, err := reviewFilters(r)
	if err != nil {
		return err
	}
	cells, err := s.store.AMDConfusion(r.Ctx(), q)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewConfusion(cells))
}

// viewConfusion adds up the totals; cells are already grouped by trunk and country.
func viewConfusion(cells []engine.AMDConfusion) confusionTable {
	out := confusionTable{Cells: make([]confusionRow, len(cells)), Sums: []confusionSum{}}
	for i, c := range cells {
		out.Cells[i] = confusionRow(c)
		n := len(out.Sums)
		if n == 0 || out.Sums[n-1].Trunk != c.Trunk || out.Sums[n-1].Country != c.Country {
			out.Sums = append(out.Sums, confusionSum{Trunk: c.Trunk, Country: c.Country})
			n++
		}
		sum := &out.Sums[n-1]
		sum.Labelled += c.Count
		if c.Label == c.Verdict {
			sum.Right += c.Count
		}
		switch c.Label {
		case engine.VerdictHuman, engine.VerdictScreener:
			sum.Humans += c.Count
			if !c.Verdict.Live() {
				sum.HumansTakenOff += c.Count
			}
		case engine.VerdictMachine:
			sum.Machines += c.Count
			if c.Verdict.Live() {
				sum.MachinesToBot += c.Count
			}
		default: // neither a person nor a machine
		}
	}
	return out
}

// ExportReviews sends a zipped folder of labelled calls, in the format of `lab amd eval` and `lab
// amd train`. The archive is complete before it is sent.
func (s *API) ExportReviews(r *wire.Request) error {
	q, _, err := reviewFilters(r)
	if err != nil {
		return err
	}
	return s.files.SendArchive(r, "amd.zip", "the labelled calls could not be exported", "",
		func(ctx context.Context) (io.ReadSeekCloser, error) { return s.store.OpenAMDExport(ctx, q) })
}
