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

// SharedCaps is for nodes that share trunks, bots and numbers: for each of them one node keeps the
// count (package sharedcaps). If another node keeps a count, its actor here asks that node, with
// bytes that only the other tree reads.
type SharedCaps interface {
	// As returns the incarnation that this node acts as, 0 while it must not act.
	As() engine.Incarnation
	// Mine says whether this node keeps the count and may grant now.
	Mine(of ownership.Identity) bool
	// Ask has the keeper of the count decide. then is called once, from any goroutine: with the
	// answer and the time it was asked for, or with an error; undo, unless nil, is then returned.
	Ask(of ownership.Identity, question, undo []byte, then func(answer []byte, asked engine.BootTime, err error))
	// Owe has the keeper of the count sent a notice until it is confirmed.
	Owe(of ownership.Identity, notice []byte)
	// Recount has the books compared with the database soon.
	Recount()
}

// Mine says whether this node keeps a count: a process that runs alone keeps all.
func Mine(caps SharedCaps, of ownership.Identity) bool { return caps == nil || caps.Mine(of) }

// InUse is what is in use according to the database.
type InUse struct {
	Legs     map[engine.TrunkID]map[engine.LegID]struct{}
	Attempts map[engine.PhoneNumber]map[engine.AttemptID]struct{}
	Seats    map[engine.BotID]map[fleet.Holder]int
	// Lost counts attempts that ended before their legs did: their calls may go on, and no
	// allotment covers them.
	Lost map[engine.BotID]int
}

// OpenCalls are the calls in progress according to the database.
type OpenCalls interface {
	// OpenAttempts lists every attempt that has not ended, with its legs.
	OpenAttempts(ctx context.Context) ([]attempt.Attempt, error)
	// OpenLegs lists legs without a final answer of attempts that ended
	// (lost), so that they are watched until their hold ends.
	OpenLegs(ctx context.Context) ([]attempt.Attempt, error)
}

// CountInUse reads what is in use from the point of view of node me.
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
	// Even if its node has lost its lease: until the campaign's owner has lost the call, its seat
	// counts as the campaign's and must not be deducted twice.
	if u.Seats[a.Bot] == nil {
		u.Seats[a.Bot] = map[fleet.Holder]int{}
	}
	u.Seats[a.Bot][HolderAt(fleet.Holder(a.Campaign), a.Node, me)]++
}

// HolderAt returns a holder's name at the keeper, because each node has dialouts.
func HolderAt(h fleet.Holder, at, me engine.Incarnation) fleet.Holder {
	if h != "" && h != fleet.Dialout {
		return h
	}
	if at == me || at == 0 {
		return fleet.Dialout
	}
	return fleet.Dialout + "/" + fleet.Holder(strconv.Itoa(int(at)))
}

// Messages about counts kept for other nodes.
type (
	// Counted brings the database's counts; Anew means the book starts from scratch.
	Counted struct {
		Of   map[ownership.Identity]struct{}
		Anew bool
		Use  InUse
		Now  time.Time
	}
	// Served is a node's question about a count that this node keeps.
	Served struct {
		Of     ownership.Identity
		From   engine.Incarnation
		Body   []byte
		Answer func([]byte)
	}
	// Returned is a grant that a node returns.
	Returned struct {
		Of   ownership.Identity
		Body []byte
	}
	// Dropped says that another node keeps the count from now on.
	Dropped struct{ Of ownership.Identity }
)
