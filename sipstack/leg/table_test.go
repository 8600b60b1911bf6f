package leg

import (
	"net"

	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"
)

// openTable makes a table with its own sockets and set of trunks.
func openTable(c Config) (*Table, error) {
	c.Timers.SetDefaults()
	clock := timing.StartClock()
	listeners := []transport.Listener{{Name: "default", Address: "127.0.0.1:0"}}
	sockets, err := transport.Open(listeners, net.DefaultResolver, c.Timers.Flow, c.Log)
	if err != nil {
		return nil, err
	}
	trunks, err := trunk.NewSet(trunk.SetConfig{Timers: c.Timers, Clock: clock, Net: sockets, UserAgent: "dialler"})
	if err != nil {
		return nil, err
	}
	k := NewTable(c, clock, sockets, trunks)
	sockets.Serve(trunks.IsPeer, trunks.MayAsk, k.OnMessage)
	return k, nil
}

// shut closes what openTable has opened.
func (k *Table) shut() {
	k.trunks.Unregister()
	k.net.Shut()
	k.trunks.StopAsking()
	_ = k.net.Close()
	k.Close()
}
