package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/ownership"
	"dialler/persistence/nodes"
)

const (
	leaseTTL    = time.Hour // ends by hand
	leaseMargin = time.Hour // so is what remains of it
)

func (w *world) owners() *nodes.Owners {
	w.t.Helper()
	o, err := w.pg.Owners(w.ctx)
	must(w.t, err)
	w.t.Cleanup(o.Close)
	return o
}

func join(t *testing.T, o *nodes.Owners, name string) engine.Incarnation {
	t.Helper()
	n, err := o.Join(t.Context(), ownership.Node{Name: name, Address: name + ":7070", API: "http://" + name}, leaseTTL)
	must(t, err)
	return n.Incarnation
}

// over makes a lease have ended that long ago.
func (w *world) over(id engine.Incarnation, ago time.Duration) {
	w.t.Helper()
	must(w.t, w.pg.QueryRow(w.ctx, "UPDATE nodes SET expires_at = clock_timestamp() - interval '"+
		strconv.FormatInt(ago.Microseconds(), 10)+
		" microseconds' WHERE incarnation = "+strconv.Itoa(int(id))+" RETURNING incarnation", new(int)))
}

func claim(t *testing.T, o *nodes.Owners, id ownership.Identity, by engine.Incarnation) ownership.Owner {
	t.Helper()
	owner, err := o.Claim(t.Context(), id, by, leaseMargin)
	must(t, err)
	return owner
}

var cmp1 = ownership.Identity{Kind: ownership.Campaign, ID: "cmp_1"}

func nodeLife(t *testing.T, w *world) {
	o := w.owners()
	before := time.Now()
	a, err := o.Join(t.Context(), ownership.Node{Name: "a", Address: "a:1", API: "http://a"}, time.Minute)
	must(t, err)
	if a.Incarnation < 1 || a.Name != "a" || a.Address != "a:1" || a.API != "http://a" || !a.Live || a.Draining ||
		a.LeftAt != nil {
		t.Errorf("joined as %+v", a)
	}
	if ttl := a.ExpiresAt.Sub(a.JoinedAt); ttl < time.Minute || ttl > time.Minute+time.Second ||
		a.JoinedAt.Before(before.Add(-time.Minute)) {
		t.Errorf("a lease from %v for %v", a.JoinedAt, ttl)
	}
	b := join(t, o, "b")
	must(t, o.Renew(t.Context(), a.Incarnation, time.Hour))
	got, ok, err := o.Node(t.Context(), a.Incarnation)
	must(t, err)
	if !ok || got.ExpiresAt.Sub(a.ExpiresAt) < 59*time.Minute {
		t.Errorf("renewed to %v, %v", got.ExpiresAt, ok)
	}
	must(t, o.Drain(t.Context(), b))
	must(t, o.Renew(t.Context(), b, time.Minute))
	all, err := o.Nodes(t.Context())
	must(t, err)
	if len(all) != 2 || all[0].Incarnation != a.Incarnation || !all[1].Draining || !all[1].Live {
		t.Errorf("nodes %+v", all)
	}
	must(t, o.Leave(t.Context(), a.Incarnation))
	must(t, o.Leave(t.Context(), a.Incarnation))
	if err := o.Renew(t.Context(), a.Incarnation, time.Minute); !errors.Is(err, ownership.ErrFenced) {
		t.Errorf("a node that left renewed its lease: %v", err)
	}
	if again := join(t, o, "a"); again <= b {
		t.Errorf("the next life is %d after %d", again, b)
	}
	if err := o.Renew(t.Context(), 999, time.Minute); !errors.Is(err, ownership.ErrFenced) {
		t.Errorf("a node that never joined renewed: %v", err)
	}
	if _, ok, err := o.Node(t.Context(), 999); ok || err != nil {
		t.Errorf("a node that is not there: %v %v", ok, err)
	}
	if _, err := o.Join(t.Context(), ownership.Node{Address: "a:1"}, time.Minute); code(err) != "node_invalid" {
		t.Errorf("a node without a name: %v", err)
	}
	// A node that owns nothing and left long ago is dropped.
	must(t, w.pg.QueryRow(t.Context(), "UPDATE nodes SET left_at = left_at - interval '31 days' WHERE left_at IS NOT "+
		"NULL RETURNING incarnation", new(int)))
	must(t, w.pg.Maintain(t.Context(), w.now))
	if _, ok, err := o.Node(t.Context(), a.Incarnation); ok || err != nil {
		t.Errorf("a node of long ago: %v %v", ok, err)
	}
}

func leaseOver(t *testing.T, w *world) {
	o := w.owners()
	a, b := join(t, o, "a"), join(t, o, "b")
	w.over(a, 0)
	if err := o.Renew(t.Context(), a, time.Minute); !errors.Is(err, ownership.ErrFenced) {
		t.Errorf("a lease that is over was renewed: %v", err)
	}
	if _, err := o.Claim(t.Context(), cmp1, a, leaseMargin); !errors.Is(err, ownership.ErrFenced) {
		t.Errorf("a node without a lease claimed: %v", err)
	}
	if owner, err := o.Owner(t.Context(), cmp1); err != nil || owner.Epoch != 0 || owner.Live {
		t.Errorf("owner %+v, %v", owner, err)
	}
	if dead, err := o.Bury(t.Context(), leaseMargin); err != nil || len(dead) != 0 {
		t.Errorf("declared dead within the margin: %v %v", dead, err)
	}
	w.over(a, leaseMargin)
	if dead, err := o.Bury(t.Context(), leaseMargin); err != nil || !slices.Equal(dead, []engine.Incarnation{a}) {
		t.Errorf("declared dead: %v %v", dead, err)
	}
	perhaps := func(lapsed time.Duration, want ...engine.Incarnation) {
		t.Helper()
		list, err := o.PerhapsAlive(t.Context(), lapsed)
		var got []engine.Incarnation
		for i := range list {
			got = append(got, list[i].Incarnation)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("perhaps alive, without a lease for less than %v: %v %v, want %v", lapsed, got, err, want)
		}
	}
	perhaps(2*leaseMargin, a, b)
	perhaps(leaseMargin, b)
	must(t, o.Leave(t.Context(), join(t, o, "c"))) // voluntarily
	perhaps(2*leaseMargin, a, b)
	again := join(t, o, "a")
	perhaps(2*leaseMargin, b, again)
	must(t, o.Leave(t.Context(), again))
	// Once declared dead, a node stays dead, whatever its lease says.
	must(t, w.pg.QueryRow(t.Context(), "UPDATE nodes SET expires_at = clock_timestamp() + interval '1 hour' WHERE "+
		"left_at IS NOT NULL RETURNING incarnation", new(int)))
	if err := o.Renew(t.Context(), a, time.Minute); !errors.Is(err, ownership.ErrFenced) {
		t.Errorf("a node that was declared dead renewed: %v", err)
	}
	if owner := claim(t, o, cmp1, b); owner.Incarnation != b || owner.Epoch != 1 || !owner.Live ||
		owner.Address != "b:7070" || owner.API != "http://b" {
		t.Errorf("owner %+v", owner)
	}
}

func claims(t *testing.T, w *world) {
	o := w.owners()
	a, b := join(t, o, "a"), join(t, o, "b")
	f := func(by engine.Incarnation, want engine.Incarnation, epoch int64) {
		t.Helper()
		if got := claim(t, o, cmp1, by); got.Incarnation != want || got.Epoch != epoch ||
			got.Live != (want == a || want == b) {
			t.Errorf("claimed by %d: %+v, want %d in epoch %d", by, got, want, epoch)
		}
		if got, err := o.Owner(t.Context(), cmp1); err != nil || got.Incarnation != want || got.Epoch != epoch {
			t.Errorf("then %+v, %v", got, err)
		}
	}
	f(a, a, 1)
	f(a, a, 1) // a repeated claim
	f(b, a, 1)
	must(t, o.Release(t.Context(), cmp1, b)) // not its own
	f(b, a, 1)
	must(t, o.Release(t.Context(), cmp1, a))
	f(b, b, 2)
	// Within the margin after its lease ended, the owner is still the owner.
	w.over(b, leaseMargin/2)
	if got := claim(t, o, cmp1, a); got.Incarnation != b || got.Epoch != 2 || got.Live {
		t.Errorf("within the margin: %+v", got)
	}
	if ids, err := o.Orphans(t.Context(), ownership.Campaign, leaseMargin, 10); err != nil || len(ids) != 0 {
		t.Errorf("orphans %v, %v", ids, err)
	}
	w.over(b, leaseMargin)
	if ids, err := o.Orphans(t.Context(), ownership.Campaign, leaseMargin, 10); err != nil ||
		!slices.Equal(ids, []string{"cmp_1"}) {
		t.Errorf("orphans %v, %v", ids, err)
	}
	f(a, a, 3)
	if err := o.Renew(t.Context(), b, time.Minute); !errors.Is(err, ownership.ErrFenced) {
		t.Errorf("whose identity was taken renewed: %v", err)
	}
	// A node that leaves releases everything.
	must(t, o.Leave(t.Context(), a))
	b = join(t, o, "b")
	f(b, b, 4)

	trunk := ownership.Identity{Kind: ownership.Trunk, ID: "cmp_1"}
	if got := claim(t, o, trunk, b); got.Epoch != 1 {
		t.Errorf("the same name of another kind: %+v", got)
	}
	c := join(t, o, "c")
	loads, err := o.Loads(t.Context(), ownership.Campaign)
	must(t, err)
	if len(loads) != 2 || loads[0].Incarnation != c || loads[0].Owned != 0 || loads[1].Incarnation != b ||
		loads[1].Owned != 1 {
		t.Errorf("loads %+v", loads)
	}
	must(t, o.Drain(t.Context(), c))
	if loads, err = o.Loads(t.Context(), ownership.Campaign); err != nil || len(loads) != 1 {
		t.Errorf("loads with one that drains %+v, %v", loads, err)
	}
	if ids, err := o.Owned(t.Context(), ownership.Campaign, b); err != nil || !slices.Equal(ids, []string{"cmp_1"}) {
		t.Errorf("owned %v, %v", ids, err)
	}
	some, err := o.OwnersOf(t.Context(), ownership.Campaign, []string{"cmp_9", "cmp_1"})
	must(t, err)
	if len(some) != 2 || some[0].ID != "cmp_9" || some[0].Epoch != 0 || some[1].ID != "cmp_1" ||
		some[1].Incarnation != b || some[1].Kind != ownership.Campaign {
		t.Errorf("owners %+v", some)
	}
	if _, err := o.Claim(t.Context(), ownership.Identity{Kind: "campaign"}, b,
		leaseMargin); code(err) != "identity_invalid" {
		t.Errorf("an identity without a name: %v", err)
	}
}

// claimRace makes nodes claim the same identities again and again while they release them and lose
// their leases: no epoch has two owners.
func claimRace(t *testing.T, w *world) {
	const nodes, identities, rounds = 4, 3, 12
	o := w.owners()
	type key struct {
		id    string
		epoch int64
	}
	var mu sync.Mutex
	ownerOf := map[key]engine.Incarnation{}
	var wg sync.WaitGroup
	for n := range nodes {
		wg.Go(func() {
			me := join(t, o, "n"+strconv.Itoa(n))
			for round := range rounds {
				for i := range identities {
					id := ownership.Identity{Kind: ownership.Campaign, ID: "cmp_" + strconv.Itoa(i)}
					owner, err := o.Claim(t.Context(), id, me, leaseMargin)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					k := key{id.ID, owner.Epoch}
					if other, ok := ownerOf[k]; ok && other != owner.Incarnation && owner.Incarnation != 0 {
						t.Errorf("%s in epoch %d is of %d and of %d", id.ID, owner.Epoch, other, owner.Incarnation)
					}
					if owner.Incarnation != 0 {
						ownerOf[k] = owner.Incarnation
					}
					mu.Unlock()
					if owner.Incarnation == me && round%3 == 1 {
						if err := o.Release(t.Context(), id, me); err != nil {
							t.Error(err)
							return
						}
					}
				}
				if round%5 == n {
					w.over(me, leaseMargin)
					me = join(t, o, "n"+strconv.Itoa(n))
				}
			}
		})
	}
	wg.Wait()
	for i := range identities {
		var top int64
		for k := range ownerOf {
			if k.id == "cmp_"+strconv.Itoa(i) {
				top = max(top, k.epoch)
			}
		}
		if top < 2 {
			t.Errorf("cmp_%d changed hands %d times", i, top-1)
		}
	}
}

func ownedCampaign(t *testing.T, w *world) {
	o := w.owners()
	a, b := join(t, o, "a"), join(t, o, "b")
	id := ownership.Identity{Kind: ownership.Campaign, ID: string(w.c.ID)}
	take := func(by engine.Incarnation, want string) {
		t.Helper()
		w.pg.ActAs(by)
		c, err := w.store.AcquireCampaign(t.Context(), w.c.ID)
		if code(err) != want {
			t.Errorf("%d took the campaign over: %v, want %q", by, err, want)
		}
		if err == nil && c.Epoch != w.c.Epoch+1 || err != nil && count(t, w, "SELECT epoch FROM campaigns WHERE id = '"+
			string(w.c.ID)+"'") != int(w.c.Epoch) {
			t.Errorf("epoch %d after %d", c.Epoch, w.c.Epoch)
		}
		if err == nil {
			w.c.Epoch = c.Epoch
		}
	}
	take(a, "not_owner")
	claim(t, o, id, a)
	take(a, "")
	take(b, "not_owner")
	w.over(a, 0)
	take(a, "node_fenced")
	w.over(a, leaseMargin)
	claim(t, o, id, b)
	take(a, "not_owner")
	take(b, "")
	must(t, o.Release(t.Context(), id, b))
	take(b, "not_owner")
	take(0, "not_owner") // it has lost its lease
}

// A node that was declared dead no longer writes about its calls outside campaigns, except for
// their ends and what bots say of them; the node that took them over does.
func ownedDialouts(t *testing.T, w *world) {
	o := w.owners()
	a, b := join(t, o, "a"), join(t, o, "b")
	at := w.attempt(contact.Contact{Number: number()})
	at.Contact, at.Campaign, at.Node = "", "", a
	write := func(by engine.Incarnation, kind journal.Type, want string) {
		t.Helper()
		w.pg.ActAs(by)
		at.MediaSeq++
		e := journal.Event{Type: kind, Version: 1, At: w.now, Attempt: at.ID}
		if err := w.try(journal.Write{Attempts: []attempt.Attempt{at}, Events: []journal.Event{e}})[0]; code(err) != want {
			t.Errorf("%d writes %s: %v, want %q", by, kind, err, want)
		}
	}
	write(a, journal.AttemptReserved, "")
	w.over(a, 0)
	write(0, journal.AttemptAnswered, "") // no other node has taken over yet
	w.over(a, leaseMargin)
	claim(t, o, ownership.Identity{Kind: ownership.Dialouts, ID: strconv.Itoa(int(a))}, b)
	for _, by := range []engine.Incarnation{0, a, join(t, o, "a")} {
		write(by, journal.AttemptConnected, "stale_epoch")
		write(by, journal.AttemptEnded, "stale_epoch")
		write(by, journal.LegClosed, "")
		write(by, journal.ResultStored, "")
	}
	over := w.now
	at.State, at.EndedAt, at.Outcome = attempt.Ended, &over, engine.OutcomeLost
	// a, which stood still, ends the call as well: of that the end of its leg is stored, and not that of the call,
	// of which there is no event.
	leg := at.Legs[0]
	leg.EndedAt, leg.Seq = &over, 9
	ends := at
	ends.Legs = []attempt.Leg{leg}
	mine := at
	at = ends
	write(a, journal.AttemptEnded, "stale_epoch")
	write(a, journal.LegClosed, "")
	write(a, journal.ResultStored, "stale_epoch")
	if x := w.storedAttempt(at.ID); x.EndedAt != nil || x.Legs[0].EndedAt == nil {
		t.Errorf("the call ended at %v, its leg at %v", x.EndedAt, x.Legs[0].EndedAt)
	}
	at = mine
	write(b, journal.AttemptEnded, "")
	write(b, journal.AttemptEnded, "") // it comes again
	later := over.Add(time.Second)
	at.EndedAt = &later
	write(b, journal.AttemptEnded, "stale_epoch") // b took over what a was just ending
	write(b, journal.LegClosed, "")
	if x := w.storedAttempt(at.ID); !x.EndedAt.Equal(over) {
		t.Errorf("the call ended at %v, and then at %v", over, x.EndedAt)
	}
	if n := count(t, w, fmt.Sprintf("SELECT count(*) FROM events WHERE attempt_id = '%s' AND type = '%s'", at.ID,
		journal.AttemptEnded)); n != 1 {
		t.Errorf("%d ends", n)
	}
	w.pg.ActAs(b)
}
