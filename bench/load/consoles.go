package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// ConsolesConfig is a number of consoles watching campaigns that dial. Zero values mean the default
// in parentheses.
type ConsolesConfig struct {
	Binary    string        // the program to measure; required
	Rate      int           // calls per second, of all campaigns (200)
	Campaigns int           // that run (20)
	Consoles  int           // open consoles (100)
	Window    time.Duration // of each measurement (20 s)
	Rounds    int           // without and with the consoles, in turn (6)
	// Browser is the program and the arguments that measure a page in a browser, by the environment
	// DIALLER_URL, EMAIL, PASSWORD, WINDOW (0: only how they open); none: only the engine is measured.
	Browser []string
	Keep    bool // keep data and logs
	Log     func(format string, args ...any)
}

// ConsolesFigures is the cost of consoles. CPU time is in per cent of a core.
type ConsolesFigures struct {
	Rate      float64 `json:"dials_per_s"` // INVITEs
	Campaigns int     `json:"campaigns"`
	Consoles  int     `json:"consoles"`
	// Without and With are the engine's CPU time, one value per window.
	Without []float64 `json:"engine_without_pct"`
	With    []float64 `json:"engine_with_pct"`
	Cost    float64   `json:"engine_cost_pct"`       // mean of the differences between neighbours
	Error   float64   `json:"engine_cost_error_pct"` // its standard error
	Events  float64   `json:"events_per_s"`          // received by each console
	KiB     float64   `json:"kib_per_s"`             // received by each console
	// Pages is the browser's report on each page.
	Pages []PageFigures `json:"pages,omitempty"`
}

// PageFigures is the cost of a page in a browser.
type PageFigures struct {
	Page     string  `json:"page"`
	CPUPct   float64 `json:"cpu_pct"`  // of the whole browser, while the campaigns dial
	TabPct   float64 `json:"tab_pct"`  // the part of it used by the tab's process
	Dialling Opening `json:"dialling"` // while campaigns dial, on the same cores
	Paused   Opening `json:"paused"`   // once they are paused: with the cores to itself
}

// Opening is when a page that was never opened before becomes usable, in ms after the navigation:
// the median of several.
type Opening struct {
	Shown       float64 `json:"shown_ms"`       // its content stands
	Answered    float64 `json:"answered_ms"`    // the menu is open after a click as soon as the content was shown
	Interactive float64 `json:"interactive_ms"` // and since then the main thread had no task of 50 ms for half a second
	Later       float64 `json:"later_ms"`       // the longest task in the seconds that follow
}

// Limits for the figures.
const (
	consolesEnginePct = 5
	consolesPagePct   = 30
	consolesReady     = 1500 // ms
)

// Wrong lists the figures that exceed their limits.
func (f *ConsolesFigures) Wrong() (list []string) {
	if f.Rate < 180 {
		list = append(list, fmt.Sprintf("only %.0f dials a second were placed", f.Rate))
	}
	if f.Cost > consolesEnginePct {
		list = append(list, fmt.Sprintf("%d consoles cost the engine %.1f %% of a core, more than %d", f.Consoles, f.Cost,
			consolesEnginePct))
	}
	for _, p := range f.Pages {
		if p.CPUPct > consolesPagePct {
			list = append(list, fmt.Sprintf("%s takes %.1f %% of a core, more than %d", p.Page, p.CPUPct, consolesPagePct))
		}
		for when, o := range map[string]Opening{"while they dial": p.Dialling, "once they are paused": p.Paused} {
			if o.Interactive > consolesReady {
				list = append(list, fmt.Sprintf("%s is interactive after %.0f ms %s, more than %d", p.Page, o.Interactive, when,
					consolesReady))
			}
		}
	}
	return list
}

// Print writes the figures for people.
func (f *ConsolesFigures) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "campaigns\t%d\ndials/s\t%.0f\nconsoles\t%d, each %.2f events/s and %.1f KiB/s\n", f.Campaigns,
		f.Rate, f.Consoles, f.Events, f.KiB)
	_, _ = fmt.Fprintf(t, "engine without them\t%.1f %% of a core\nengine with them\t%.1f %%\ncost of all\t%.1f %%, "+
		"standard error %.1f\n", f.Without, f.With, f.Cost, f.Error)
	for _, p := range f.Pages {
		_, _ = fmt.Fprintf(t, "%s\t%.1f %% of a core, of that the tab %.1f %%\n", p.Page, p.CPUPct, p.TabPct)
		_, _ = fmt.Fprintf(t, "  opened while they dial\t%s\n  once they are paused\t%s\n", p.Dialling, p.Paused)
	}
	_ = t.Flush()
}

func (o Opening) String() string {
	return fmt.Sprintf("shown after %.0f ms, a click answered after %.0f ms, interactive after %.0f ms, then busy for "+
		"at most %.0f ms", o.Shown, o.Answered, o.Interactive, o.Later)
}

func (c ConsolesConfig) withDefaults() (ConsolesConfig, error) {
	for _, d := range []struct {
		v         *int
		def, most int
		flag      string
	}{{&c.Rate, 200, 1000, "rate"}, {&c.Campaigns, 20, 100, "campaigns"}, {&c.Consoles, 100, 900, "consoles"}, {&c.Rounds,
		6, 20, "rounds"}} {
		if *d.v == 0 {
			*d.v = d.def
		}
		if *d.v < 1 || *d.v > d.most {
			return c, fmt.Errorf("load: --%s must be 1 to %d", d.flag, d.most)
		}
	}
	if c.Window == 0 {
		c.Window = 20 * time.Second
	}
	if c.Window < 2*time.Second || c.Window > time.Minute {
		return c, errors.New("load: --window must be 2s to 1m")
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	return c, nil
}

// consolesEach is how many consoles one user has open: a user may have 30 streams.
const consolesEach = 25

// Consoles measures what open consoles cost the engine, and what the page costs the browser.
func Consoles(ctx context.Context, cfg ConsolesConfig) (*ConsolesFigures, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	world, err := Config{Binary: cfg.Binary, Rate: cfg.Rate, Keep: cfg.Keep, Log: cfg.Log}.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, world)
	if err != nil {
		return nil, err
	}
	defer w.close()
	f := &ConsolesFigures{Campaigns: cfg.Campaigns, Consoles: cfg.Consoles}
	ids, err := w.dialAll(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	users, err := w.viewers(ctx, (cfg.Consoles+consolesEach-1)/consolesEach)
	if err != nil {
		return nil, err
	}
	if err := f.rounds(ctx, w, &cfg, users); err != nil {
		return nil, err
	}
	if len(cfg.Browser) == 0 {
		return f, nil
	}
	cfg.Log("a browser opens the pages")
	dialling, err := w.browse(ctx, &cfg, users[0], cfg.Window)
	if err != nil {
		return nil, err
	}
	cfg.Log("and opens them again when the campaigns are paused")
	if err := w.pauseAll(ctx, ids); err != nil {
		return nil, err
	}
	paused, err := w.browse(ctx, &cfg, users[0], 0)
	if err != nil {
		return nil, err
	}
	for i, d := range dialling {
		f.Pages = append(f.Pages, PageFigures{Page: d.Page, CPUPct: d.CPUPct, TabPct: d.TabPct, Dialling: d.Opening,
			Paused: paused[i].Opening})
	}
	return f, nil
}

// dialAll starts campaigns that have enough to dial for the whole measurement.
func (w *world) dialAll(ctx context.Context, cfg *ConsolesConfig) ([]string, error) {
	took := time.Duration(2*cfg.Rounds)*(cfg.Window+2*time.Second) + time.Minute
	if len(cfg.Browser) > 0 {
		took += 4 * time.Minute
	}
	each := int(float64(cfg.Rate)*took.Seconds()) / cfg.Campaigns
	cfg.Log("%d campaigns with %d contacts each", cfg.Campaigns, each)
	ids := make([]string, cfg.Campaigns)
	for i := range ids {
		id, err := w.draftFrom(ctx, i*each, each, map[string]any{
			"name": fmt.Sprintf("Campaign %02d", i+1), "bot_id": botID, "concurrency": max(10,
				w.cfg.seats()/cfg.Campaigns), "max_attempts": 1,
			"number_pool": []string{ownNumber}, "window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"},
		})
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	for _, id := range ids {
		if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
			return nil, err
		}
	}
	return ids, sleep(ctx, 5*time.Second) // the pace is reached and the models have adapted
}

// pauseAll pauses the campaigns and waits until their last calls have ended.
func (w *world) pauseAll(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/pause", nil, nil); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return poll(ctx, 500*time.Millisecond, func() (bool, error) {
		m, err := w.api.metrics(ctx)
		return err == nil && m["dialler_sip_legs_live"] == 0, err
	})
}

type viewer struct{ email, password, token string }

// viewers creates users who watch.
func (w *world) viewers(ctx context.Context, n int) (list []viewer, err error) {
	for i := range n {
		v := viewer{email: fmt.Sprintf("viewer%d@dialler.local", i+1)}
		var made struct {
			Password string `json:"password"`
		}
		if err := w.api.do(ctx, http.MethodPost, "/api/v1/users", map[string]any{"email": v.email, "role": "viewer"},
			&made); err != nil {
			return nil, err
		}
		v.password = made.Password
		c := newClient(w.addr)
		if err := c.login(ctx, v.email, v.password); err != nil {
			return nil, err
		}
		v.token = c.bearer
		c.close()
		list = append(list, v)
	}
	return list, nil
}

// rounds measures the engine without and with the consoles in turn, so that other changes over time
// affect both.
func (f *ConsolesFigures) rounds(ctx context.Context, w *world, cfg *ConsolesConfig, users []viewer) error {
	var sent0, sent1 float64
	var dialling time.Duration
	measure := func() (float64, error) {
		m, err := w.api.metrics(ctx)
		if err != nil {
			return 0, err
		}
		before, began := cpu(w.engine.pid(), false), time.Now()
		sent0 = m["dialler_legs_sent_total"]
		if err := sleep(ctx, cfg.Window); err != nil {
			return 0, err
		}
		took := time.Since(began)
		pct := 100 * float64(cpu(w.engine.pid(), false)-before) / float64(took)
		if m, err = w.api.metrics(ctx); err != nil {
			return 0, err
		}
		sent1 += m["dialler_legs_sent_total"] - sent0
		dialling += took
		return pct, w.engine.ended()
	}
	for round := range cfg.Rounds {
		without, err := measure()
		if err != nil {
			return err
		}
		watch := w.watchAll(ctx, cfg.Consoles, users)
		if err := sleep(ctx, time.Second); err != nil { // the snapshots have been sent
			return err
		}
		events, bytes, began := watch.events.Load(), watch.bytes.Load(), time.Now()
		with, err := measure()
		took := time.Since(began).Seconds()
		f.Events = float64(watch.events.Load()-events) / took / float64(cfg.Consoles)
		f.KiB = float64(watch.bytes.Load()-bytes) / took / float64(cfg.Consoles) / 1024
		if broken := watch.close(); err == nil && broken != nil {
			err = broken
		}
		if err != nil {
			return err
		}
		f.Without, f.With = append(f.Without, without), append(f.With, with)
		cfg.Log("round %d: the engine takes %.1f %% of a core, with %d consoles %.1f %%", round+1, without, cfg.Consoles,
			with)
	}
	f.Rate = sent1 / dialling.Seconds()
	f.Cost, f.Error = meanDifference(f.With, f.Without)
	return nil
}

// meanDifference is the mean of a[i]-b[i] and its standard error, which is 0 for a single value.
func meanDifference(a, b []float64) (mean, standardError float64) {
	n := float64(len(a))
	for i := range a {
		mean += (a[i] - b[i]) / n
	}
	for i := range a {
		standardError += (a[i] - b[i] - mean) * (a[i] - b[i] - mean)
	}
	return mean, math.Sqrt(standardError / n / max(n-1, 1))
}

// watching are open consoles.
type watching struct {
	end           context.CancelFunc
	all           sync.WaitGroup
	events, bytes atomic.Int64
	mu            sync.Mutex
	err           error
}

// healthEvery is how often a console polls the health page.
const healthEvery = 5 * time.Second

// watchAll opens consoles as the page does: the stream of all campaigns, and the health every few
// seconds.
func (w *world) watchAll(ctx context.Context, n int, users []viewer) *watching {
	ctx, cancel := context.WithCancel(ctx)
	c := &watching{end: cancel}
	for i := range n {
		token := users[i/consolesEach%len(users)].token
		c.all.Go(func() { c.fail(ctx, c.stream(ctx, "http://"+w.addr+"/api/v1/live", token)) })
		c.all.Go(func() {
			api := newClient(w.addr)
			defer api.close()
			api.bearer = token
			for sleep(ctx, time.Duration(float64(healthEvery)*(0.5+float64(i%100)/100))) == nil {
				c.fail(ctx, api.do(ctx, http.MethodGet, "/api/v1/health", nil, nil))
			}
		})
	}
	return c
}

func (c *watching) fail(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
}

func (c *watching) close() error {
	c.end()
	c.all.Wait()
	return c.err
}

// stream reads events until the context ends.
func (c *watching) stream(ctx context.Context, url, token string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	t := &http.Transport{DisableCompression: true}
	defer t.CloseIdleConnections()
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("load: the stream was answered %d", resp.StatusCode)
	}
	buf := make([]byte, 64<<10)
	newline := false
	for {
		n, err := resp.Body.Read(buf)
		for _, b := range buf[:n] {
			if b == '\n' && newline {
				c.events.Add(1)
			}
			newline = b == '\n'
		}
		c.bytes.Add(int64(n))
		if err != nil {
			return fmt.Errorf("load: a stream ended: %w", err)
		}
	}
}

// browsed is what the browser reports about a page.
type browsed struct {
	Page    string  `json:"page"`
	CPUPct  float64 `json:"cpu_pct"`
	TabPct  float64 `json:"tab_pct"`
	Opening Opening `json:"opening"`
}

// browse makes the browser measure the pages; without a window only their opening.
func (w *world) browse(ctx context.Context, cfg *ConsolesConfig, v viewer, window time.Duration) (pages []browsed,
	err error) {
	cmd := exec.CommandContext(ctx, cfg.Browser[0], cfg.Browser[1:]...) //nolint:gosec // the operator names it
	cmd.Env = append(os.Environ(), "DIALLER_URL=http://"+w.addr, "EMAIL="+v.email, "PASSWORD="+v.password,
		fmt.Sprintf("WINDOW=%d", window.Milliseconds()))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("load: the browser: %w", err)
	}
	return pages, json.Unmarshal(out, &pages)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
