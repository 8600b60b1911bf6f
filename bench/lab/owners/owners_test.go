package owners

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/bench/site"
)

// TestEveryIdentityHasExactlyOneOwnerWhateverHappensToNodesAndNetwork has nodes join, die, come
// back, pause, lose the database, each other and etcd, and leave, while every identity is requested
// all the time. Each node records when it acts.
func TestEveryIdentityHasExactlyOneOwnerWhateverHappensToNodesAndNetwork(t *testing.T) {
	t.Parallel()
	s := newPlace(t)
	e := etcd(t, s.dir)
	s.membership = "etcd://" + e.Address + "/test"

	a, b := s.start("a", Config{}), s.start("b", Config{})
	s.joins("a", 0)
	s.joins("b", 0)
	s.settled("two nodes start", "a", "b")
	c := s.start("c", Config{})
	s.joins("c", 0)
	s.settled("one joins under load", "a", "b", "c")

	a.signal(syscall.SIGKILL)
	<-a.ended
	s.settled("one dies", "b", "c")
	lives := s.lives("a")
	a = s.start("a", Config{})
	s.joins("a", lives)

	// Longer than its lease: its identities are taken over, and it notices.
	b.signal(syscall.SIGSTOP)
	s.settled("one stands still", "a", "c")
	lives = s.gone("b")
	b.signal(syscall.SIGCONT)
	s.joins("b", lives)
	s.settled("it goes on", "a", "b", "c")

	c.database.Cut(site.Both, "")
	s.settled("one is cut off from the database", "a", "b")
	lives = s.gone("c")
	c.database.Mend()
	s.joins("c", lives)
	s.settled("it has the database again", "a", "b", "c")

	a.messages.Cut(site.Both, "")
	s.settled("one is not reached by the others", "a", "b", "c")
	must(t, e.Pause())
	s.settled("etcd stands still as well", "a", "b", "c")
	must(t, e.Resume())
	a.messages.Mend()

	b.signal(syscall.SIGTERM)
	<-b.ended
	s.settled("one leaves", "a", "c")
	if acts := s.acts(); len(acts) < 500 {
		t.Errorf("%d acts were judged", len(acts))
	}
}

// TestTheStockLookupActivatesTwice documents why the identity lookup is ours: with the library's
// own, a node that paused long enough for membership to give it up goes on acting for identities
// that others have activated.
func TestTheStockLookupActivatesTwice(t *testing.T) {
	t.Parallel()
	at := free(t, 3)
	s := &place{t: t, dir: t.TempDir(), membership: "automanaged://" + strings.Join(at, ",")}
	nodes := map[string]*node{}
	for i, name := range []string{"a", "b", "c"} {
		nodes[name] = s.start(name, Config{Listen: at[i], Stock: true})
	}
	owners := func() map[string]string {
		last := map[string]string{}
		acts := slices.Clone(s.acts())
		slices.SortFunc(acts, func(a, b Act) int { return int(a.At - b.At) })
		for _, a := range acts {
			last[a.Identity], _, _ = strings.Cut(a.By, ".")
		}
		return last
	}
	await(t, time.Minute, "every identity has an activation", func() bool { return len(owners()) == identities })
	// It is a matter of timing whether the paused node acts before it learns of its successor.
	for range 12 {
		victim := owners()[Identity(0).ID]
		nodes[victim].signal(syscall.SIGSTOP)
		await(t, time.Minute, "what it had is activated elsewhere", func() bool { return owners()[Identity(0).ID] != victim })
		nodes[victim].signal(syscall.SIGCONT)
		if soon(5*time.Second, func() bool { return len(Judge(s.acts())) > 0 }) {
			t.Log(Judge(s.acts()))
			return
		}
	}
	t.Error("no two activations acted for one identity")
}

func TestTheJudgeFindsTwoOwners(t *testing.T) {
	t.Parallel()
	f := func(wrong int, acts ...Act) {
		t.Helper()
		if got := Judge(acts); len(got) != wrong {
			t.Errorf("%v: %q", acts, got)
		}
	}
	f(0)
	f(0, Act{1, "x", 1, "a"}, Act{3, "x", 2, "b"}, Act{2, "x", 1, "a"}, Act{4, "y", 1, "b"})
	f(1, Act{1, "x", 1, "a"}, Act{2, "x", 2, "b"}, Act{3, "x", 1, "a"})
	f(1, Act{1, "x", 1, "a"}, Act{2, "x", 1, "b"})
	f(2, Act{1, "x", 1, "a"}, Act{2, "x", 1, "b"}, Act{1, "y", 1, "a"}, Act{2, "y", 1, "b"})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
