package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startLimit is how long a life may take until it is ready: the first one
// makes a database, on a machine that may be busy.
const startLimit = 90 * time.Second

// process is the dialler under test: one installation, many lives.
type process struct {
	binary string
	dir    string // of the data and of the logs
	http   string // host:port, the same in every life
	sip    string
	url    string // of its database; "" is a private one

	life    int
	cmd     *exec.Cmd
	started time.Time
	log     *os.File
	done    chan struct{} // closed when this life is over
	exit    error         // valid once done is closed

	password chan string // what the first life printed
}

func newProcess(binary, dir string) (*process, error) {
	p := &process{binary: binary, dir: dir, password: make(chan string, 1)}
	for _, a := range []*string{&p.http, &p.sip} {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		*a = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return p, nil
}

// freePort finds a port that is free for TCP and UDP. It lies below the range
// from which the system serves outgoing connections and port 0: between two
// lives nobody else may get it.
func freePort() (int, error) {
	for range 200 {
		port := 20000 + rand.IntN(12000) //nolint:gosec // any will do
		t, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			continue
		}
		u, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		_ = t.Close()
		if err != nil {
			continue
		}
		_ = u.Close()
		return port, nil
	}
	return 0, errors.New("chaos: no free port between 20000 and 32000")
}

// start begins the next life; it returns before the life is ready.
func (p *process) start() error {
	p.life++
	log, err := os.Create(filepath.Join(p.dir, fmt.Sprintf("life-%02d.log", p.life)))
	if err != nil {
		return err
	}
	args := []string{"serve", "--data-dir", filepath.Join(p.dir, "data"), "--listen-http", p.http, "--sip", p.sip}
	if p.url != "" {
		args = append(args, "--database-url", p.url)
	}
	cmd := exec.Command(p.binary, args...) //nolint:gosec,noctx // our own binary; a life ends when it is killed
	cmd.Dir, cmd.Env = p.dir, environment()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errors.Join(err, log.Close())
	}
	p.started = time.Now()
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
func (p *process) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, secret, ok := strings.Cut(lines.Text(), "password (shown once): "); ok {
			select {
			case p.password <- strings.TrimSpace(secret):
			default:
			}
		}
	}
}

// environment keeps settings of whoever runs the harness away from the
// dialler: they would point it at another database.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DIALLER_") && !strings.HasPrefix(kv, "DATABASE_URL=") {
			env = append(env, kv)
		}
	}
	return env
}

// ready waits until the life answers.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	return poll(ctx, 20*time.Millisecond, func() (bool, error) {
		select {
		case <-p.done:
			return false, fmt.Errorf("life %d ended by itself (%w); %s", p.life, p.exit, p.tail())
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http+"/healthz", http.NoBody)
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

// reviveEvery is how long a supervisor waits until it starts the dialler again.
const reviveEvery = 200 * time.Millisecond

// revive does what a supervisor does until a life is ready: it starts the next
// one when one ends by itself.
func (p *process) revive(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if !p.alive() {
			if err := p.start(); err != nil {
				return err
			}
		}
		err := p.ready(limit)
		if err == nil || p.alive() || limit.Err() != nil {
			return err
		}
		if err := until(limit, time.Now().Add(reviveEvery)); err != nil {
			return err
		}
	}
}

// alive says whether the life goes on.
func (p *process) alive() bool {
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

// kill ends the life as a power cut would, and waits until it is gone.
func (p *process) kill() error {
	if !p.alive() {
		return fmt.Errorf("life %d had ended by itself (%w); %s", p.life, p.exit, p.tail())
	}
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// pause stops the process until resume; the world goes on.
func (p *process) pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

func (p *process) resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// stop ends the life as an operator does. It is killed when it takes too long.
func (p *process) stop() error {
	if !p.alive() {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.NewTimer(60 * time.Second)
	defer late.Stop()
	select {
	case <-p.done:
		return p.exit
	case <-late.C:
		return errors.Join(errors.New("the dialler did not stop within 60 s of SIGTERM"), p.kill())
	}
}

// tail is the end of this life's log, for a message.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return p.log.Name() + " ends:\n" + string(b[max(0, len(b)-3000):])
}

// poll asks until the answer is yes, or an error, or ctx ends.
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
