package run

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
)

// SeatState is what the run knows about its seats and their use.
type SeatState struct {
	Seats      int           // allotted by the fleet
	SeatTarget int           // the fair share of them, as the fleet sees it
	DialTarget int           // the value when the last line was dialled
	Outage     *fleet.Outage // of the bot, when that is why there are no seats
	// SeatsUntil, where another node counts the seats, ends their use for new dials; nothing is
	// dialled either while that node does not answer.
	SeatsUntil engine.BootTime
	SeatsAway  bool
	Asked      int                // seats last asked for
	Demands    int                // number of the last demand
	DemandOpen int                // the demand that the fleet has not answered yet, 0 when none
	Answered   int                // the newest demand that it has answered
	FewerSince time.Time          // since when fewer seats would have been enough
	Waiting    []engine.ContactID // answered, without a seat
	Busy       int                // seats held by lines, and for those being reserved
	Held       int                // of these, seats for lines that ring
	// InFlightCap is the concurrency from before an edit lowered it, or 0: lines that were in
	// flight then keep their right to its seats.
	InFlightCap int
}

// grantSeats serves the waiting answers, first come first served.
func (s *Floor) grantSeats() {
	for len(s.Waiting) > 0 && s.Busy < s.seatCap() {
		l := s.Lines[s.Waiting[0]]
		s.Waiting = slices.Delete(s.Waiting, 0, 1)
		s.takeSeat(l)
		s.send(l, &call.SeatGranted{Attempt: l.Attempt, Socket: s.takeSocket(l)})
	}
}

// heard settles the seat of a call of an earlier owner, now that its state is known. A call that
// waits gets the seat that was kept; any other call's phase decides whether it has one.
func (s *Floor) heard(l *Line, p attempt.Phase) {
	if !l.Unheard {
		return
	}
	if l.Unheard = false; p == attempt.PhaseWaiting {
		s.modelSeat(l, true)
		return
	}
	l.Seated = false
	s.Busy--
}

func (s *Floor) freeSeat(l *Line) {
	s.heard(l, attempt.PhaseOver)
	if l.Seated {
		l.Seated = false
		s.Busy--
		if l.Held {
			l.Held = false
			s.Held--
		}
		s.modelSeat(l, false)
	}
	if i := slices.Index(s.Waiting, l.ID); i >= 0 {
		s.Waiting = slices.Delete(s.Waiting, i, i+1)
	}
}

func (s *Floor) takeSeat(l *Line) {
	if !l.Seated {
		l.Seated = true
		s.Busy++
		s.modelSeat(l, true)
	}
}

// holdSeat gives a line its seat before the callee answers: the seat is busy from the dial on, and
// no other answer takes it.
func (s *Floor) holdSeat(l *Line) {
	l.Seated, l.Held = true, true
	s.Held++
}

// useHeld uses a seat that was held for this answer.
func (s *Floor) useHeld(l *Line) {
	if l.Held {
		l.Held = false
		s.Held--
		s.modelSeat(l, true)
	}
}

// seatCap is N: Concurrency, within the fleet's allotment.
func (s *Floor) seatCap() int { return min(s.concurrency(), s.Seats) }

// concurrency is how many seats the lines may use: a lower Concurrency applies to later dials, and
// causes no abandoned call among earlier ones.
func (s *Floor) concurrency() int { return max(s.M.C.Settings.Concurrency, s.InFlightCap) }

// seatsInUse counts the seats that lines use or may ask for.
func (s *Floor) seatsInUse() int { return s.Busy + len(s.Waiting) + s.flying() }

// keepSeats handles an edit that lowers the concurrency: the lines in flight keep the seats that
// they were dialled for.
func (s *Floor) keepSeats(before int) {
	s.InFlightCap = before
	for _, l := range s.Lines {
		l.Before = l.Attempt
	}
}

// lowerCap gives up the seats of lines from before such an edit as they end.
func (s *Floor) lowerCap() {
	if s.InFlightCap == 0 {
		return
	}
	n := 0
	for _, l := range s.Lines {
		if l.Attempt == "" || l.Before != l.Attempt {
			continue
		}
		switch l.Phase {
		case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening, attempt.PhaseWaiting, attempt.PhaseServed:
			n++
		case attempt.PhaseOver, attempt.PhaseReleased, attempt.PhaseAbandoned:
		}
	}
	if s.InFlightCap = min(s.InFlightCap, n); s.InFlightCap <= s.M.C.Settings.Concurrency {
		s.InFlightCap = 0
	}
}

// askSeats requests the full concurrency for a campaign that has contacts to dial now. A campaign
// that is idle, paused or outside its window keeps only what its calls need, so that others can
// have the seats.
func (s *Floor) askSeats() {
	want := s.concurrency()
	if s.M.C.State != campaign.Running || s.Round == nil && (!s.windowOpen() || s.Queue.Len() == 0 &&
		len(s.Triggers) == 0) {
		want = min(want, s.seatsInUse())
	}
	// Seats are not given back at once: the queue may only be empty between two queries of the
	// database.
	if want > s.Asked || s.idleSince(want) {
		s.wantSeats(want)
	}
}

// seatsIdle is how long fewer seats must suffice before the rest is given back.
const seatsIdle = 5 * time.Second

func (s *Floor) idleSince(want int) bool {
	if want >= s.Asked {
		s.FewerSince = time.Time{}
		return false
	}
	if s.FewerSince.IsZero() {
		s.FewerSince = s.now
	}
	return s.now.Sub(s.FewerSince) >= seatsIdle
}

func (s *Floor) wantSeats(n int) {
	s.Asked, s.FewerSince = n, time.Time{}
	s.Seats = min(s.Seats, n) // others may have the rest as soon as the fleet is told
	s.Demands++
	s.DemandOpen = s.Demands
	s.emit(DemandSeats{Bot: s.M.C.Settings.Bot, Want: n, Weight: s.M.C.Settings.Weight, N: s.Demands, Epoch: s.M.C.Epoch,
		Keep: true})
}

// seatsAllotted takes the fleet's answer. An answer to an earlier demand ignores what the last one
// gave back, and is void once a later demand was answered. A target below the grant means that
// other campaigns wait: no new dial relies on the seats above the target, and they are given back
// as they become free.
func (s *Floor) seatsAllotted(m *SeatsAllotted) {
	if m.Bot != s.M.C.Settings.Bot || m.N != 0 && m.N < s.Answered {
		return
	}
	s.Answered = max(s.Answered, m.N)
	if m.N == s.DemandOpen {
		s.DemandOpen = 0
	}
	if s.SeatsAway = m.Away; m.Away {
		return
	}
	seats := m.Seats
	if m.N != s.Demands {
		seats = min(seats, s.Seats)
	}
	s.Seats, s.SeatTarget, s.Outage, s.SeatsUntil = seats, m.Target, m.Outage, m.Until
	s.grantSeats()
}

// keeperAway says that no node currently guarantees the seats: nothing new is dialled with them,
// and calls in progress keep theirs.
func (s *Floor) keeperAway() bool {
	return s.SeatsAway || s.SeatsUntil != 0 && s.boot >= s.SeatsUntil
}

// reliedOn counts the seats that lines use or were dialled for. Until a line is dialled under the
// current fair share, every line counts, since all of them fitted the newest line's share. After
// that, only lines that were dialled under a larger share count.
func (s *Floor) reliedOn() int {
	n, larger := s.Busy, func(target int) bool { return target == 0 || target > s.SeatTarget }
	for _, l := range s.Lines {
		switch l.Phase {
		case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening, attempt.PhaseWaiting:
			if !l.Seated && (larger(l.SeatTarget) || larger(s.DialTarget)) {
				n++
			}
		case attempt.PhaseServed, attempt.PhaseOver, attempt.PhaseReleased, attempt.PhaseAbandoned:
		}
	}
	if s.Round != nil && larger(s.Round.SeatTarget) {
		n += len(s.Round.Candidates)
	}
	return n
}

// giveSeatsBack gives back seats above the fair share that no line relies on; lines dialled since
// rely on the share alone.
func (s *Floor) giveSeatsBack() {
	if s.SeatTarget >= s.Seats {
		return
	}
	give := s.Seats - max(s.SeatTarget, s.reliedOn())
	if give <= 0 {
		return
	}
	s.Seats -= give
	s.Demands++
	if s.DemandOpen != 0 {
		s.DemandOpen = s.Demands // it also answers the previous demand
	}
	s.emit(DemandSeats{Bot: s.M.C.Settings.Bot, Want: s.Asked, Weight: s.M.C.Settings.Weight, GiveUp: give, N: s.Demands,
		Epoch: s.M.C.Epoch})
}
