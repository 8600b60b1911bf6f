package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	listTimeout  = 30 * time.Second
	buildTimeout = 10 * time.Minute // the very first also compiles the standard library
	// A mutant's tests may take this many times as long as those of the original, and at least
	// testLeast: the machine may be busy.
	testTimes = 6
	testLeast = 20 * time.Second
)

// pictures are the tests that compare a table with a picture of itself, or
// with its own list of rows, by package.
var pictures = map[string]string{
	"engine/campaign": "^(TestEveryStateAndEventPairDoesWhatTheGoldenFileSays|TestEveryRowOfTheTableIsTaken)$",
	"engine/contact":  "^(TestEveryStateAndEventPairDoesWhatTheGoldenFileSays|TestEveryRowOfTheTableIsTaken)$",
	"engine/attempt":  "^(TestEveryStateAndEventPairDoesWhatTheGoldenFileSays|TestEveryRowOfTheTableIsTaken)$",
}

// alsoTested are packages whose tests specify another package.
var alsoTested = map[string][]string{}

// overlay maps the path of a file to that of its replacement, as -overlay expects.
type overlay map[string]string

func (o overlay) put(root, dir, path string, text []byte) error {
	to := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
	o[filepath.Join(root, path)] = to
	return os.WriteFile(to, text, 0o600)
}

// build compiles the tests of a package with the overlay.
func build(root, dir string, o overlay, pkg, bin string) error {
	text, err := json.Marshal(map[string]overlay{"Replace": o})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", path, "-ldflags=-s -w", "-o", bin,
		"./"+pkg) //nolint:gosec // the tool runs go on packages of this tree
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	return nil
}

// runTests runs a binary of tests in the package's folder.
func runTests(bin, dir string, env []string, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	args = append(args, "-test.failfast", "-test.timeout="+limit.String())
	cmd := exec.CommandContext(ctx, bin, args...) //nolint:gosec // a binary that was just built of this tree
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// suite holds the tests that judge the mutants of one package.
type suite struct {
	pkg   *pack
	dir   string // where they run
	skip  string // pattern of the picture tests
	args  []string
	bin   string // the original, with the schema if there is a table
	limit time.Duration
}

func (s *suite) run(bin string, env []string, pictures bool) (string, error) {
	args := append([]string{}, s.args...)
	switch {
	case pictures:
		args = append(args, "-test.run="+s.skip)
	case s.skip != "":
		args = append(args, "-test.skip="+s.skip)
	}
	return runTests(bin, s.dir, env, s.limit, args...)
}

// newSuite builds the original's tests, checks that they pass, and measures how long they take.
func newSuite(root, scratch string, pkg, of *pack) (*suite, error) {
	s := &suite{pkg: pkg, dir: filepath.Join(root, pkg.path), skip: pictures[pkg.path], limit: 10 * time.Minute,
		bin: filepath.Join(scratch, strings.ReplaceAll(of.path+"_"+pkg.path, "/", "_")+".test")}
	if pkg.rapid {
		// The same draws for every mutant, and no files in the tree.
		s.args = []string{"-rapid.seed=1", "-rapid.nofailfile"}
	}
	o := overlay{}
	if hasTable(of) {
		var err error
		if o, err = schemaOverlay(root, scratch, of); err != nil {
			return nil, err
		}
	}
	if err := build(root, scratch, o, pkg.path, s.bin); err != nil {
		return nil, err
	}
	began := time.Now()
	if out, err := s.run(s.bin, nil, false); err != nil {
		return nil, fmt.Errorf("%s: the tests of the original fail: %w\n%s", pkg.path, err, tail(out))
	}
	took := time.Since(began)
	if s.skip != "" {
		out, err := s.run(s.bin, nil, true)
		if err != nil {
			return nil, fmt.Errorf("%s: the pictures of the original fail: %w\n%s", pkg.path, err, tail(out))
		}
		if strings.Contains(out, "no tests to run") {
			return nil, fmt.Errorf("%s: no test matches %s", pkg.path, s.skip)
		}
	}
	s.limit = max(testLeast, testTimes*took)
	return s, nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// tableRefused is how fsm.New begins its panic over an invalid table.
const tableRefused = "panic: fsm: table "

// judge runs the tests on one mutant.
func judge(root, scratch string, suites []*suite, m *mutant) error {
	if m.Fate != "" { // known already
		return nil
	}
	var env []string
	if m.env != "" {
		env = []string{m.env}
	}
	pictured := ""
	for i, s := range suites {
		bin := s.bin
		if m.text != nil {
			o := overlay{}
			if err := o.put(root, scratch, m.File, m.text); err != nil {
				return err
			}
			bin = filepath.Join(scratch, "mutant.test")
			if err := build(root, scratch, o, s.pkg.path, bin); err != nil {
				if i > 0 {
					return err
				}
				m.Fate = notBuilt
				return nil
			}
		}
		out, err := s.run(bin, env, false)
		switch {
		case err == nil:
		case strings.Contains(out, tableRefused):
			m.Fate = notBuilt
			return nil
		case isExit(err):
			m.Fate, m.By = killed, killer(out)
			return nil
		default:
			return err
		}
		if s.skip != "" && pictured == "" {
			if out, err := s.run(bin, env, true); err != nil {
				pictured = killer(out)
			}
		}
	}
	m.Fate = survived
	if pictured != "" {
		m.Fate, m.By = byPicture, pictured
	}
	return nil
}

// isExit says that the tests ran and failed, or were stopped at their time limit.
func isExit(err error) bool {
	var e *exec.ExitError
	return errors.As(err, &e)
}

func killer(out string) string {
	if f := failed.FindStringSubmatch(out); f != nil {
		return f[1]
	}
	if strings.Contains(out, "panic: test timed out") {
		return "time"
	}
	return "panic"
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// judgeAll runs the mutants, parallel at a time.
func judgeAll(root, scratch string, parallel int, suites []*suite, ms []*mutant, said func(*mutant)) error {
	work := make(chan *mutant)
	errs := make(chan error, parallel)
	var group sync.WaitGroup
	var mu sync.Mutex
	for i := range parallel {
		group.Go(func() {
			dir := filepath.Join(scratch, fmt.Sprint(i))
			err := os.MkdirAll(dir, 0o700)
			for m := range work {
				if err == nil {
					err = judge(root, dir, suites, m)
					mu.Lock()
					said(m)
					mu.Unlock()
				}
			}
			if err != nil {
				errs <- err
			}
		})
	}
	for _, m := range ms {
		work <- m
	}
	close(work)
	group.Wait()
	close(errs)
	return <-errs
}
