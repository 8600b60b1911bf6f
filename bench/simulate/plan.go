package simulate

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

// Plan is a scenario, and how to play it.
type Plan struct {
	Name     string
	Scenario callee.Scenario
	Seeds    []uint64
	Policies []trial.Policy
	Ratio    float64 // for the policy with a ratio
	// Campaign is the campaign section of the file, nil when there is none: it exercises the whole
	// core and not pacing alone.
	Campaign *yaml.Node
}

// Limits of a scenario file.
const (
	fileMost   = 1 << 20 // bytes
	seedsMost  = 1000
	pieceMost  = 10_000 // steps, sines, pieces
	ratioMost  = 100
	ratioUsual = 2
)

// Standard is the plan used without a file.
func Standard() Plan {
	return Plan{
		Name: "standard", Scenario: callee.Standard(), Seeds: seedsUpTo(5),
		Policies: []trial.Policy{trial.Progressive, trial.Strict, trial.Hybrid, trial.Clairvoyant}, Ratio: ratioUsual,
	}
}

func seedsUpTo(n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i) + 1
	}
	return s
}

// Read reads a scenario file; name is for messages. Errors have the code
// invalid_scenario, name the line and the key, and say what is allowed.
func Read(name string, r io.Reader) (Plan, error) {
	b, err := io.ReadAll(io.LimitReader(r, fileMost+1))
	if err != nil {
		return Plan{}, fmt.Errorf("read the scenario %s: %w", name, err)
	}
	d := &document{name: name, lines: map[string]int{}}
	if len(b) > fileMost {
		return Plan{}, d.wrong(0, "", "is larger than 1 MiB; give long schedules as sines or repeated pieces")
	}
	dec := yaml.NewDecoder(strings.NewReader(string(b)))
	var root, more yaml.Node
	switch err := dec.Decode(&root); {
	case errors.Is(err, io.EOF):
		return Plan{}, d.wrong(0, "", "is empty; write at least one key, for example N: 50")
	case err != nil:
		return Plan{}, d.wrong(0, "", "is not valid YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return Plan{}, d.wrong(more.Line, "", "holds a second document; give each scenario a file of its own")
	}
	p := Standard()
	p.Name = name
	if err := d.plan(root.Content[0], &p); err != nil {
		return Plan{}, err
	}
	if err := p.Scenario.Validate(); err != nil {
		return Plan{}, d.place(err)
	}
	return p, nil
}

// document is a file being read.
type document struct {
	name  string
	lines map[string]int // lines of the top-level keys
}

func (d *document) wrong(line int, key, message string) error {
	at := d.name
	if line > 0 {
		at += ":" + strconv.Itoa(line)
	}
	detail := at + ": " + message
	if key != "" {
		detail = at + ": " + key + ": " + message
	}
	return engine.Invalid("invalid_scenario", detail, engine.FieldError{Field: key, Code: "invalid", Message: message})
}

// place adds the line to an error of the scenario itself.
func (d *document) place(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	f := e.Fields[0]
	top, _, _ := strings.Cut(f.Field, ".")
	return d.wrong(d.lines[top], f.Field, f.Message)
}

// field is one key of a mapping and the function that reads its value.
type field struct {
	key  string
	read func(*yaml.Node) error
}

// mapping reads a mapping; an unknown or repeated key is an error.
func (d *document) mapping(n *yaml.Node, what string, fields ...field) error {
	n = resolve(n)
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	if n.Kind != yaml.MappingNode {
		return d.wrong(n.Line, what, "must be a mapping with the keys "+strings.Join(names, ", "))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		at := slices.Index(names, k.Value)
		switch {
		case k.Kind != yaml.ScalarNode || at < 0:
			return d.wrong(k.Line, dotted(what, k.Value), "is not a key here; valid keys are "+strings.Join(names, ", "))
		case seen[k.Value]:
			return d.wrong(k.Line, dotted(what, k.Value), "appears twice; keep one")
		}
		seen[k.Value] = true
		if what == "" {
			d.lines[k.Value] = k.Line
		}
		if err := fields[at].read(n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// list reads each element of a list.
func (d *document) list(n *yaml.Node, what string, most int, read func(*yaml.Node) error) error {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		return d.wrong(n.Line, what, "must be a list")
	}
	if len(n.Content) == 0 || len(n.Content) > most {
		return d.wrong(n.Line, what, fmt.Sprintf("must have 1 to %d elements, not %d", most, len(n.Content)))
	}
	for _, c := range n.Content {
		if err := read(c); err != nil {
			return err
		}
	}
	return nil
}

// resolve follows an alias to its target.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func dotted(above, key string) string {
	if above == "" {
		return key
	}
	return above + "." + key
}

// plan reads the whole file.
func (d *document) plan(n *yaml.Node, p *Plan) error {
	s := &p.Scenario
	return d.mapping(n, "",
		field{"name", func(n *yaml.Node) error { return d.text(n, "name", &p.Name) }},
		field{"N", d.schedule("N", &s.Workers)},
		field{"p", d.schedule("p", &s.Answer)},
		field{"R", d.duration("R", &s.RingMean)},
		field{"S", d.duration("S", &s.RingSD)},
		field{"timeout", d.duration("timeout", &s.Timeout)},
		field{"m", d.number("m", &s.Machines)},
		field{"M", d.duration("M", &s.TalkMean)},
		field{"s", d.number("s", &s.Short)},
		field{"a", d.duration("a", &s.Hold)},
		field{"W", d.duration("W", &s.Wait)},
		field{"c", d.number("c", &s.Cap)},
		field{"T", d.duration("T", &s.Length)},
		field{"talk_factor", d.schedule("talk_factor", &s.TalkFactor)},
		field{"contacts", func(n *yaml.Node) error { return d.count(n, "contacts", 0, 100_000_000, &s.Contacts) }},
		field{"seeds", func(n *yaml.Node) error { return d.seeds(n, &p.Seeds) }},
		field{"policies", func(n *yaml.Node) error { return d.policies(n, &p.Policies) }},
		field{"ratio", func(n *yaml.Node) error {
			if err := d.number("ratio", &p.Ratio)(n); err != nil {
				return err
			}
			if p.Ratio <= 0 || p.Ratio > ratioMost {
				return d.wrong(n.Line, "ratio", fmt.Sprintf("must be more than 0 and at most %d", ratioMost))
			}
			return nil
		}},
		field{"campaign", func(n *yaml.Node) error { p.Campaign = resolve(n); return nil }},
	)
}

func (d *document) seeds(n *yaml.Node, seeds *[]uint64) error {
	if resolve(n).Kind == yaml.ScalarNode {
		var count int
		if err := d.count(n, "seeds", 1, seedsMost, &count); err != nil {
			return err
		}
		*seeds = seedsUpTo(count)
		return nil
	}
	*seeds = nil
	return d.list(n, "seeds", seedsMost, func(n *yaml.Node) error {
		v, err := strconv.ParseUint(resolve(n).Value, 10, 63)
		if err != nil {
			return d.wrong(n.Line, "seeds", strconv.Quote(n.Value)+" is not a whole number, 0 or more")
		}
		*seeds = append(*seeds, v)
		return nil
	})
}

func (d *document) policies(n *yaml.Node, policies *[]trial.Policy) error {
	*policies = nil
	return d.list(n, "policies", len(trial.Policies), func(n *yaml.Node) error {
		p := trial.Policy(resolve(n).Value)
		if !slices.Contains(trial.Policies, p) {
			known := make([]string, len(trial.Policies))
			for i, k := range trial.Policies {
				known[i] = string(k)
			}
			return d.wrong(n.Line, "policies", strconv.Quote(string(p))+" is not a policy; known are "+strings.Join(known, ", "))
		}
		if slices.Contains(*policies, p) {
			return d.wrong(n.Line, "policies", string(p)+" appears twice; keep one")
		}
		*policies = append(*policies, p)
		return nil
	})
}
