package chaos

import (
	"context"
	"fmt"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/attempt"
)

// What carrier, bot, database and nodes say at one moment may differ for as long as it takes to tell.
const (
	// orphanFor: a call at the carrier whose attempt is over. Whoever closes an attempt has its legs ended then, or the
	// fence has ended them before.
	orphanFor = 5 * time.Second
	// unackedFor: the same of an answer that nobody acknowledged, which the carrier itself gives up.
	unackedFor = deafLimit + orphanFor
	// openFor: an attempt whose call is over. The node that knows it may be cut off from the database:
	// then another one closes it, at the latest when the fence has acted: lease, limbo, margin, and the
	// same again of the one that took over.
	openFor = 100 * time.Second
	// aloneFor: a conversation whose callee has left, or a callee with whom nobody talks any more: when
	// a node has died, until the fence would have acted.
	talksFor, aloneFor = 10 * time.Second, 50 * time.Second
	// leakedFor: a leg in a process that the carrier does not have: an INVITE without a response stays for twice
	// 64 T1, in which an answer may still come.
	leakedFor = 70 * time.Second

	watchEvery, figuresEvery = time.Second, 5
)

// watcher compares, all through a run, what carrier, bot, database and nodes say of the calls that live.
type watcher struct {
	k     *cluster
	since map[string]time.Time // of what differs
	told  map[string]bool
	now   map[string]time.Time // the same, of this look
}

func (k *cluster) watch(ctx context.Context) {
	w := &watcher{k: k, since: map[string]time.Time{}, told: map[string]bool{}}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := time.Now()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		late := time.Since(last) - watchEvery
		last = time.Now()
		w.now = map[string]time.Time{}
		live := k.carrier.Ledger().Live()
		limit, cancel := context.WithTimeout(ctx, 2*time.Second)
		open, err := k.store.OpenAttempts(limit)
		cancel()
		if err != nil {
			continue // the database is away: whoever reads it cannot tell
		}
		w.calls(live, open)
		w.conversations(live, open)
		if i%figuresEvery == 0 {
			w.legs(ctx, live)
			for _, o := range k.carrier.Ledger().Overlaps() { // the judge tells them at the end
				if key := o.First.CallID + o.Second.CallID; !w.told[key] {
					w.told[key] = true
					k.mu.Lock()
					k.rep.Overlaps++
					k.mu.Unlock()
					k.log("OVERLAP of %v: %s and %s", o.For, o.First.CallID, o.Second.CallID)
				}
			}
		} else {
			for key, at := range w.since {
				if key[0] == '/' {
					w.now[key] = at
				}
			}
		}
		w.since = w.now
		k.mu.Lock()
		k.rep.Looks++
		k.rep.Late = max(k.rep.Late, late)
		k.mu.Unlock()
	}
}

// differs notes what is not alike; it is told once when it has lasted.
func (w *watcher) differs(key string, lasts time.Duration, format string, args ...any) {
	at, ok := w.since[key]
	if !ok {
		at = time.Now()
	}
	w.now[key] = at
	if time.Since(at) > lasts && !w.told[key] {
		w.told[key] = true
		what := fmt.Sprintf(format, args...)
		w.k.log("DIFFERENCE for %v: %s", lasts, what)
		w.k.fail("for more than %v since %s %s", lasts, at.UTC().Format("15:04:05.0"), what)
	}
}

// calls: every call at the carrier is one of a live attempt, and the other way round.
func (w *watcher) calls(live carrier.Rows, open []attempt.Attempt) {
	owned := map[string]bool{}
	for i := range open {
		a := &open[i]
		up := false
		for j := range a.Legs {
			leg := string(a.Legs[j].ID)
			owned[leg] = a.Legs[j].EndedAt == nil
			c, ok := w.k.carrier.Ledger().Call(leg)
			up = up || ok && c.Live()
		}
		if !up {
			w.differs("a "+string(a.ID), openFor, "attempt %s of campaign %q is %s, and the carrier has no call of it",
				a.ID, a.Campaign, a.State)
		}
	}
	for i := range live {
		c := &live[i]
		switch {
		case owned[c.CallID] || c.Unheard > 0:
		case c.State == carrier.StateAnswered && c.AckAt.IsZero():
			w.differs("u "+c.CallID, unackedFor, "call %s is answered, nobody acknowledges it, and its attempt is over",
				c.CallID)
		default:
			w.differs("o "+c.CallID, orphanFor, "call %s (from %s) is %s at the carrier, and its attempt is over",
				c.CallID, c.Peer, c.State)
		}
	}
}

// conversations: the bot talks with everybody who talks, and with nobody else.
func (w *watcher) conversations(live carrier.Rows, open []attempt.Attempt) {
	talking := map[engine.CallID]bool{}
	for _, s := range w.k.bot.Sessions() {
		if !s.EndedAt.IsZero() || s.CallID == "" {
			continue
		}
		talking[s.CallID] = true
		id, _ := s.CallID.Attempt()
		c, ok := w.k.carrier.Ledger().Call(string(id.Leg(1)))
		if ok && c.State == carrier.StateAnswered {
			continue
		}
		if key := "s " + string(s.SessionID); ok && w.k.still(c.Peer, time.Now().Add(-talksFor), time.Now()) {
			w.now[key] = time.Now() // nobody else can end its socket
		} else {
			w.differs(key, talksFor, "the bot talks in call %s, and nobody is there", s.CallID)
		}
	}
	attempts := map[engine.AttemptID]bool{}
	for i := range open {
		attempts[open[i].ID] = true
	}
	for i := range live {
		c := &live[i]
		id, _, _ := engine.LegID(c.CallID).Attempt()
		// Of a process that stands still nobody knows that its bot has left, until the call is closed.
		if c.State == carrier.StateAnswered && !c.AckAt.IsZero() && c.Unheard == 0 && attempts[id] && !talking[id.Call()] &&
			!w.k.still(c.Peer, time.Now().Add(-aloneFor), time.Now()) {
			w.differs("p "+c.CallID, aloneFor, "somebody is in call %s, and no bot", c.CallID)
		}
	}
}

// legs: no process has a leg that the carrier has not.
func (w *watcher) legs(ctx context.Context, live carrier.Rows) {
	at := map[string]int{}
	for i := range live {
		at[live[i].Peer]++
	}
	for _, n := range w.k.site.Nodes {
		limit, cancel := context.WithTimeout(ctx, time.Second)
		api := site.NewAPI(1, n.HTTP)
		f, err := api.Figures(limit)
		api.Close()
		cancel()
		if err != nil {
			continue // it stands still, or is no more
		}
		// Calls that another process placed are the carrier's with that process.
		if legs := int(f["dialler_sip_legs_live"] - f["dialler_sip_legs_recovered"]); legs > at[n.SIP] {
			w.differs("/"+n.Name, leakedFor, "node %s has %d legs, the carrier %d calls of it", n.Name, legs, at[n.SIP])
		}
	}
}

// lasted counts the conversations of a bot, and those that outlasted each hold.
func lasted(all []bot.Session) (n, long int) {
	for i := range all {
		s := &all[i]
		if s.CallID == "" || s.StartedAt.IsZero() || s.EndedAt.IsZero() {
			continue
		}
		n++
		if s.EndedAt.Sub(s.StartedAt) >= 90*time.Second {
			long++
		}
	}
	return n, long
}
