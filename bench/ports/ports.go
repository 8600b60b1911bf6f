// Package ports provides harnesses and tests with loopback ports for programs that cannot be told
// "any": no two processes that use it get the same port, and the kernel uses none of them for an
// outgoing connection or for port 0.
package ports

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// The ports are below the range of outgoing connections (32768 on Linux), in blocks that each
// belong to one process for its lifetime.
const (
	first     = 10000
	last      = 32000 // not given
	blockSize = 40
	row       = 4 // ports come in rows: SIP and its TLS, RTP and its RTCP
)

// next is what remains of this process's current block.
var next struct {
	sync.Mutex
	port, end int
	// held are the locks of its blocks, released when the process ends.
	held []*os.File
}

// Address is a host:port on loopback whose port is free for TCP and UDP, as are
// the three above it.
func Address() (string, error) {
	port, err := Free()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

// Free is the port of an Address. It is even, as RTP ports are (RFC 3550 §11).
func Free() (int, error) {
	next.Lock()
	defer next.Unlock()
	for {
		if next.port >= next.end {
			if err := takeBlock(); err != nil {
				return 0, err
			}
		}
		port := next.port
		next.port += row
		if unused(port, row) {
			return port, nil
		}
	}
}

// takeBlock locks a block that no process has. Each process starts at a different place, so that
// processes started together do not try the same blocks, and one that follows another does not
// start with lingering ports.
func takeBlock() error {
	dir := filepath.Join(os.TempDir(), "dialler-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // shared by users
		return err
	}
	_ = os.Chmod(dir, 0o777) //nolint:gosec // the same, whatever the umask
	const blocks = (last - first) / blockSize
	for i := range blocks {
		block := (os.Getpid()*7 + len(next.held)*31 + i) % blocks
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(block)), os.O_RDWR|os.O_CREATE,
			0o666) //nolint:gosec // the same
		if err != nil {
			return err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				continue
			}
			return err
		}
		next.held = append(next.held, f)
		next.port = first + block*blockSize
		next.end = next.port + blockSize
		return nil
	}
	return fmt.Errorf("ports: all between %d and %d are taken by other processes", first, last)
}

// unused says whether n ports are free, on loopback and on every address.
func unused(port, n int) bool {
	for i := range 2 * n {
		at := net.JoinHostPort([]string{"127.0.0.1", ""}[i%2], strconv.Itoa(port+i/2))
		t, err := net.Listen("tcp4", at)
		if err != nil {
			return false
		}
		_ = t.Close()
		u, err := net.ListenPacket("udp4", at)
		if err != nil {
			return false
		}
		_ = u.Close()
	}
	return true
}

// test is the part of testing.TB needed here, without importing package testing into programs.
type test interface {
	Helper()
	Fatal(...any)
}

// Of is Free for a test.
func Of(t test) int {
	t.Helper()
	port, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// AddressOf is Address for a test.
func AddressOf(t test) string {
	t.Helper()
	at, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	return at
}
