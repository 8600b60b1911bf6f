package call

import (
	"sync"

	"dialler/engine"
)

// Owner says who owns an attempt.
type Owner struct {
	Campaign engine.CampaignID // "" for a call outside campaigns
	Contact  engine.ContactID
}

// Owners knows the owners of the attempts whose actors are here: a bot's result comes for every
// call, and looking its owner up in the database would cost more than storing the result.
type Owners struct {
	m sync.Map // engine.AttemptID → Owner
}

func (o *Owners) add(id engine.AttemptID, of Owner) { o.m.Store(id, of) }

func (o *Owners) remove(id engine.AttemptID) { o.m.Delete(id) }

// Of returns an attempt's owner; false means its actor is not here.
func (o *Owners) Of(id engine.AttemptID) (Owner, bool) {
	v, ok := o.m.Load(id)
	if !ok {
		return Owner{}, false
	}
	return v.(Owner), true
}

// ByCampaign counts, per campaign, the attempts whose actors are here.
func (o *Owners) ByCampaign() map[engine.CampaignID]int {
	n := map[engine.CampaignID]int{}
	o.m.Range(func(_, v any) bool {
		n[v.(Owner).Campaign]++
		return true
	})
	return n
}

// Owned says whether the actor of an attempt is here.
func (o *Owners) Owned(id engine.AttemptID) bool { _, ok := o.m.Load(id); return ok }

// OwnedLeg is Owned for the attempt of a leg.
func (o *Owners) OwnedLeg(leg engine.LegID) bool {
	id, _, ok := leg.Attempt()
	return ok && o.Owned(id)
}
