package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dialler/engine/frequency"
)

func TestThePresetsOfCallFrequencyAreThoseOfTheTable(t *testing.T) {
	b, err := os.ReadFile("operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## How often a number may be called")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, p := range frequency.Presets {
		where, limits, _ := strings.Cut(p.Rule.String(), ": ")
		if row := fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", p.Name, where, limits, p.Source,
			p.Since); !strings.Contains(section, row) {
			t.Errorf("operations.md lacks the row\n%s", row)
		}
	}
	if n := strings.Count(section, "\n| `"); n != len(frequency.Presets) {
		t.Errorf("operations.md has %d rows for %d presets", n, len(frequency.Presets))
	}
}
