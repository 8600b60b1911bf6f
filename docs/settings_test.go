package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dialler/engine/campaign"
	"dialler/engine/window"
)

// Each setting comes from the specification, or is explained on a page.
func TestEverySettingSaysWhereItComesFrom(t *testing.T) {
	stands := sources(t)
	for i := range campaign.Fields {
		stands(campaign.Fields[i].Name, campaign.Fields[i].Source)
	}
}

// sources checks that the source given in a table is in the specification, or is a page that names
// the figure or setting.
func sources(t *testing.T) func(name, source string) {
	t.Helper()
	law := ""
	for _, path := range []string{"testdata/spec.md", "testdata/semantics.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		law += string(text)
	}
	return func(name, source string) {
		t.Helper()
		if page, ok := strings.CutPrefix(source, "docs/"); ok {
			text, err := os.ReadFile(filepath.Clean(page))
			if err != nil || !strings.Contains(string(text), name) {
				t.Errorf("%s: %s does not explain it (%v)", name, source, err)
			}
		} else if source == "" || !strings.Contains(law, source) {
			t.Errorf("%s: %q does not stand in the specification", name, source)
		}
	}
}

func TestThePageOfSettingsIsInStepWithTheirTable(t *testing.T) {
	var out strings.Builder
	out.WriteString(`# Settings of a campaign

Written by ` + "`go test ./docs -update`" + ` from ` + "`engine/campaign/fields.go`" + `; do not edit.

Settings are changed while a campaign is a draft or paused. *Once* marks those that stay as they
are after the first run, *Config URL* those that a document at the campaign's Config URL may set,
*what-if* those that a simulation may change.

| setting | called | takes | default | |
|---|---|---|---|---|
`)
	for i := range campaign.Fields {
		f := &campaign.Fields[i]
		var marks []string
		for _, m := range []struct {
			is   bool
			mark string
		}{{f.Locked, "once"}, {f.External, "Config URL"}, {f.WhatIf, "what-if"}} {
			if m.is {
				marks = append(marks, m.mark)
			}
		}
		text := f.API
		if text == "" && f.Help != "" {
			text = f.Help + "."
		}
		if len(marks) > 0 {
			text = strings.TrimSpace(text + " *" + strings.Join(marks, ", ") + "*")
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Label, takes(f), defaultOf(f), text)
	}
	inStep(t, "settings.md", out.String())
}

// inStep compares a generated page with its expected text, or writes it.
func inStep(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // as the others are
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(filepath.Clean(path)); err != nil || string(have) != want {
		t.Errorf("docs/%s is out of step (%v): go test ./docs -update", path, err)
	}
}

func takes(f *campaign.Field) string {
	switch f.At(&campaign.Settings{}).(type) {
	case *int:
		unit := ""
		if f.Unit != "" && f.Unit != campaign.Share {
			unit = " " + string(f.Unit)
		}
		return fmt.Sprintf("%v to %v%s", figure(f.Wire(f.Min)), figure(f.Wire(f.Max)), unit)
	case *bool:
		return "true, false"
	case *string:
		if f.Choices == nil {
			return fmt.Sprintf("text, up to %d characters", f.Max)
		}
		values := make([]string, len(f.Choices))
		for i, c := range f.Choices {
			values[i] = "`" + c.Value + "`"
		}
		return strings.Join(values, ", ")
	case campaign.List:
		return fmt.Sprintf("list, up to %d entries", f.Max)
	case *window.Window:
		return "zone, start, end, days, holidays"
	}
	return ""
}

func figure(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func defaultOf(f *campaign.Field) string {
	switch def := f.Default.(type) {
	case nil:
		if f.Required {
			return "must be given"
		}
		return "none"
	case int:
		return figure(f.Wire(def))
	case []string:
		if len(def) == 0 {
			return "empty"
		}
		return "`" + strings.Join(def, "`, `") + "`"
	default:
		return fmt.Sprintf("`%v`", def)
	}
}
