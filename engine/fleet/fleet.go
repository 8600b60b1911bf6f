package fleet

import (
	"math"
	"slices"
	"time"

	"dialler/engine"
)

// Holder is who seats are granted to: a campaign by its identifier, or
// Dialout.
type Holder string

// Dialout holds the seats of calls outside campaigns.
const Dialout Holder = "dialout"

// Fleet is the single owner of a bot's seats. It is used by one actor and is not safe for
// concurrent use.
type Fleet struct {
	bot     engine.BotID
	seats   int
	proved  int // the most that may be dialled for
	reserve int
	lost    int // in use by calls without a known holder
	granted int // Σ over holders
	holders map[Holder]*allotment
}

type allotment struct {
	granted int
	want    int
	weight  int
	until   time.Time
	adopted bool // its holder has made no request yet
}

// Grant is what a holder has and should have.
type Grant struct {
	Holder  Holder
	Granted int // seats it may use now
	// Target is its fair share. If above Granted, ask again: seats will become free. If below, give
	// seats back as calls end: others wait for them.
	Target int
	Until  time.Time // unless renewed before then, the seats are lost
}

// New returns a fleet with all seats free. dialoutReserve seats are kept for dialout.
func New(bot engine.BotID, seats, dialoutReserve int) *Fleet {
	return &Fleet{
		bot:     bot,
		seats:   max(seats, 0),
		proved:  math.MaxInt,
		reserve: max(dialoutReserve, 0),
		holders: make(map[Holder]*allotment),
	}
}

// Bot is the fleet's bot.
func (f *Fleet) Bot() engine.BotID { return f.bot }

// Demand handles a holder's demand: it gives up giveUp unused seats and wants `want` seats in
// total, or leaves if it wants none.
func (f *Fleet) Demand(now time.Time, h Holder, want, weight, giveUp int, ttl time.Duration) Grant {
	if want <= 0 {
		f.Leave(h)
		return Grant{Holder: h}
	}
	f.Release(h, giveUp)
	return f.Request(now, h, want, weight, ttl)
}

// Request says that the holder wants `want` seats in total, with the given weight (under 1 counts
// as 1), for ttl. The grant grows at once as far as fair share and free seats allow, and shrinks at
// once when less is wanted.
func (f *Fleet) Request(now time.Time, h Holder, want, weight int, ttl time.Duration) Grant {
	a := f.holders[h]
	if a == nil {
		a = &allotment{}
		f.holders[h] = a
	}
	a.want, a.weight, a.until, a.adopted = max(want, 0), max(weight, 1), now.Add(ttl), false
	target := f.targets(now)[h]
	switch {
	case a.granted > a.want:
		f.set(a, a.want)
	case a.granted < target:
		f.set(a, min(target, a.granted+f.freeFor(h)))
	}
	return f.grant(h, target)
}

// grant is the answer to a holder. While more is granted than available, because seats were taken
// away or are used by calls without a known holder, each holder may rely only on what the others
// leave, since they may use what they were granted.
func (f *Fleet) grant(h Holder, target int) Grant {
	a := f.holders[h]
	if f.granted > f.room() {
		target = max(min(target, f.room()-(f.granted-a.granted)), 0)
	}
	return Grant{Holder: h, Granted: a.granted, Target: target, Until: a.until}
}

// Adopt counts seats that a holder already uses, as reported by others: this fleet did not grant
// them. Σ granted may then exceed the seats, and nothing is granted until it no longer does. Once
// the holder makes a request, its grant counts. Without seats the holder is forgotten.
func (f *Fleet) Adopt(now time.Time, h Holder, seats int, ttl time.Duration) {
	a := f.holders[h]
	switch {
	case a != nil && !a.adopted:
		return
	case seats <= 0:
		f.Leave(h)
		return
	case a == nil:
		a = &allotment{adopted: true, weight: 1}
		f.holders[h] = a
	}
	a.want, a.until = seats, now.Add(ttl)
	f.set(a, seats)
}

// Renew keeps the grant unchanged until now+ttl and returns the current target; ok is false when
// the holder has no grant any more and must make a new request.
func (f *Fleet) Renew(now time.Time, h Holder, ttl time.Duration) (g Grant, ok bool) {
	a := f.holders[h]
	if a == nil {
		return Grant{Holder: h}, false
	}
	a.until = now.Add(ttl)
	return f.grant(h, f.targets(now)[h]), true
}

// Release gives n seats back without changing what the holder wants; it returns the number taken
// back.
func (f *Fleet) Release(h Holder, n int) int {
	a := f.holders[h]
	if a == nil || n <= 0 {
		return 0
	}
	n = min(n, a.granted)
	f.set(a, a.granted-n)
	return n
}

// Leave gives all of a holder's seats back and forgets its request.
func (f *Fleet) Leave(h Holder) {
	if a := f.holders[h]; a != nil {
		f.set(a, 0)
		delete(f.holders, h)
	}
}

// Expire removes the holders whose grants expired and returns them.
func (f *Fleet) Expire(now time.Time) []Holder {
	var gone []Holder
	for h, a := range f.holders {
		if !a.until.After(now) {
			gone = append(gone, h)
		}
	}
	slices.Sort(gone)
	for _, h := range gone {
		f.Leave(h)
	}
	return gone
}

// SetSeats changes the number of seats, after an edit of the bot. SetProved sets for how many of
// them calls may be dialled: none while the bot takes no calls. Fair shares are based on these. No
// grant is cut, since lines in flight rely on it; holders give back the seats on which none relies.
// The grants with a changed target are returned, so that their holders can be told.
func (f *Fleet) SetSeats(now time.Time, seats int) (changed []Grant) {
	return f.share(now, &f.seats, seats)
}

// SetProved: see SetSeats.
func (f *Fleet) SetProved(now time.Time, seats int) (changed []Grant) {
	return f.share(now, &f.proved, seats)
}

func (f *Fleet) share(now time.Time, of *int, seats int) (changed []Grant) {
	if seats = max(seats, 0); seats == *of {
		return nil
	}
	before := f.Grants(now)
	*of = seats
	for i, g := range f.Grants(now) {
		if before[i].Target != g.Target {
			changed = append(changed, g)
		}
	}
	return changed
}

// SetLost sets how many seats are in use by calls without a known holder. They cannot be granted
// until they are free. Grants stay, since calls rely on them, and holders above their targets give
// back what they do not use. It returns what SetSeats does.
func (f *Fleet) SetLost(now time.Time, n int) (changed []Grant) { return f.share(now, &f.lost, n) }

// room is how many seats holders may have, usable how many of these are divided.
func (f *Fleet) room() int   { return max(f.seats-f.lost, 0) }
func (f *Fleet) usable() int { return min(f.room(), f.proved) }

// Over lists the holders above their target while another wants more than it has: they should be
// told their target now, not at the next renewal.
func (f *Fleet) Over(now time.Time) []Grant {
	targets := f.targets(now)
	var over []Grant
	wanted := false
	for _, h := range f.names() {
		a := f.holders[h]
		switch {
		case a.granted > targets[h]:
			over = append(over, f.grant(h, targets[h]))
		case a.granted < targets[h]:
			wanted = true
		}
	}
	if !wanted {
		return nil
	}
	return over
}

// Grants lists the grants of all holders, by name.
func (f *Fleet) Grants(now time.Time) []Grant {
	targets := f.targets(now)
	all := make([]Grant, 0, len(f.holders))
	for _, h := range f.names() {
		all = append(all, f.grant(h, targets[h]))
	}
	return all
}

// Seats is the number of seats; Granted how many are granted; Free the rest.
func (f *Fleet) Seats() int   { return f.seats }
func (f *Fleet) Granted() int { return f.granted }
func (f *Fleet) Free() int    { return f.room() - f.granted }

// freeFor is how many more seats the holder may be given now.
func (f *Fleet) freeFor(h Holder) int {
	free := f.Free()
	if h != Dialout {
		free -= f.reserveLeft()
	}
	return max(free, 0)
}

// reserveLeft is the part of the reserve that dialout does not use.
func (f *Fleet) reserveLeft() int {
	left := min(f.reserve, f.room())
	if a := f.holders[Dialout]; a != nil {
		left -= a.granted
	}
	return max(left, 0)
}

func (f *Fleet) set(a *allotment, granted int) {
	f.granted += granted - a.granted
	a.granted = granted
}

func (f *Fleet) names() []Holder {
	names := make([]Holder, 0, len(f.holders))
	for h := range f.holders {
		names = append(names, h)
	}
	slices.Sort(names)
	return names
}
