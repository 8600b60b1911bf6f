package lease

import (
	"context"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/fleet"
	"dialler/engine/ownership"
)

// SharedCaps is what is needed where several nodes share trunks, bots and
// numbers: for each of them one node keeps the count (package sharedcaps). The
// actor of a count that another node keeps asks there, with bytes that only the
// tree of that node reads.
type SharedCaps interface {
	// As is whom this node acts as, 0 while it must not act.
	As() engine.Incarnation
	// Mine says whether this node keeps the count and may grant now.
	Mine(of ownership.Identity) bool
	// Ask has whoever keeps the count decide. then is called once, from any
	// goroutine: with the answer and when it was asked for, or with an error; undo
	// is given back then, unless it is nil.
	Ask(of ownership.Identity, question, undo []byte, then func(answer []byte, asked engine.BootTime, err error))
	// Owe has whoever keeps the count told something until that is confirmed.
	Owe(of ownership.Identity, notice []byte)
	// Recount has the books compared with the database soon.
	Recount()
}

// Mine says whether this node keeps a count: a process that is alone keeps all.
func Mine(caps SharedCaps, of ownership.Identity) bool { return caps == nil || caps.Mine(of) }

// InUse is what the database says is in use.
type InUse struct {
	Legs     map[engine.TrunkID]map[engine.LegID]struct{}
	Attempts map[engine.PhoneNumber]map[engine.AttemptID]struct{}
	Seats    map[engine.BotID]map[fleet.Holder]int
	// Lost are attempts that ended before their legs did: their calls may go on, and
	// nobody's allotment covers them.
	Lost map[engine.BotID]int
}

// OpenCalls are the calls that the database says go on.
type OpenCalls interface {
	// OpenAttempts lists every attempt that has not ended, with its legs.
	OpenAttempts(ctx context.Context) ([]attempt.Attempt, error)
	// OpenLegs lists legs without a final answer of attempts that ended
	// (lost), so that they are watched until their hold ends.
	OpenLegs(ctx context.Context) ([]attempt.Attempt, error)
}

// CountInUse reads what is in use, for the node me.
func CountInUse(ctx context.Context, calls OpenCalls, me engine.Incarnation) (u InUse, err error) {
	open, err := calls.OpenAttempts(ctx)
	if err != nil {
		return u, err
	}
	watched, err := calls.OpenLegs(ctx)
	if err != nil {
		return u, err
	}
	u = InUse{Legs: map[engine.TrunkID]map[engine.LegID]struct{}{},
		Attempts: map[engine.PhoneNumber]map[engine.AttemptID]struct{}{},
		Seats:    map[engine.BotID]map[fleet.Holder]int{}, Lost: map[engine.BotID]int{}}
	for _, a := range slices.Concat(open, watched) {
		u.add(&a, me)
	}
	return u, nil
}

func (u *InUse) add(a *attempt.Attempt, me engine.Incarnation) {
	leg := func(t engine.TrunkID, id engine.LegID) {
		if u.Legs[t] == nil {
			u.Legs[t] = map[engine.LegID]struct{}{}
		}
		u.Legs[t][id] = struct{}{}
	}
	for i := range a.Legs {
		if l := &a.Legs[i]; l.EndedAt == nil {
			leg(l.Trunk, l.ID)
		}
	}
	for i := range a.Peers {
		if p := &a.Peers[i]; p.EndedAt == nil && p.Trunk != "" {
			leg(p.Trunk, p.ID)
		}
	}
	if u.Attempts[a.From] == nil {
		u.Attempts[a.From] = map[engine.AttemptID]struct{}{}
	}
	u.Attempts[a.From][a.ID] = struct{}{}
	if a.State == attempt.Ended {
		u.Lost[a.Bot]++
		return
	}
	// Also when its node has lost its lease: until the campaign's owner has lost the
	// call its seat is among those of the campaign, and not to be taken off twice.
	if u.Seats[a.Bot] == nil {
		u.Seats[a.Bot] = map[fleet.Holder]int{}
	}
	u.Seats[a.Bot][HolderAt(fleet.Holder(a.Campaign), a.Node, me)]++
}

// HolderAt is a holder's name where the count is kept: each node has dialouts.
func HolderAt(h fleet.Holder, at, me engine.Incarnation) fleet.Holder {
	if h != "" && h != fleet.Dialout {
		return h
	}
	if at == me || at == 0 {
		return fleet.Dialout
	}
	return fleet.Dialout + "/" + fleet.Holder(strconv.Itoa(int(at)))
}

// Messages about counts that are kept for other nodes.
type (
	// Counted brings what the database says of counts; Anew: the book is begun.
	Counted struct {
		Of   map[ownership.Identity]struct{}
		Anew bool
		Use  InUse
		Now  time.Time
	}
	// Served is a question of some node about a count that this one keeps.
	Served struct {
		Of     ownership.Identity
		From   engine.Incarnation
		Body   []byte
		Answer func([]byte)
	}
	// Returned is what some node gives back.
	Returned struct {
		Of   ownership.Identity
		Body []byte
	}
	// Dropped says that another node keeps the count from now on.
	Dropped struct{ Of ownership.Identity }
)
