package mutants

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The fates of a mutant.
const (
	killed     = "killed"
	byPicture  = "killed by pictures" // only by golden files and lists of rows
	survived   = "survived"
	equivalent = "equivalent"
	notBuilt   = "not built"
)

//go:embed equivalent.txt
var equivalents string

// need is the percentage of mutants that behaviour must kill.
const need = 95

// thorough is Config.Thorough.
var thorough bool

// Config says which mutants to make.
type Config struct {
	Packages []string // by folder; if empty, all of engine/… and http
	Match    string   // only mutants whose line of the report contains this
	// Thorough also removes every state from every row of the tables, one at a time. Many of those
	// mutants change nothing, because the guard never holds in that state.
	Thorough bool
	Parallel int  // mutants run at the same time
	JSON     bool // print every mutant as JSON
}

// Run judges the mutants of the tree that it is started in; it is an error if too few are killed.
func Run(out, progress io.Writer, cfg Config) error {
	thorough = cfg.Thorough
	root, err := findRoot()
	if err != nil {
		return err
	}
	same, err := parseEquivalents(equivalents)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range cfg.Packages {
		names = append(names, strings.Trim(strings.TrimPrefix(n, "./"), "/"))
	}
	pkgs, err := packages(root, names)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // at worst a scratch folder is left
	r := &report{same: same, began: time.Now()}
	for _, p := range pkgs {
		ms, err := mutate(root, scratch, cfg.Parallel, p, cfg.Match, same, progress)
		if err != nil {
			return err
		}
		r.add(p.path, ms)
	}
	if cfg.JSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		if err := e.Encode(r.mutants); err != nil {
			return err
		}
		r.print(progress)
	} else {
		r.print(out)
	}
	return r.verdict(len(names) == 0 && cfg.Match == "")
}

// mutate makes the mutants of one package and runs them.
func mutate(root, scratch string, parallel int, p *pack, match string, same map[string]string,
	progress io.Writer) ([]*mutant, error) {
	ms := textMutants(p)
	if len(ms) == 0 && !hasTable(p) {
		return nil, nil
	}
	if !p.tests {
		for _, m := range ms {
			m.Fate = survived
		}
		return ms, nil
	}
	began := time.Now()
	own, err := newSuite(root, scratch, p, p)
	if err != nil {
		return nil, err
	}
	suites := []*suite{own}
	for _, name := range alsoTested[p.path] {
		other, err := load(root, name)
		if err != nil {
			return nil, err
		}
		s, err := newSuite(root, scratch, other, p)
		if err != nil {
			return nil, err
		}
		suites = append(suites, s)
	}
	if hasTable(p) {
		rows, err := tableMutants(own.bin, own.dir, scratch, p.path)
		if err != nil {
			return nil, err
		}
		ms = append(rows, ms...)
	}
	var picked []*mutant
	for _, m := range ms {
		if strings.Contains(m.id(), match) {
			picked = append(picked, m)
		}
	}
	n := 0
	err = judgeAll(root, scratch, parallel, suites, picked, func(m *mutant) {
		n++
		if _, ok := same[m.id()]; !ok && (m.Fate == survived || m.Fate == byPicture) {
			say(progress, "%s:%d: %s: %s\n", m.File, m.Line, m.What, m.Fate)
		}
	})
	say(progress, "%s: %d mutants in %s\n", p.path, n, time.Since(began).Round(time.Second))
	return picked, err
}

// say prints; a closed terminal is no reason to stop.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// findRoot is the folder of go.mod, here or above.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("no go.mod here or above: run it inside the tree")
		}
		dir = filepath.Dir(dir)
	}
}
