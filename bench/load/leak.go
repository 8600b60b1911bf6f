package load

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// LeakFigures is what remains after a campaign of calls that end in every way.
type LeakFigures struct {
	Calls    int            `json:"calls"`
	Wall     float64        `json:"wall_s"`
	Settled  float64        `json:"settled_s"` // from the last end until nothing was left, or the limit
	Outcomes map[string]int `json:"outcomes"`
	Before   Remains        `json:"before"`
	After    Remains        `json:"after"`
	Leaks    []string       `json:"leaks"`
}

// Remains is what the engine holds at a moment. Sizes are in MiB.
type Remains struct {
	LiveCalls  int     `json:"live_calls"`
	Legs       int     `json:"sip_legs"`    // known to the SIP side, including ended ones
	MediaPaths int     `json:"media_paths"` // open
	BotSockets int     `json:"bot_sockets"`
	Seats      int     `json:"seats"`
	Channels   int     `json:"trunk_channels"`
	Numbers    int     `json:"numbers"`
	HTTP       int     `json:"http_connections"` // bots' connections are closed after two minutes idle
	Goroutines int     `json:"goroutines"`
	Files      int     `json:"open_files"` // descriptors, including sockets
	Heap       float64 `json:"heap_mib"`   // live, including stacks, after a collection
	Resident   float64 `json:"rss_mib"`

	stacks map[string]int // goroutines by their innermost functions
}

const (
	// leakSettle covers the longest timers: a silent call is given up after 64*T1, its leg is owned
	// for as long again, and an ended leg answers retransmissions for another 64*T1: 96 s. A bot's
	// connection is closed two minutes after its last result.
	leakSettle = 170 * time.Second
	// leakIdle is longer than idle workers live.
	leakIdle = 25 * time.Second
	// What may remain: some goroutines and descriptors of pools that grew, a tenth of the heap, and
	// the bench's own connections.
	leakGoroutines = 10
	leakFiles      = 10
	leakHeap       = 1.1
	leakHeapMiB    = 2
	leakHTTP       = 2
)

// callsOfEveryKind are callees that end calls in every possible way.
var callsOfEveryKind = map[string]any{"media": true, "profile": []map[string]any{
	{"kind": "human", "weight": 30, "ring": "200ms"},
	{"kind": "human", "weight": 10, "ring": "200ms", "talk": "500ms"},
	{"kind": "human", "weight": 4, "ring": "100ms", "talk": "10ms"},
	{"kind": "human", "weight": 4, "ring": "100ms", "progress": "early_media", "forks": 1},
	{"kind": "human", "weight": 3, "ring": "100ms", "reliable": true},
	{"kind": "human", "weight": 3, "ring": "100ms", "hold": "300ms"},
	{"kind": "human", "weight": 3, "ring": "100ms", "mute": true},
	{"kind": "quiet", "weight": 3, "ring": "100ms"},
	{"kind": "machine", "weight": 6, "ring": "100ms"},
	{"kind": "no_answer", "weight": 6},
	{"kind": "no_answer", "weight": 4, "cancel_race": true},
	{"kind": "refuse", "weight": 8, "code": 486, "q850": 17},
	{"kind": "refuse", "weight": 4, "code": 404},
	{"kind": "refuse", "weight": 3, "code": 480, "ring": "300ms"},
	{"kind": "refuse", "weight": 3, "code": 603},
	{"kind": "refuse", "weight": 3, "code": 503},
	{"kind": "refuse", "weight": 2, "code": 488},
	{"kind": "silent", "weight": 1},
}}

// Leak places n calls that end in every possible way, waits until the last timer has expired, and
// compares what the engine holds with what it held before, after a warm-up.
func Leak(ctx context.Context, cfg Config, n int) (*LeakFigures, error) {
	if n < 100 || n > contactLimit {
		return nil, fmt.Errorf("load: --leak must be 100 to %d calls", contactLimit)
	}
	cfg.callees = callsOfEveryKind
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer w.close()
	f := &LeakFigures{Calls: n}
	warm := min(n, 5000) // enough for pools to grow
	cfg.Log("warming up with %d calls", warm)
	if _, f.Before, _, err = w.leak(ctx, warm, 0); err != nil {
		return nil, err
	}
	if err := w.saveHeap(ctx, "heap-before"); err != nil {
		return nil, err
	}
	cfg.Log("placing %d calls of every kind", n)
	begun := time.Now()
	var id string
	var settled time.Duration
	if id, f.After, settled, err = w.leak(ctx, n, warm); err != nil {
		return nil, err
	}
	if err := w.saveHeap(ctx, "heap-after"); err != nil {
		return nil, err
	}
	f.Wall, f.Settled = time.Since(begun).Seconds()-settled.Seconds(), settled.Seconds()
	f.Outcomes, err = w.outcomes(ctx, id)
	f.judge()
	return f, err
}

// leak plays one campaign of contacts from the given one on, and returns what is left of it once
// nothing changes any more.
func (w *world) leak(ctx context.Context, n, from int) (id string, r Remains, settled time.Duration, err error) {
	id, err = w.draftFrom(ctx, from, n, map[string]any{
		"name": "Leak", "bot_id": botID, "concurrency": w.cfg.seats(), "amd": "parallel", "max_attempts": 1,
		"number_pool": []string{ownNumber}, "window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"},
		"ring_timeout_s": 15, "call_limit_s": int(w.cfg.Talk.Seconds()) + 60,
	})
	if err != nil {
		return "", r, 0, err
	}
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
		return "", r, 0, err
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(n/w.cfg.Rate)*4*time.Second+3*time.Minute)
	defer cancel()
	var d struct{ Status string }
	if err := poll(limit, time.Second, func() (bool, error) {
		if err := w.engine.ended(); err != nil {
			return false, err
		}
		err := w.api.do(limit, http.MethodGet, "/api/v1/campaigns/"+id, nil, &d)
		return d.Status == "completed", err
	}); err != nil {
		return "", r, 0, fmt.Errorf("load: the campaign did not complete (%s): %w", d.Status, err)
	}
	begun := time.Now()
	calm, stop := context.WithTimeout(ctx, leakSettle)
	defer stop()
	err = poll(calm, time.Second, func() (bool, error) {
		r, err = w.remains(ctx)
		return r.LiveCalls+r.Legs+r.MediaPaths+r.BotSockets+r.Seats+r.Channels+r.Numbers == 0 && r.HTTP <= leakHTTP, err
	})
	settled = time.Since(begun)
	if err != nil && calm.Err() == nil {
		return "", r, settled, err
	}
	select { // workers waiting for the API's next connection end too
	case <-ctx.Done():
		return "", r, settled, ctx.Err()
	case <-time.After(leakIdle):
	}
	r, err = w.remains(ctx)
	return id, r, settled, err
}

func (w *world) remains(ctx context.Context) (Remains, error) {
	heap, err := w.liveHeap(ctx)
	if err != nil {
		return Remains{}, err
	}
	m, err := w.api.metrics(ctx)
	if err != nil {
		return Remains{}, err
	}
	stacks, err := w.stacks(ctx)
	if err != nil {
		return Remains{}, err
	}
	n := func(name string) int { return int(m[name]) }
	return Remains{stacks: stacks, LiveCalls: n("dialler_live_calls"), Legs: n("dialler_sip_legs_known"),
		MediaPaths: n("dialler_media_paths"), BotSockets: n("dialler_bot_sockets"),
		Seats: n("dialler_seats_held"), Channels: n("dialler_trunk_channels_held"), Numbers: n("dialler_number_slots_held"),
		HTTP:       n("dialler_http_connections"),
		Goroutines: n("go_goroutines"), Files: descriptors(w.engine.pid()), Heap: heap / (1 << 20),
		Resident: mib(resident(w.engine.pid()))}, nil
}

// saveHeap saves the heap profile if profiles were requested.
func (w *world) saveHeap(ctx context.Context, name string) error {
	if w.cfg.Profiles == "" {
		return nil
	}
	if err := os.MkdirAll(w.cfg.Profiles, 0o750); err != nil {
		return err
	}
	p := &client{base: "http://" + w.profiles, http: w.api.http}
	var b []byte
	if err := p.do(ctx, http.MethodGet, "/debug/pprof/heap?gc=1", nil, &b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.cfg.Profiles, name+".pprof"), b, 0o600)
}

// stacks counts the goroutines by their function.
func (w *world) stacks(ctx context.Context) (map[string]int, error) {
	var text []byte
	p := &client{base: "http://" + w.profiles, http: w.api.http}
	if err := p.do(ctx, http.MethodGet, "/debug/pprof/goroutine?debug=1", nil, &text); err != nil {
		return nil, err
	}
	out := map[string]int{}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(block, "\n")
		var n int
		var names []string
		for _, line := range lines {
			if f := strings.Fields(line); len(f) > 2 && f[0] == "#" {
				name, _, _ := strings.Cut(f[2], "+0x")
				names = append(names, name)
			} else if len(f) > 1 && f[1] == "@" {
				n, _ = strconv.Atoi(f[0])
			}
		}
		if len(names) > 0 {
			out[names[0]+" … "+names[len(names)-1]] += n
		}
	}
	return out, nil
}

// grown names what has become more.
func grown(before, after map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if d := after[name] - before[name]; d > 0 {
			parts = append(parts, fmt.Sprintf("%+d %s", d, name))
		}
	}
	return strings.Join(parts, ", ")
}

// descriptors counts the open descriptors of a process.
func descriptors(pid int) int {
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(fds)
}

func (w *world) outcomes(ctx context.Context, id string) (map[string]int, error) {
	rows, err := w.db.Query(ctx, "SELECT outcome, count(*) FROM attempts WHERE campaign_id = $1 GROUP BY outcome", id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var o string
		var n int
		if err := rows.Scan(&o, &n); err != nil {
			return nil, err
		}
		out[o] = n
	}
	return out, rows.Err()
}

// judge lists what should not be there any more.
func (f *LeakFigures) judge() {
	leak := func(bad bool, format string, args ...any) {
		if bad {
			f.Leaks = append(f.Leaks, fmt.Sprintf(format, args...))
		}
	}
	f.Leaks = []string{}
	a, b := &f.After, &f.Before
	leak(a.LiveCalls > 0, "%d live calls", a.LiveCalls)
	leak(a.Legs > 0, "%d SIP legs", a.Legs)
	leak(a.MediaPaths > 0, "%d media paths", a.MediaPaths)
	leak(a.BotSockets > 0, "%d bot sockets", a.BotSockets)
	leak(a.Seats > 0, "%d seats", a.Seats)
	leak(a.Channels > 0, "%d trunk channels", a.Channels)
	leak(a.Numbers > 0, "%d number slots", a.Numbers)
	leak(a.HTTP > leakHTTP, "%d HTTP connections", a.HTTP)
	leak(a.Goroutines > b.Goroutines+leakGoroutines, "%d goroutines, %d before: %s", a.Goroutines, b.Goroutines,
		grown(b.stacks, a.stacks))
	leak(a.Files > b.Files+leakFiles, "%d descriptors, %d before", a.Files, b.Files)
	leak(a.Heap > b.Heap*leakHeap+leakHeapMiB, "%.1f MiB of live heap, %.1f before", a.Heap, b.Heap)
	total := 0
	for _, n := range f.Outcomes {
		total += n
	}
	leak(total < f.Calls, "%d attempts of %d calls are on record", total, f.Calls)
}

// Print writes the table for people.
func (f *LeakFigures) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	a, b := &f.After, &f.Before
	row("calls", "%d in %.0f s, nothing left of them %.0f s later", f.Calls, f.Wall, f.Settled)
	row("outcomes", "%v", f.Outcomes)
	row("left", "%d calls, %d legs, %d media paths, %d bot sockets, %d seats, %d channels, %d numbers, "+
		"%d HTTP connections",
		a.LiveCalls, a.Legs, a.MediaPaths, a.BotSockets, a.Seats, a.Channels, a.Numbers, a.HTTP)
	row("goroutines", "%d before, %d after", b.Goroutines, a.Goroutines)
	row("descriptors", "%d before, %d after", b.Files, a.Files)
	row("live heap", "%.1f MiB before, %.1f MiB after", b.Heap, a.Heap)
	row("resident", "%.0f MiB before, %.0f MiB after", b.Resident, a.Resident)
	_ = t.Flush()
}
