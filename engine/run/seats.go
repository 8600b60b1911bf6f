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

// SeatState is what the run knows of its seats and who uses them.
type SeatState struct {
	Seats      int           // allotted by the fleet
	SeatTarget int           // the fair share of them, as the fleet sees it
	DialTarget int           // what it was when a line was dialled last
	Outage     *fleet.Outage // of the bot, when that is why there are no seats
	// Where another node keeps the count: nothing is dialled with the seats after
	// SeatsUntil, nor while that node does not answer.
	SeatsUntil engine.BootTime
	SeatsAway  bool
	Asked      int                // seats last asked for
	Demands    int                // number of the last demand
	DemandOpen int                // the demand that the fleet has not answered yet, 0 when none
	Answered   int                // the newest demand that it has answered
	FewerSince time.Time          // since when fewer seats would be enough
	Waiting    []engine.ContactID // answered, without a seat
	Busy       int                // seats held by lines, and for those being reserved
	Held       int                // of them, for lines that ring
	// InFlightCap is the concurrency from before an edit lowered it, or 0: lines that
	// were in flight then keep the right to its seats.
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

// heard: it is known how a call of an earlier owner stands. Who waits has the seat that
// was kept; else the line has one by how it stands, or none.
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

// holdSeat gives a line the seat that was kept for it, before anybody answers:
// it is busy from the dial on, and no other answer takes it.
func (s *Floor) holdSeat(l *Line) {
	l.Seated, l.Held = true, true
	s.Held++
}

// useHeld: the answer has come for which the seat was held.
func (s *Floor) useHeld(l *Line) {
	if l.Held {
		l.Held = false
		s.Held--
		s.modelSeat(l, true)
	}
}

// seatCap is N: Concurrency, within the fleet's allotment.
func (s *Floor) seatCap() int { return min(s.concurrency(), s.Seats) }

// concurrency is how many seats the lines may use: a lower Concurrency binds what is
// dialled from then on, and abandons nobody who was dialled before.
func (s *Floor) concurrency() int { return max(s.M.C.Settings.Concurrency, s.InFlightCap) }

// seatsInUse counts the seats that lines use or may ask for.
func (s *Floor) seatsInUse() int { return s.Busy + len(s.Waiting) + s.flying() }

// keepSeats: an edit lowered the concurrency; the lines in flight keep what they were
// dialled for.
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

// askSeats: a campaign that has somebody to dial now wants its concurrency; one
// that is idle, paused, or outside its window, keeps only what its calls need, so that
// others can have the seats.
func (s *Floor) askSeats() {
	want := s.concurrency()
	if s.M.C.State != campaign.Running || s.Round == nil && (!s.windowOpen() || s.Queue.Len() == 0 &&
		len(s.Triggers) == 0) {
		want = min(want, s.seatsInUse())
	}
	// Giving seats back waits for the next renewal: the queue may only be
	// empty between two looks at the database.
	if want > s.Asked || s.idleSince(want) {
		s.wantSeats(want)
	}
}

// seatsIdle is how long fewer seats must be enough before the rest goes back.
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
	s.Seats = min(s.Seats, n) // others may have the rest as soon as the fleet hears of it
	s.Demands++
	s.DemandOpen = s.Demands
	s.emit(DemandSeats{Bot: s.M.C.Settings.Bot, Want: n, Weight: s.M.C.Settings.Weight, N: s.Demands, Epoch: s.M.C.Epoch,
		Keep: true})
}

// seatsAllotted: an answer to an earlier demand does not know what the last one
// gave back, and says nothing once a later one was answered. A target below the grant
// means that others wait. No dial relies on the seats beyond it any more, and they go
// back as they come free.
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

// keeperAway says that nobody vouches for the seats now: nothing new is dialled
// with them, and what is under way keeps its own.
func (s *Floor) keeperAway() bool {
	return s.SeatsAway || s.SeatsUntil != 0 && s.boot >= s.SeatsUntil
}

// reliedOn counts the seats that lines use or were dialled for. Until a line is dialled with the fair share of now,
// that is one for each line: all of them fitted the share of the newest. Later it is one for each that was dialled
// with a larger share.
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

// giveSeatsBack gives seats beyond the fair share back that no line relies on: those that were dialled since have
// relied on the share alone.
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
		s.DemandOpen = s.Demands // it answers the demand before as well
	}
	s.emit(DemandSeats{Bot: s.M.C.Settings.Bot, Want: s.Asked, Weight: s.M.C.Settings.Weight, GiveUp: give, N: s.Demands,
		Epoch: s.M.C.Epoch})
}
