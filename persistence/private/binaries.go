package private

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"dialler/engine"
)

// oldest is the earliest major version that the schema is known to work with.
const oldest = 14

// binaries is one installed server.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

// places are where packages install the server, besides PATH: Debian and Ubuntu, Red Hat and its
// relatives, Homebrew on both kinds of Mac, MacPorts, Postgres.app.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/opt/local/lib/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin",
}

// find returns the newest usable server; major, when not 0, is the version of the data.
func find(ctx context.Context, path string, places []string, major int) (binaries, error) {
	var all []binaries
	for _, d := range folders(path, places) {
		if !filepath.IsAbs(d) || !executable(filepath.Join(d, "postgres")) || !executable(filepath.Join(d, "initdb")) {
			continue
		}
		if v := version(ctx, filepath.Join(d, "postgres")); v > 0 {
			all = append(all, binaries{d, v})
		}
	}
	// Newest first; of equal versions the first found.
	slices.SortStableFunc(all, func(a, b binaries) int { return cmp.Compare(b.major, a.major) })
	for _, b := range all {
		if b.major == major || major == 0 && b.major >= oldest {
			return b, nil
		}
	}
	return binaries{}, missing(all, major)
}

// folders lists the folders in which programs may be, in order.
func folders(path string, places []string) []string {
	dirs := filepath.SplitList(path)
	for _, p := range places {
		found, _ := filepath.Glob(p) // only a malformed pattern returns an error
		dirs = append(dirs, found...)
	}
	return dirs
}

func executable(path string) bool {
	st, err := os.Stat(path) //nolint:gosec // the operator's PATH
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// version asks the binary: the name of its folder is not reliable.
func version(ctx context.Context, postgres string) int {
	out, err := exec.CommandContext(ctx, postgres, "-V").Output() //nolint:gosec // found on the operator's PATH
	if err != nil {
		return 0
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1])) // the expression matches digits only
	return n
}

// ErrMissing says that no usable PostgreSQL server is installed.
var ErrMissing = engine.Unavailable("postgresql_missing", "no PostgreSQL server is installed", 0)

func missing(found []binaries, major int) error {
	e := *ErrMissing
	switch {
	case major > 0:
		v := strconv.Itoa(major)
		e.Detail = "the data folder belongs to PostgreSQL " + v + ", which is not installed; install it: " + install(v) +
			"; or point DATABASE_URL at a server of your own"
	case len(found) > 0:
		e.Detail = "the installed PostgreSQL " + strconv.Itoa(found[0].major) + " is too old; " + strconv.Itoa(oldest) +
			" or newer is needed: " + install("") + "; or point DATABASE_URL at a server of your own"
	default:
		e.Detail = "no PostgreSQL server is installed; install one: " + install("") +
			"; or point DATABASE_URL at a server of your own"
	}
	return &e
}

// install is the installation command for this machine.
func install(version string) string {
	if runtime.GOOS == "darwin" {
		if version != "" {
			return "brew install postgresql@" + version
		}
		return "brew install postgresql"
	}
	suffix := ""
	if version != "" {
		suffix = "-" + version
	}
	for _, m := range []struct{ tool, command string }{
		{"apt-get", "apt-get install postgresql" + suffix},
		{"dnf", "dnf install postgresql-server"},
		{"apk", "apk add postgresql"},
		{"pacman", "pacman -S postgresql"},
		{"zypper", "zypper install postgresql-server"},
	} {
		if _, err := exec.LookPath(m.tool); err == nil {
			return m.command
		}
	}
	return "apt-get install postgresql" + suffix
}

// Tool returns the path of the newest installed program of that name that comes with PostgreSQL,
// such as pg_dump; it may be packaged separately from the server.
func Tool(ctx context.Context, name string) (path string, err error) {
	newest := 0
	for _, d := range folders(os.Getenv("PATH"), places) {
		p := filepath.Join(d, name)
		if !filepath.IsAbs(d) || !executable(p) {
			continue
		}
		if v := version(ctx, p); v > newest {
			newest, path = v, p
		}
	}
	if path == "" {
		return "", engine.Unavailable("postgresql_missing", name+" of PostgreSQL is not installed; install it: "+install(""),
			0)
	}
	return path, nil
}
