package actors

import (
	"slices"
	"time"

	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
)

// grantSeats serves the waiting answers, first come first served.
func (r *run) grantSeats() {
	for len(r.waiting) > 0 && r.busy < r.seatCap() {
		l := r.waiting[0]
		r.waiting = slices.Delete(r.waiting, 0, 1) // and holds the line no more
		r.takeSeat(l)
		r.send(l, &call.SeatGranted{Attempt: l.attempt})
	}
}

func (r *run) freeSeat(l *line) {
	if l.seated {
		l.seated = false
		r.busy--
		if l.held {
			l.held = false
			r.held--
		}
		r.modelSeat(l, false)
	}
	if i := slices.Index(r.waiting, l); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

func (r *run) takeSeat(l *line) {
	if !l.seated {
		l.seated = true
		r.busy++
		r.modelSeat(l, true)
	}
}

// holdSeat gives a line the seat that was kept for it, before anybody answers:
// it is busy from the dial on, and no other answer takes it.
func (r *run) holdSeat(l *line) {
	l.seated, l.held = true, true
	r.held++
}

// useHeld: the answer has come for which the seat was held.
func (r *run) useHeld(l *line) {
	if l.held {
		l.held = false
		r.held--
		r.modelSeat(l, true)
	}
}

// seatCap is N: Concurrency, within the fleet's allotment.
func (r *run) seatCap() int { return min(r.m.C.Settings.Concurrency, r.seats) }

// tellPool gives the pool its numbers.
func (r *run) tellPool() {
	s := &r.m.C.Settings
	r.d.root.Send(r.pool, &poolNumbers{Numbers: s.Numbers, LocalMatch: s.LocalMatch})
}

// askSeats: a campaign that has somebody to dial now wants its concurrency; one
// that is idle, paused, or outside its window, keeps only what its calls need, so that
// others can have the seats.
func (r *run) askSeats() {
	want := r.m.C.Settings.Concurrency
	if r.m.C.State != campaign.Running || r.round == nil && (!r.windowOpen() || r.queue.Len() == 0 && len(r.triggers) == 0) {
		want = min(want, r.busy+len(r.waiting)+r.flying())
	}
	// Giving seats back waits for the next renewal: the queue may only be
	// empty between two looks at the database.
	if want > r.asked || (want < r.asked && r.idleSince(want)) {
		r.wantSeats(want)
	}
}

// seatsIdle is how long fewer seats must be enough before the rest goes back.
const seatsIdle = 5 * time.Second

func (r *run) idleSince(want int) bool {
	if want >= r.asked {
		r.fewerSince = time.Time{}
		return false
	}
	if r.fewerSince.IsZero() {
		r.fewerSince = r.now
	}
	return r.now.Sub(r.fewerSince) >= seatsIdle
}

func (r *run) wantSeats(n int) {
	r.asked, r.fewerSince = n, time.Time{}
	r.seats = min(r.seats, n) // others may have the rest as soon as the fleet hears of it
	r.lives.seats.Store(int64(n))
	r.askedN++
	r.seatsAsked = r.askedN
	r.d.root.Send(r.d.fleet, &seatDemand{Holder: fleet.Holder(r.id), Bot: r.m.C.Settings.Bot, Want: n, Weight: r.m.C.Settings.Weight, N: r.askedN,
		Epoch: r.m.C.Epoch, ReplyTo: r.self})
}

// seatsAllotted: an answer of before the last demand does not know what that
// gave back. A target below the grant means that others wait. No dial
// relies on the seats beyond it any more, and they go back as they come free.
func (r *run) seatsAllotted(m *seatsAllotted) {
	if m.Bot != r.m.C.Settings.Bot {
		return
	}
	if m.N == r.seatsAsked {
		r.seatsAsked = 0
	}
	if r.seatsAway = m.Away; m.Away {
		return
	}
	seats := m.Seats
	if m.N != r.askedN {
		seats = min(seats, r.seats)
	}
	r.seats, r.seatTarget, r.outage, r.seatsUntil = seats, m.Target, m.Outage, m.Until
	r.grantSeats()
}

// keeperAway says that nobody vouches for the seats now: nothing new is dialled
// with them, and what is under way keeps its own.
func (r *run) keeperAway() bool {
	return r.seatsAway || r.seatsUntil != 0 && r.d.clock.Boot() >= r.seatsUntil
}

// giveSeatsBack gives seats beyond the fair share back that no line relies on.
func (r *run) giveSeatsBack() {
	if r.seatTarget >= r.seats {
		return
	}
	give := min(r.seats-r.busy-r.flying()-len(r.waiting), r.seats-r.seatTarget)
	if give <= 0 {
		return
	}
	r.seats -= give
	r.askedN++
	if r.seatsAsked != 0 {
		r.seatsAsked = r.askedN // it answers the demand before as well
	}
	r.d.root.Send(r.d.fleet, &seatDemand{Holder: fleet.Holder(r.id), Bot: r.m.C.Settings.Bot, Want: r.asked,
		Weight: r.m.C.Settings.Weight, GiveUp: give, N: r.askedN, Epoch: r.m.C.Epoch, ReplyTo: r.self})
}
