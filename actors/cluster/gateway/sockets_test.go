package gateway_test

import (
	"testing"
	"time"

	"dialler/engine"
)

func TestASocketIsOpenedByTheNodeThatIsToCarryItsCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(t, 1, 5e12, nil), n.join(t, 2, 9e9, nil)
		var told []engine.SocketEvent
		sink := func(e engine.SocketEvent) { told = append(told, e) }
		open := func(id engine.SocketID) {
			a.OpenSocket(engine.OpenSocket{Socket: id, Node: 2, Endpoints: []string{"ws://bot"}, Timeout: time.Second}, sink)
			pause(time.Second)
		}
		open("cmp/1")
		b.ports.socketSink(engine.SocketEvent{Socket: "cmp/1", Stands: true, Endpoint: "ws://bot"})
		pause(time.Second)
		if len(told) != 1 || !told[0].Stands || told[0].Endpoint != "ws://bot" {
			t.Fatalf("told %+v", told)
		}
		id, o := call(1), &owned{}
		a.dial(id, 2, o)
		a.AttachBot(engine.AttachBot{Attempt: id, Session: "MZ1", Deadline: time.Now(), Socket: "cmp/1"})
		pause(time.Second)
		if got := b.ports.calls[id].bot; got.Socket != "cmp/1" || got.Session != "MZ1" {
			t.Errorf("there it is %+v", got)
		}
		b.ports.socketSink(engine.SocketEvent{Socket: "cmp/1", Reason: "closed"})
		open("cmp/2")
		a.CloseSocket("cmp/2", 2)
		open("cmp/3")
		a.CloseSockets("cmp")
		pause(time.Second)
		equal(t, "the other node", b.ports.entries()[len(b.ports.entries())-4:],
			[]string{"open socket cmp/2", "close socket cmp/2", "open socket cmp/3", "close socket cmp/3"})
		if len(told) != 1 {
			t.Errorf("told %+v of sockets that were taken or closed", told[1:])
		}
		open("cmp/4")
		a.Gone(2, "")
		if len(told) != 2 || told[1].Socket != "cmp/4" || told[1].Stands {
			t.Errorf("told %+v of a node that is gone", told)
		}
	})
}
