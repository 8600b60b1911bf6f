package campaigns

import (
	"context"
	"encoding/json"
	"math"
	nethttp "net/http"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/form"
	"dialler/http/wire"
)

// The data of the charts on a campaign's page. Many consoles ask for the same, so answers are
// cached.

const (
	// chartTTL is how old an answer may be, chartsKept how many are cached.
	chartTTL   = 5 * time.Second
	chartsKept = 256
	// chartsCap bounds concurrent chart queries, so that database connections are left for
	// everything else.
	chartsCap = 3
	// seriesPoints is the default maximum number of points in a series.
	seriesPoints = 240
)

var errManyCharts = engine.Unavailable("too_many_charts",
	"", 2*time.Second)

// chartKey identifies a chart: a series if it has points, otherwise a breakdown.
type chartKey struct {
	campaign    engine.CampaignID
	run, points int
	from, until time.Time
}

// seriesView has one entry per step in each of its lists.
type seriesView struct {
	Run         int       `json:"run"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Step        float64   `json:"step_s"`
	Dials       []int     `json:"dials"`
	Decided     []int     `json:"decided"`
	Answered    []int     `json:"answered"`
	LiveAnswers []int     `json:"live_answers"`
	Abandoned   []int     `json:"abandoned"`
	Ringing     []float64 `json:"ringing"`
	Connected   []float64 `json:"connected"`
}

func viewSeries(s *campaign.Series) seriesView {
	n := len(s.Points)
	ints, floats := make([]int, 5*n), make([]float64, 2*n)
	v := seriesView{Run: s.Run, From: s.From, To: s.Until, Step: s.Step.Seconds(), Dials: ints[:n:n],
		Decided:  ints[n : 2*n : 2*n],
		Answered: ints[2*n : 3*n : 3*n], LiveAnswers: ints[3*n : 4*n : 4*n], Abandoned: ints[4*n:], Ringing: floats[:n:n],
		Connected: floats[n:]}
	for i := range s.Points {
		p := &s.Points[i]
		v.Dials[i], v.Decided[i], v.Answered[i], v.LiveAnswers[i], v.Abandoned[i] = p.Dials, p.Decided, p.Answered,
			p.LiveAnswers, p.Abandoned
		v.Ringing[i], v.Connected[i] = thousandths(p.Ringing), thousandths(p.Connected)
	}
	return v
}

func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }

type breakdownView struct {
	Run        int              `json:"run"`
	Dials      int              `json:"dials"`
	Causes     []causeView      `json:"sip_causes"`
	Numbers    []numberDials    `json:"numbers"`
	FirstAudio []firstAudioView `json:"first_audio"`
}

type causeView struct {
	Code    int            `json:"sip_code"`
	Reason  string         `json:"sip_reason"`
	Outcome engine.Outcome `json:"outcome"`
	Count   int            `json:"count"`
	Share   float64        `json:"share"`
}

type numberDials struct {
	Number     string   `json:"number"`
	Dials      int      `json:"dials"`
	Decided    int      `json:"decided"`
	Answered   int      `json:"answered"`
	AnswerRate *float64 `json:"answer_rate"`
	State      string   `json:"state"`
	Strikes    int      `json:"strikes"`
}

// firstAudioView counts calls up to a bound and above the previous one; nil means no bound.
type firstAudioView struct {
	UpToMS *int64 `json:"up_to_ms"`
	Count  int    `json:"count"`
}

func (s *API) ShowSeries(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	key := chartKey{campaign: id, points: seriesPoints}
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		switch name, val := string(k), string(v); name {
		case "run":
			key.run = chartRun(val, &errs)
		case "from":
			key.from = chartTime(name, val, &errs)
		case "to":
			key.until = chartTime(name, val, &errs)
		case "points":
			n, err := strconv.Atoi(val)
			if err != nil || n < 1 || n > campaign.SeriesPointsCap {
				errs.Add(
					"points",
					"out_of_range",
					"must be a whole number from 1 to "+strconv.Itoa(campaign.SeriesPointsCap),
				)
			}
			key.points = n
		default:
			errs.UnknownParameter(name)
		}
	}
	if !key.from.IsZero() && !key.until.IsZero() && key.until.Before(key.from) {
		errs.Add("to", "out_of_range", "must not be before from")
	}
	if err := errs.Err(); err != nil {
		return err
	}
	return s.replyChart(r, key)
}

func (s *API) ShowBreakdown(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	key := chartKey{campaign: id}
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		if name := string(k); name != "run" {
			errs.UnknownParameter(name)
			continue
		}
		key.run = chartRun(string(v), &errs)
	}
	if err := errs.Err(); err != nil {
		return err
	}
	return s.replyChart(r, key)
}

func chartRun(val string, errs *form.Errors) int {
	n, err := strconv.Atoi(val)
	if err != nil || n < 1 || n > 1<<30 {
		errs.Add("run", "out_of_range", "must be the number of a run, 1 or more")
	}
	return n
}

// chartYearLeast and chartYearMost bound the times of a chart, so that neither a time nor the step
// before it exceeds the database's range.
const chartYearLeast, chartYearMost = 2000, 2200

func chartTime(field, val string, errs *form.Errors) time.Time {
	t, err := time.Parse(time.RFC3339Nano, val)
	switch {
	case err != nil:
		errs.Add(field, "invalid_format", "must be a date and time with its offset (RFC 3339), for example "+
			"2026-03-01T09:30:00Z")
	case t.UTC().Year() < chartYearLeast || t.UTC().Year() >= chartYearMost:
		errs.Add(field, "out_of_range", "must be in the years 2000 to 2199")
	}
	return t.UTC()
}

func (s *API) replyChart(r *wire.Request, key chartKey) error {
	body, _, err := s.charts.Get(r.Ctx(), key)
	if err != nil {
		return err
	}
	r.Send(nethttp.StatusOK, wire.ContentJSON, body)
	return nil
}

func (s *API) loadChart(ctx context.Context, key chartKey) (body []byte, found bool, err error) {
	if !s.counting.Take(ctx) {
		return nil, false, errManyCharts
	}
	defer s.counting.Leave()
	var v any
	if key.points > 0 {
		out, err := s.Charts.Series(ctx, campaign.SeriesQuery{Campaign: key.campaign, Run: key.run, From: key.from,
			Until: key.until, Points: key.points, Now: s.Now()})
		if err != nil {
			return nil, false, err
		}
		v = viewSeries(&out)
	} else if v, err = s.breakdownOf(ctx, key); err != nil {
		return nil, false, err
	}
	body, err = json.Marshal(v)
	return body, true, err
}

func (s *API) breakdownOf(ctx context.Context, key chartKey) (v breakdownView, err error) {
	b, err := s.Charts.Breakdown(ctx, key.campaign, key.run)
	if err != nil {
		return v, err
	}
	have, _, err := s.numbers.Get(ctx, struct{}{})
	if err != nil {
		return v, err
	}
	v = breakdownView{Run: b.Run, Dials: b.Dials, Causes: make([]causeView, len(b.Causes)),
		Numbers: make([]numberDials, len(b.Numbers)), FirstAudio: make([]firstAudioView, len(b.FirstAudio))}
	for i, c := range b.Causes {
		v.Causes[i] = causeView{Code: c.Code, Reason: c.Reason, Outcome: c.Outcome, Count: c.Count,
			Share: float64(c.Count) / float64(b.Dials)}
	}
	for i, n := range b.Numbers {
		number := have.number(n.Number)
		v.Numbers[i] = numberDials{Number: n.Number.E164(), Dials: n.Dials, Decided: n.Decided,
			Answered: n.Answered, State: string(number.State), Strikes: number.Strikes}
		if n.Decided > 0 {
			rate := float64(n.Answered) / float64(n.Decided)
			v.Numbers[i].AnswerRate = &rate
		}
	}
	for i, count := range b.FirstAudio {
		v.FirstAudio[i].Count = count
		if i < len(campaign.FirstAudioBounds) {
			ms := campaign.FirstAudioBounds[i].Milliseconds()
			v.FirstAudio[i].UpToMS = &ms
		}
	}
	return v, nil
}
