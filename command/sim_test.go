package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dialler/engine"
)

func TestSimPlaysAScenarioFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "one.yaml")
	if err := os.WriteFile(file, []byte("N: 5\nT: 5m\nseeds: 1\npolicies: [hybrid, clairvoyant]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := func(args ...string) string {
		t.Helper()
		c, _, err := parse(append([]string{"sim"}, args...))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := c.Sim.play(context.Background(), &b, false); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var out struct {
		Policies []struct {
			Policy string `json:"policy"`
		} `json:"policies"`
	}
	text := printed(file, "--json", "--out", filepath.Join(dir, "report"))
	if err := json.Unmarshal([]byte(text), &out); err != nil || len(out.Policies) != 2 ||
		out.Policies[0].Policy != "hybrid" {
		t.Errorf("%v: %s", err, text)
	}
	if text != printed("--json", file) {
		t.Error("the same file gives other bytes")
	}
	if page, err := os.ReadFile(filepath.Join(dir, "report", "report.html")); err != nil ||
		!bytes.Contains(page, []byte("<svg")) {
		t.Errorf("the report: %v", err)
	}
	if table := printed(file); !strings.Contains(table, "% of clairvoyant") {
		t.Error(table)
	}
	if table := printed("--what-if", "cap=1%,3%", "--seats=5,8", file); strings.Count(table, "hybrid") != 4 {
		t.Error(table)
	}

	f := func(code string, s simCmd) {
		t.Helper()
		if err := s.play(context.Background(), &bytes.Buffer{}, false); err == nil || engine.ErrorCode(err) != code {
			t.Errorf("%+v: %v", s, err)
		}
	}
	f("scenario_not_readable", simCmd{File: filepath.Join(dir, "none.yaml")})
	f("invalid_comparison", simCmd{File: file, WhatIf: []string{"speed=1"}})
	f("invalid_comparison", simCmd{File: file, Seats: "5", Out: dir})
}

func TestTheReportOfAScenarioHasItsName(t *testing.T) {
	f := func(want string, s simCmd) {
		t.Helper()
		if got := s.reportFolder(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	f("b7.report", simCmd{File: "scenarios/b7.yaml"})
	f("there", simCmd{File: "b7.yaml", Out: "there"})
	f("", simCmd{File: "b7.yaml", Out: "none"})
	f("", simCmd{File: "b7.yaml", Seats: "5,6"})
	f("", simCmd{File: "b7.yaml", WhatIf: []string{"cap=1%"}})
	f("", simCmd{File: "-"})
	f("", simCmd{})
	f("there", simCmd{Out: "there"})
}
