package private

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/engine"
)

// Config selects the server.
type Config struct {
	// Dir is the data folder; "" is the user's own, for root /var/lib/dialler.
	Dir string
	// Name is the server's folder in it, "main" when empty.
	Name string
	Log  zerolog.Logger
	// StartTimeout bounds the start, including recovery after a crash; default 2 min.
	StartTimeout time.Duration
	// Settings are laid over those of a server that is started, each as name=value.
	Settings []string
}

// Server is a running server.
type Server struct {
	log     zerolog.Logger
	more    []string // settings
	base    string
	data    string
	sockets string
	adopted bool
	once    sync.Once
	stopErr error

	mu       sync.Mutex // for the fields that change when the server is restarted
	pid      int
	process  *os.Process
	exited   chan struct{} // closed once our child is reaped; nil when adopted
	stopping chan struct{} // closed by Stop
	kept     sync.WaitGroup
}

// URL is the address of the server's database.
func (s *Server) URL() string { return socketURL(s.sockets, database) }

// Pid is the process id of the postmaster.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// Adopted says whether the server was running already.
func (s *Server) Adopted() bool { return s.adopted }

// Dir is the server's folder.
func (s *Server) Dir() string { return s.base }

// Start returns the server of the folder: the one already running there, or a new one. It creates
// the cluster if there is none.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.StartTimeout <= 0 {
		cfg.StartTimeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	o, err := chooseOwner()
	if err != nil {
		return nil, err
	}
	base, err := o.place(cfg.Dir, cfg.Name)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(base, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()

	s := &Server{log: cfg.Log, more: cfg.Settings, base: base,
		sockets: socketFolder(base, socketTemp(o)), stopping: make(chan struct{})}
	var major int
	s.data, major = dataFolder(base)
	adopted, err := s.adopt(ctx)
	if err != nil {
		return nil, err
	}
	if adopted {
		return s, s.ensureDatabase(ctx)
	}
	b, err := find(ctx, os.Getenv("PATH"), places, major)
	if err != nil {
		return nil, err
	}
	if major == 0 {
		cfg.Log.Info().Str("folder", base).Int("postgresql", b.major).Msg("creating a private database")
		if s.data, err = initialise(ctx, b, o, base); err != nil {
			return nil, err
		}
	}
	if err := s.launchAfterCrash(ctx, b, o); err != nil {
		return nil, err
	}
	if err := s.ensureDatabase(ctx); err != nil {
		_ = s.stop()
		return nil, err
	}
	cfg.Log.Info().Str("folder", base).Int("pid", s.Pid()).Msg("private database is running")
	return s, nil
}

// Exists says whether the folder contains a cluster, without creating anything; path is the
// server's folder in it.
func Exists(dir, name string) (path string, ok bool, err error) {
	o, err := chooseOwner()
	if err != nil {
		return "", false, err
	}
	if path, err = o.pathOf(dir, name); err != nil {
		return "", false, err
	}
	_, major := dataFolder(path)
	return path, major > 0, nil
}

// lock prevents concurrent starts in one folder; the kernel releases it when the process dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // below our own folder
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, err
		}
		if err := pause(ctx); err != nil {
			_ = f.Close()
			return nil, engine.Unavailable("database_start_locked",
				"another process is starting this private database and does not finish", time.Second)
		}
	}
}

// pause waits between two polls.
func pause(ctx context.Context) error {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// adopt takes over a server that is running in the folder, for example after a kill −9 of ours. It
// waits while that server is still recovering.
func (s *Server) adopt(ctx context.Context) (ok bool, err error) {
	for s.data != "" {
		pid, dir := s.postmaster()
		if pid == 0 || !isPostmaster(pid, s.data) {
			return false, nil // none, or a stale file: PostgreSQL handles it at the start
		}
		if dir != "" {
			s.sockets = dir // where it listens, whatever we would choose now
		}
		if s.answers(ctx) == nil {
			process, err := os.FindProcess(pid)
			if err != nil {
				return false, err
			}
			s.adopted = true
			s.runs(process, nil)
			s.log.Info().Str("folder", s.base).Int("pid", pid).Msg("private database was running already")
			return true, nil
		}
		if err := pause(ctx); err != nil {
			return false, engine.Unavailable("database_not_ready",
				"the private database runs but does not accept connections; see "+
					filepath.Join(s.base, "postgres.log"), time.Second)
		}
	}
	return false, nil
}

// runs records the server's process.
func (s *Server) runs(process *os.Process, exited chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.pid, s.exited = process, process.Pid, exited
}

// postmaster reads the process and the socket's folder from postmaster.pid.
func (s *Server) postmaster() (pid int, sockets string) {
	b, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(b), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	if len(lines) > 4 {
		sockets = strings.TrimSpace(lines[4])
	}
	return max(pid, 0), sockets
}

// isPostmaster says whether the process is alive and a server of this data: its process id may have
// been reused.
func isPostmaster(pid int, data string) bool {
	if !alive(pid) {
		return false
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) || !procfs()
	}
	args := strings.Split(string(line), "\x00")
	for _, a := range args {
		if a == data {
			return strings.HasPrefix(filepath.Base(args[0]), "postgres")
		}
	}
	return false
}

func procfs() bool {
	_, err := os.Stat("/proc/self/cmdline")
	return err == nil
}

// alive says whether the process exists and is not merely waiting to be reaped.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	// "pid (name) state …"; the name may contain anything.
	i := strings.LastIndexByte(string(stat), ')')
	return i < 0 || i+2 >= len(stat) || stat[i+2] != 'Z'
}

// orphansLeave is how long the processes of a killed server may take to notice and release its
// shared memory; orphansDie is how long they may take after a signal.
const (
	orphansLeave = 2 * time.Second
	orphansDie   = 15 * time.Second
)

var errEndedAtOnce = errors.New("PostgreSQL ended at once")

// launchAfterCrash is launch, but where a server left its postmaster.pid behind, a start that fails
// at once is repeated: PostgreSQL refuses to start while a child of the killed one still has its
// shared memory. A child waiting for a client or a lock notices by itself; one in the middle of a
// long statement would only notice at its end, so it is ended, as a living postmaster would have
// done.
func (s *Server) launchAfterCrash(ctx context.Context, b binaries, o owner) error {
	_, err := os.Lstat(filepath.Join(s.data, "postmaster.pid"))
	crashed := err == nil
	start := time.Now()
	for told := false; ; {
		err := s.launch(ctx, b, o)
		if !errors.Is(err, errEndedAtOnce) {
			return err
		}
		if crashed && time.Since(start) > orphansLeave {
			signal := syscall.SIGQUIT
			if told {
				signal = syscall.SIGKILL
			}
			told = endOrphans(s.data, signal) > 0 || told
		}
		if !crashed || time.Since(start) > orphansDie || pause(ctx) != nil {
			return engine.Unavailable("database_not_started", "PostgreSQL ended at once; see "+
				filepath.Join(s.base, "postgres.log"), 0)
		}
	}
}

// launch starts the server as a child and waits until it answers.
func (s *Server) launch(ctx context.Context, b binaries, o owner) error {
	if err := o.folder(s.sockets); err != nil {
		return err
	}
	log, err := openLog(o, s.base)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	args := []string{"-D", s.data, "-k", s.sockets}
	for _, kv := range slices.Concat(settings, s.more) {
		args = append(args, "-c", kv)
	}
	// Not bound to ctx: the server must outlive the start.
	cmd := exec.Command(b.path("postgres"), args...) //nolint:gosec // found by us
	cmd.SysProcAttr, cmd.Dir, cmd.Env = o.attributes(), s.base, environment()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return engine.Unavailable("database_not_started", "PostgreSQL could not be started: "+err.Error(), 0)
	}
	exited := make(chan struct{})
	s.runs(cmd.Process, exited)
	go s.reap(cmd, exited)
	for {
		if s.answers(ctx) == nil {
			return nil
		}
		select {
		case <-exited:
			return errEndedAtOnce
		default:
		}
		if err := pause(ctx); err != nil {
			_ = s.stop()
			return engine.Unavailable("database_not_ready", "the private database did not accept connections in time; see "+
				filepath.Join(s.base, "postgres.log"), time.Second)
		}
	}
}

// reap waits for the end of the server, whatever the cause.
func (s *Server) reap(cmd *exec.Cmd, exited chan struct{}) {
	_ = cmd.Wait()
	close(exited)
}

// answers connects once and checks that it is the server of our data.
func (s *Server) answers(ctx context.Context) error {
	return s.with(ctx, "postgres", func(c *pgx.Conn) error {
		var data string
		if err := c.QueryRow(ctx, "SHOW data_directory").Scan(&data); err != nil {
			return err
		}
		if data != s.data {
			return errors.New("another server answers on the socket")
		}
		return nil
	})
}

func (s *Server) ensureDatabase(ctx context.Context) error {
	err := s.with(ctx, "postgres", func(c *pgx.Conn) error {
		var there bool
		err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&there)
		if err == nil && !there {
			_, err = c.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize()+" TEMPLATE template0 ENCODING 'UTF8'")
		}
		return err
	})
	if err != nil {
		return engine.Unavailable("database_not_ready", "the private database could not be created: "+err.Error(),
			time.Second)
	}
	return nil
}

func (s *Server) with(ctx context.Context, db string, f func(*pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, socketURL(s.sockets, db))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	return f(c)
}

// How long a stop may take: a fast shutdown writes a checkpoint; after that time an immediate one
// leaves the rest to recovery.
const (
	fastStop      = 60 * time.Second
	immediateStop = 10 * time.Second
)

// Stop ends the server: connections are closed, transactions rolled back, and a checkpoint is
// written. It signals this one process and waits for its end.
func (s *Server) Stop() error {
	s.once.Do(func() {
		close(s.stopping)
		s.kept.Wait()
		s.stopErr = s.stop()
	})
	return s.stopErr
}

func (s *Server) stop() error {
	for _, step := range []struct {
		signal os.Signal
		limit  time.Duration
	}{{syscall.SIGINT, fastStop}, {syscall.SIGQUIT, immediateStop}} {
		if !s.running() {
			return nil
		}
		s.mu.Lock()
		process := s.process
		s.mu.Unlock()
		if err := process.Signal(step.signal); err != nil {
			if errors.Is(err, os.ErrProcessDone) {
				return nil
			}
			return err
		}
		if s.ended(step.limit) {
			s.log.Info().Str("folder", s.base).Int("pid", s.Pid()).Msg("private database stopped")
			return nil
		}
	}
	return engine.Unavailable("database_not_stopped", "the private database does not stop; see "+
		filepath.Join(s.base, "postgres.log"), 0)
}

func (s *Server) running() bool {
	s.mu.Lock()
	pid, exited := s.pid, s.exited
	s.mu.Unlock()
	if exited != nil {
		select {
		case <-exited:
			return false
		default:
			return true
		}
	}
	// An exiting process loses its command line before it ends: the data is not ours again until it
	// is gone.
	if isPostmaster(pid, s.data) {
		return true
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && len(line) == 0 && alive(pid)
}

func (s *Server) ended(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for s.running() {
		if pause(ctx) != nil {
			return false
		}
	}
	return true
}
