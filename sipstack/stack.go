package sipstack

import (
	"errors"
	"net"

	"dialler/sipstack/leg"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"
)

// Stack is the SIP side of the dialler: leg.Table has its commands for legs, trunk.Set those for
// trunks. Its methods are safe for concurrent use, and none but Ask waits for the network.
type Stack struct {
	*leg.Table
	*trunk.Set
	net *transport.Sockets
}

// New opens the sockets and starts to serve them. It fails when the listening address is malformed
// or in use.
func New(c Config) (*Stack, error) {
	c.Timers.SetDefaults()
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.UserAgent == "" {
		c.UserAgent = "dialler"
	}
	if len(c.Listeners) == 0 {
		c.Listeners = []Listener{{Name: "default", Address: c.Listen, ExternalHost: c.ExternalHost}}
	}
	sockets, err := transport.Open(c.Listeners, c.Resolver, c.Timers.Flow, c.Log)
	if err != nil {
		return nil, err
	}
	clock := timing.StartClock()
	trunks, err := trunk.NewSet(trunk.SetConfig{
		Timers: c.Timers, Clock: clock, Log: c.Log, Net: sockets, UserAgent: c.UserAgent, WriteNumber: c.WriteNumber,
		OnHealth: c.OnTrunkHealth,
	})
	if err != nil {
		return nil, errors.Join(err, sockets.Close())
	}
	legs := leg.NewTable(leg.Config{
		Timers: c.Timers, Log: c.Log, OnLegOver: c.OnLegOver, Media: c.Media, OneCall: c.OneCall, Fence: c.Fence,
		NewCall: c.NewCall, OnCall: c.OnCall, Transfers: c.Transfers,
	}, clock, sockets, trunks)
	sockets.Serve(trunks.IsPeer, trunks.MayAsk, legs.OnMessage)
	return &Stack{legs, trunks, sockets}, nil
}

// SetExternalHost has requests over a listener name another address of ours in Via and Contact, in place of its
// Listener.ExternalHost, and registers the trunks that use it anew.
func (s *Stack) SetExternalHost(listener, host string) {
	if ln := s.net.Listener(listener); ln != nil {
		ln.SetExternal(host)
		s.Readdressed(ln)
	}
}

// Close unregisters our addresses, as far as registrars answer within two seconds, then closes the
// sockets and stops all timers. Nothing else is sent and no event is emitted: live calls are left
// to RecoverLeg of a later process.
func (s *Stack) Close() error {
	if !s.Unregister() {
		return nil // closed before
	}
	s.net.Shut()
	s.StopAsking()
	err := s.net.Close()
	s.Table.Close()
	return err
}
