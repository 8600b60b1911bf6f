package site

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// talker is both ends of a connection through a path: every line sent is answered with the same
// line.
type talker struct {
	t     *testing.T
	conn  net.Conn
	heard chan string
}

func newTalker(t *testing.T, w *Way) *talker {
	t.Helper()
	c, err := net.Dial("tcp", w.Address)
	if err != nil {
		t.Fatal(err)
	}
	k := &talker{t, c, make(chan string, 16)}
	go func() {
		defer close(k.heard)
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			k.heard <- lines.Text()
		}
	}()
	t.Cleanup(func() { _ = c.Close() })
	return k
}

func (k *talker) say(what string) {
	k.t.Helper()
	if _, err := fmt.Fprintln(k.conn, what); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talker) hears(what string) {
	k.t.Helper()
	select {
	case got := <-k.heard:
		if got != what {
			k.t.Fatalf("heard %q, not %q", got, what)
		}
	case <-time.After(30 * time.Second):
		k.t.Fatalf("%q is not heard", what)
	}
}

func (k *talker) hearsNothing() {
	k.t.Helper()
	select {
	case got := <-k.heard:
		k.t.Fatalf("heard %q", got)
	case <-time.After(50 * time.Millisecond):
	}
}

// newEcho returns a path to an echo server; heard has the lines that reached it.
func newEcho(t *testing.T, callers map[string]string) (w *Way, heard chan string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heard = make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					heard <- lines.Text()
					_, _ = fmt.Fprintln(c, lines.Text())
				}
				_ = c.Close()
			}()
		}
	}()
	w, err = Lay(func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }, callers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.Close()
		_ = l.Close()
	})
	return w, heard
}

func TestAWayIsCutInOneDirectionOrBothAndLosesNothing(t *testing.T) {
	t.Parallel()
	w, arrived := newEcho(t, nil)
	k := newTalker(t, w)
	k.say("1")
	k.hears("1")
	<-arrived
	w.Cut(In, "")
	k.say("2")
	if got := <-arrived; got != "2" {
		t.Errorf("%q arrived", got)
	}
	k.hearsNothing()
	w.Mend()
	k.hears("2")
	w.Cut(Out, "")
	k.say("3")
	k.hearsNothing()
	if len(arrived) > 0 {
		t.Errorf("%q arrived through a way that is cut", <-arrived)
	}
	w.Mend()
	k.hears("3")
}

func TestAWayIsCutForOneCallerAlone(t *testing.T) {
	t.Parallel()
	w, _ := newEcho(t, map[string]string{"I am a": "a", "I am b": "b"})
	a, b := newTalker(t, w), newTalker(t, w)
	a.say("I am a")
	a.hears("I am a")
	b.say("I am b")
	b.hears("I am b")
	w.Cut(Both, "a")
	a.say("x")
	b.say("y")
	b.hears("y")
	late := newTalker(t, w)
	late.say("I am a") // held back from where it names itself
	late.hearsNothing()
	a.hearsNothing()
	w.Mend()
	a.hears("x")
	late.hears("I am a")
}
