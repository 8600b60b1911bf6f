package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dialler/engine"
)

// onDatabase returns the names of the commands that work on a database.
func onDatabase(t *testing.T) (names []string) {
	t.Helper()
	_, k, err := parse([]string{"version"})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range k.Model.Leaves(false) {
		if slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "instance" }) {
			names = append(names, strings.Fields(leaf.FullPath())[1]+" "+leaf.Name)
		}
	}
	return names
}

func TestACommandRefusesAFolderWithoutADatabaseAndMakesNothing(t *testing.T) {
	for _, name := range []string{"DATABASE_URL", "DIALLER_DATABASE_URL", "DIALLER_CONFIG"} {
		t.Setenv(name, "") // restored when the test is over
		_ = os.Unsetenv(name)
	}
	out := filepath.Join(t.TempDir(), "evidence")
	commands := map[string][]string{
		"db audit": {"db", "audit"}, "db anchors": {"db", "anchors"}, "db accept-restore": {"db", "accept-restore"},
		"db erase": {"db", "erase",
			"--number=+4915112345678"}, "trunk check": {"trunk", "check", "carrier-1"},
		"db stray-recordings": {"db", "stray-recordings"},
		"db encrypt-secrets":  {"db", "encrypt-secrets"}, "user add": {"user", "add", "ada@example.org"},
		"user reset": {"user", "reset", "ada@example.org"},
		"key create": {"key", "create", "crm"}, "key rotate": {"key", "rotate"}, "audit cdr": {"audit", "cdr", "-"},
		"export evidence": {"export", "evidence", "--campaign=cmp_1", "-o", out},
	}
	// Commands that start a new installation or a restore, and one that needs no database.
	makes := []string{"db migrate", "db url", "key show"}
	all := onDatabase(t)
	if len(all) != len(commands)+len(makes) {
		t.Errorf("commands on a database: %q", all)
	}
	for _, name := range all {
		if slices.Contains(makes, name) {
			continue
		}
		args, ok := commands[name]
		if !ok {
			t.Errorf("%s is not tried", name)
			continue
		}
		dir := t.TempDir()
		t.Setenv("HOME", dir)
		args = append(args, "--data-dir="+filepath.Join(dir, "data"))
		if err := run(args); engine.ErrorCode(err) != "database_missing" ||
			!strings.Contains(err.Error(), filepath.Join(dir, "data")+" ") {
			t.Errorf("%s: %v", name, err)
		}
		if status := Main(args); status != 1 {
			t.Errorf("%s: exit status %d", name, status)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a record of nothing was exported")
	}
}
