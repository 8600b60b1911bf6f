package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"dialler/bench/bot"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/campaign"
)

// Campaign says what is run in a lab.
type Campaign struct {
	Seed uint64
	// Blows is how many there are at least, For how long they go on at least;
	// when both are reached the campaign is left to complete.
	Blows int
	For   time.Duration
	// Pause is how long a paused dialler is stopped; 0: none is.
	Pause time.Duration
	// Lasting: calls may last for minutes, and phones ring for long; the CRM asks for less.
	Lasting bool
	// Stop ends the campaign by the operator's command after the last disturbance: the
	// numbers of lost calls stay held for a minute.
	Stop bool
}

// maxAttempts is how often a contact is called.
const maxAttempts = 3

// listSize is how many contacts a list has.
const listSize = 20

// Report is what became of a campaign.
type Report struct {
	Seed     uint64
	ID       engine.CampaignID
	Blows    []string       // one line each
	Kills    int            // of the dialler
	Faults   int            // that it lived through
	ByLabel  map[string]int // disturbances of each kind
	Missed   int            // kills whose step did not come; they were dealt at random
	Judged   int            // lives that were judged five seconds after their start
	Took     time.Duration
	Legs     int // of the campaign, in the database
	Attempts int
	CallIDs  int // of the campaign, at the carrier
	Lost     int // attempts
	Unsent   int // legs
	Abandons int
	Acked    map[request]int // requests that were acknowledged
	Unsure   int             // of them, those first sent to a life that did not answer
	Rows     int             // of acknowledged imports and lists
	Results  int             // acknowledged to the bot
	Events   int             // of the campaign
	// Failures are what was not as it must be.
	Failures []string
}

func (r *Report) fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

// A campaign may go on after the last disturbance as long as it takes to call whoever is
// left, but not longer than completeLimit, nor stallLimit without a call.
const (
	completeLimit = 20 * time.Minute
	stallLimit    = 5 * time.Minute // more than a lost call holds its number without a proof
)

// run is one campaign under way.
type run struct {
	*Lab
	cfg    Campaign
	id     engine.CampaignID
	began  time.Time
	last   time.Time   // when the last disturbance was over
	judged int         // life that was judged last
	pauses []time.Time // when the dialler was stopped
	// brief: legs of lost calls are still watched when it is judged.
	brief bool
	rep   *Report
	crm   *crm
	// record is for the judge of the promises.
	record record
	// stood says whether the process that a bot talked through did nothing at some moment of its conversation.
	stood func(*bot.Session) bool
}

// Run runs a campaign and deals its disturbances. The error says that the harness
// could not go on; what was wrong with the dialler is in the report.
func (l *Lab) Run(ctx context.Context, cfg Campaign) (*Report, error) {
	r := &run{Lab: l, cfg: cfg, rep: &Report{Seed: cfg.Seed, ByLabel: map[string]int{}, Acked: map[request]int{}}}
	if err := r.seed(ctx); err != nil {
		return r.rep, err
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	go r.crm.work(work)
	p := &plan{wired: l.wire != nil, pause: cfg.Pause}
	p.rng = rand.New(rand.NewPCG(cfg.Seed, 0)) //nolint:gosec // a plan that can be drawn again
	for i := 0; i < cfg.Blows || time.Since(r.began) < cfg.For; i++ {
		b := p.next()
		if err := r.deal(ctx, i, b); err != nil {
			return r.rep, fmt.Errorf("disturbance %d (%s): %w", i+1, b, err)
		}
		r.last = time.Now()
	}
	if err := l.proc.Ready(ctx); err != nil {
		return r.rep, err
	}
	if err := r.judgeLife(ctx); err != nil {
		return r.rep, err
	}
	r.crm.finish()
	if err := r.end(ctx); err != nil {
		return r.rep, err
	}
	err := r.judge(ctx)
	r.rep.Took = time.Since(r.began)
	return r.rep, err
}

// number gives the i-th number of a kind (1: listed, 2: triggered, 5: imported,
// 7: dialled outside) of this campaign. Each seed has its own: a number that was
// called before would carry the past with it.
func number(seed uint64, kind, i int) string {
	return fmt.Sprintf("+4915%d%04d%04d", kind, seed%10_000, i)
}

// group is a contact's metadata by which it can be excluded: few share one.
func group(i int) string { return fmt.Sprintf("g%d", i/2) }

// seed makes the campaign and starts it.
func (r *run) seed(ctx context.Context) error {
	settings := map[string]any{
		"name": fmt.Sprintf("Chaos %d", r.cfg.Seed), "bot_id": botID, "concurrency": 12, "number_pool": ownNumbers,
		"window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"}, "amd": "parallel",
		"max_attempts": maxAttempts, "retry_delay_s": 3, "ring_timeout_s": 15, "call_limit_s": 10, "result_timeout_s": 60,
		"retry_on_system": []engine.Outcome{engine.OutcomeNoAnswer, engine.OutcomeBusy, engine.OutcomeCongestion,
			engine.OutcomeThrottled, engine.OutcomeTrunkError, engine.OutcomeCallerHungUp, engine.OutcomeLost,
			engine.OutcomeSystemError},
	}
	if r.cfg.Lasting {
		settings["call_limit_s"], settings["ring_timeout_s"], settings["concurrency"] = int(lastingLimit/time.Second), 28, 7
	}
	var created struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	if err := r.api.Must(ctx, http.MethodPost, "/api/v1/campaigns", settings, &created); err != nil {
		return err
	}
	r.id, r.rep.ID = created.ID, created.ID
	random := rand.New(rand.NewPCG(r.cfg.Seed, 1)) //nolint:gosec // a plan that can be drawn again
	r.crm = newCRM(r.api, r.id, r.cfg.Seed, random)
	if r.cfg.Lasting {
		r.crm.pause, r.crm.backlog = 4*time.Second, 8
	}
	for range 2 {
		r.crm.ask(ctx, askList)
	}
	r.began = time.Now()
	r.last = r.began
	if r.proc != nil {
		r.judged = r.proc.Life // it was judged at the end of the campaign before, or is the first
	}
	return r.api.Must(ctx, http.MethodPost, "/api/v1/campaigns/"+string(r.id)+"/start", nil, nil)
}

// end waits until the campaign has ended and its calls are over.
func (r *run) end(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, completeLimit)
	defer cancel()
	if r.cfg.Stop {
		if err := r.api.Must(ctx, http.MethodPost, "/api/v1/campaigns/"+string(r.id)+"/stop", nil, nil); err != nil {
			return err
		}
	}
	var last detail
	began, moved := time.Now(), time.Now()
	err := site.Poll(limit, 100*time.Millisecond, func() (bool, error) {
		var d detail // a decoder adds to the maps that it finds
		if r.detail(limit, &d) != nil {
			return false, nil // a node that has just lost the database, for one
		}
		if d.Counters.Attempts != last.Counters.Attempts {
			moved = time.Now()
		}
		last = d
		return d.Status != campaign.Running && !d.Draining && open(&d.Counters) == 0 || time.Since(moved) > stallLimit, nil
	})
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	if late || time.Since(moved) > stallLimit {
		r.rep.fail("the campaign is %s %v after the last disturbance, its contacts are %v; %s", last.Status,
			time.Since(began).Round(time.Second), last.Counters.States, last.Live)
		return nil
	}
	return err
}

// open counts the contacts of which something is to come; when the campaign is
// stopped, results.
func open(c *campaign.Counters) (n int) {
	for s, k := range c.States {
		if !final(s) {
			n += k
		}
	}
	return n
}

// detail is what the API says of a campaign.
type detail struct {
	Status   campaign.State    `json:"status"`
	Draining bool              `json:"draining"`
	Counters campaign.Counters `json:"counters"`
	Live     json.RawMessage   `json:"live"`
}

func (r *run) detail(ctx context.Context, into *detail) error {
	return r.api.Must(ctx, http.MethodGet, "/api/v1/campaigns/"+string(r.id), nil, into)
}
