package writer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// held are the attempts whose numbers this process holds, each as last accepted by the database.
// They are written again on a server that may have lost them (Store.Renews).
type held struct {
	now func() time.Time

	mu    sync.Mutex
	calls map[engine.AttemptID]*heldCall
}

type heldCall struct {
	stored journal.Write // hold, attempt and legs, which do not depend on an epoch
	// contact is the write for a campaign's contact, which only its owner may write.
	contact journal.Write
}

// took records what the database accepted of a group.
func (h *held) took(group []journal.Write, refused []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range group {
		if i >= len(refused) || refused[i] == nil {
			h.note(&group[i])
		}
	}
}

// Hold records an attempt that this process has adopted, as it is in the database.
func (g *Group) Hold(a attempt.Attempt) {
	g.held.took([]journal.Write{{Attempts: []attempt.Attempt{a}}}, nil)
}

// LetGo forgets the holds of calls that another process acts for from now on, because this one no
// longer learns what happens to them.
func (g *Group) LetGo(gone func(*attempt.Attempt) bool) {
	g.held.mu.Lock()
	defer g.held.mu.Unlock()
	maps.DeleteFunc(g.held.calls, func(_ engine.AttemptID, c *heldCall) bool { return gone(&c.stored.Attempts[0]) })
}

func (h *held) note(w *journal.Write) {
	for i := range w.Attempts {
		a := &w.Attempts[i]
		c := h.calls[a.ID]
		if c == nil {
			if !a.Live() && len(w.Holds) == 0 {
				continue
			}
			if h.calls == nil {
				h.calls = map[engine.AttemptID]*heldCall{}
			}
			c = &heldCall{}
			h.calls[a.ID] = c
		}
		c.stored.Attempts = w.Attempts[i : i+1 : i+1]
		switch {
		case !a.Live():
			c.stored.Intent = nil
		case w.Intent != nil:
			c.stored.Intent = &journal.Intent{Attempt: a.ID, Number: a.To, Bound: w.Intent.Bound}
		case c.stored.Intent == nil: // taken over: the database knows the bound
			c.stored.Intent = &journal.Intent{Attempt: a.ID, Number: a.To, Bound: h.now()}
		}
		if len(w.Contacts) > 0 && w.Campaign != "" {
			c.contact = journal.Write{Campaign: w.Campaign, Epoch: w.Epoch, Contacts: w.Contacts}
		}
	}
	for _, r := range w.Holds {
		c := h.calls[r.Attempt]
		switch {
		case c == nil:
		case r.Until.IsZero():
			delete(h.calls, r.Attempt)
		default:
			c.stored.Holds = []journal.HoldRelease{r}
			h.forgetOver()
		}
	}
}

// forgetOver forgets the holds that have run out.
func (h *held) forgetOver() {
	now := h.now()
	maps.DeleteFunc(h.calls, func(_ engine.AttemptID, c *heldCall) bool {
		return len(c.stored.Holds) > 0 && !now.Before(c.stored.Holds[0].Until)
	})
}

// again returns the writes, oldest first.
func (h *held) again() (all []journal.Write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetOver()
	ids := slices.Sorted(maps.Keys(h.calls))
	for _, id := range ids {
		all = append(all, h.calls[id].stored)
	}
	for _, id := range ids {
		if c := h.calls[id]; len(c.contact.Contacts) > 0 {
			all = append(all, c.contact)
		}
	}
	return all
}
