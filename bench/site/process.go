package site

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dialler/bench/ports"
)

// startLimit is how long a process may take to become ready: the first one creates a database,
// possibly on a busy machine.
const startLimit = 90 * time.Second

// Process is the program as an operator runs it: one installation, started many times.
type Process struct {
	Binary string
	Name   string   // names its log files
	Dir    string   // of its data and its logs
	Args   []string // beside those below
	HTTP   string   // host:port, the same after every start
	SIP    string
	URL    string // of its database; "" means a private one
	Apart  bool   // Ctrl-C does not reach it; its starter ends it

	Life     int
	Started  time.Time
	Password chan string // the first administrator's, as printed at the first start

	cmd  *exec.Cmd
	log  *os.File
	done chan struct{} // closed when the current process has ended
	exit error         // valid once done is closed
}

// NewProcess chooses the ports of a process that has not been started.
func NewProcess(binary, name, dir string, args ...string) (*Process, error) {
	p := &Process{Binary: binary, Name: name, Dir: dir, Args: args, Password: make(chan string, 1)}
	for _, a := range []*string{&p.HTTP, &p.SIP} {
		var err error
		if *a, err = ports.Address(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Start starts the next process; it returns before that is ready.
func (p *Process) Start() error {
	p.Life++
	log, err := os.Create(filepath.Join(p.Dir, fmt.Sprintf("%s-%02d.log", p.Name, p.Life)))
	if err != nil {
		return err
	}
	args := append([]string{"serve", "--data-dir", filepath.Join(p.Dir, "data"), "--listen-http", p.HTTP, "--sip", p.SIP},
		p.Args...)
	if p.URL != "" {
		args = append(args, "--database-url", p.URL)
	}
	cmd := exec.Command(p.Binary, args...) //nolint:gosec,noctx // our own binary; a life ends when it is killed
	cmd.Dir, cmd.Env = p.Dir, environment()
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: p.Apart}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errors.Join(err, log.Close())
	}
	p.Started = time.Now()
	if err := cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	done := make(chan struct{})
	p.cmd, p.log, p.done = cmd, log, done
	go func() {
		p.listen(out)
		p.exit = cmd.Wait()
		_ = log.Close()
		close(done)
	}()
	return nil
}

// listen reads standard output to its end: the first administrator's password
// is printed there, once.
func (p *Process) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, secret, ok := strings.Cut(lines.Text(), "password (shown once): "); ok {
			select {
			case p.Password <- strings.TrimSpace(secret):
			default:
			}
		}
	}
}

// environment keeps the user's own settings away from the dialler: they would point it at another
// database.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DIALLER_") && !strings.HasPrefix(kv, "DATABASE_URL=") {
			env = append(env, kv)
		}
	}
	return env
}

// Ready waits until the process answers.
func (p *Process) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return Poll(ctx, 20*time.Millisecond, func() (bool, error) {
		select {
		case <-p.done:
			return false, fmt.Errorf("incarnation %d ended by itself (%w); %s", p.Life, p.exit, p.Tail())
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+"/healthz", http.NoBody)
		if err != nil {
			return false, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
}

// reviveEvery is a supervisor's pause before it restarts the dialler.
const reviveEvery = 200 * time.Millisecond

// Revive acts as a supervisor until a process is ready: it starts the next one when one ends by
// itself.
func (p *Process) Revive(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if !p.Alive() {
			if err := p.Start(); err != nil {
				return err
			}
		}
		err := p.Ready(limit)
		if err == nil || p.Alive() || limit.Err() != nil {
			return err
		}
		if err := Until(limit, time.Now().Add(reviveEvery)); err != nil {
			return err
		}
	}
}

// Alive says whether the process is running.
func (p *Process) Alive() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the process as a power cut would, and waits until it is gone.
func (p *Process) Kill() error {
	if !p.Alive() {
		return fmt.Errorf("incarnation %d had ended by itself (%w); %s", p.Life, p.exit, p.Tail())
	}
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// Pause stops the process until Resume; the world continues.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume continues the process.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// stopLimit is how long a process may take to end after SIGTERM.
const stopLimit = 60 * time.Second

// Stop ends the process as an operator does. It is killed if it takes too long.
func (p *Process) Stop() error {
	if !p.Alive() {
		return nil
	}
	if err := p.Terminate(); err != nil {
		return err
	}
	return p.Gone()
}

// Terminate asks the process to end; a second call ends it at once.
func (p *Process) Terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// Gone waits for the end of a process that was asked to end, and kills it if that takes too long.
func (p *Process) Gone() error {
	late := time.NewTimer(stopLimit)
	defer late.Stop()
	select {
	case <-p.done:
		return p.exit
	case <-late.C:
		return errors.Join(fmt.Errorf("the dialler did not stop within %v of SIGTERM", stopLimit), p.Kill())
	}
}

// Tail is the end of this process's log, for a message.
func (p *Process) Tail() string {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return p.log.Name() + " ends:\n" + string(b[max(0, len(b)-3000):])
}

// Poll repeats ask until it returns true or an error, or ctx ends.
func Poll(ctx context.Context, every time.Duration, ask func() (bool, error)) error {
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

// Until waits until the given time.
func Until(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Running says whether a process was ever started.
func (p *Process) Running() bool { return p.cmd != nil }

// Pid is the process id of the last process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exit is the exit error of the last process; nil while it is running.
func (p *Process) Exit() error {
	if p.Alive() {
		return nil
	}
	return p.exit
}
