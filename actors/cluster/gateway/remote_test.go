//go:build !race

// The library sets a process-wide logger whenever a server starts: the race detector reports a
// second server in one process.

package gateway_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"dialler/actors/cluster/gateway"
	world "dialler/actors/ports"
	"dialler/engine"
)

// overTCP is a node's connection to the only other one: protoactor's remote.
type overTCP struct {
	system *actor.ActorSystem
	remote *remote.Remote
	other  *actor.PID
}

func (o *overTCP) Send(_ engine.Incarnation, payload []byte) {
	o.system.Root.Send(o.other, wrapperspb.Bytes(payload))
}

// carrier are a node's own ports.
type carrier interface {
	world.Telephony
	world.Media
}

// connect makes two nodes, each with its own actor system, that communicate over TCP on the
// loopback.
func connect(t testing.TB, first, second carrier, c clock) (one, two *gateway.Gateway) {
	t.Helper()
	ways := [2]*overTCP{}
	nodes := [2]*gateway.Gateway{}
	for i, ports := range []carrier{first, second} {
		o := &overTCP{system: actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
			return slog.New(slog.NewTextHandler(io.Discard, nil))
		}))}
		o.remote = remote.NewRemote(o.system, remote.Configure("127.0.0.1", 0))
		ls := links(c, 0, o.Send)
		t.Cleanup(ls.Close)
		g := gateway.New(gateway.Config{Telephony: ports, Media: ports, Clock: c, Links: ls, Log: zerolog.Nop()})
		g.Join(engine.Incarnation(i + 1))
		if _, err := o.system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
			if m, ok := ctx.Message().(*wrapperspb.BytesValue); ok {
				ls.Receive(m.Value)
			}
		}), "gateway"); err != nil {
			t.Fatal(err)
		}
		o.remote.Start()
		ways[i], nodes[i] = o, g
	}
	ways[0].other = actor.NewPID(ways[1].system.Address(), "gateway")
	ways[1].other = actor.NewPID(ways[0].system.Address(), "gateway")
	t.Cleanup(func() {
		for i := range ways {
			nodes[i].Close()
			ways[i].remote.Shutdown(false)
			ways[i].system.Shutdown()
		}
	})
	return nodes[0], nodes[1]
}

func TestCallsAreCarriedOverTCP(t *testing.T) {
	c := clock{start: time.Now(), boot: 1e9}
	far := newPorts(c)
	a, _ := connect(t, newPorts(c), far, c)
	const calls = 100
	owners := make([]*owned, calls)
	m := &node{Gateway: a, clock: c}
	for i := range calls {
		owners[i] = &owned{}
		m.dial(call(i), 2, owners[i])
	}
	await := func(what string, ok func(*owned) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			open := 0
			for _, o := range owners {
				if !ok(o) {
					open++
				}
			}
			if open == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: not so for %d of %d calls", what, open, calls)
			}
		}
	}
	await("sent", func(o *owned) bool { return len(o.kinds()) == 1 })
	for i := range calls {
		far.emit(call(i).Leg(1), engine.LegEvent{Kind: engine.LegAnswered})
		far.emitMedia(call(i), engine.MediaEvent{Kind: engine.MediaBotConnected})
	}
	await("connected", func(o *owned) bool { return len(o.kinds()) == 2 && len(o.mediaKinds()) == 1 })
	for i := range calls {
		a.HangUpLeg(call(i).Leg(1), engine.HangUpCause{})
		far.emit(call(i).Leg(1), engine.LegEvent{Kind: engine.LegClosed})
	}
	await("over", func(o *owned) bool { return len(o.kinds()) == 3 })
	for i := range calls {
		if q := a.CloseMedia(call(i)); q.PacketsReceived != 77 {
			t.Fatalf("call %d: %+v", i, q)
		}
		for k, e := range owners[i].legs {
			if e.Seq != k+1 {
				t.Fatalf("call %d: event %d came as %d", i, e.Seq, k+1)
			}
		}
	}
}

func BenchmarkCallOfAnotherNodeOverTCP(b *testing.B) {
	s, c := newScript(), clock{start: time.Now(), boot: 1e9}
	one, _ := connect(b, s, s, c)
	carry(b, one, one, 2, c)
}
