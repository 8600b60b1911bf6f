package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"dialler/process/configfile"
)

// settings returns the names of all flags of dialler serve and of the root command.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	_, k, err := parse([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	if err := kong.Visit(k.Model, func(n kong.Visitable, next kong.Next) error {
		if c, ok := n.(*kong.Command); ok && c.Name != "serve" {
			return nil
		}
		if f, ok := n.(*kong.Flag); ok {
			names[f.Name] = true
		}
		return next(nil)
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// The settings in deploy/ must be ones that the dialler accepts.
func TestEverySettingOfDeployIsOneOfServe(t *testing.T) {
	t.Parallel()
	known := settings(t)
	if !known["drain-timeout"] || !known["log-format"] || known["listen-htttp"] {
		t.Fatalf("the flags were not read: %v", known)
	}
	flag := regexp.MustCompile(`--([a-z][a-z-]+)(?:=|\s|"|$)`)
	variable := regexp.MustCompile(`\bDIALLER_([A-Z_]+)\b`)
	others := map[string]bool{"secrets-keys": true} // DIALLER_SECRETS_KEYS is not a flag
	f := func(file string, lines func(string) bool) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for line := range strings.Lines(string(text)) {
			if lines(line) {
				for _, m := range flag.FindAllStringSubmatch(line, -1) {
					if found++; !known[m[1]] {
						t.Errorf("%s: dialler serve has no --%s", file, m[1])
					}
				}
			}
			for _, m := range variable.FindAllStringSubmatch(line, -1) {
				name := strings.ToLower(strings.ReplaceAll(m[1], "_", "-"))
				if found++; !known[name] && !others[name] {
					t.Errorf("%s: DIALLER_%s is no setting", file, m[1])
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no setting was found in it", file)
		}
	}
	starts := func(line string) bool { return strings.Contains(line, "dialler serve") }
	f("systemd/dialler.service", starts)
	f("systemd/dialler.env", starts)
	f("container/Containerfile", starts)
	f("helm/dialler/templates/statefulset.yaml",
		func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "- --") })
	ours := false
	f("compose/compose.yaml", func(line string) bool {
		ours = strings.Contains(line, "[serve") || ours && !strings.Contains(line, ": ")
		return ours
	})

	var file map[string]any
	text, err := os.ReadFile("../deploy/systemd/dialler.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil || len(file) == 0 {
		t.Fatal(err)
	}
	for key := range file {
		if !known[key] && key != configfile.TrunksKey && key != configfile.ListenersKey {
			t.Errorf("systemd/dialler.yaml: %s is no setting", key)
		}
	}
	if _, _, err := parse([]string{"serve", "--config=../deploy/systemd/dialler.yaml"}); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{
		{"db", "audit", "--config=../deploy/systemd/dialler.yaml"}, {"bench", "bot", "--listen=172.30.77.21:5080"}, {"bench",
			"carrier", "--listen=172.30.77.20:5070"},
	} {
		if _, _, err := parse(args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
