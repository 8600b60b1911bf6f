package load

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/bench/shipped"
)

func TestPercentilesAreByTheNearestRank(t *testing.T) {
	v := make([]float64, 0, 100)
	for i := 100; i >= 1; i-- {
		v = append(v, float64(i))
	}
	if s := spread(v); s != (Spread{P50: 50, P99: 99, Max: 100}) {
		t.Errorf("%+v", s)
	}
	if s := spread([]float64{7}); s != (Spread{7, 7, 7}) {
		t.Errorf("%+v", s)
	}
	if s := spread(nil); s != (Spread{}) {
		t.Errorf("%+v", s)
	}
}

func TestTheSteadyRateLeavesOutBothEnds(t *testing.T) {
	var at []time.Time
	begin := time.Unix(1000, 0)
	for i := range 50 { // 50/s for a second, then 100/s for three, then a tail
		at = append(at, begin.Add(time.Duration(i)*20*time.Millisecond))
	}
	for i := range 300 {
		at = append(at, begin.Add(time.Second+time.Duration(i)*10*time.Millisecond))
	}
	at = append(at, begin.Add(5*time.Second))
	if r := steadyRate(at); r < 99 || r > 101 {
		t.Errorf("%.1f/s, want 100", r)
	}
	if r := steadyRate(at[:1]); r != 0 {
		t.Errorf("one call has a rate of %.1f", r)
	}
}

func TestTheSearchClosesInOnTheHighestGoodRate(t *testing.T) {
	for _, limit := range []int{299, 300, 301, 999, 1000, 2999, 5000} {
		best, probes := 0, 0
		err := search(300, 3000, 25, func(rate int) (bool, error) {
			probes++
			if rate <= limit {
				best = max(best, rate)
			}
			return rate <= limit, nil
		})
		want := min(limit, 3000)
		if err != nil || best > want || want-best > 25 || probes > 25 {
			t.Errorf("limit %d: found %d in %d probes, %v", limit, best, probes, err)
		}
	}
	// One hiccup is not the limit.
	failed := false
	best := 0
	if err := search(300, 600, 25, func(rate int) (bool, error) {
		if !failed {
			failed = true
			return false, nil
		}
		best = max(best, rate)
		return true, nil
	}); err != nil || best != 600 {
		t.Errorf("found %d, %v", best, err)
	}
	boom := errors.New("boom")
	if err := search(1, 10, 1, func(int) (bool, error) { return false, boom }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

func TestTheHistogramOfARun(t *testing.T) {
	text := func(a, b, c, writes int) string {
		s := "# HELP dialler_commit_seconds Duration\n# TYPE dialler_commit_seconds histogram\n"
		for le, n := range map[string]int{"0.001": a, "0.002": b, "+Inf": c} {
			s += `dialler_commit_seconds_bucket{le="` + le + `"} ` + strconv.Itoa(n) + "\n"
		}
		return s + "dialler_commit_writes_total " + strconv.Itoa(writes) + "\n"
	}
	before, err := parseHistogram(text(10, 10, 10, 100))
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseHistogram(text(60, 110, 110, 600))
	if err != nil {
		t.Fatal(err)
	}
	h := after.since(before)
	if h.count() != 100 || h.writes != 500 {
		t.Errorf("%v commits, %v writes", h.count(), h.writes)
	}
	for q, want := range map[float64]float64{0.25: 0.0005, 0.5: 0.001, 0.75: 0.0015, 1: 0.002} {
		if got := h.quantile(q); got < want*0.999 || got > want*1.001 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if _, err := parseHistogram("go_goroutines 7\n"); err == nil {
		t.Error("an engine without the metric is no error")
	}
}

func TestARunThatIsSlowerThanAskedIsNoSuccess(t *testing.T) {
	for _, c := range []struct {
		reached     float64
		good, calls bool
		f           Figures
	}{
		{19.6, true, true, Figures{Rate: 20, Offered: 80, Success: 1}},
		{19.5, false, true, Figures{Rate: 20, Offered: 80, Success: 1}},
		{20, false, false, Figures{Rate: 20, Offered: 80, Success: 0.99}},
		{20, false, false, Figures{Rate: 20, Success: 1}},
	} {
		c.f.Reached = c.reached
		good, why := c.f.Good()
		calls, _ := c.f.Succeeded()
		if good != c.good || calls != c.calls || good == (why != "") {
			t.Errorf("%+v: good %v, %q, calls %v", c, good, why, calls)
		}
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	for flag, c := range map[string]Config{
		"--rate":     {Binary: "x", Rate: -1},
		"--duration": {Binary: "x", Duration: time.Second},
		"--talk":     {Binary: "x", Talk: time.Millisecond},
		"--ring":     {Binary: "x", Ring: time.Minute},
		"--sipp":     {Binary: "x", Trunk: "127.0.0.1:5060", SIPp: true},
		"--step":     {Binary: "x", Step: -1},
		"--bot":      {Binary: "x", Bot: "tel"},
		"program":    {},
	} {
		if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// built is the program, built once for all tests.
var built struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// program builds the dialler for the tests of whole runs.
func program(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "dialler-load-test"); built.err == nil {
			built.err = shipped.Build(context.Background(), filepath.Join(built.dir, "dialler"))
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "dialler")
}

// check checks what every complete run must show, except for the rate: the machine may be busy with
// other tests.
func check(t *testing.T, f *Figures) {
	t.Helper()
	failed := 0
	for _, n := range f.Failures {
		failed += n
	}
	if ok, why := f.Succeeded(); !ok {
		t.Errorf("the run failed: %s", why)
	}
	if f.OK+failed != f.Offered || f.Answered < f.Served || f.Served < f.OK || f.Results < f.OK {
		t.Errorf("counts do not agree: %+v", f)
	}
	if f.CPU.Engine <= 0 || f.CPU.Postgres <= 0 || f.CPU.Bot <= 0 || f.PostDial.P50 <= 0 ||
		f.PostDial.P99 < f.PostDial.P50 ||
		f.Commit.P50 <= 0 || f.Commit.P99 < f.Commit.P50 || f.GroupSize < 1 || f.RSSBefore <= 0 || f.RSSPeak < f.RSSSteady ||
		f.LivePeak < 1 || f.WALPerCall <= 0 {
		t.Errorf("figures are missing: %+v", f)
	}
	f.Print(io.Discard)
}

func TestARunAgainstTheModelCarrierWithProfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := Run(t.Context(), Config{Binary: program(t), Rate: 20, Duration: 4 * time.Second, Talk: time.Second,
		Profiles: dir, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	check(t, f)
	if f.Answerer != "model carrier" || f.Offered != 80 || f.CPU.Carrier <= 0 {
		t.Errorf("%+v", f)
	}
	for _, name := range []string{"profile", "heap", "allocs"} {
		if s, err := os.Stat(filepath.Join(dir, name+".pprof")); err != nil || s.Size() == 0 {
			t.Errorf("profile %s: %v", name, err)
		}
	}
}

func TestARunAgainstSIPp(t *testing.T) {
	t.Parallel()
	f, err := Run(t.Context(), Config{Binary: program(t), Rate: 20, Duration: 4 * time.Second, Talk: time.Second,
		SIPp: true, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	check(t, f)
	if f.Answerer != "sipp" {
		t.Errorf("%+v", f)
	}
}

// Nothing answers at that address: every call fails, and the run reports it.
func TestARunWithoutAnAnswererIsNoSuccess(t *testing.T) {
	t.Parallel()
	// A socket connected elsewhere reserves the port, and the kernel refuses packets to it from
	// anybody but its peer.
	held, err := net.Dial("udp4", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	addr := held.LocalAddr().String()
	binary := program(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	f, err := Run(ctx, Config{Binary: binary, Rate: 5, Duration: 3 * time.Second, Talk: time.Second, Trunk: addr,
		Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if good, why := f.Good(); good || f.OK != 0 || why == "" {
		t.Errorf("good %v, %q: %+v", good, why, f)
	}
}

func TestARunWithABotBySIP(t *testing.T) {
	t.Parallel()
	f, err := Run(t.Context(), Config{Binary: program(t), Rate: 10, Duration: 3 * time.Second, Talk: time.Second,
		Bot: "sip", Media: true, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if ok, why := f.Succeeded(); !ok || f.OK != 30 || f.CPU.Bot <= 0 || f.Served != 30 {
		t.Errorf("%s: %+v", why, f)
	}
}
