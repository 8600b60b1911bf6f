package simulate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
)

// Change is one key of a scenario with the values to compare.
type Change struct {
	Key    string
	Values []string
}

// Combination is one choice of values and its result.
type Combination struct {
	Values   []string // in the order of the changes
	Outcomes []Outcome
}

// combinationsMost keeps a comparison readable, and from running for days.
const combinationsMost = 100

// changeable are the keys that a comparison may change, with their aliases.
var changeable = []struct {
	key, also string
	set       func(*Plan, string) bool
}{
	{"cap", "c", share(func(p *Plan) *float64 { return &p.Scenario.Cap })},
	{"seats", "N", always(func(p *Plan) *callee.Schedule { return &p.Scenario.Workers })},
	{"p", "answer", always(func(p *Plan) *callee.Schedule { return &p.Scenario.Answer })},
	{"m", "machines", share(func(p *Plan) *float64 { return &p.Scenario.Machines })},
	{"s", "short", share(func(p *Plan) *float64 { return &p.Scenario.Short })},
	{"ratio", "", share(func(p *Plan) *float64 { return &p.Ratio })},
	{"M", "talk", length(func(p *Plan) *time.Duration { return &p.Scenario.TalkMean })},
	{"R", "ring", length(func(p *Plan) *time.Duration { return &p.Scenario.RingMean })},
	{"timeout", "", length(func(p *Plan) *time.Duration { return &p.Scenario.Timeout })},
	{"W", "wait", length(func(p *Plan) *time.Duration { return &p.Scenario.Wait })},
	{"a", "hold", length(func(p *Plan) *time.Duration { return &p.Scenario.Hold })},
	{"T", "length", length(func(p *Plan) *time.Duration { return &p.Scenario.Length })},
}

func share(of func(*Plan) *float64) func(*Plan, string) bool {
	return func(p *Plan, s string) bool {
		v, ok := parseNumber(s)
		*of(p) = v
		return ok
	}
}

func always(of func(*Plan) *callee.Schedule) func(*Plan, string) bool {
	return func(p *Plan, s string) bool {
		v, ok := parseNumber(s)
		*of(p) = callee.Always(v)
		return ok
	}
}

func length(of func(*Plan) *time.Duration) func(*Plan, string) bool {
	return func(p *Plan, s string) bool {
		v, ok := parseDuration(s)
		*of(p) = v
		return ok
	}
}

// ParseChanges reads cap=1%,3% and the like; several in one text are separated by spaces. Errors
// have the code invalid_comparison.
func ParseChanges(texts []string) ([]Change, error) {
	var changes []Change
	seen := map[string]bool{}
	for _, text := range strings.Fields(strings.Join(texts, " ")) {
		key, list, ok := strings.Cut(text, "=")
		if !ok || list == "" {
			return nil, invalidComparison(text,
				"is not a comparison; write a key and its values, such as cap=1%%,3%% or seats=50,80")
		}
		name := ""
		for _, c := range changeable {
			if key == c.key || c.also != "" && key == c.also {
				name = c.key
			}
		}
		switch {
		case name == "":
			return nil, invalidComparison(key, "cannot be compared; valid keys are %s", known())
		case seen[name]:
			return nil, invalidComparison(key, "is given twice; put all its values into one list")
		}
		seen[name] = true
		changes = append(changes, Change{Key: name, Values: strings.Split(list, ",")})
	}
	return changes, nil
}

func known() string {
	names := make([]string, len(changeable))
	for i, c := range changeable {
		names[i] = c.key
	}
	return strings.Join(names, ", ")
}

func invalidComparison(what, format string, args ...any) error {
	return engine.Invalid("invalid_comparison", what+" "+fmt.Sprintf(format, args...))
}

// Compare plays every combination of the changes.
func Compare(ctx context.Context, p *Plan, changes []Change) ([]Combination, error) {
	n := 1
	for _, c := range changes {
		if n *= len(c.Values); n > combinationsMost {
			return nil, invalidComparison("the comparison", "has more than %d combinations; give fewer values", combinationsMost)
		}
	}
	plans, list := make([]Plan, n), make([]Combination, n)
	for i := range plans {
		plans[i] = *p
		rest := i
		list[i].Values = make([]string, len(changes))
		for k := len(changes) - 1; k >= 0; k-- {
			c := &changes[k]
			v := c.Values[rest%len(c.Values)]
			rest /= len(c.Values)
			list[i].Values[k] = v
			for _, known := range changeable {
				if known.key == c.Key && !known.set(&plans[i], v) {
					return nil, invalidComparison(c.Key+"="+v,
						"is not a value; write a number, a share such as 3%%, or a duration such as 90s")
				}
			}
		}
		if err := plans[i].Scenario.Validate(); err != nil {
			return nil, err
		}
		if r := plans[i].Ratio; !(r > 0 && r <= ratioMost) {
			return nil, invalidComparison("ratio", "must be more than 0 and at most %d", ratioMost)
		}
	}
	all, err := PlayAll(ctx, plans)
	for i := range all {
		list[i].Outcomes = all[i]
	}
	return list, err
}

// WriteComparison prints all combinations in one table.
func WriteComparison(w io.Writer, changes []Change, list []Combination) error {
	var head []string
	for _, c := range changes {
		head = append(head, c.Key)
	}
	lines := [][]string{append(head, headings...)}
	for i := range list {
		for _, r := range rows(list[i].Outcomes) {
			lines = append(lines, append(append([]string(nil), list[i].Values...), r.cells()...))
		}
	}
	return writeLines(w, lines)
}

// WriteComparisonJSON prints all combinations for machines.
func WriteComparisonJSON(w io.Writer, changes []Change, list []Combination) error {
	type combination struct {
		Values   map[string]string `json:"values"`
		Policies []Row             `json:"policies"`
	}
	all := make([]combination, len(list))
	for i := range list {
		all[i] = combination{map[string]string{}, rows(list[i].Outcomes)}
		for k, c := range changes {
			all[i].Values[c.Key] = list[i].Values[k]
		}
	}
	return encode(w, struct {
		Combinations []combination `json:"combinations"`
	}{all})
}
