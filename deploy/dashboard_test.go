package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// variable matches Grafana's variables, which Prometheus does not know.
var variable = regexp.MustCompile(`\$__rate_interval|\$instance`)

func TestTheDashboardIsOneThatGrafanaCanShowAndItsQueriesAreValid(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	type grid struct{ H, W, X, Y int }
	var board struct {
		Title         string
		UID           string
		SchemaVersion int
		Panels        []struct {
			ID      int
			Type    string
			Title   string
			GridPos grid
			Targets []struct {
				RefID string `json:"refId"`
				Expr  string
			}
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if board.Title == "" || board.UID == "" || board.SchemaVersion < 30 || len(board.Panels) < 20 {
		t.Errorf("%q, uid %q, schema %d, %d panels", board.Title, board.UID, board.SchemaVersion, len(board.Panels))
	}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	// Prometheus checks the queries as if they were rules.
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	queries := 0
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("panel %d is there twice", p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s lies at %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
		for _, q := range p.Targets {
			expr := variable.ReplaceAllStringFunc(q.Expr, func(v string) string {
				if v == "$instance" {
					return ".+"
				}
				return "5m"
			})
			fmt.Fprintf(&rules, "  - record: panel:%d:%s\n    expr: %q\n", p.ID, q.RefID, expr)
			queries++
		}
	}
	if queries < 40 {
		t.Errorf("only %d queries were found", queries)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "promtool", "check", "rules", file)
}
