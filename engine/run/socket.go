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
	Sockets  []Socket // the open ones in the order in which they opened, then those being opened
	Standing int      // how many are open
	Openings fleet.Openings
	Surplus  engine.BootTime // since when there are more than are wanted; 0 means there are not
	// Lost says that a socket was lost on which lines in flight may have relied.
	Lost      bool
	Took      time.Duration   // how long the newest took to open
	FellAt    engine.BootTime // when an open socket was last lost; 0 means never
	SocketsAt engine.BootTime // when they are checked again without another cause
	Bare      int             // seated lines that found no open socket, and have no bot yet
	Withdrawn int             // lines in flight that are being cancelled
}

// Socket is a socket that no call has taken.
type Socket struct {
	ID    engine.SocketID
	Node  engine.Incarnation
	Since engine.BootTime // since when it is open, or being opened
	Limit engine.BootTime // until when at most: later for each that follows, of those that are open or are not
}

// hasSockets says whether the bot has sockets; a bot that is called by SIP has none.
func (s *Record) hasSockets() bool { return len(s.Bot.Endpoints) > 0 && s.Bot.URIs() == nil }

func (s *Floor) forgetSocket(i int) {
	if i < s.Standing {
		s.Standing--
	}
	s.Sockets = slices.Delete(s.Sockets, i, i+1)
}

// takeSocket gives an answered line the socket that has been open longest, on the line's node.
func (s *Floor) takeSocket(l *Line) (id engine.SocketID) {
	i := slices.IndexFunc(s.Sockets[:s.Standing], func(x Socket) bool { return x.Node == l.Node })
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

// settleSockets handles a line that has got a bot, or is over.
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
