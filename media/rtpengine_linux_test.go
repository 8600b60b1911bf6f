package media

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"dialler/engine"
)

// gateway is an rtpengine inside a home, at the address of its far side. The proxy of a carrier tells it by its
// control protocol of every offer and answer, and passes on the descriptions that it gives back: those name the
// gateway's own ports.
type gateway struct {
	control *net.UDPConn
	asked   int
}

// newGateway skips the test only where the machine's packages have no rtpengine.
func newGateway(t *testing.T, h home) *gateway {
	t.Helper()
	path, err := exec.LookPath("rtpengine")
	if err != nil {
		if exec.Command("apt-cache", "show", "rtpengine-daemon").Run() != nil {
			t.Skip("the packages of this machine have no rtpengine-daemon")
		}
		t.Fatal("rtpengine is not installed; make deps installs it (Debian package rtpengine-daemon)")
	}
	const control = "10.77.0.2:2223"
	said := &startUp{done: make(chan struct{})}
	cmd := exec.CommandContext(t.Context(), "ip", "netns", "exec", h.c, path, "--foreground", "--log-stderr",
		"--log-level=6", "--table=-1", "--interface=10.77.0.2", "--listen-ng="+control, "--port-min=20000",
		"--port-max=40000", "--config-file=none")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("rtpengine: %s", said.text[max(0, len(said.text)-4000):])
		}
	})
	select {
	case <-said.done:
	case <-time.After(10 * time.Second):
		t.Fatal("rtpengine does not start")
	}
	g := &gateway{}
	inside(t, h.c, func() error {
		c, err := net.Dial("udp4", control)
		if err != nil {
			return err
		}
		g.control = c.(*net.UDPConn)
		t.Cleanup(func() { _ = c.Close() })
		return nil
	})
	return g
}

// startUp collects what rtpengine writes; done is closed when it is up.
type startUp struct {
	text []byte
	up   bool
	done chan struct{}
}

func (s *startUp) Write(b []byte) (int, error) {
	s.text = append(s.text, b...)
	if !s.up && bytes.Contains(s.text, []byte("Startup complete")) {
		s.up = true
		close(s.done)
	}
	return len(b), nil
}

// ask sends a command, a dictionary in bencoding, and returns the reply to it.
func (g *gateway) ask(command string) (reply []byte, err error) {
	g.asked++
	cookie := []byte(strconv.Itoa(g.asked) + " ")
	if _, err := g.control.Write(append(cookie, command...)); err != nil {
		return nil, err
	}
	_ = g.control.SetReadDeadline(time.Now().Add(2 * time.Second))
	for buf := make([]byte, 8192); ; {
		n, err := g.control.Read(buf)
		if reply, ok := bytes.CutPrefix(buf[:n], cookie); ok || err != nil {
			return reply, err
		}
	}
}

// describe tells the gateway of a description and returns the one to pass on.
func (g *gateway) describe(command string, id engine.AttemptID, description []byte) ([]byte, error) {
	str := func(s string) string { return strconv.Itoa(len(s)) + ":" + s }
	tags := str("from-tag") + str("us")
	if command == "answer" {
		tags += str("to-tag") + str("them")
	}
	reply, err := g.ask("d" + str("call-id") + str(string(id)) + str("command") + str(command) + tags +
		str("replace") + "l" + str("origin") + "e" + str("sdp") + str(string(description)) + "e")
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(reply, []byte("3:sdp"))
	length, rest, _ := bytes.Cut(rest, []byte(":"))
	n, err := strconv.Atoi(string(length))
	if !ok || err != nil || n > len(rest) {
		return nil, fmt.Errorf("rtpengine says %q", reply)
	}
	return rest[:n], nil
}
