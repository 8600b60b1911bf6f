package private

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// keepEvery is how often a server that is not our child is checked.
	keepEvery = 250 * time.Millisecond
	// restartWait and restartCap are the first and the longest pause before the next start after a
	// failed one.
	restartWait = 500 * time.Millisecond
	restartCap  = 4 * time.Second
	// restartTimeout bounds one start, including recovery.
	restartTimeout = 10 * time.Minute
)

// Keep restarts the server whenever it ends, until Stop. The address stays the same. If several
// processes keep one server, the first restarts it and the others adopt it.
func (s *Server) Keep() {
	s.kept.Go(func() {
		for s.awaitEnd() {
			s.log.Error().Str("folder", s.base).Int("pid", s.Pid()).Msg("private database ended; it is being restarted")
			if !s.restart() {
				return
			}
		}
	})
}

// awaitEnd waits for the end of the server; it returns false when it is being stopped.
func (s *Server) awaitEnd() bool {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		s.mu.Lock()
		exited := s.exited // nil, and never ready, for an adopted server
		s.mu.Unlock()
		select {
		case <-s.stopping:
			return false
		case <-exited:
			return true
		case <-tick.C:
			if !s.running() {
				return true
			}
		}
	}
}

// restart retries until the server is running; it returns false when it is being stopped.
func (s *Server) restart() bool {
	said := false
	for wait := restartWait; ; wait = min(2*wait, restartCap) {
		ctx, cancel := context.WithTimeout(context.Background(), restartTimeout)
		s.kept.Go(func() {
			select {
			case <-s.stopping:
				cancel()
			case <-ctx.Done():
			}
		})
		err := s.startAgain(ctx)
		cancel()
		if err == nil {
			s.log.Info().Str("folder", s.base).Int("pid", s.Pid()).Msg("private database is running again")
			return true
		}
		if !said {
			said = true
			s.log.Error().Err(err).Str("folder", s.base).Msg("private database not started; it is tried again until it starts")
		}
		select {
		case <-s.stopping:
			return false
		case <-time.After(wait):
		}
	}
}

// startAgain is Start for a known folder.
func (s *Server) startAgain(ctx context.Context) error {
	unlock, err := lock(ctx, filepath.Join(s.base, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if adopted, err := s.adopt(ctx); err != nil || adopted {
		return err
	}
	o, err := chooseOwner()
	if err != nil {
		return err
	}
	_, major := dataFolder(s.base)
	b, err := find(ctx, os.Getenv("PATH"), places, major)
	if err != nil {
		return err
	}
	return s.launchAfterCrash(ctx, b, o)
}

// endOrphans signals the processes left behind in the data by a killed postmaster: its children
// work in that folder, and their parent is now init. It returns their number.
func endOrphans(data string, signal syscall.Signal) (found int) {
	folder, err := os.Stat(data)
	if err != nil {
		return 0
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if at, err := os.Stat(link); err != nil || !os.SameFile(at, folder) {
			continue
		}
		proc := filepath.Dir(link)
		pid, err := strconv.Atoi(filepath.Base(proc))
		if err != nil || pid == os.Getpid() || isPostmaster(pid, data) || !orphan(proc) {
			continue
		}
		if syscall.Kill(pid, signal) == nil {
			found++
		}
	}
	return found
}

// orphan says whether a process is a PostgreSQL server process whose parent is
// gone.
func orphan(proc string) bool {
	exe, err := os.Readlink(filepath.Join(proc, "exe"))
	if err != nil || !strings.HasPrefix(filepath.Base(exe), "postgres") {
		return false
	}
	stat, err := os.ReadFile(filepath.Join(proc, "stat")) //nolint:gosec // of /proc
	if err != nil {
		return false
	}
	// "pid (name) state ppid …"; the name may contain anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return false
	}
	parent, err := os.Readlink(filepath.Join("/proc", fields[1], "exe"))
	return err != nil || parent != exe
}
