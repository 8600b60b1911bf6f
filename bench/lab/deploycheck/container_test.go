package deploycheck

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// stages parses the Containerfile as BuildKit does; any finding of its linter fails the test.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	f, err := os.Open("../../../deploy/container/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tree, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range tree.Warnings {
		t.Errorf("%s %v", w.Short, w.Detail)
	}
	all, _, err := instructions.Parse(tree.AST, linter.New(&linter.Config{
		Warn: func(rule, _, _, message string, at []parser.Range) { t.Errorf("%s: %s (%v)", rule, message, at) },
	}))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheImageIsSmallAndRunsAsNobodyInParticular(t *testing.T) {
	t.Parallel()
	all := stages(t)
	if len(all) < 3 {
		t.Fatalf("%d stages", len(all))
	}
	tagged := regexp.MustCompile(`^[a-z0-9.-]+/[a-z0-9/._-]+:[a-z0-9._-]+$`)
	names := []string{}
	for _, s := range all {
		if !tagged.MatchString(s.BaseName) || strings.HasSuffix(s.BaseName, ":latest") {
			t.Errorf("base %q: name registry, image and version", s.BaseName)
		}
		names = append(names, s.Name)
	}
	last := all[len(all)-1]
	if !strings.HasPrefix(last.BaseName, "gcr.io/distroless/static") {
		t.Errorf("the image is made of %s", last.BaseName)
	}
	user, entry, stop := "", []string(nil), ""
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			if entry = c.CmdLine; c.PrependShell {
				t.Error("the entry point needs a shell, and there is none")
			}
		case *instructions.CmdCommand:
			if c.PrependShell {
				t.Error("the command needs a shell, and there is none")
			}
		case *instructions.RunCommand:
			t.Error("the last stage runs something, and it has no shell")
		case *instructions.StopSignalCommand:
			stop = c.Signal
		case *instructions.CopyCommand:
			if !slices.Contains(names, c.From) {
				t.Errorf("%s is copied from %q, which is no stage", c.SourcePaths, c.From)
			}
		}
	}
	if !regexp.MustCompile(`^[1-9][0-9]+:[1-9][0-9]+$`).MatchString(user) {
		t.Errorf("it runs as %q: name a user by number, not root", user)
	}
	if len(entry) != 1 || entry[0] != "/usr/local/bin/dialler" || stop != "SIGTERM" {
		t.Errorf("entry point %q, stopped by %q", entry, stop)
	}
}
