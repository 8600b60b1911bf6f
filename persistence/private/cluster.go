package private

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"dialler/engine"
)

// settings are for a small instance beside the process that uses it. Durability is PostgreSQL's
// default, stated explicitly; the rest saves memory and writes.
var settings = []string{
	"listen_addresses=",
	"port=" + port,
	"unix_socket_permissions=0700",
	"fsync=on",
	"synchronous_commit=on",
	"full_page_writes=on",
	"shared_buffers=128MB",
	"max_connections=100",
	"wal_compression=on",
	"max_wal_size=2GB",
	"min_wal_size=256MB",
	"checkpoint_timeout=10min",
	"random_page_cost=1.1",
	"jit=off",
	"autovacuum_naptime=15s",
	"autovacuum_vacuum_cost_limit=1000",
	"timezone=UTC",
	"log_timezone=UTC",
	"log_line_prefix=%m [%p] ",
	// DETAIL lines quote the row, and with it phone numbers.
	"log_error_verbosity=terse",
	"log_min_error_statement=panic",
}

// dataFolder finds the cluster in the server's folder: its path and major version, which is 0 when
// there is none yet.
func dataFolder(base string) (path string, major int) {
	found, _ := filepath.Glob(filepath.Join(base, "data*", "PG_VERSION"))
	for _, f := range found {
		dir := filepath.Dir(f)
		if strings.HasSuffix(dir, ".new") {
			continue
		}
		b, err := os.ReadFile(f) //nolint:gosec // below our own folder
		if err != nil {
			continue
		}
		if v, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && v > major {
			path, major = dir, v
		}
	}
	return path, major
}

// initialise creates a cluster. It is built in another place and then moved, so that a kill
// half-way leaves nothing that looks like a cluster.
func initialise(ctx context.Context, b binaries, o owner, base string) (string, error) {
	data := filepath.Join(base, "data"+strconv.Itoa(b.major))
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return "", err
	}
	if err := o.folder(fresh); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, b.path("initdb"), "-D", fresh, "-U", superuser, "-E", "UTF8",
		"--locale=C", //nolint:gosec // found by us
		"--auth-local=trust", "--auth-host=reject", "--data-checksums")
	cmd.SysProcAttr, cmd.Dir = o.attributes(), base
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", engine.Unavailable("database_not_initialised", "initdb failed: "+lastLine(out, err), 0)
	}
	return data, os.Rename(fresh, data)
}

// environment keeps the caller's PostgreSQL variables from the server.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C")
}

func lastLine(out []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	return err.Error()
}

// logCap is the size above which the server's log is rotated at a start.
const logCap = 16 << 20

// openLog opens the server's log and rotates a large one.
func openLog(o owner, base string) (*os.File, error) {
	path := filepath.Join(base, "postgres.log")
	if st, err := os.Stat(path); err == nil && st.Size() > logCap {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // below our own folder
	if err == nil && o.changes {
		err = f.Chown(int(o.uid), int(o.gid))
	}
	return f, err
}
