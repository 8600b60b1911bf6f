package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"dialler/bench/ports"
)

// TriggersConfig describes a storm of triggers. Zero values mean the default in parentheses.
type TriggersConfig struct {
	Binary      string        // the program to measure; required
	Connections []int         // kept-alive, one request at a time on each; one row each (64, 128)
	Duration    time.Duration // of each row (10 s)
	Profiles    string        // folder for profiles of the engine
	Keep        bool          // keep data and logs
	Log         func(format string, args ...any)
}

// TriggersFigures is the cost of triggers.
type TriggersFigures struct {
	Floor TriggersRow   `json:"floor"` // a bare handler that checks the key
	Full  []TriggersRow `json:"full"`  // as fast as they are accepted
	Half  TriggersRow   `json:"half"`  // at half of the highest rate
	// Accepted is how many triggers were accepted, Stored how many contacts they have created.
	Accepted int `json:"accepted"`
	Stored   int `json:"stored"`
}

// TriggersRow is one measurement: times in ms, CPU time in µs per request.
type TriggersRow struct {
	Connections int            `json:"connections"`
	Offered     float64        `json:"offered,omitempty"` // requests/s, 0: as fast as they are answered
	Rate        float64        `json:"rate"`              // answered 200, requests/s
	Sent        int            `json:"sent"`
	Accepted    int            `json:"accepted"`
	Refused     map[string]int `json:"refused,omitempty"` // by status
	Latency     Spread         `json:"latency_ms"`        // from when it was due
	Server      float64        `json:"server_us"`
	Postgres    float64        `json:"postgres_us,omitempty"`
	Commit      Spread         `json:"commit_ms"`
	GroupSize   float64        `json:"writes_per_commit,omitempty"`
	Dialled     int            `json:"dialled,omitempty"`
}

// triggerRate and triggerSeats bound what the campaign dials meanwhile: most of the triggers are
// queued.
const (
	triggerRate  = 10
	triggerSeats = 20
)

// Triggers measures how many triggers per second are accepted, each durable, and what one costs.
func Triggers(ctx context.Context, cfg TriggersConfig) (*TriggersFigures, error) {
	if len(cfg.Connections) == 0 {
		cfg.Connections = []int{64, 128}
	}
	if cfg.Duration == 0 {
		cfg.Duration = 10 * time.Second
	}
	for _, n := range cfg.Connections {
		if n < 1 || n > 1000 {
			return nil, errors.New("load: --connections must be 1 to 1000 each")
		}
	}
	if cfg.Duration < time.Second || cfg.Duration > 5*time.Minute {
		return nil, errors.New("load: --duration must be 1s to 5m")
	}
	world, err := Config{Binary: cfg.Binary, Rate: triggerRate, Seats: triggerSeats, Profiles: cfg.Profiles,
		Keep: cfg.Keep, Log: cfg.Log}.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &TriggersFigures{}
	if err := f.floor(ctx, &world, cfg); err != nil {
		return nil, err
	}
	w, err := open(ctx, world)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return f, f.storm(ctx, w, cfg)
}

// floor measures the bare handler, in a process of its own.
func (f *TriggersFigures) floor(ctx context.Context, world *Config, cfg TriggersConfig) (err error) {
	w := &floorWorld{}
	defer w.close()
	if w.dir, err = os.MkdirTemp("", "dialler-floor-"); err != nil {
		return err
	}
	addr, err := ports.Address()
	if err != nil {
		return err
	}
	const key = "vx_0123456789abcdefghijklmnopqrstuv"
	if w.floor, err = spawn(w.dir, "floor", nil, world.Binary, "bench", "triggers", "--floor", addr, "--floor-key",
		key); err != nil {
		return err
	}
	s := newStorm(addr, key, "cmp_floor")
	if err := poll(ctx, 20*time.Millisecond, func() (bool, error) { return s.up(), w.floor.ended() }); err != nil {
		return err
	}
	conns := cfg.Connections[0]
	s.run(ctx, conns, 0, time.Second)
	before := cpu(w.floor.pid(), false)
	f.Floor = s.run(ctx, conns, 0, cfg.Duration)
	f.Floor.Server = each(cpu(w.floor.pid(), false)-before, f.Floor.Sent)
	world.Log("a bare handler: %.0f requests/s, %.1f µs of processor time each", f.Floor.Rate, f.Floor.Server)
	return ctx.Err()
}

// floorWorld is the process of the bare handler.
type floorWorld struct {
	dir   string
	floor *process
}

func (w *floorWorld) close() {
	w.floor.stop()
	_ = os.RemoveAll(w.dir)
}

func each(d time.Duration, n int) float64 {
	return float64(d) / float64(time.Microsecond) / float64(max(n, 1))
}

// settle waits until no write is in flight.
func (w *world) settle(ctx context.Context) error {
	return poll(ctx, 100*time.Millisecond, func() (bool, error) {
		m, err := w.api.metrics(ctx)
		return err == nil && m["dialler_commit_writes_waiting"] == 0, err
	})
}

// stormCampaign creates an always-on campaign that accepts triggers, and a key for it.
func (w *world) stormCampaign(ctx context.Context) (id, key string, err error) {
	if id, err = w.draft(ctx, 0, map[string]any{
		"name": "Storm", "bot_id": botID, "concurrency": triggerSeats, "amd": "off", "max_attempts": 1,
		"number_pool": []string{ownNumber}, "always_on": true,
		"window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"}, "call_limit_s": 60,
	}); err != nil {
		return "", "", err
	}
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
		return "", "", err
	}
	var made struct {
		Key string `json:"key"`
	}
	err = w.api.do(ctx, http.MethodPost, "/api/v1/api-keys", map[string]any{"name": "Storm",
		"scopes": []string{"trigger"}}, &made)
	return id, made.Key, err
}

// row makes one measurement of the engine.
func (w *world) row(ctx context.Context, s *storm, conns int, rate float64, d time.Duration) (r TriggersRow,
	err error) {
	if err := w.settle(ctx); err != nil {
		return r, err
	}
	before, err := w.histogram(ctx)
	if err != nil {
		return r, err
	}
	engine, pg := cpu(w.engine.pid(), false), treeCPU(w.pgPID)
	r = s.run(ctx, conns, rate, d)
	r.Server, r.Postgres = each(cpu(w.engine.pid(), false)-engine, r.Sent), each(treeCPU(w.pgPID)-pg, r.Sent)
	after, err := w.histogram(ctx)
	if err != nil {
		return r, err
	}
	h := after.since(before)
	r.Commit = Spread{P50: 1000 * h.quantile(0.5), P99: 1000 * h.quantile(0.99), Max: 1000 * h.quantile(1)}
	if n := h.count(); n > 0 {
		r.GroupSize = h.writes / n
	}
	return r, ctx.Err()
}

func (f *TriggersFigures) storm(ctx context.Context, w *world, cfg TriggersConfig) error {
	id, key, err := w.stormCampaign(ctx)
	if err != nil {
		return err
	}
	s := newStorm(w.addr, key, id)
	f.Accepted = s.run(ctx, cfg.Connections[0], 0, 2*time.Second).Accepted // fills pools and prepares plans
	best := TriggersRow{}
	for i, conns := range cfg.Connections {
		var saved chan error
		if cfg.Profiles != "" && i == 0 {
			saved = make(chan error, 1)
			go func() { saved <- w.profileStorm(ctx, cfg) }()
		}
		r, err := w.row(ctx, s, conns, 0, cfg.Duration)
		if err != nil {
			return err
		}
		if saved != nil {
			if err := <-saved; err != nil {
				return err
			}
		}
		w.cfg.Log("%d connections: %.0f triggers/s", conns, r.Rate)
		f.Full = append(f.Full, r)
		f.Accepted += r.Accepted
		if r.Rate > best.Rate {
			best = r
		}
	}
	if f.Half, err = w.row(ctx, s, best.Connections, best.Rate/2, cfg.Duration); err != nil {
		return err
	}
	f.Accepted += f.Half.Accepted
	if err := w.settle(ctx); err != nil {
		return err
	}
	return w.db.QueryRow(ctx, "SELECT count(*) FROM contacts WHERE campaign_id = $1", id).Scan(&f.Stored)
}

// profileStorm saves profiles of the engine under maximum load.
func (w *world) profileStorm(ctx context.Context, cfg TriggersConfig) error {
	if err := os.MkdirAll(cfg.Profiles, 0o750); err != nil {
		return err
	}
	err := w.api.profile(ctx, w.profiles, "profile", fmt.Sprintf("?seconds=%d", max(1, int(cfg.Duration.Seconds())-2)),
		cfg.Profiles)
	return errors.Join(err, w.api.profile(ctx, w.profiles, "allocs", "", filepath.Clean(cfg.Profiles)))
}

// best is the row with the highest rate.
func (f *TriggersFigures) best() (r TriggersRow) {
	for i := range f.Full {
		if f.Full[i].Rate > r.Rate {
			r = f.Full[i]
		}
	}
	return r
}

// triggerPatience is how much longer than a group commit a trigger may take at half the highest
// rate, comparing the 99th percentiles, in ms.
const triggerPatience = 10

// Wrong lists what is wrong.
func (f *TriggersFigures) Wrong() (wrong []string) {
	for _, r := range append([]TriggersRow{f.Floor, f.Half}, f.Full...) {
		if r.Accepted != r.Sent || r.Sent == 0 {
			wrong = append(wrong, fmt.Sprintf("%d of %d requests were not answered 200: %v", r.Sent-r.Accepted, r.Sent,
				r.Refused))
		}
	}
	if f.Stored != f.Accepted {
		wrong = append(wrong, fmt.Sprintf("%d triggers were accepted, %d contacts are stored", f.Accepted, f.Stored))
	}
	if h := &f.Half; h.Rate < 0.98*h.Offered {
		wrong = append(wrong, fmt.Sprintf("reached %.0f of %.0f triggers/s at half the highest rate", h.Rate, h.Offered))
	} else if h.Latency.P99 > h.Commit.P99+triggerPatience {
		wrong = append(wrong, fmt.Sprintf("at half the highest rate a trigger takes %.1f ms (p99), a group commit %.1f "+
			"ms; %d ms more are allowed", h.Latency.P99, h.Commit.P99, triggerPatience))
	}
	return wrong
}

// Print writes the table for people.
func (f *TriggersFigures) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "\tconnections\trequests/s\tp50, p99, max ms\tserver µs\tPostgreSQL µs\tcommit p50, p99 "+
		"ms\twrites/commit\tdialled\n")
	line := func(what string, r *TriggersRow) {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.0f\t%.1f, %.1f, %.1f\t%.1f\t%.1f\t%.1f, %.1f\t%.1f\t%d\n", what, r.Connections,
			r.Rate, r.Latency.P50, r.Latency.P99, r.Latency.Max, r.Server, r.Postgres, r.Commit.P50, r.Commit.P99, r.GroupSize,
			r.Dialled)
	}
	line("bare handler", &f.Floor)
	for i := range f.Full {
		line("all it takes", &f.Full[i])
	}
	line("half of that", &f.Half)
	_ = t.Flush()
	best := f.best()
	_, _ = fmt.Fprintf(out, "%d accepted, %d contacts stored; a trigger costs %.1f times a bare handler, %.1f with "+
		"PostgreSQL\n",
		f.Accepted, f.Stored, best.Server/f.Floor.Server, (best.Server+best.Postgres)/f.Floor.Server)
}

// stormBody is the body of a request.
func stormBody(campaign, number string, row int) ([]byte, error) {
	return json.Marshal(map[string]any{"campaign_id": campaign, "mobile": number,
		"metadata": map[string]any{"name": "Ada Lovelace", "account": fmt.Sprint(row), "plan": "gold"}})
}
