package actors

import (
	"sync"
	"time"

	"dialler/engine"
)

// owner says whose an attempt is.
type owner struct {
	campaign engine.CampaignID // "" for a call outside campaigns
	contact  engine.ContactID
}

// owners know, of the attempts whose actors live, whom to ask about them: a
// bot's result comes for every call, and finding its owner by the database
// would cost more than storing it.
type owners struct {
	m sync.Map // engine.AttemptID → owner
}

func (o *owners) add(id engine.AttemptID, of owner) { o.m.Store(id, of) }

func (o *owners) remove(id engine.AttemptID) { o.m.Delete(id) }

func (o *owners) of(id engine.AttemptID) (owner, bool) {
	v, ok := o.m.Load(id)
	if !ok {
		return owner{}, false
	}
	return v.(owner), true
}

// byCampaign counts the attempts of each campaign whose actors live.
func (o *owners) byCampaign() map[engine.CampaignID]int {
	n := map[engine.CampaignID]int{}
	o.m.Range(func(_, v any) bool {
		n[v.(owner).campaign]++
		return true
	})
	return n
}

// strayAfter is how long nobody may own the attempt of a lease before the lease
// is taken back: whoever was to give it back faulted on that. It is long enough
// for an owner that loads itself from a database that is away.
const strayAfter = 10 * time.Minute

// strays are leases whose attempts nobody owns, and since when.
type strays[K ~string] struct{ since map[K]time.Time }

// find gives the leases that are to be taken back.
func (s *strays[K]) find(now time.Time, holders []K, owned func(K) bool) (gone []K) {
	still := make(map[K]time.Time)
	for _, k := range holders {
		if owned(k) {
			continue
		}
		at, known := s.since[k]
		if !known {
			at = now
		}
		if now.Sub(at) >= strayAfter {
			gone = append(gone, k)
			continue
		}
		still[k] = at
	}
	s.since = still
	return gone
}

func (o *owners) owned(id engine.AttemptID) bool { _, ok := o.m.Load(id); return ok }

func (o *owners) ownedLeg(leg engine.LegID) bool {
	id, _, ok := leg.Attempt()
	return ok && o.owned(id)
}
