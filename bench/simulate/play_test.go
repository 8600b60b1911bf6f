package simulate

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

// brief is a plan that is played quickly.
func brief() Plan {
	p := Standard()
	p.Name, p.Scenario.Length, p.Seeds = "brief <one>", 5*time.Minute, []uint64{5, 4}
	p.Policies = slices.Clone(trial.Policies)
	return p
}

// everything returns all files written for a plan.
func everything(t *testing.T, p *Plan, cores int) map[string]string {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	outcomes, err := Play(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	keep := func(name string, write func(io.Writer, []Outcome) error) {
		var b bytes.Buffer
		if err := write(&b, outcomes); err != nil {
			t.Fatal(err)
		}
		all[name] = b.String()
	}
	keep("table", WriteTable)
	keep("json", WriteJSON)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := WriteReport(dir, p, outcomes); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"outcome.csv", "runs.csv", "course.csv", "report.html"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

func TestWhatIsWrittenFollowsFromTheFileAndNotFromTheCores(t *testing.T) {
	p := brief()
	one, many := everything(t, &p, 1), everything(t, &p, 4)
	for name := range one {
		if one[name] != many[name] || one[name] == "" {
			t.Errorf("%s differs between one core and four, or is empty", name)
		}
	}

	// One row per policy, in order.
	var out struct {
		Policies []map[string]any `json:"policies"`
	}
	if err := json.Unmarshal([]byte(one["json"]), &out); err != nil || len(out.Policies) != len(p.Policies) {
		t.Fatalf("%v: %s", err, one["json"])
	}
	lines := strings.Split(strings.TrimSpace(one["table"]), "\n")
	for i, row := range out.Policies {
		for _, key := range []string{"busy_pct", "connects_per_h", "clairvoyant_pct", "abandon_pct", "p95_30min_pct",
			"over_at_end", "over_at_any_moment", "worst_excess"} {
			if _, ok := row[key].(float64); !ok {
				t.Errorf("%s of %v is %v", key, row["policy"], row[key])
			}
		}
		if row["policy"] != string(p.Policies[i]) || !strings.HasPrefix(lines[i+1], string(p.Policies[i])) {
			t.Errorf("row %d: %v, %q", i, row["policy"], lines[i+1])
		}
	}
	for name, want := range map[string]int{"outcome.csv": 1 + len(p.Policies), "runs.csv": 1 + 2*4,
		"course.csv": 1 + 4*trial.SeriesBins} {
		if got, err := csv.NewReader(strings.NewReader(one[name])).ReadAll(); err != nil || len(got) != want {
			t.Errorf("%s: %d lines, %v; want %d", name, len(got), err, want)
		}
	}
}

func TestThePageStandsAloneAndHasThreePlots(t *testing.T) {
	p := brief()
	page := everything(t, &p, 2)["report.html"]
	for _, outside := range []string{"http:", "https:", "<script", "src=", "url("} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %q", outside)
		}
	}
	if !strings.Contains(page, "brief &lt;one&gt;") || strings.Contains(page, "<one>") {
		t.Error("the name is not escaped")
	}
	plots := strings.SplitAfter(page, "<svg")[1:]
	if len(plots) != 3 {
		t.Fatalf("%d plots", len(plots))
	}
	for i, rest := range plots {
		body, _, _ := strings.Cut(rest, "</svg>")
		var drawing struct {
			Curves []struct {
				Points string `xml:"points,attr"`
			} `xml:"polyline"`
		}
		if err := xml.Unmarshal([]byte("<svg"+body+"</svg>"), &drawing); err != nil {
			t.Fatalf("plot %d: %v", i, err)
		}
		if len(drawing.Curves) != 4 {
			t.Errorf("plot %d has %d curves", i, len(drawing.Curves))
		}
		for _, c := range drawing.Curves {
			if n := len(strings.Fields(c.Points)); n != trial.SeriesBins || strings.Contains(c.Points, "NaN") {
				t.Errorf("plot %d: a curve of %d points", i, n)
			}
		}
		if strings.Contains(body, "stroke-dasharray") != (i == 1) {
			t.Errorf("plot %d: the cap is in the wrong one", i)
		}
	}
}

func TestAComparisonPlaysEveryCombination(t *testing.T) {
	p := brief()
	p.Scenario.Length, p.Policies, p.Seeds = 2*time.Minute, []trial.Policy{trial.Strict, trial.Clairvoyant}, []uint64{1}
	changes, err := ParseChanges([]string{"cap=1%,3% N=5,8", "M=60s"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := Compare(context.Background(), &p, changes)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteComparison(&b, changes, list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		got = append(got, strings.Join(strings.Fields(l)[:4], " "))
	}
	want := []string{
		"cap seats M policy",
		"1% 5 60s strict",
		"1% 5 60s clairvoyant",
		"1% 8 60s strict",
		"1% 8 60s clairvoyant",
		"3% 5 60s strict",
		"3% 5 60s clairvoyant",
		"3% 8 60s strict",
		"3% 8 60s clairvoyant",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// A combination has the same result as the scenario with those values.
	p.Scenario.Cap, p.Scenario.Workers, p.Scenario.TalkMean = 0.03, callee.Always(5), time.Minute
	alone, err := Play(context.Background(), &p)
	if err != nil {
		t.Fatal(err)
	}
	if RowOf(&alone[0].Summary) != RowOf(&list[2].Outcomes[0].Summary) {
		t.Errorf("%+v alone, %+v compared", alone[0].Summary, list[2].Outcomes[0].Summary)
	}
	b.Reset()
	if err := WriteComparisonJSON(&b, changes, list); err != nil || !json.Valid(b.Bytes()) ||
		!strings.Contains(b.String(), `"cap": "3%"`) {
		t.Errorf("%v: %s", err, b.String())
	}

	f := func(want string, texts ...string) {
		t.Helper()
		changes, err := ParseChanges(texts)
		if err == nil {
			_, err = Compare(context.Background(), &p, changes)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", texts, err)
		}
	}
	f("valid keys are cap", "speed=3")
	f("is not a comparison", "cap")
	f("is not a comparison", "cap=")
	f("twice", "cap=1%", "c=2%")
	f("is not a value", "cap=low")
	f("N: must stay", "seats=-4")
	f("100 combinations", "seats="+strings.Repeat("1,", 100)+"2")
	f("ratio must", "ratio=0")
}

func TestACancelledPlayEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := brief()
	if _, err := Play(ctx, &p); err == nil {
		t.Error("it was played")
	}
}
