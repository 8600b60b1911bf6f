package ports

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// asked makes a copy of this test program print ports until it is told to end.
const asked = "DIALLER_TEST_PORTS"

func TestMain(m *testing.M) {
	if os.Getenv(asked) == "" {
		os.Exit(m.Run())
	}
	for range 100 {
		port, err := Free()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(port)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestNoTwoProcessesGetTheSamePort(t *testing.T) {
	seen := map[string]bool{}
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asked+"=1")
		end, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = end.Close(); _ = cmd.Wait() })
		var said []byte
		for bytes.Count(said, []byte("\n")) < 100 {
			buf := make([]byte, 4096)
			n, err := out.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, buf[:n]...)
		}
		for _, port := range strings.Fields(string(said)) {
			if seen[port] {
				t.Errorf("port %s was given twice", port)
			}
			seen[port] = true
		}
	}
	if len(seen) != 400 {
		t.Errorf("%d ports", len(seen))
	}
}

func TestAPortAndThoseAboveAreFree(t *testing.T) {
	at, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(at)
	if err != nil || host != "127.0.0.1" {
		t.Fatal(at, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n%row != 0 || n < first || n >= last {
		t.Fatal(at, err)
	}
	for p := n; p < n+row; p++ {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		u, err := net.ListenPacket("udp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = u.Close() }()
	}
}

// A port in use is skipped.
func TestATakenPortIsNotGiven(t *testing.T) {
	was, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	next.Lock()
	if next.port >= next.end {
		next.port = was // the last of its block: it is free again
	}
	taken := next.port
	next.Unlock()
	if l, err := net.Listen("tcp", ":"+strconv.Itoa(taken+1)); err == nil { // else it is in use already
		defer func() { _ = l.Close() }()
	}
	if got, err := Free(); err != nil || got == taken {
		t.Errorf("%d, %v", got, err)
	}
}
