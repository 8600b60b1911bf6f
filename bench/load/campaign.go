package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"text/tabwriter"
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

// CampaignConfig is a scenario that is played both as a real campaign over SIP and in the
// simulator.
type CampaignConfig struct {
	Binary   string          // the program to judge; required
	Scenario callee.Scenario // with a finite list; workers and answers must not change over time
	Policy   trial.Policy    // strict, hybrid or progressive
	Seed     uint64          // of the people called, in the real campaign
	Runs     int             // number of simulations, with the seeds from Seed on (20)
	Keep     bool            // keep data and logs
	Log      func(format string, args ...any)
}

// Outcome is the result of one campaign. Connects per hour and utilisation are measured from the
// first to the last dial: at the end of the list the seats empty whatever the pacing.
type Outcome struct {
	Seconds   float64 `json:"seconds"` // from the first dial to the last end
	Dialling  float64 `json:"dialling_s"`
	Dials     int     `json:"dials"`
	Connects  int     `json:"connects"`
	Abandoned int     `json:"abandoned"`
	PerHour   float64 `json:"connects_per_h"`
	Busy      float64 `json:"busy_pct"`
	Abandon   float64 `json:"abandon_pct"`
	Within    bool    `json:"within_cap"`
}

// Comparison compares a real campaign with its simulation.
type Comparison struct {
	Policy    trial.Policy `json:"policy"`
	Seats     int          `json:"seats"`
	Contacts  int          `json:"contacts"`
	CapPct    float64      `json:"cap_pct"`
	Real      Outcome      `json:"real"`
	Simulated []Outcome    `json:"simulated"`
	Mean      Outcome      `json:"mean"` // of the simulated
	// Least and Most are the lowest and highest simulated abandon rates, in per cent.
	Least    float64  `json:"least_abandon_pct"`
	Most     float64  `json:"most_abandon_pct"`
	Failures []string `json:"failures"`
}

// likeness is the allowed relative deviation of the real campaign from the simulated mean in
// utilisation and connects.
const likeness = 0.05

func (c CampaignConfig) withDefaults() (CampaignConfig, error) {
	if c.Runs == 0 {
		c.Runs = 20
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	sc := &c.Scenario
	if err := sc.Validate(); err != nil {
		return c, err
	}
	low, high := sc.Workers.Range()
	pl, ph := sc.Answer.Range()
	switch {
	case c.Binary == "":
		return c, errors.New("load: the program to judge is not named")
	case sc.Contacts < 1 || sc.Contacts > 100_000:
		return c, errors.New("load: --contacts must be 1 to 100000")
	case low != high || pl != ph || low < 1:
		return c, errors.New("load: workers and answers must not change over time, or the real callees could not be told " +
			"what to do")
	case sc.Machines > 0:
		return c, errors.New("load: the share of machines must be 0: who answered is not judged here")
	case sc.Timeout < 15*time.Second || sc.Timeout > 2*time.Minute || sc.Timeout%time.Second != 0:
		return c, errors.New("load: the ring timeout must be 15s to 2m, in whole seconds")
	case c.Runs < 2 || c.Runs > 1000:
		return c, errors.New("load: --runs must be 2 to 1000")
	}
	return c, nil
}

// Campaign plays the scenario twice and compares.
func Campaign(ctx context.Context, cfg CampaignConfig) (*Comparison, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	sc := &cfg.Scenario
	seats := int(sc.Workers.At(0))
	w, err := open(ctx, Config{Binary: cfg.Binary, Rate: 1000, Seats: seats, Keep: cfg.Keep, Log: cfg.Log,
		callees: cfg.script(),
		// The callee ends the conversation.
		conversation: map[string]any{"weight": 1, "mute": true}})
	if err != nil {
		return nil, err
	}
	defer w.close()
	zone, left := morning(time.Now())
	sc.Length = left // the simulated day ends when the real one does
	id, err := w.draft(ctx, sc.Contacts, map[string]any{
		"name": "Comparison", "bot_id": botID, "concurrency": seats, "amd": "off", "max_attempts": 1,
		"number_pool":    []string{ownNumber},
		"window":         map[string]any{"zone": zone, "start": "00:00", "end": "00:00"},
		"ring_timeout_s": int(sc.Timeout / time.Second), "pacing_mode": string(cfg.Policy),
		"abandon_cap_pct": 100 * sc.Cap,
	})
	if err != nil {
		return nil, err
	}
	cfg.Log("%d contacts are loaded; %d seats, %s", sc.Contacts, seats, cfg.Policy)
	c := &Comparison{Policy: cfg.Policy, Seats: seats, Contacts: sc.Contacts, CapPct: 100 * sc.Cap,
		Simulated: make([]Outcome, cfg.Runs)}
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
		return nil, err
	}
	if err := w.untilCompleted(ctx, id, &cfg); err != nil {
		return nil, err
	}
	if c.Real, err = w.outcome(ctx, id, seats, sc.Cap); err != nil {
		return nil, err
	}
	cfg.simulate(c.Simulated)
	c.judge()
	return c, nil
}

// script gives every number the simulator's outcome of its dial.
func (c *CampaignConfig) script() map[string]any {
	script := make(map[string]any, c.Scenario.Contacts)
	for i := range c.Scenario.Contacts {
		f := callee.FateOf(&c.Scenario, c.Seed, uint64(i)+1, 0)
		b := map[string]any{"kind": "no_answer"}
		switch {
		case f.Answered:
			b = map[string]any{"kind": "human", "ring": f.Ring.String(), "talk": f.Talk.String()}
		case f.Ring < c.Scenario.Timeout:
			b = map[string]any{"kind": "refuse", "code": 486, "progress": "ringing", "ring": f.Ring.String()}
		}
		script[contactNumber(i)] = []any{b}
	}
	// With audio: a call without any for 30 s is ended as broken.
	return map[string]any{"script": script, "media": true}
}

// morning returns a zone in which midnight is at least half a day away, and the time until then.
func morning(now time.Time) (zone string, left time.Duration) {
	now = now.UTC()
	shift := 8 - now.Hour() // about eight o'clock there
	if shift < -11 {
		shift += 24
	}
	// POSIX counts these westwards.
	zone = fmt.Sprintf("Etc/GMT%+d", -shift)
	if shift == 0 {
		zone = "UTC"
	}
	there := now.Add(time.Duration(shift) * time.Hour)
	midnight := time.Date(there.Year(), there.Month(), there.Day()+1, 0, 0, 0, 0, time.UTC)
	return zone, midnight.Sub(there)
}

// untilCompleted waits for the campaign's end and for its last call.
func (w *world) untilCompleted(ctx context.Context, id string, cfg *CampaignConfig) error {
	// One line per seat is the slowest pacing; allow half as much again, and a ring.
	sc := &cfg.Scenario
	each := sc.Timeout + time.Duration(float64(sc.TalkMean)*sc.Answer.At(0))
	limit := time.Duration(float64(each)*float64(sc.Contacts)/sc.Workers.At(0)*3/2) + 3*time.Minute
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said := time.Now()
	return poll(ctx, time.Second, func() (bool, error) {
		if err := w.engine.ended(); err != nil {
			return false, err
		}
		var d struct {
			Status   string `json:"status"`
			Draining bool   `json:"draining"`
			Counters struct {
				Attempts, Conversations int
			} `json:"counters"`
			Live *struct {
				Explanation string `json:"explanation"`
			} `json:"live"`
		}
		if err := w.api.do(ctx, http.MethodGet, "/api/v1/campaigns/"+id, nil, &d); err != nil {
			return false, err
		}
		if time.Since(said) > 30*time.Second && d.Live != nil {
			said = time.Now()
			cfg.Log("%d attempts, %d conversations; %s", d.Counters.Attempts, d.Counters.Conversations, d.Live.Explanation)
		}
		return d.Status == "completed" && !d.Draining, nil
	})
}

// outcome computes the campaign's result from its attempts.
func (w *world) outcome(ctx context.Context, id string, seats int, limit float64) (o Outcome, err error) {
	var held float64
	var served int // while there was somebody to dial
	err = w.db.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE served_at IS NOT NULL),
			count(*) FILTER (WHERE outcome = 'abandoned'), count(*) FILTER (WHERE served_at <= until),
			coalesce(sum(extract(epoch FROM least(ended_at, until) - answered_at))
				FILTER (WHERE served_at <= until), 0)::float8,
			coalesce(extract(epoch FROM max(ended_at) - min(invite_at)), 0)::float8,
			coalesce(extract(epoch FROM min(until) - min(invite_at)), 0)::float8
		FROM attempts, (SELECT max(invite_at) AS until FROM attempts WHERE campaign_id = $1) last
		WHERE campaign_id = $1`, id).
		Scan(&o.Dials, &o.Connects, &o.Abandoned, &served, &held, &o.Seconds, &o.Dialling)
	if err != nil || o.Dialling == 0 {
		return o, errors.Join(err, errors.New("load: the campaign has no attempts"))
	}
	live := o.Connects + o.Abandoned
	o.PerHour = float64(served) * 3600 / o.Dialling
	o.Busy = 100 * held / o.Dialling / float64(seats)
	if live > 0 {
		o.Abandon = 100 * float64(o.Abandoned) / float64(live)
	}
	o.Within = float64(o.Abandoned) <= limit*float64(live)
	return o, nil
}

// simulate plays the scenario with as many seeds as there are outcomes.
func (c *CampaignConfig) simulate(into []Outcome) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				r := trial.Run(&c.Scenario, c.Policy, 0, c.Seed+uint64(i)) //nolint:gosec // not negative
				l := &r.Listed
				o := Outcome{Seconds: r.Length.Seconds(), Dialling: l.Length.Seconds(), Dials: r.Dials, Connects: r.Connects(),
					Abandoned: r.Counts.Abandoned, Within: !r.OverEnd,
					PerHour: float64(l.Connects) / l.Length.Hours(), Busy: 100 * float64(l.Busy) / float64(l.Workers)}
				if rate, ok := r.Counts.Rate(); ok {
					o.Abandon = 100 * rate
				}
				into[i] = o
			}
		})
	}
	for i := range into {
		next <- i
	}
	close(next)
	wg.Wait()
}

// judge compares.
func (c *Comparison) judge() {
	n := float64(len(c.Simulated))
	c.Mean.Within, c.Least = true, 100
	for i := range c.Simulated {
		o := &c.Simulated[i]
		c.Mean.Seconds, c.Mean.PerHour = c.Mean.Seconds+o.Seconds/n, c.Mean.PerHour+o.PerHour/n
		c.Mean.Dialling += o.Dialling / n
		c.Mean.Busy, c.Mean.Abandon = c.Mean.Busy+o.Busy/n, c.Mean.Abandon+o.Abandon/n
		c.Mean.Dials, c.Mean.Connects, c.Mean.Abandoned = c.Mean.Dials+o.Dials, c.Mean.Connects+o.Connects, c.Mean.Abandoned+
			o.Abandoned
		c.Mean.Within = c.Mean.Within && o.Within
		c.Least, c.Most = min(c.Least, o.Abandon), max(c.Most, o.Abandon)
	}
	k := len(c.Simulated)
	c.Mean.Dials, c.Mean.Connects, c.Mean.Abandoned = c.Mean.Dials/k, c.Mean.Connects/k, c.Mean.Abandoned/k
	c.Failures = []string{}
	fail := func(format string, args ...any) { c.Failures = append(c.Failures, fmt.Sprintf(format, args...)) }
	apart := func(what string, a, b float64) {
		if a < b*(1-likeness) || a > b*(1+likeness) {
			fail("%s is %.1f, more than %.0f %% from the simulated %.1f", what, a, 100*likeness, b)
		}
	}
	apart("busy %", c.Real.Busy, c.Mean.Busy)
	apart("connects/h", c.Real.PerHour, c.Mean.PerHour)
	if c.Real.Abandon < c.Least || c.Real.Abandon > c.Most {
		fail("abandon %% is %.2f, simulated %.2f to %.2f", c.Real.Abandon, c.Least, c.Most)
	}
	if !c.Real.Within {
		fail("%d of %d live answers were abandoned: over the cap of %.2f %%", c.Real.Abandoned,
			c.Real.Connects+c.Real.Abandoned, c.CapPct)
	}
	if c.Real.Dials != c.Contacts {
		fail("%d dials for %d contacts", c.Real.Dials, c.Contacts)
	}
}

// Print writes the comparison as a table.
func (c *Comparison) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s, %d seats, %d contacts, cap %.2f %%\n\n", c.Policy, c.Seats, c.Contacts, c.CapPct)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "\tbusy %\tconnects/h\tabandon %\tconnects\tabandoned\tdialling s\t")
	row := func(name string, o *Outcome) {
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%.0f\t%.2f\t%d\t%d\t%.0f\t\n", name, o.Busy, o.PerHour, o.Abandon, o.Connects,
			o.Abandoned, o.Dialling)
	}
	row("real", &c.Real)
	row(fmt.Sprintf("simulated, mean of %d", len(c.Simulated)), &c.Mean)
	_ = t.Flush()
	_, _ = fmt.Fprintf(out, "\nsimulated abandon %%: %.2f to %.2f\n", c.Least, c.Most)
}

// contactNumber is the number of the i-th contact.
func contactNumber(i int) string { return fmt.Sprintf("+4915%09d", 100000000+i) }
