package cluster

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
)

func TestTheURLOfAClusterIsUnderstoodOrRefused(t *testing.T) {
	t.Parallel()
	f := func(url string, want membership) {
		t.Helper()
		got, err := parseMembership(url)
		if err != nil || !reflect.DeepEqual(got, want) || (&Config{Membership: url, Listen: "[::1]:0"}).Check() != nil {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
	f("etcd://a:2379", membership{schemeEtcd, []string{"a:2379"}, "/dialler"})
	f("etcd://a:2379,[::1]:2380/x/y/", membership{schemeEtcd, []string{"a:2379", "[::1]:2380"}, "/x/y"})
	f("automanaged://10.0.0.1:7070,10.0.0.2:7070",
		membership{schemeAutomanaged, []string{"10.0.0.1:7070", "10.0.0.2:7070"}, "/"})
	for _, url := range []string{"", "etcd", "etcd://", "etcd://a", "etcd://a:x", "etcd://a:0", "etcd://:2379",
		"etcd://a:1,", "etcd://a:1/%zz",
		"automanaged://a:1/x", "consul://a:1", "etcd://a:70000", "etcd://a:1/" + strings.Repeat("x", 4096)} {
		if err := (&Config{Membership: url, Listen: "[::1]:0"}).Check(); engine.ErrorCode(err) != "cluster_url_invalid" {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestANodeThatCannotBeReachedIsNotStarted(t *testing.T) {
	t.Parallel()
	f := func(c Config, want string) {
		t.Helper()
		db := newDatabase()
		n, err := Start(t.Context(), c, port{db, "x"}, db)
		if err == nil {
			n.Close()
		}
		if engine.ErrorCode(err) != want {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	const url = "etcd://127.0.0.1:1"
	f(Config{Membership: "x", Listen: "127.0.0.1:0"}, "cluster_url_invalid")
	f(Config{Membership: url, Listen: "127.0.0.1"}, "cluster_listen_invalid")
	f(Config{Membership: url, Listen: ":7070"}, "cluster_listen_invalid")
	f(Config{Membership: url, Listen: "0.0.0.0:7070"}, "cluster_advertise_missing")
	f(Config{Membership: url, Listen: "127.0.0.1:0", Secret: "short"}, "cluster_secret_short")
}

func TestARequestCrossesTheWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := request{method: rapid.String().Draw(t, "method"), body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
			of: ownership.Identity{
				Kind: ownership.Kind(rapid.String().Draw(t, "kind")),
				ID:   rapid.String().Draw(t, "of"),
			}}
		b := link.Write(link.Moment{}, in.fields)
		var out request
		if r := link.Reader(b, link.Moment{}); !read(r, &out) || !reflect.DeepEqual(in, out) {
			t.Fatalf("%+v, want %+v", out, in)
		}
		for cut := range b {
			if read(link.Reader(b[:cut], link.Moment{}), &out) {
				t.Fatalf("%d of %d bytes were taken for all", cut, len(b))
			}
		}
	})
}

func read(w *link.Wire, r *request) (whole bool) {
	r.fields(w)
	return w.Whole()
}

func TestALateRequestIsDropped(t *testing.T) {
	t.Parallel()
	nodes := start(t, newDatabase(), 2, nil)
	nodes[0].Handle("never", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		t.Error("carried out")
		return nil, nil
	})
	to := nodes[0].Incarnation()
	if _, err := nodes[1].AskNode(t.Context(), to, "who", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	nodes[1].links.Through(func(to engine.Incarnation, frame []byte) {
		go func() {
			<-ctx.Done()
			nodes[1].carry(to, frame)
		}()
	})
	if _, err := nodes[1].AskNode(ctx, to, "never", nil); !errors.Is(err, ErrUnanswered) {
		t.Errorf("asked: %v", err)
	}
	await(t, "it came", func() bool { return nodes[0].stats.Refused.Load() == 1 })
}
