package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
)

// Campaign says what is run in a lab.
type Campaign struct {
	Seed     uint64
	Kills    int
	Contacts int
}

// Report is what became of a campaign.
type Report struct {
	Seed     uint64
	ID       engine.CampaignID
	Kills    []string // one line a kill
	Judged   int      // lives that were judged five seconds after their start
	Took     time.Duration
	Legs     int // of the campaign, in the database
	CallIDs  int // of the campaign, at the carrier
	Lost     int // attempts
	Unsent   int // legs
	Abandons int
	Acked    int // triggers and exclusions that were acknowledged
	Unsure   int // of them, those first sent to a life that did not answer
	Results  int // acknowledged to the bot
	// Failures are what was not as it must be.
	Failures []string
}

func (r *Report) fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

// completeLimit is how long a campaign may go on after the last kill.
const completeLimit = 2 * time.Minute

// run is one campaign under way.
type run struct {
	*Lab
	cfg    Campaign
	id     engine.CampaignID
	began  time.Time
	judged int // life that was judged last
	rep    *Report
	crm    *crm
}

// Run runs a campaign and kills the dialler in it. The error says that the
// harness could not go on; what was wrong with the dialler is in the report.
func (l *Lab) Run(ctx context.Context, cfg Campaign) (*Report, error) {
	r := &run{Lab: l, cfg: cfg, rep: &Report{Seed: cfg.Seed}}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0)) //nolint:gosec // a plan that can be drawn again
	plan := drawPlan(rng, cfg.Kills)
	if err := r.seed(ctx); err != nil {
		return r.rep, err
	}
	r.crm = newCRM(l.api, r.id, cfg, rand.New(rand.NewPCG(cfg.Seed, 1))) //nolint:gosec // as above
	work, stop := context.WithCancel(ctx)
	defer stop()
	go r.crm.work(work)
	for i, k := range plan {
		if err := r.await(ctx, k); err != nil {
			return r.rep, err
		}
		r.note(i, k)
		if err := l.proc.kill(); err != nil {
			return r.rep, err
		}
		if err := until(ctx, time.Now().Add(k.down)); err != nil {
			return r.rep, err
		}
		if err := l.proc.start(); err != nil {
			return r.rep, err
		}
	}
	if err := l.proc.ready(ctx); err != nil {
		return r.rep, err
	}
	if err := r.judgeLife(ctx); err != nil {
		return r.rep, err
	}
	r.crm.finish()
	if err := r.completed(ctx); err != nil {
		return r.rep, err
	}
	err := r.judge(ctx)
	r.rep.Took = time.Since(r.began)
	return r.rep, err
}

// note keeps what the carrier saw at the moment of a kill.
func (r *run) note(i int, k kill) {
	n := map[carrier.State]int{}
	for _, c := range r.carrier.Ledger().Live() {
		n[c.State]++
	}
	line := fmt.Sprintf("kill %d of seed %d, life %d aged %v (%s): %d trying, %d ringing, %d answered at the carrier",
		i+1, r.cfg.Seed, r.proc.life, time.Since(r.proc.started).Round(10*time.Millisecond), k,
		n[carrier.StateTrying], n[carrier.StateRinging], n[carrier.StateAnswered])
	r.rep.Kills = append(r.rep.Kills, line)
	r.log("%s", line)
}

// number gives the i-th number of a kind (1: listed, 2: triggered, 7: dialled
// outside) of this campaign. Each seed has its own: a number that was called before would carry
// the past with it.
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
		"max_attempts": 3, "retry_delay_s": 3, "ring_timeout_s": 15, "result_timeout_s": 20,
		"retry_on_system": []engine.Outcome{engine.OutcomeNoAnswer, engine.OutcomeBusy, engine.OutcomeCongestion, engine.OutcomeThrottled,
			engine.OutcomeTrunkError, engine.OutcomeCallerHungUp, engine.OutcomeLost, engine.OutcomeSystemError},
	}
	var created struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	if err := r.api.must(ctx, http.MethodPost, "/api/v1/campaigns", settings, &created); err != nil {
		return err
	}
	r.id, r.rep.ID = created.ID, created.ID
	var rows []map[string]any
	for i := range r.cfg.Contacts {
		rows = append(rows, map[string]any{"mobile": number(r.cfg.Seed, 1, i), "metadata": map[string]string{"group": group(i)}})
	}
	if err := r.api.must(ctx, http.MethodPost, "/api/v1/campaigns/"+string(r.id)+"/contacts", map[string]any{"contacts": rows}, nil); err != nil {
		return err
	}
	r.began = time.Now()
	r.judged = r.proc.life // this life was judged at the end of the campaign before, or is the first
	return r.api.must(ctx, http.MethodPost, "/api/v1/campaigns/"+string(r.id)+"/start", nil, nil)
}

// await waits until the planned moment. A life that is old enough on the way
// is judged.
func (r *run) await(ctx context.Context, k kill) error {
	from := r.proc.started
	if from.Before(r.began) {
		from = r.began
	}
	if k.how != atStart {
		if err := r.proc.ready(ctx); err != nil {
			return err
		}
	}
	if k.after > settleTime {
		if err := r.judgeLife(ctx); err != nil {
			return err
		}
	}
	if err := until(ctx, from.Add(k.after)); err != nil {
		return err
	}
	if k.how != atStep {
		return nil
	}
	since := time.Now()
	limit, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := r.carrier.Ledger().Wait(limit, func(l carrier.Ledger) bool {
		for _, c := range l.Calls() {
			if k.step.at(&c).After(since) {
				return true
			}
		}
		return false
	})
	if err != nil && ctx.Err() != nil {
		return err
	}
	return until(ctx, time.Now().Add(k.delay))
}

// until waits for a moment.
func until(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// completed waits until the campaign has ended and its calls are over.
func (r *run) completed(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, completeLimit)
	defer cancel()
	var d detail
	err := poll(limit, 100*time.Millisecond, func() (bool, error) {
		if err := r.detail(limit, &d); err != nil {
			return false, err
		}
		return d.Status != campaign.Running && !d.Draining, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		r.rep.fail("the campaign is %s %v after the last kill; %s", d.Status, completeLimit, d.Live)
		return nil
	}
	return err
}

// detail is what the API says of a campaign.
type detail struct {
	Status   campaign.State    `json:"status"`
	Draining bool              `json:"draining"`
	Counters campaign.Counters `json:"counters"`
	Live     json.RawMessage   `json:"live"`
}

func (r *run) detail(ctx context.Context, into *detail) error {
	return r.api.must(ctx, http.MethodGet, "/api/v1/campaigns/"+string(r.id), nil, into)
}
