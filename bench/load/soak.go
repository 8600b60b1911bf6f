package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SoakSample is one sample of a long run. Sizes are in MiB.
type SoakSample struct {
	At         float64 `json:"at_s"` // since the start of the load
	Live       int     `json:"live_calls"`
	Attempts   int     `json:"attempts"` // so far
	Results    int     `json:"results"`
	RSS        float64 `json:"rss_mib"`
	Heap       float64 `json:"heap_mib"` // live at the last collection
	Goroutines int     `json:"goroutines"`
	Files      int     `json:"open_files"`
	PGMemory   float64 `json:"postgres_anon_mib"` // of all its processes, without shared memory
	PGDisk     float64 `json:"postgres_disk_mib"` // of the database; it keeps every call
	WAL        float64 `json:"wal_mib"`
	Holds      float64 `json:"number_holds_mib"` // with dead rows and indexes; live rows equal the calls
	Contact    float64 `json:"contact_bytes"`    // of the table with its indexes, per row
	Attempt    float64 `json:"attempt_bytes"`
	Dead       float64 `json:"dead_pct"` // dead rows of contacts, attempts and legs, as a share of all
	PostDial   Spread  `json:"post_dial_ms"`
}

// SoakFigures is a long run at a steady rate.
type SoakFigures struct {
	Rate     int            `json:"rate"`
	Duration float64        `json:"duration_s"`
	Calls    int            `json:"calls"`
	Served   int            `json:"served"` // completed, with a stored result
	Outcomes map[string]int `json:"outcomes"`
	Reached  float64        `json:"reached"` // calls/s
	PerCall  float64        `json:"disk_kib_per_call"`
	Samples  []SoakSample   `json:"samples"`
	Trends   []Trend        `json:"trends"`
	// Post-dial delay: medians over the samples of the second and of the last third.
	Early     Spread   `json:"post_dial_early_ms"`
	Late      Spread   `json:"post_dial_late_ms"`
	After     Remains  `json:"after"`
	HoldsLeft int      `json:"number_holds_left"` // rows
	Failures  []string `json:"failures"`
}

const (
	soakEvery = 15 * time.Second
	soakLeast = 2 * time.Minute
	soakMost  = 11 * time.Hour // the log-in ends after twelve
	// soakLead is how far ahead of the calls contacts are added.
	soakLead = 30 * time.Second
	// soakChunk is how many contacts one request adds.
	soakChunk = 1000
	// The allowed growth of the post-dial delay: half and 2 ms for the median; double and 10 ms for
	// the p99, which is affected by other load on the machine.
	usualGrowth, usualGrowsMS = 1.5, 2
	lateGrowth, lateGrowsMS   = 2, 10
)

// soakJudged are the figures that must not grow. Resident memory includes pages no longer used and
// moves in steps; the heap is more informative.
var soakJudged = []judged{
	{"resident memory", "MiB", 5, 4, func(s *SoakSample) float64 { return s.RSS }},
	{"live heap", "MiB", 5, 1, func(s *SoakSample) float64 { return s.Heap }},
	{"goroutines", "", 5, 10, func(s *SoakSample) float64 { return float64(s.Goroutines) }},
	{"descriptors", "", 5, 10, func(s *SoakSample) float64 { return float64(s.Files) }},
	{"PostgreSQL's own memory", "MiB", 10, 8, func(s *SoakSample) float64 { return s.PGMemory }},
	{"number_holds", "MiB", 20, 2, func(s *SoakSample) float64 { return s.Holds }},
	{"a contact's row", "B", 20, 40, func(s *SoakSample) float64 { return s.Contact }},
	{"an attempt's row", "B", 20, 60, func(s *SoakSample) float64 { return s.Attempt }},
}

// Soak places calls at a steady rate for a long time and reports whether anything grew that should
// not.
func Soak(ctx context.Context, cfg Config, long time.Duration) (*SoakFigures, error) {
	if long < soakLeast || long > soakMost {
		return nil, fmt.Errorf("load: --soak must be %s to %s", soakLeast, soakMost)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer w.close()
	f := &SoakFigures{Rate: cfg.Rate, Duration: long.Seconds(), Samples: []SoakSample{}, Failures: []string{}}
	id, err := w.campaign(ctx, cfg.Rate*int(soakLead.Seconds()))
	if err != nil {
		return nil, err
	}
	cfg.Log("%d calls a second for %s", cfg.Rate, long)
	begun := time.Now()
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
		return nil, err
	}
	fed := make(chan error, 1)
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	go func() { fed <- w.feed(feeding, id, begun, long) }()
	err = w.sampleSoak(ctx, f, id, begun, long)
	stop()
	if err = errors.Join(err, <-fed); err != nil {
		return nil, err
	}
	if err := w.endSoak(ctx, f, id); err != nil {
		return nil, err
	}
	f.judge(long)
	return f, nil
}

// feed adds contacts so that there are always some to dial, but no more.
func (w *world) feed(ctx context.Context, id string, begun time.Time, long time.Duration) error {
	added := w.cfg.Rate * int(soakLead.Seconds())
	err := poll(ctx, time.Second, func() (bool, error) {
		passed := time.Since(begun)
		want := int(float64(w.cfg.Rate) * (passed + soakLead).Seconds())
		for added < want {
			n := min(want-added, soakChunk)
			if err := w.addContacts(ctx, id, added, n); err != nil {
				return false, err
			}
			added += n
		}
		return passed > long, nil
	})
	if ctx.Err() != nil {
		return nil // it is over
	}
	return err
}

// sampleSoak takes samples regularly until the time is over.
func (w *world) sampleSoak(ctx context.Context, f *SoakFigures, id string, begun time.Time, long time.Duration) error {
	var said time.Time
	return poll(ctx, soakEvery, func() (bool, error) {
		if err := w.engine.ended(); err != nil {
			return false, err
		}
		s, err := w.soakSample(ctx, id, begun)
		if err != nil {
			return false, err
		}
		f.Samples = append(f.Samples, s)
		if time.Since(said) >= time.Minute {
			said = time.Now()
			w.cfg.Log("%5.0f s: %d calls, %d live, %.0f MiB resident, %.1f MiB of live heap, %d goroutines, post-dial p99 "+
				"%.0f ms", s.At, s.Attempts, s.Live, s.RSS, s.Heap, s.Goroutines, s.PostDial.P99)
		}
		return s.At >= long.Seconds(), nil
	})
}

func (w *world) soakSample(ctx context.Context, id string, begun time.Time) (s SoakSample, err error) {
	m, err := w.api.metrics(ctx)
	if err != nil {
		return s, err
	}
	s = SoakSample{At: time.Since(begun).Seconds(), Live: int(m["dialler_live_calls"]),
		Attempts: int(m["dialler_attempts_total"]), Results: int(m["dialler_results_total"]),
		RSS: mib(resident(w.engine.pid())), Heap: m["go_gc_heap_live_bytes"] / (1 << 20), Goroutines: int(m["go_goroutines"]),
		Files:    descriptors(w.engine.pid()),
		PGMemory: mib(treeAnon(w.pgPID))}
	const tables = `SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::float8,
			sum(t.n_live_tup)::float8, sum(t.n_dead_tup)::float8
		FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid
		LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent GROUP BY 1`
	rows, err := w.db.Query(ctx, tables)
	if err != nil {
		return s, err
	}
	var live, dead float64
	for rows.Next() {
		var name string
		var size, l, d float64
		if err := rows.Scan(&name, &size, &l, &d); err != nil {
			rows.Close()
			return s, err
		}
		switch name {
		case "number_holds":
			s.Holds = size / (1 << 20)
			continue
		case "contacts":
			s.Contact = size / max(l, 1)
		case "attempts":
			s.Attempt = size / max(l, 1)
		case "legs":
		default:
			continue
		}
		live, dead = live+l, dead+d
	}
	if rows.Close(); rows.Err() != nil {
		return s, rows.Err()
	}
	s.Dead = 100 * dead / max(live+dead, 1)
	if err := w.db.QueryRow(ctx, `SELECT pg_database_size(current_database()) / 1048576.0,
		(SELECT sum(size) FROM pg_ls_waldir()) / 1048576.0`).Scan(&s.PGDisk, &s.WAL); err != nil {
		return s, err
	}
	s.PostDial, err = w.lateDelays(ctx, id)
	return s, err
}

// lateDelays are the delays of the most recent calls.
func (w *world) lateDelays(ctx context.Context, id string) (Spread, error) {
	rows, err := w.db.Query(ctx, `SELECT extract(epoch FROM invite_at - reserved_at)::float8 * 1000 FROM attempts
		WHERE campaign_id = $1 AND reserved_at > now() - $2 * interval '1 second' AND invite_at IS NOT NULL`,
		id, soakEvery.Seconds())
	if err != nil {
		return Spread{}, err
	}
	defer rows.Close()
	var ms []float64
	for rows.Next() {
		var v float64
		if err := rows.Scan(&v); err != nil {
			return Spread{}, err
		}
		ms = append(ms, v)
	}
	return spread(ms), rows.Err()
}

// endSoak stops the campaign and waits until nothing is left of its calls.
func (w *world) endSoak(ctx context.Context, f *SoakFigures, id string) (err error) {
	w.cfg.Log("waiting for the last calls")
	calm, cancel := context.WithTimeout(ctx, leakSettle+w.cfg.Talk)
	defer cancel()
	// A stop would cancel the ringing calls.
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/pause", nil, nil); err != nil {
		return err
	}
	if err := poll(calm, time.Second, func() (bool, error) {
		m, err := w.api.metrics(calm)
		return err == nil && m["dialler_live_calls"] == 0, err
	}); err != nil {
		return fmt.Errorf("load: the last calls do not end: %w", err)
	}
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/stop", nil, nil); err != nil {
		return err
	}
	err = poll(calm, time.Second, func() (bool, error) {
		if f.After, err = w.remains(ctx); err != nil {
			return false, err
		}
		r := &f.After
		return r.LiveCalls+r.Legs+r.MediaPaths+r.BotSockets+r.Seats+r.Channels+r.Numbers == 0, nil
	})
	if err != nil && calm.Err() == nil {
		return err
	}
	if err := w.db.QueryRow(ctx, "SELECT count(*) FROM number_holds").Scan(&f.HoldsLeft); err != nil {
		return err
	}
	if f.Outcomes, err = w.outcomes(ctx, id); err != nil {
		return err
	}
	return w.db.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE outcome = 'completed' AND result IS NOT NULL) "+
		"FROM attempts WHERE campaign_id = $1", id).Scan(&f.Calls, &f.Served)
}

// judge reports everything that is wrong.
func (f *SoakFigures) judge(long time.Duration) {
	fail := func(bad bool, format string, args ...any) {
		if bad {
			f.Failures = append(f.Failures, fmt.Sprintf(format, args...))
		}
	}
	steady := steadySamples(f.Samples, long)
	for i := range soakJudged {
		t := trendOf(&soakJudged[i], steady)
		f.Trends = append(f.Trends, t)
		fail(!t.OK, "%s", t.String())
	}
	half := len(steady) / 2
	f.Early, f.Late = usualDelay(steady[:half]), usualDelay(steady[half:])
	fail(f.Late.P50 > f.Early.P50*usualGrowth+usualGrowsMS || f.Late.P99 > f.Early.P99*lateGrowth+lateGrowsMS,
		"post-dial delay grows: p50 %.1f and p99 %.1f ms, later %.1f and %.1f ms", f.Early.P50, f.Early.P99, f.Late.P50,
		f.Late.P99)
	if n := len(steady); n > 1 {
		first, last := &steady[0], &steady[n-1]
		f.Reached = float64(last.Attempts-first.Attempts) / (last.At - first.At)
		f.PerCall = 1024 * (last.PGDisk - first.PGDisk) / max(float64(last.Attempts-first.Attempts), 1)
	}
	fail(f.Reached < 0.98*float64(f.Rate), "reached %.1f calls/s of %d", f.Reached, f.Rate)
	fail(f.Calls == 0 || float64(f.Served) < Threshold*float64(f.Calls),
		"%d of %d calls were served, %.1f %% are required: %v", f.Served, f.Calls, 100*Threshold, f.Outcomes)
	a := &f.After
	fail(a.LiveCalls+a.Legs+a.MediaPaths+a.BotSockets+a.Seats+a.Channels+a.Numbers+f.HoldsLeft > 0,
		"left at the end: %d calls, %d legs, %d media paths, %d bot sockets, %d seats, %d channels, %d numbers, %d number "+
			"holds",
		a.LiveCalls, a.Legs, a.MediaPaths, a.BotSockets, a.Seats, a.Channels, a.Numbers, f.HoldsLeft)
}

// usualDelay are the medians of the post-dial delay over the samples.
func usualDelay(samples []SoakSample) Spread {
	return Spread{P50: median(samples, func(s *SoakSample) float64 { return s.PostDial.P50 }),
		P99: median(samples, func(s *SoakSample) float64 { return s.PostDial.P99 }),
		Max: median(samples, func(s *SoakSample) float64 { return s.PostDial.Max })}
}

// treeAnon is the private memory of a process and its children in bytes.
func treeAnon(pid int) (sum int64) {
	for _, p := range append(slices.Clone(children(pid)), pid) {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p) + "/status")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), "RssAnon:")
		if fields := strings.Fields(rest); len(fields) > 0 {
			kib, _ := strconv.ParseInt(fields[0], 10, 64)
			sum += kib << 10
		}
	}
	return sum
}
