package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"dialler/bench/ports"
)

// Etcd is an etcd that was started here.
type Etcd struct {
	Address string // of its clients, host:port

	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// StartEtcd starts an etcd with its data in a folder, and waits until it listens. apart means that
// Ctrl-C does not reach it. Debian has it in its package etcd-server.
func StartEtcd(ctx context.Context, dir string, apart bool) (*Etcd, error) {
	clients, err := ports.Address()
	if err != nil {
		return nil, err
	}
	peers, err := ports.Address()
	if err != nil {
		return nil, err
	}
	e := &Etcd{Address: clients, log: filepath.Join(dir, "etcd.log"), done: make(chan struct{})}
	out, err := os.Create(e.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	e.cmd = exec.Command("etcd", "--name", "e", "--data-dir",
		filepath.Join(dir, "etcd"), //nolint:gosec,noctx // ends with Close
		"--listen-client-urls", "http://"+clients, "--advertise-client-urls", "http://"+clients,
		"--listen-peer-urls", "http://"+peers, "--initial-advertise-peer-urls", "http://"+peers,
		"--initial-cluster", "e=http://"+peers, "--log-level", "error")
	e.cmd.Stdout, e.cmd.Stderr = out, out
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: apart}
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("etcd does not start (make deps installs it): %w", err)
	}
	go func() {
		_ = e.cmd.Wait()
		close(e.done)
	}()
	limit, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = Poll(limit, 20*time.Millisecond, func() (bool, error) {
		select {
		case <-e.done:
			return false, errors.New("etcd ended; see " + e.log)
		default:
		}
		c, err := net.DialTimeout("tcp", clients, time.Second)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return true, c.Close()
	})
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Pause stops it until Resume.
func (e *Etcd) Pause() error { return e.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume continues it.
func (e *Etcd) Resume() error { return e.cmd.Process.Signal(syscall.SIGCONT) }

// Close kills it.
func (e *Etcd) Close() {
	_ = e.cmd.Process.Kill()
	<-e.done
}
