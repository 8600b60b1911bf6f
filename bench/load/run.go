package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Run makes one measurement.
func Run(ctx context.Context, cfg Config) (*Figures, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.measure(ctx)
}

// used is the CPU time of each process.
type used struct{ engine, postgres, callee, bot time.Duration }

func (w *world) used() (u used) {
	u.engine, u.postgres, u.bot = cpu(w.engine.pid(), false), treeCPU(w.pgPID), cpu(w.bot.pid(), false)
	if w.callee != nil {
		u.callee = cpu(w.callee.pid(), false)
	}
	return u
}

// measure dials one campaign and reads the results.
func (w *world) measure(ctx context.Context) (*Figures, error) {
	cfg := &w.cfg
	n := cfg.calls()
	f := &Figures{Rate: cfg.Rate, Duration: cfg.Duration.Seconds(), Talk: cfg.Talk.Seconds(), Media: cfg.Media,
		AMD:      cfg.AMD,
		Answerer: "model carrier", Offered: n, Failures: map[string]int{}}
	switch {
	case cfg.Trunk != "":
		f.Answerer = cfg.Trunk
	case cfg.SIPp:
		f.Answerer = "sipp"
	}
	id, err := w.campaign(ctx, n)
	if err != nil {
		return nil, err
	}
	cfg.Log("%d contacts are loaded; dialling %d a second for %.0f s", n, cfg.Rate, cfg.Duration.Seconds())
	heapIdle, err := w.liveHeap(ctx)
	if err != nil {
		return nil, err
	}
	before, err := w.histogram(ctx)
	if err != nil {
		return nil, err
	}
	idle, err := w.idlePages(ctx)
	if err != nil {
		return nil, err
	}
	f.RSSBefore = mib(resident(w.engine.pid()) - idle)
	wal, err := w.wal(ctx)
	if err != nil {
		return nil, err
	}
	from, begun := w.used(), time.Now()
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
		return nil, err
	}
	if err := w.watch(ctx, f, n, begun, heapIdle); err != nil {
		return nil, err
	}
	to := w.used()
	f.Wall = time.Since(begun).Seconds()
	perCall := func(a, b time.Duration) float64 { return float64(b-a) / float64(time.Millisecond) / float64(n) }
	f.CPU = CPU{Engine: perCall(from.engine, to.engine), Postgres: perCall(from.postgres, to.postgres),
		Bot: perCall(from.bot, to.bot)}
	if w.callee != nil {
		f.CPU.Carrier = perCall(from.callee, to.callee)
	}
	after, err := w.histogram(ctx)
	if err != nil {
		return nil, err
	}
	h := after.since(before)
	f.Commit = Spread{P50: 1000 * h.quantile(0.5), P99: 1000 * h.quantile(0.99), Max: 1000 * h.quantile(1)}
	if commits := h.count(); commits > 0 {
		f.GroupSize, f.Commits = (after.writes-before.writes)/commits, commits/float64(n)
	}
	walEnd, err := w.wal(ctx)
	if err != nil {
		return nil, err
	}
	f.WALPerCall = float64(walEnd-wal) / 1024 / float64(n)
	return f, w.read(ctx, id, f)
}

// campaign creates the campaign of a run with n contacts.
func (w *world) campaign(ctx context.Context, n int) (id string, err error) {
	return w.draft(ctx, n, w.settings())
}

// settings are those of the campaign of a run.
func (w *world) settings() map[string]any {
	amd := "off"
	if w.cfg.AMD {
		amd = "parallel"
	}
	return map[string]any{
		"name": "Load", "bot_id": botID, "concurrency": w.cfg.seats(), "amd": amd, "max_attempts": 1,
		"number_pool": []string{ownNumber}, "window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"},
		"call_limit_s": int(w.cfg.Talk.Seconds()) + 60,
	}
}

// draft creates a campaign with these settings and n contacts.
func (w *world) draft(ctx context.Context, n int, settings map[string]any) (id string, err error) {
	return w.draftFrom(ctx, 0, n, settings)
}

// draftFrom is draft with contacts that start at the given one.
func (w *world) draftFrom(ctx context.Context, first, n int, settings map[string]any) (id string, err error) {
	var c struct {
		ID string `json:"campaign_id"`
	}
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns", settings, &c); err != nil {
		return "", err
	}
	const chunk = 1000
	for from := 0; from < n; from += chunk {
		if err := w.addContacts(ctx, c.ID, first+from, min(chunk, n-from)); err != nil {
			return "", err
		}
	}
	return c.ID, nil
}

// addContacts adds n contacts to a campaign, from the given one on.
func (w *world) addContacts(ctx context.Context, id string, from, n int) error {
	rows := make([]map[string]any, 0, n)
	for i := from; i < from+n; i++ {
		rows = append(rows, map[string]any{"mobile": contactNumber(i), "metadata": map[string]string{"row": fmt.Sprint(i)}})
	}
	return w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/contacts", map[string]any{"contacts": rows}, nil)
}

func mib(b int64) float64 { return float64(b) / (1 << 20) }

// settleLimit is how long nothing may happen before a run counts as over.
const settleLimit = 8 * time.Second

// watch samples the run until every call is over, or nothing changes any more.
func (w *world) watch(ctx context.Context, f *Figures, n int, begun time.Time, heapIdle float64) error {
	limit := w.cfg.Duration*3 + w.cfg.Talk + 90*time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	steadyFrom := begun.Add(w.cfg.Talk + w.cfg.Ring + time.Second)
	if half := begun.Add(w.cfg.Duration / 2); steadyFrom.After(half) {
		steadyFrom = half
	}
	steadyTo := begun.Add(w.cfg.Duration - time.Second)
	var (
		rss, live     float64
		samples       int
		cpuFrom, cpuT time.Duration
		timeFrom      time.Time
		moved         = time.Now()
		was           float64
		heaped        bool
	)
	profiled := make(chan error, 1)
	if w.cfg.Profiles == "" {
		profiled <- nil
	} else {
		go func() { profiled <- w.profile(ctx, f, steadyFrom, steadyTo) }()
	}
	err := poll(ctx, 500*time.Millisecond, func() (bool, error) {
		if err := w.engine.ended(); err != nil {
			return false, err
		}
		m, err := w.api.metrics(ctx)
		if err != nil {
			return false, err
		}
		now, size := time.Now(), mib(resident(w.engine.pid()))
		f.RSSPeak = max(f.RSSPeak, size)
		f.LivePeak = max(f.LivePeak, int(m["dialler_live_calls"]))
		if now.After(steadyFrom) && now.Before(steadyTo) {
			if timeFrom.IsZero() {
				timeFrom, cpuFrom = now, cpu(w.engine.pid(), false)
			}
			rss, live, samples = rss+size, live+m["dialler_live_calls"], samples+1
			if cpuT = cpu(w.engine.pid(), false); now.Sub(timeFrom) > 0 {
				f.StreamCore = 100 * (cpuT - cpuFrom).Seconds() / now.Sub(timeFrom).Seconds()
			}
		}
		if !heaped && now.After(steadyTo.Add(-time.Second)) {
			heaped = true
			heap, err := w.liveHeap(ctx)
			if err != nil {
				return false, err
			}
			if l := m["dialler_live_calls"]; l > 0 {
				f.HeapPerCall = (heap - heapIdle) / 1024 / l
			}
		}
		moving := m["dialler_attempts_total"] + m["dialler_attempts_ended_total"] + m["dialler_results_total"]
		if moving != was {
			was, moved = moving, now
		}
		if now.Sub(moved) > settleLimit+w.cfg.Talk && now.After(steadyTo) {
			w.stuck(ctx, m)
			return true, nil
		}
		if w.cfg.Bot == "sip" {
			return int(m["dialler_attempts_ended_total"]) >= n, nil
		}
		return int(m["dialler_results_total"]) >= n, nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if samples > 0 {
		f.RSSSteady, f.Live = rss/float64(samples), live/float64(samples)
		if f.Live > 0 {
			f.KiBPerCall = (f.RSSSteady - f.RSSBefore) * 1024 / f.Live
			f.StreamCore /= f.Live
		}
	}
	return <-profiled
}

// stuck saves what may explain why calls do not end.
func (w *world) stuck(ctx context.Context, m map[string]float64) {
	w.cfg.Keep = true
	w.cfg.Log("nothing moves for %s with %.0f live calls; what the engine does is in goroutine.pprof and its log",
		settleLimit, m["dialler_live_calls"])
	if err := w.api.profile(ctx, w.profiles, "goroutine", "?debug=1", w.dir); err != nil {
		w.cfg.Log("its goroutines could not be read: %v", err)
	}
}

// profile saves the engine's profiles of the steady part.
func (w *world) profile(ctx context.Context, f *Figures, from, to time.Time) error {
	if err := os.MkdirAll(w.cfg.Profiles, 0o750); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(time.Until(from)):
	}
	seconds := max(1, int(to.Sub(from).Seconds())-1)
	for _, p := range [][2]string{{"profile", fmt.Sprintf("?seconds=%d", seconds)}, {"heap", ""}, {"allocs", ""}} {
		if err := w.api.profile(ctx, w.profiles, p[0], p[1], w.cfg.Profiles); err != nil {
			return fmt.Errorf("load: profile %s: %w", p[0], err)
		}
		f.Profiles = append(f.Profiles, filepath.Join(w.cfg.Profiles, p[0]+".pprof"))
	}
	return nil
}

// liveHeap is the engine's live heap and stacks in bytes. Pools release their contents only with
// the second collection.
func (w *world) liveHeap(ctx context.Context) (float64, error) {
	p := &client{base: "http://" + w.profiles, http: w.api.http}
	for range 2 {
		var drop []byte
		if err := p.do(ctx, http.MethodGet, "/debug/pprof/heap?gc=1", nil, &drop); err != nil {
			return 0, err
		}
	}
	m, err := w.api.metrics(ctx)
	return m["go_gc_heap_live_bytes"] + m["go_memstats_stack_inuse_bytes"], err
}

// idlePages are the resident but empty pages of the engine's heap, left by earlier work: calls
// would use them without making the process larger.
func (w *world) idlePages(ctx context.Context) (int64, error) {
	m, err := w.api.metrics(ctx)
	return int64(max(0, m["go_memstats_heap_idle_bytes"]-m["go_memstats_heap_released_bytes"])), err
}

func (w *world) wal(ctx context.Context) (n int64, err error) {
	err = w.db.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").Scan(&n)
	return n, err
}

// settled waits until everything that the engine has counted is also in the database, as far as it
// gets there: a write is counted when it is created.
func (w *world) settled(ctx context.Context, id string) error {
	waiting, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err := poll(waiting, 100*time.Millisecond, func() (over bool, err error) {
		// Not with the context waiting: a cancelled query closes the connection.
		err = w.db.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM attempts WHERE campaign_id = $1 AND (ended_at IS NULL OR "+
			"outcome = 'completed' AND result IS NULL))", id).Scan(&over)
		return over, err
	})
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil // the figures will show it
	}
	return err
}

// read reads the figures from the database.
func (w *world) read(ctx context.Context, id string, f *Figures) error {
	if err := w.settled(ctx, id); err != nil {
		return err
	}
	rows, err := w.db.Query(ctx, `SELECT reserved_at, invite_at, answered_at, bot_connected_at, ended_at, outcome,
			result IS NOT NULL
		FROM attempts WHERE campaign_id = $1 ORDER BY invite_at`, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	var postDial, answerBot []float64
	var invites []time.Time
	millis := func(a, b *time.Time) float64 { return float64(b.Sub(*a)) / float64(time.Millisecond) }
	for rows.Next() {
		var reserved, invite, answered, connected, ended *time.Time
		var outcome string
		var result bool
		if err := rows.Scan(&reserved, &invite, &answered, &connected, &ended, &outcome, &result); err != nil {
			return err
		}
		if reserved != nil && invite != nil {
			postDial = append(postDial, millis(reserved, invite))
			invites = append(invites, *invite)
		}
		if answered != nil {
			f.Answered++
		}
		if connected != nil {
			f.Served++
			if answered != nil {
				answerBot = append(answerBot, millis(answered, connected))
			}
		}
		if ended != nil {
			f.Ended++
		}
		if result {
			f.Results++
		}
		if answered != nil && connected != nil && ended != nil && w.whole(result, outcome) {
			f.OK++
		} else {
			if outcome == "" {
				outcome = "not_ended"
			}
			if outcome == "completed" {
				outcome = "without_result"
			}
			f.Failures[outcome]++
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	seen := f.OK
	for _, k := range f.Failures {
		seen += k
	}
	if seen < f.Offered {
		f.Failures["not_dialled"] = f.Offered - seen
	}
	f.Success = float64(f.OK) / float64(f.Offered)
	f.PostDial, f.AnswerBot = spread(postDial), spread(answerBot)
	f.Reached = steadyRate(invites)
	return nil
}

// whole says whether a call is complete: a bot with a socket reports a result; one by SIP is gone
// with its BYE.
func (w *world) whole(result bool, outcome string) bool {
	if w.cfg.Bot == "sip" {
		return outcome == "connected_no_result"
	}
	return result && outcome == "completed"
}

// steadyRate is the rate between the first second and the last.
func steadyRate(at []time.Time) float64 {
	if len(at) < 2 {
		return 0
	}
	from, to := at[0].Add(time.Second), at[len(at)-1].Add(-time.Second)
	if !to.After(from.Add(500 * time.Millisecond)) {
		from, to = at[0], at[len(at)-1]
	}
	n := 0
	for _, t := range at {
		if !t.Before(from) && t.Before(to) {
			n++
		}
	}
	return float64(n) / to.Sub(from).Seconds()
}
