package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dialler/engine/calendar"
	"dialler/engine/window"
)

func TestThePresetsOfCalendarsAreThoseOfTheTable(t *testing.T) {
	b, err := os.ReadFile("operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## Hours of calls to a country")
	section, _, _ = strings.Cut(section, "\n## ")
	spans := func(list []window.Span) string {
		if len(list) == 0 {
			return "–"
		}
		texts := make([]string, len(list))
		for i, s := range list {
			texts[i] = s.String()
		}
		return strings.Join(texts, ", ")
	}
	for _, p := range calendar.Presets {
		sets := strings.Join(p.Sets, ", ")
		if sets == "" {
			sets = "–"
		}
		if row := fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", p.ID, p.Country, spans(p.Weekdays),
			spans(p.Saturday), spans(p.Sunday), sets, p.Source, p.Since); !strings.Contains(section, row) {
			t.Errorf("operations.md lacks the row\n%s", row)
		}
	}
	if n := strings.Count(section, "\n| `"); n != len(calendar.Presets) {
		t.Errorf("operations.md has %d rows for %d presets", n, len(calendar.Presets))
	}
}
