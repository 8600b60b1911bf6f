package docs

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fsm"
	"dialler/engine/inbound"
	"dialler/engine/ownership"
)

var update = flag.Bool("update", false, "rewrite the generated pages")

const diagramsPath = "state-machines.md"

// TestTheDiagramsAreInStepWithTheTables checks the page, which is drawn from the tables that run,
// so that it always agrees with the code.
func TestTheDiagramsAreInStepWithTheTables(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# State machines

Drawn from the transition tables of the engine; do not edit, run ` + "`make docs`" + `.
One table is the code that runs, the subject of the exhaustive tests and the source of this page.
What each machine does in every situation, effects included, is in the golden files beside it (` +
		"`engine/*/testdata`" + `).

In a diagram the text in brackets is a guard; ` +
		`the rows of a state and event are tried in the order of the table below it.
Ignored events are known to come late and harmlessly; ` +
		`a pair that no row names is illegal: it is counted, and changes nothing.
`)
	write(&b, campaign.Table(), "Campaign",
		"One campaign and its runs. Commands of operators that no row takes are refused with a conflict.")
	write(&b, contact.Table(), "Contact",
		"One person in one campaign: what comes of an attempt's end, a result, an exclusion, the end of the run.")
	write(&b, attempt.Table(), "Attempt", "One dial of a contact, from its leases to the end of its last SIP leg. "+
		"*Ending* means that the end is decided and CANCEL, BYE or the information message is under way.")
	write(&b, attempt.PeerTable(), "Far leg",
		"A leg of an answered call: to a bot that is reached by SIP. The attempt hears of it as of a bot with a socket.")
	write(&b, inbound.Table(), "Call that comes in",
		"A call that a trunk brings, until it is refused or begun. Once begun it is an attempt; *unknown* is no state of "+
			"its own, but that there is no such call.")
	write(&b, ownership.LeaseTable(), "Lease of a node",
		"A node of a cluster acts as long as its lease lives; one that is over does not come back.")
	got := b.String()
	if *update {
		if err := os.WriteFile(diagramsPath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(diagramsPath); err != nil || string(want) != got {
		t.Fatalf("docs/state-machines.md is out of step with the transition tables (%v): run make docs", err)
	}
}

func write[S, E ~string, M, Ev any](b *strings.Builder, table *fsm.Table[S, E, M, Ev], title, what string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```mermaid\n%s```\n", title, what, table.Mermaid())
	b.WriteString("\n| state | event | if | then | why |\n|---|---|---|---|---|\n")
	states := table.States()
	for _, r := range table.Rows() {
		then := "stays"
		switch {
		case r.Ignore:
			then = "ignored"
		case r.To != "":
			then = "`" + string(r.To) + "`"
		}
		fmt.Fprintf(b, "| %s | `%s` | %s | %s | %s |\n", from(r.From, states), r.On, r.Guard, then,
			strings.ReplaceAll(r.Why, "|", "/"))
	}
}

// from names the states of a row, briefly when it has all or nearly all of them.
func from[S ~string](of, all []S) string {
	if len(of) == len(all) {
		return "any"
	}
	names := make([]string, len(of))
	for i, s := range of {
		names[i] = "`" + string(s) + "`"
	}
	if len(of) == len(all)-1 {
		for _, s := range all {
			if !strings.Contains(strings.Join(names, " "), "`"+string(s)+"`") {
				return "any but `" + string(s) + "`"
			}
		}
	}
	return strings.Join(names, ", ")
}

// A table that is not drawn here, or that leaves an event or a state unhandled, was not thought
// through.
func TestEveryTransitionTableIsOnThePageAndCoversItsEvents(t *testing.T) {
	drawn := map[string]bool{}
	covered(t, drawn, campaign.Table())
	covered(t, drawn, contact.Table())
	covered(t, drawn, attempt.Table())
	covered(t, drawn, attempt.PeerTable())
	covered(t, drawn, inbound.Table())
	covered(t, drawn, ownership.LeaseTable())
	err := filepath.WalkDir("../engine", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if _, after, ok := strings.Cut(string(text), "fsm.New("); ok && err == nil {
			if name, _, _ := strings.Cut(strings.TrimPrefix(after, `"`), `"`); !drawn[name] {
				t.Errorf("%s builds a table %q that is not on the page", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func covered[S, E ~string, M, Ev any](t *testing.T, drawn map[string]bool, table *fsm.Table[S, E, M, Ev]) {
	t.Helper()
	drawn[table.Name()] = true
	cover := table.Cover()
	if want := len(table.States()) * len(table.Events()); len(cover) != want {
		t.Errorf("%s: %d of %d pairs are covered", table.Name(), len(cover), want)
	}
	events, states := map[E]bool{}, map[S]bool{}
	for p, c := range cover {
		events[p.Event] = events[p.Event] || c != fsm.Illegal
		states[p.State] = states[p.State] || c == fsm.Handled || c == fsm.Guarded
	}
	for _, e := range table.Events() {
		if !events[e] {
			t.Errorf("%s: no state takes %s", table.Name(), e)
		}
	}
	all := table.States()
	for _, s := range all {
		// The last state may be an end state in which every event is late.
		if !states[s] && s != all[len(all)-1] {
			t.Errorf("%s: nothing does anything in %s", table.Name(), s)
		}
	}
}
