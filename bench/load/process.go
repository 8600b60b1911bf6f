package load

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that this package started and will stop.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	log  string
}

// spawn starts a program; its output goes to a file of the run's folder.
func spawn(dir, name string, env []string, program string, args ...string) (*process, error) {
	log := filepath.Join(dir, name+".log")
	out, err := os.Create(log) //nolint:gosec // in our own folder
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // our own programs; stopped by stop
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, dir
	cmd.Env = append(environment(), env...)
	// In a process group of its own: Ctrl-C only reaches the tool, which stops the others in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("load: %s does not start: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, done: make(chan struct{}), log: log}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// environment keeps the user's own settings away from the programs.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DIALLER_") && !strings.HasPrefix(kv, "DATABASE_URL=") {
			env = append(env, kv)
		}
	}
	return env
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// ended returns the end of the program's log if it has ended by itself.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("load: %s ended by itself; its log ends with: %s", p.name, tail(p.log))
	default:
		return nil
	}
}

func tail(path string) string {
	b, err := os.ReadFile(path) //nolint:gosec // our own log
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}

// stop asks the program to end and kills it if it does not.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(30 * time.Second)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// kill ends the program as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// poll repeats ask until it returns true or an error, or ctx ends.
func poll(ctx context.Context, every time.Duration, ask func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// tick is the unit of /proc's times.
const tick = 10 * time.Millisecond

// cpu is the user and system time that a process has used; with its waited-for
// children when family is set.
func cpu(pid int, family bool) time.Duration {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	f := strings.Fields(rest) // from field 3 of proc(5) on
	if !ok || len(f) < 15 {
		return 0
	}
	last := 13 // utime, stime
	if family {
		last = 15 // and cutime, cstime
	}
	var sum time.Duration
	for _, s := range f[11:last] {
		n, err := strconv.ParseInt(s, 10, 64)
		if err == nil {
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// treeCPU is the CPU time of a process, its living children and those that ended.
func treeCPU(pid int) time.Duration {
	sum := cpu(pid, true)
	for _, child := range children(pid) {
		sum += cpu(child, true)
	}
	return sum
}

func children(pid int) []int {
	var list []int
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, path := range tasks {
		b, err := os.ReadFile(path) //nolint:gosec // of /proc
		if err != nil {
			continue
		}
		for _, s := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(s); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// resident is the process's resident memory in bytes.
func resident(pid int) int64 {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "VmRSS:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}
