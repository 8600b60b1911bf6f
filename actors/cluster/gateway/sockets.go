package gateway

import (
	"strings"
	"sync"

	"dialler/actors/cluster/link"
	"dialler/engine"
)

// socketRoutes are the bot sockets that this node had opened on others ahead of their calls, until
// a call takes them or they are gone.
type socketRoutes struct {
	mu sync.Mutex
	m  map[engine.SocketID]socketRoute
}

type socketRoute struct {
	link *link.Link
	sink func(engine.SocketEvent)
}

func (s *socketRoutes) put(id engine.SocketID, r socketRoute) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[engine.SocketID]socketRoute{}
	}
	s.m[id] = r
	r.link.Use(1)
}

// take forgets a socket on another node; ok is false if it has no such socket.
func (s *socketRoutes) take(id engine.SocketID) (r socketRoute, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok = s.m[id]; ok {
		delete(s.m, id)
		r.link.Use(-1)
	}
	return r, ok
}

func (s *socketRoutes) of(id engine.SocketID, l *link.Link) (r socketRoute, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok = s.m[id]
	return r, ok && r.link == l
}

// where lists the sockets that satisfy a condition.
func (s *socketRoutes) where(f func(engine.SocketID, socketRoute) bool) (ids []engine.SocketID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range s.m {
		if f(id, r) {
			ids = append(ids, id)
		}
	}
	return ids
}

// OpenSocket implements ports.Media.
func (g *Gateway) OpenSocket(cmd engine.OpenSocket, sink func(engine.SocketEvent)) {
	if g.mine(cmd.Node) {
		g.cfg.Media.OpenSocket(cmd, sink)
		return
	}
	l := g.leads(cmd.Node)
	if l == nil || !l.Room() {
		sink(engine.SocketEvent{Socket: cmd.Socket, Reason: errUnreachable.Error()})
		return
	}
	g.sockets.put(cmd.Socket, socketRoute{l, sink})
	l.Tell(Name, gather, true, (&message{kind: kOpenSocket, socket: &cmd}).say)
}

// CloseSocket implements ports.Media.
func (g *Gateway) CloseSocket(id engine.SocketID, node engine.Incarnation) {
	if r, ok := g.sockets.take(id); ok {
		r.link.Tell(Name, gather, true, (&message{kind: kCloseSocket, text: string(id)}).say)
		return
	}
	g.cfg.Media.CloseSocket(id, node)
}

// CloseSockets implements ports.Media: it closes sockets here and those that this node had opened
// on others.
func (g *Gateway) CloseSockets(of engine.CampaignID) {
	g.cfg.Media.CloseSockets(of)
	for _, id := range g.sockets.where(func(id engine.SocketID, _ socketRoute) bool {
		return strings.HasPrefix(string(id), string(of)+"/")
	}) {
		g.CloseSocket(id, 0)
	}
}

// openSocket opens a socket for another node.
func (g *Gateway) openSocket(l *link.Link, cmd *engine.OpenSocket) {
	tell := func(e engine.SocketEvent) {
		l.Tell(Name, gather, true, (&message{kind: kSocketEvent, onSocket: &e}).say)
	}
	if g.draining.Load() {
		tell(engine.SocketEvent{Socket: cmd.Socket, Reason: errDraining.Error()})
		return
	}
	cmd.Node = 0
	g.cfg.Media.OpenSocket(*cmd, tell)
}

// happened delivers the event of a socket on another node to the caller that had it opened.
func (s *socketRoutes) happened(l *link.Link, e *engine.SocketEvent) {
	r, ok := s.of(e.Socket, l)
	if !ok {
		return // a call has taken it, or it was closed
	}
	if !e.Stands {
		s.take(e.Socket)
	}
	r.sink(*e)
}

// gone removes the sockets of a lost node.
func (s *socketRoutes) gone(node engine.Incarnation) {
	for _, id := range s.where(func(_ engine.SocketID, r socketRoute) bool { return r.link.Peer() == node }) {
		if r, ok := s.take(id); ok {
			r.sink(engine.SocketEvent{Socket: id, Reason: errGone.Error()})
		}
	}
}

func (w wire) openSocket(c *engine.OpenSocket) {
	link.Text(w.Wire, &c.Socket)
	link.Number(w.Wire, &c.Node)
	link.List(w.Wire, &c.Endpoints, func(s *string) { link.Text(w.Wire, s) })
	w.access(&c.AuthToken, &c.Headers)
	link.Number(w.Wire, &c.Timeout)
	link.Number(w.Wire, &c.Limit)
}

func (w wire) socketEvent(e *engine.SocketEvent) {
	link.Text(w.Wire, &e.Socket)
	w.Flag(&e.Stands)
	link.Text(w.Wire, &e.Endpoint)
	link.List(w.Wire, &e.Missed, w.missed)
	link.Text(w.Wire, &e.Reason)
}

func (w wire) missed(m *engine.EndpointMiss) {
	link.Text(w.Wire, &m.Endpoint)
	link.Text(w.Wire, &m.Reason)
}

// attachAhead codes attachBot with a socket opened ahead; a node that does not know such sockets
// gets the other message.
func (w wire) attachAhead(c *engine.AttachBot) {
	w.attachBot(c)
	link.Text(w.Wire, &c.Socket)
}
