package load

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestSeveralNodesAreComparedWithOneAtTheRateOfEachAndOfAll(t *testing.T) {
	run := func(nodes int, placement string, rate int, engine, postgres float64) NodesRun {
		return NodesRun{Nodes: nodes, Placement: placement, Rate: rate, Reached: float64(rate), Success: 1, Engine: engine,
			Postgres: postgres}
	}
	f := &NodesFigures{Runs: []NodesRun{
		run(1, alone, 300, 1, 1),
		run(1, alone, 150, 2, 2), run(2, local, 300, 1, 2), run(2, evenly, 300, 3, 2),
		run(1, alone, 100, 3, 2), run(3, local, 300, 2, 2), run(3, evenly, 300, 3, 3),
	}}
	f.compare()
	want := []NodeRatio{{2, local, 0.75, 1.5}, {2, evenly, 1.25, 2.5}, {3, local, 0.8, 2}, {3, evenly, 1.2, 3}}
	if len(f.Ratios) != len(want) {
		t.Fatalf("%+v", f.Ratios)
	}
	for i := range want {
		if f.Ratios[i] != want[i] {
			t.Errorf("%+v, want %+v", f.Ratios[i], want[i])
		}
	}
	if wrong := f.Wrong(); len(wrong) > 0 {
		t.Errorf("%v", wrong)
	}
	f.Runs[2].Reached, f.Runs[5].Success = 200, 0.99
	if wrong := f.Wrong(); len(wrong) != 2 {
		t.Errorf("%v", wrong)
	}
	var page bytes.Buffer
	f.Print(&page)
	for _, s := range []string{"3 nodes, spread: 1.20 times one at the rate of a node, 3.00 times one at the rate of all",
		"engines pinned: false"} {
		if !strings.Contains(page.String(), s) {
			t.Errorf("%q is missing in:\n%s", s, page.String())
		}
	}
}

func TestAComparisonOfNodesIsBounded(t *testing.T) {
	for _, c := range []struct {
		nodes int
		cfg   Config
	}{{1, Config{}}, {nodesLimit + 1, Config{}}, {2, Config{Bot: "sip"}}, {3, Config{Rate: 2}}} {
		c.cfg.Binary = "/nothing"
		if _, err := Nodes(context.Background(), c.cfg, c.nodes); err == nil || strings.Contains(err.Error(), "/nothing") {
			t.Errorf("%d nodes, %+v: %v", c.nodes, c.cfg, err)
		}
	}
}
