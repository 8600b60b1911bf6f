package run

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/pacing"
)

// This file manages the sockets that are opened to the bot ahead of its calls: engine/pacing
// decides how many, engine/fleet limits how fast they are opened, an answer takes the oldest, and
// lines that lost theirs are cancelled before the callee picks up.

// replacements is how many sockets may be opened concurrently to replace lost ones, whatever failed
// before.
const replacements = 4

// opening is how many sockets are being opened.
func (s *Pacer) opening() int { return len(s.Sockets) - s.Standing }

// fresh counts the sockets whose opening was begun a moment ago.
func (s *Pacer) fresh() (n int) {
	for i := len(s.Sockets) - 1; i >= s.Standing; i-- {
		if time.Duration(s.boot-s.Sockets[i].Since) >= fleet.SocketPatience {
			break // those before it are older
		}
		n++
	}
	return n
}

// socketsSoon says whether a socket is likely to open in a moment.
func (s *Pacer) socketsSoon() bool { return s.Openings.Failed == 0 && s.fresh() > 0 }

// tendSockets opens and closes sockets until there are as many as are wanted and have seats.
func (s *Pacer) tendSockets(want int) {
	if want > 0 && s.FellAt != 0 && s.boot < s.FellAt.Add(fleet.SocketAge) {
		want++ // one to spare
	}
	want = max(min(want, s.socketSeats()), 0)
	if want == 0 && len(s.Sockets) == 0 {
		s.Lost = false
		return
	}
	s.giveUpSockets()
	s.closeSockets(want)
	opening := s.opening()
	n := s.Openings.Room(s.boot, opening)
	if s.Lost { // a callee may pick up at any moment
		n = max(n, replacements-opening)
	}
	n = min(n, want-s.Standing-opening)
	for range n {
		s.openSocket()
	}
	if s.Lost {
		s.withdraw()
	}
	if s.Standing+opening < want {
		s.lookAtSockets(s.Openings.Pause(s.boot))
	}
}

// socketSeats is how many seats are not used by a call yet.
func (s *Pacer) socketSeats() int { return s.seatCap() - s.Busy + s.Held }

// lookAtSockets wakes the run after a while, unless it wakes earlier anyway.
func (s *Pacer) lookAtSockets(after time.Duration) {
	if at := s.boot.Add(after); after > 0 && (s.SocketsAt <= s.boot || at < s.SocketsAt) {
		s.SocketsAt = at
		s.later(after, &woken{})
	}
}

func (s *Pacer) openSocket() {
	s.Tickets++
	x := Socket{ID: engine.SocketID(string(s.ID) + "/" + strconv.FormatInt(s.Tickets, 10)), Since: s.boot,
		Node: s.proc.Carrier(s.LastTrunk), Limit: s.boot.Add(fleet.SocketTimeout + time.Second)}
	s.Sockets = append(s.Sockets, x)
	s.emit(OpenSocket{Bot: s.Bot.ID, Open: engine.OpenSocket{Socket: x.ID, Node: x.Node, Endpoints: s.Bot.Endpoints,
		AuthToken: s.Bot.AuthToken, Headers: s.Bot.Headers, Timeout: fleet.SocketTimeout, Limit: fleet.SocketLimit}})
}

// giveUpSockets forgets sockets that exceeded their time limit.
func (s *Pacer) giveUpSockets() {
	for s.Standing > 0 && s.boot >= s.Sockets[0].Limit {
		s.dropSocket(0)
		s.Lost = true
	}
	for s.opening() > 0 && s.boot >= s.Sockets[s.Standing].Limit {
		s.dropSocket(s.Standing)
		s.missedSocket()
	}
}

// closeSockets closes old sockets on which no line relies, sockets that were not wanted for a
// while, and sockets whose seats are needed otherwise.
func (s *Pacer) closeSockets(want int) {
	needed := max(min(s.inFlight(), s.Standing), 0)
	for s.Standing > needed && s.boot >= s.Sockets[0].Since.Add(fleet.SocketAge) {
		s.dropSocket(0)
	}
	if len(s.Sockets) <= want {
		s.Surplus = 0
		return
	}
	if s.Surplus == 0 {
		s.Surplus = s.boot
	}
	keep := max(s.socketSeats(), 0) // fewer seats may be left than are in use
	if s.M.C.State != campaign.Running || s.boot >= s.Surplus.Add(fleet.SocketIdle) {
		keep = want
	}
	for s.opening() > 0 && len(s.Sockets) > keep {
		s.dropSocket(len(s.Sockets) - 1)
	}
	for len(s.Sockets) > max(keep, min(needed, s.socketSeats())) {
		s.dropSocket(0)
	}
}

// closeAllSockets is for a change of the bot and for the end of the run.
func (s *Pacer) closeAllSockets() {
	for len(s.Sockets) > 0 {
		s.dropSocket(len(s.Sockets) - 1)
	}
}

func (s *Pacer) dropSocket(i int) {
	x := s.Sockets[i]
	s.forgetSocket(i)
	s.emit(CloseSocket{x.ID, x.Node})
}

func (s *Pacer) missedSocket() {
	s.Openings.Missed(s.boot, s.opening()+1)
	s.Pace.Proof.NotTaken()
	s.Lost = true // it may have replaced a lost socket
}

// socketEvent handles an event of a socket.
func (s *Pacer) socketEvent(e *engine.SocketEvent) {
	i := len(s.Sockets) - 1 // most events are of those being opened
	for i >= 0 && s.Sockets[i].ID != e.Socket {
		i--
	}
	if i < 0 { // it has been closed or taken meanwhile
		return
	}
	x, stood := s.Sockets[i], i < s.Standing
	s.forgetSocket(i)
	switch {
	case e.Stands:
		s.Took = time.Duration(s.boot - x.Since)
		x.Since, x.Limit = s.boot, s.boot.Add(fleet.SocketLimit)
		s.Sockets = slices.Insert(s.Sockets, s.Standing, x)
		s.Standing++
		s.Openings.Stood()
		s.Pace.Proof.Taken(s.concurrency())
	case stood:
		s.Lost, s.FellAt = true, s.boot
	default:
		s.missedSocket()
		// An open socket proves no taken call, and a refused one no missed call: the fleet probes
		// the bot once several failed.
		if s.Openings.Failed >= fleet.Suspicious {
			s.emit(&call.BotTried{Bot: s.Bot.ID, Missed: e.Missed})
		}
	}
}

// inFlight counts the lines that may still need a socket.
func (s *Pacer) inFlight() int { return s.flying() + len(s.Waiting) + s.Held - s.Withdrawn }

// uncovered counts the lines in flight that have neither a socket on their node nor credit.
func (s *Pacer) uncovered() int {
	if !s.hasSockets() {
		return 0
	}
	c, p := &s.M.C.Settings, &s.Pace
	p.ledgers = p.Books.Active(s.now, 0, p.ledgers[:0])
	in := pacing.Input{Mode: pacing.Mode(c.PacingMode), Sockets: true, Ringing: s.inFlight(), Standing: s.Standing,
		Bare: s.Bare, CapPPM: c.AbandonCapPPM, PhiPPM: c.FalsePositivePPM, Ledgers: p.ledgers}
	if s.Config.Shared {
		used := 0
		for node, n := range s.byNode() {
			used += min(n, s.standingAt(node))
		}
		in.Standing = used
		if s.Round != nil { // the round's lines go where sockets are open
			in.Standing += min(s.Standing-used, len(s.Round.Candidates))
		}
	}
	return in.Uncovered()
}

// byNode counts the lines in flight by the node that carries them.
func (s *Pacer) byNode() map[engine.Incarnation]int {
	all := map[engine.Incarnation]int{}
	for _, l := range s.Lines {
		if flies(l.Phase) && !l.Withdrawn || l.Phase == attempt.PhaseWaiting && !l.Seated {
			all[l.Node]++
		}
	}
	return all
}

func (s *Pacer) standingAt(node engine.Incarnation) (n int) {
	for i := range s.Standing {
		if s.Sockets[i].Node == node {
			n++
		}
	}
	return n
}

// carrier is the node for a new call: one with a socket on which no line relies, or 0, which leaves
// the choice to the carrying side.
func (s *Pacer) carrier() engine.Incarnation {
	if !s.Config.Shared || s.Standing == 0 {
		return 0
	}
	lines := s.byNode()
	for i := range s.Standing {
		if node := s.Sockets[i].Node; s.standingAt(node) > lines[node] {
			return node
		}
	}
	return 0
}

// withdraw cancels the youngest of the lines that lost their sockets, unless replacements are
// likely to open within a moment: answers without a bot could exceed the cap.
func (s *Pacer) withdraw() {
	over := s.uncovered()
	fresh := 0
	if s.Openings.Failed == 0 && s.Took < fleet.SocketPatience {
		fresh = s.fresh()
	}
	if s.Lost = over > 0 && fresh > 0; s.Lost {
		s.lookAtSockets(fleet.SocketPatience)
	}
	over -= fresh
	if over <= 0 {
		return
	}
	var lines []*Line
	for _, l := range s.Lines {
		if (l.Phase == attempt.PhaseDialling || l.Phase == attempt.PhaseRinging) && !l.Withdrawn {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b *Line) int { return cmp.Compare(b.Attempt, a.Attempt) })
	for _, l := range lines[:min(over, len(lines))] {
		l.Withdrawn = true
		s.Withdrawn++
		s.send(l, &call.End{Reason: engine.CodeBotLost})
	}
}

func (s *Pacer) setBot(bots []engine.Bot) {
	was := s.Bot
	s.Bot = engine.Bot{}
	for _, b := range bots {
		if b.ID == s.M.C.Settings.Bot {
			s.Bot = b
		}
	}
	if was.AuthToken != s.Bot.AuthToken || !slices.Equal(was.Headers, s.Bot.Headers) ||
		!slices.Equal(was.Endpoints, s.Bot.Endpoints) {
		s.Lost = s.Standing > 0
		s.closeAllSockets()
		s.Openings = fleet.Openings{}
	}
	s.makeRules()
}
