package cluster

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/ownership"
)

func TestTheURLOfAClusterIsUnderstoodOrRefused(t *testing.T) {
	t.Parallel()
	f := func(url string, want membership) {
		t.Helper()
		got, err := parseMembership(url)
		if err != nil || !reflect.DeepEqual(got, want) || CheckMembership(url) != nil {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
	f("etcd://a:2379", membership{schemeEtcd, []string{"a:2379"}, "/dialler"})
	f("etcd://a:2379,[::1]:2380/x/y/", membership{schemeEtcd, []string{"a:2379", "[::1]:2380"}, "/x/y"})
	f("automanaged://10.0.0.1:7070,10.0.0.2:7070", membership{schemeAutomanaged, []string{"10.0.0.1:7070", "10.0.0.2:7070"}, "/"})
	for _, url := range []string{"", "etcd", "etcd://", "etcd://a", "etcd://a:x", "etcd://a:0", "etcd://:2379", "etcd://a:1,", "etcd://a:1/%zz",
		"automanaged://a:1/x", "consul://a:1", "etcd://a:70000", "etcd://a:1/" + strings.Repeat("x", 4096)} {
		if err := CheckMembership(url); engine.ErrorCode(err) != "cluster_url_invalid" {
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

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := header{Type: rapid.String().Draw(t, "type"), ID: rapid.String().Draw(t, "id"), From: engine.Incarnation(rapid.Int32().Draw(t, "from")),
			To: engine.Incarnation(rapid.Int32().Draw(t, "to")), Method: rapid.String().Draw(t, "method"), Kind: ownership.Kind(rapid.String().Draw(t, "kind")),
			Of: rapid.String().Draw(t, "of"), Left: rapid.Int64().Draw(t, "left"), By: rapid.Int64().Draw(t, "by")}
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		m, err := pack(&h, body)
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := unpack(m)
		if err != nil || !reflect.DeepEqual(got, h) || !bytes.Equal(rest, body) {
			t.Fatalf("%+v %x, %v; want %+v %x", got, rest, err, h, body)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 2, '{', '}', 1})
	f.Add([]byte{255, 255, 255, 255, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, err := unpack(wrapperspb.Bytes(b))
		if err == nil && len(body) > len(b) {
			t.Errorf("%+v %d", h, len(body))
		}
	})
}

func TestALateRequestIsDropped(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_900_000_000, 0)
	f := func(left time.Duration, by time.Time, want time.Duration) {
		t.Helper()
		h := header{Left: left.Milliseconds(), By: by.UnixMilli()}
		if got := h.remaining(now); got != want {
			t.Errorf("left %v by %v: %v, want %v", left, by.Sub(now), got, want)
		}
	}
	f(5*time.Second, now.Add(5*time.Second), 5*time.Second)
	f(5*time.Second, now.Add(-skew), 5*time.Second) // clocks may differ
	f(5*time.Second, now.Add(-skew-time.Millisecond), 0)
	f(-time.Second, now.Add(time.Second), 0)

	nodes := start(t, newDatabase(), 1, nil)
	nodes[0].Handle("never", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		t.Error("carried out")
		return nil, nil
	})
	m, err := pack(&header{Type: typeAsk, ID: "x", Method: "never", To: nodes[0].Incarnation(), Left: 5000, By: time.Now().Add(-time.Minute).UnixMilli()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *wrapperspb.BytesValue, 1)
	nodes[0].desk.take(m, func(a *wrapperspb.BytesValue) { got <- a })
	h, _, err := unpack(<-got)
	if err != nil || h.Error == nil || h.Error.Code != ErrUnanswered.Code {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestAnswersAreKeptForAWhileWithinBounds(t *testing.T) {
	t.Parallel()
	a := newAnswers()
	none := func(*wrapperspb.BytesValue) {}
	put := func(id string, size int, now engine.BootTime) {
		t.Helper()
		if known, _ := a.begin(id, none, now); known {
			t.Fatalf("%s is known", id)
		}
		a.end(id, &header{ID: id}, make([]byte, size), nil)
	}
	put("a", 1, 0)
	if known, m := a.begin("a", none, engine.BootTime(answersFor-1)); !known || m == nil {
		t.Error("forgotten too early")
	}
	put("b", 1, engine.BootTime(answersFor))
	if len(a.byID) != 1 {
		t.Errorf("%d are kept", len(a.byID))
	}
	for i := range 20 {
		put(strings.Repeat("c", i+1), MaxBody, engine.BootTime(answersFor))
	}
	if a.bytes > answersBytes+MaxBody+1024 {
		t.Errorf("%d bytes are kept", a.bytes)
	}
	for i := range answersMax + 100 {
		put("d"+strings.Repeat("x", i%7)+string(rune('0'+i%10))+time.Duration(i).String(), 0, engine.BootTime(answersFor))
	}
	if len(a.byID) > answersMax+1 || len(a.order) > answersMax+1 {
		t.Errorf("%d are kept", len(a.byID))
	}
}
