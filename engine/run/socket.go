package run

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/fleet"
)

// SocketState is what the run knows of sockets of its bot that are opened ahead of their
// calls.
type SocketState struct {
	Sockets  []Socket // those that stand in the order in which they came to
	Standing int
	Openings fleet.Openings
	Surplus  engine.BootTime // since when more stand than are wanted, 0: they do not
	// Lost: one was, and lines in flight may have relied on it.
	Lost      bool
	Took      time.Duration   // until the newest stood
	FellAt    engine.BootTime // when the last one that stood was lost, 0: none was
	SocketsAt engine.BootTime // when they are looked at again without other cause
	Bare      int             // seated lines that found no socket standing, and have no bot yet
	Withdrawn int             // lines in flight that are being cancelled
}

// Socket is one that no call has taken.
type Socket struct {
	ID     engine.SocketID
	Node   engine.Incarnation
	Stands bool
	Since  engine.BootTime // it stands, or is being opened
	Limit  engine.BootTime // … until then at most
}

// hasSockets says whether the bot has sockets; one that is called by SIP has none.
func (s *Record) hasSockets() bool { return len(s.Bot.Endpoints) > 0 && s.Bot.URIs() == nil }

func (s *Floor) forgetSocket(i int) {
	if s.Sockets[i].Stands {
		s.Standing--
	}
	s.Sockets = slices.Delete(s.Sockets, i, i+1)
}

// takeSocket gives an answered line the socket that has stood for longest, on its node.
func (s *Floor) takeSocket(l *Line) (id engine.SocketID) {
	i := slices.IndexFunc(s.Sockets, func(x Socket) bool { return x.Stands && x.Node == l.Node })
	if i < 0 {
		if s.hasSockets() && !l.Bare {
			l.Bare = true
			s.Bare++
		}
		return ""
	}
	id = s.Sockets[i].ID
	s.forgetSocket(i)
	return id
}

// settleSockets: the line has got a bot, or is over.
func (s *Floor) settleSockets(l *Line, p attempt.Phase) {
	if l.Bare && p != attempt.PhaseWaiting {
		l.Bare = false
		s.Bare--
	}
	if l.Withdrawn && !flies(p) {
		l.Withdrawn = false
		s.Withdrawn--
	}
}
