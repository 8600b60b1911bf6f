package simulate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"dialler/engine/callee"
)

// parseNumber reads 0.03, or 3 % as "3%".
func parseNumber(s string) (v float64, ok bool) {
	plain, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(plain), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	if percent {
		v /= 100
	}
	return v, true
}

// longest is far longer than any time in a scenario, and far from an overflow.
const longest = 10 * 365 * 24 * time.Hour

// parseDuration reads a number of seconds, or 8h, 1h30m, 250ms.
func parseDuration(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		if !(math.Abs(v) <= longest.Seconds()) {
			return 0, false
		}
		return time.Duration(math.Round(v * float64(time.Second))), true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d <= longest && d >= -longest
}

func (d *document) scalar(n *yaml.Node, key, want string) (string, error) {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", d.wrong(n.Line, key, "must be "+want)
	}
	return n.Value, nil
}

func (d *document) text(n *yaml.Node, key string, into *string) error {
	v, err := d.scalar(n, key, "a text")
	if err == nil && len(v) > 200 {
		return d.wrong(n.Line, key, "must have at most 200 bytes")
	}
	*into = v
	return err
}

func (d *document) number(key string, into *float64) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		const want = "a number, or a share such as 3%"
		s, err := d.scalar(n, key, want)
		if err != nil {
			return err
		}
		v, ok := parseNumber(s)
		if !ok {
			return d.wrong(n.Line, key, strconv.Quote(s)+" must be "+want)
		}
		*into = v
		return nil
	}
}

func (d *document) count(n *yaml.Node, key string, least, most int, into *int) error {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	s, err := d.scalar(n, key, want)
	if err != nil {
		return err
	}
	v, err := strconv.Atoi(s)
	if err != nil || v < least || v > most {
		return d.wrong(n.Line, key, strconv.Quote(s)+" must be "+want)
	}
	*into = v
	return nil
}

func (d *document) duration(key string, into *time.Duration) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		const want = "seconds, or a duration such as 90s, 20m, 8h"
		s, err := d.scalar(n, key, want)
		if err != nil {
			return err
		}
		v, ok := parseDuration(s)
		if !ok {
			return d.wrong(n.Line, key, strconv.Quote(s)+" must be "+want)
		}
		*into = v
		return nil
	}
}

// schedule reads a value over time: a number, {steps}, {base, sines} or {base,
// repeat}.
func (d *document) schedule(key string, into *callee.Schedule) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		n = resolve(n)
		*into = callee.Schedule{}
		if n.Kind == yaml.ScalarNode {
			return d.number(key, &into.Base)(n)
		}
		has := map[string]bool{}
		note := func(name string, read func(*yaml.Node) error) field {
			return field{name, func(n *yaml.Node) error { has[name] = true; return read(n) }}
		}
		err := d.mapping(n, key,
			note("base", d.number(key+".base", &into.Base)),
			note("steps", func(n *yaml.Node) error { return d.steps(n, key+".steps", into) }),
			note("sines", func(n *yaml.Node) error { return d.sines(n, key+".sines", into) }),
			note("repeat", func(n *yaml.Node) error { return d.repeat(n, key+".repeat", into) }),
		)
		switch {
		case err != nil:
			return err
		case has["steps"] && len(has) > 1:
			return d.wrong(n.Line, key, "steps must be the only key: the first one is the value from the start")
		case has["sines"] && has["repeat"]:
			return d.wrong(n.Line, key, "sines and repeat cannot be combined")
		case !has["steps"] && !has["base"]:
			return d.wrong(n.Line, key, "needs a base: the value to which sines are added, or that applies outside the pieces")
		}
		return nil
	}
}

// all reads a mapping in which only the optional keys may be missing.
func (d *document) all(n *yaml.Node, what string, optional string, fields ...field) error {
	missing := map[string]bool{}
	for i, f := range fields {
		missing[f.key] = f.key != optional
		fields[i].read = func(n *yaml.Node) error { missing[f.key] = false; return f.read(n) }
	}
	if err := d.mapping(n, what, fields...); err != nil {
		return err
	}
	for _, f := range fields {
		if missing[f.key] {
			return d.wrong(n.Line, what, f.key+" is missing")
		}
	}
	return nil
}

func (d *document) steps(n *yaml.Node, key string, into *callee.Schedule) error {
	return d.list(n, key, pieceMost, func(n *yaml.Node) error {
		var s callee.Step
		err := d.all(n, key, "", field{"at", d.duration(key+".at", &s.At)}, field{"value", d.number(key+".value", &s.Value)})
		into.Steps = append(into.Steps, s)
		return err
	})
}

func (d *document) sines(n *yaml.Node, key string, into *callee.Schedule) error {
	return d.list(n, key, pieceMost, func(n *yaml.Node) error {
		var s callee.Sine
		err := d.all(n, key, "phase", field{"amp", d.number(key+".amp", &s.Amplitude)},
			field{"period", d.duration(key+".period", &s.Period)}, field{"phase", d.number(key+".phase", &s.Phase)})
		into.Sines = append(into.Sines, s)
		return err
	})
}

func (d *document) repeat(n *yaml.Node, key string, into *callee.Schedule) error {
	return d.all(n, key, "", field{"period", d.duration(key+".period", &into.Period)},
		field{"pieces", func(n *yaml.Node) error {
			what := key + ".pieces"
			return d.list(n, what, pieceMost, func(n *yaml.Node) error {
				var p callee.Piece
				err := d.all(n, what, "", field{"start", d.duration(what+".start", &p.Start)},
					field{"end", d.duration(what+".end", &p.End)}, field{"value", d.number(what+".value", &p.Value)})
				into.Pieces = append(into.Pieces, p)
				return err
			})
		}})
}
