package process

import (
	"bytes"
	"io"
	"maps"
	nethttp "net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/persistence/storetest"
)

var (
	// ourMetric matches the name of one of our metrics.
	ourMetric = regexp.MustCompile(`\b(?:dialler|process|go)_[a-z0-9_]+\b`)
	// selector matches a metric with its label matchers.
	selector = regexp.MustCompile(`\b((?:dialler|process|go)_[a-z0-9_]+)\{([^}]*)\}`)
	asked    = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	// exposed matches a line of an exposition.
	exposed = regexp.MustCompile(`^([a-z][a-z0-9_]*)(?:\{(.*)\})? `)
)

// addedByTheScrape are labels that Prometheus adds to every series.
var addedByTheScrape = []string{"instance", "job"}

// exposition returns the world's metrics, each with its label names.
func (w *world) exposition() map[string]map[string]bool {
	w.t.Helper()
	out := map[string]map[string]bool{}
	for line := range strings.Lines(string(w.send("GET", "/metrics", nil).expect(200).body)) {
		m := exposed.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if out[m[1]] == nil {
			out[m[1]] = map[string]bool{}
		}
		for _, l := range asked.FindAllStringSubmatch(m[2], -1) {
			out[m[1]][l[1]] = true
		}
	}
	return out
}

// Alerts and dashboard may only use metrics that a dialling node exposes.
func TestEveryMetricOfTheAlertsAndTheDashboardIsThereWhileACampaignDials(t *testing.T) {
	t.Parallel()
	url, here := storetest.URL(t), ports.AddressOf(t)
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, Cluster: "automanaged://" + here, Node: "one",
		ClusterListen: here}}, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(300 * time.Millisecond)}})
	id := w.campaign(map[string]any{"concurrency": 2, "max_attempts": 1})
	var rows []any
	for range 60 { // enough to last while the metrics are read
		rows = append(rows, map[string]any{"mobile": newNumber()})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	var seen map[string]map[string]bool
	eventually(t, "a live answer counts, something binds, the trunks answered in time, and a call was heard", func() bool {
		seen = w.exposition()
		return len(seen["dialler_campaign_abandon_ratio"]) > 0 && len(seen["dialler_campaign_constraint"]) > 0 &&
			len(seen["dialler_trunk_health"]) > 0 && len(seen["dialler_call_mos_bucket"]) > 0
	})
	found := 0
	for _, file := range []string{"prometheus/rules.yaml", "grafana/dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(string(text), `\"`, `"`)
		named := map[string]bool{}
		for _, name := range ourMetric.FindAllString(plain, -1) {
			named[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if found++; seen[name] == nil {
				t.Errorf("%s names %s, which /metrics does not have", file, name)
			}
		}
		for _, m := range selector.FindAllStringSubmatch(plain, -1) {
			for _, l := range asked.FindAllStringSubmatch(m[2], -1) {
				if seen[m[1]] != nil && !seen[m[1]][l[1]] && !slices.Contains(addedByTheScrape, l[1]) {
					t.Errorf("%s asks %s for the label %s, which it does not have", file, m[1], l[1])
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d metrics were looked for", found)
	}
}

// What a scrape of a node that does nothing costs: buckets that nothing fell into were two thirds of it.
func TestAnIdleNodeExposesFewLinesAndWhatItWasBuiltFrom(t *testing.T) {
	t.Parallel()
	r := serve(t, storetest.EmptyURL(t))
	resp, err := nethttp.Get(r.api + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 900 {
		t.Errorf("%d lines", n)
	}
	if problems, err := promlint.New(bytes.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	build := regexp.MustCompile(`(?m)^dialler_build_info\{commit="[^"]*",goversion="go1[^"]*",version="[^"]+"\} 1$`)
	if !build.Match(text) {
		t.Error("no dialler_build_info")
	}
	r.terminate()
}

// The metrics on which alerts about trunks, checks and clocks are based.
func TestTheMetricsSayHowChecksTrunksAndClockStand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	if got := w.metric(`dialler_check_warning{check="trunks"}`); got != 1 {
		t.Errorf("without a trunk its check warns %v", got)
	}
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	w.trunk("spare", "127.0.0.1", 9, map[string]any{"active": false})
	for name, want := range map[string]float64{
		`dialler_check_ok{check="trunks"}`:                 1,
		`dialler_check_warning{check="trunks"}`:            0,
		`dialler_check_ok{check="database"}`:               1,
		`dialler_trunk_health{health="up",trunk="model"}`:  1,
		`dialler_trunk_health{health="off",trunk="model"}`: 0,
		`dialler_trunk_health{health="off",trunk="spare"}`: 1,
		`dialler_trunk_cps_share{trunk="model"}`:           1,
		`dialler_numbers_quarantined`:                      0,
	} {
		eventually(t, name, func() bool { return w.metric(name) == want })
	}
	if off := w.metric("dialler_clock_offset_seconds"); off < -1 || off > 1 {
		t.Errorf("a clock that nobody stepped is off by %v s", off)
	}
	w.operator("PUT", "/api/v1/numbers/"+ourNumber, map[string]any{"state": "quarantined"}).expect(200)
	eventually(t, "the quarantine is counted", func() bool { return w.metric("dialler_numbers_quarantined") == 1 })
	w.operator("PUT", "/api/v1/numbers/"+ourNumber, map[string]any{"state": "active"}).expect(200)
	eventually(t, "and its end", func() bool { return w.metric("dialler_numbers_quarantined") == 0 })
	id := w.dialout(newNumber())
	eventually(t, "the call is over", func() bool { return w.call(id).State == "ended" })
	eventually(t, "one delay was seen of one call",
		func() bool { return w.metric("dialler_post_dial_delay_seconds_count") == 1 })
	eventually(t, "one opinion was formed of one call",
		func() bool { return w.metric(`dialler_call_mos_count{trunk="model"}`) == 1 })
}
