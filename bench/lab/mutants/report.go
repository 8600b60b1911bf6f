package mutants

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// count counts the fates of the mutants of one package, or of all.
type count struct {
	mutants, notBuilt, equivalent, any, behaviour int
}

// judged is the number of mutants that could have been killed.
func (c *count) judged() int { return c.mutants - c.notBuilt - c.equivalent }

func (c *count) add(m *mutant) {
	c.mutants++
	switch m.Fate {
	case notBuilt:
		c.notBuilt++
	case equivalent:
		c.equivalent++
	case killed:
		c.any++
		c.behaviour++
	case byPicture:
		c.any++
	}
}

// percent is the percentage of the mutants that could have been killed.
func (c *count) percent(n int) float64 {
	if c.judged() == 0 {
		return 100
	}
	return 100 * float64(n) / float64(c.judged())
}

type report struct {
	same    map[string]string // id → why it is equivalent
	began   time.Time
	mutants []*mutant
	names   []string
	counts  map[string]*count
	total   count
	wrong   []string // entries of equivalent.txt that do not hold
}

func (r *report) add(pkg string, ms []*mutant) {
	if len(ms) == 0 {
		return
	}
	if r.counts == nil {
		r.counts = map[string]*count{}
	}
	c := &count{}
	r.names, r.counts[pkg] = append(r.names, pkg), c
	for _, m := range ms {
		if _, ok := r.same[m.id()]; ok {
			// A picture may differ although the behaviour is the same.
			if m.Fate == killed {
				r.wrong = append(r.wrong, m.id()+": "+m.By+" tells it apart")
			} else if m.Fate != notBuilt {
				m.Fate = equivalent
			}
		}
		c.add(m)
		r.total.add(m)
	}
	r.mutants = append(r.mutants, ms...)
}

func (r *report) print(w io.Writer) {
	say(w, "| package | mutants | not built | equivalent | killed by any test | by behaviour alone |\n")
	say(w, "|---|---|---|---|---|---|\n")
	line := func(name string, c *count) {
		say(w, "| %s | %d | %d | %d | %d (%.1f %%) | %d (%.1f %%) |\n", name,
			c.mutants, c.notBuilt, c.equivalent, c.any, c.percent(c.any), c.behaviour, c.percent(c.behaviour))
	}
	for _, n := range r.names {
		line(n, r.counts[n])
	}
	line("all", &r.total)
	for _, fate := range []string{survived, byPicture} {
		first := true
		for _, m := range r.mutants {
			if m.Fate != fate {
				continue
			}
			if first {
				say(w, "\n%s:\n", fate)
				first = false
			}
			say(w, "  %s:%d: %s\n", m.File, m.Line, m.What)
		}
	}
	say(w, "\n%s\n", time.Since(r.began).Round(time.Second))
}

// verdict is the error with which the program ends. Only a full run can tell that an equivalent no
// longer exists.
func (r *report) verdict(everything bool) error {
	if everything {
		there := map[string]bool{}
		for _, m := range r.mutants {
			there[m.id()] = true
		}
		for _, id := range slices.Sorted(maps.Keys(r.same)) {
			if !there[id] {
				r.wrong = append(r.wrong, id+": there is no such mutant")
			}
		}
	}
	if len(r.wrong) > 0 {
		return errors.New("equivalent.txt is wrong:\n  " + strings.Join(r.wrong, "\n  "))
	}
	if got := r.total.percent(r.total.behaviour); got < need {
		return fmt.Errorf("%.1f %% were killed by behaviour, %d %% are needed: write the test that tells a survivor "+
			"apart, or list it in equivalent.txt with the reason", got, need)
	}
	return nil
}

// parseEquivalents reads pairs of lines: the mutant as reported, then the reason after a tab. Empty
// lines and lines with # are ignored.
func parseEquivalents(text string) (map[string]string, error) {
	out := map[string]string{}
	id := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			if id == "" {
				return nil, fmt.Errorf("equivalent.txt:%d: a reason without a mutant", i+1)
			}
			out[id], id = strings.TrimSpace(line), ""
		case id != "":
			return nil, fmt.Errorf("equivalent.txt:%d: %q has no reason", i, id)
		default:
			if id = strings.TrimSpace(line); out[id] != "" {
				return nil, fmt.Errorf("equivalent.txt:%d: listed twice", i+1)
			}
		}
	}
	if id != "" {
		return nil, fmt.Errorf("equivalent.txt: %q has no reason", id)
	}
	return out, nil
}
