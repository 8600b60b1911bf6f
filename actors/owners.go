package actors

import (
	"sync"

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
