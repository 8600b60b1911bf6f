package commit

import (
	"cmp"
	"slices"
	"strconv"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// group is the reusable working memory of one group commit.
type group struct {
	contacts  column.Batch[table.ContactRow]
	kept      column.Batch[table.ContactRow]
	attempts  column.Batch[table.AttemptRow]
	legs      column.Batch[table.LegRow]
	events    column.Batch[table.EventRow]
	campaigns column.Batch[table.CampaignRow]
	rows      gathered
	legsOnly  map[engine.AttemptID]bool // of these attempts only the legs are stored
	arrays    [10]column.Array          // parameters of the smaller statements
	instants  column.Array
	text      []byte // an event's text, to be hashed
	links     []table.Link
	sent      []sentLeg
	ended     []sentEnd
	written   *table.Rows
	shapes    *table.Layouts
}

// gathered are the rows of the accepted writes, each once: if a row occurs in several states, the
// last one in the group is written.
type gathered struct {
	order        []int // which writes
	contacts     []*contact.Contact
	kept         []*contact.Contact // of runs before
	attempts     []*attempt.Attempt
	campaigns    []*campaign.Campaign
	events       []*journal.Event
	released     []journal.HoldRelease // at once
	lost         []journal.HoldRelease // at a time
	exclusions   []*journal.Exclusion
	suppressions []*journal.Suppression
	bulks        []bulkOf
	retunes      []retuneOf
	schedules    []*campaign.ScheduledDialout
	statuses     []*journal.StatusCallback

	contactAt  map[engine.ContactID]int
	attemptAt  map[engine.AttemptID]int
	campaignAt map[engine.CampaignID]int
}

type bulkOf struct {
	campaign engine.CampaignID
	*journal.Bulk
}

type retuneOf struct {
	campaign engine.CampaignID
	*journal.Retune
}

func newGroup() *group {
	return &group{rows: gathered{
		contactAt: map[engine.ContactID]int{}, attemptAt: map[engine.AttemptID]int{},
		campaignAt: map[engine.CampaignID]int{},
	}, legsOnly: map[engine.AttemptID]bool{}}
}

// whole are the attempts of which more than the legs is stored.
func (g *group) whole() []*attempt.Attempt {
	if len(g.legsOnly) == 0 {
		return g.rows.attempts
	}
	return slices.DeleteFunc(slices.Clone(g.rows.attempts), func(a *attempt.Attempt) bool { return g.legsOnly[a.ID] })
}

func (g *gathered) reset() {
	g.order = g.order[:0]
	clear(g.contacts)
	clear(g.kept)
	g.kept = g.kept[:0]
	clear(g.attempts)
	clear(g.campaigns)
	clear(g.events)
	clear(g.exclusions)
	clear(g.suppressions)
	clear(g.bulks)
	clear(g.retunes)
	g.contacts, g.attempts, g.campaigns = g.contacts[:0], g.attempts[:0], g.campaigns[:0]
	g.events, g.released, g.lost = g.events[:0], g.released[:0], g.lost[:0]
	g.exclusions, g.suppressions, g.bulks = g.exclusions[:0], g.suppressions[:0], g.bulks[:0]
	clear(g.schedules)
	clear(g.statuses)
	g.retunes, g.schedules, g.statuses = g.retunes[:0], g.schedules[:0], g.statuses[:0]
	clear(g.contactAt)
	clear(g.attemptAt)
	clear(g.campaignAt)
}

func (g *gathered) add(w *journal.Write) {
	for i := range w.Contacts {
		c := &w.Contacts[i]
		at, seen := g.contactAt[c.ID]
		switch {
		case !seen:
			g.contactAt[c.ID] = len(g.contacts)
			g.contacts = append(g.contacts, c)
		case c.Version >= g.contacts[at].Version:
			g.contacts[at] = c
		}
	}
	for i := range w.Kept {
		g.kept = append(g.kept, &w.Kept[i])
	}
	for i := range w.Attempts {
		a := &w.Attempts[i]
		at, seen := g.attemptAt[a.ID]
		switch {
		case !seen:
			g.attemptAt[a.ID] = len(g.attempts)
			g.attempts = append(g.attempts, a)
		case g.attempts[at].Live() || !a.Live():
			g.attempts[at] = a
		}
	}
	if c := w.CampaignRow; c != nil {
		if at, seen := g.campaignAt[c.ID]; seen {
			g.campaigns[at] = c
		} else {
			g.campaignAt[c.ID] = len(g.campaigns)
			g.campaigns = append(g.campaigns, c)
		}
	}
	for i := range w.Events {
		g.events = append(g.events, &w.Events[i])
	}
	for _, h := range w.Holds {
		if h.Until.IsZero() {
			g.released = append(g.released, h)
			g.lost = slices.DeleteFunc(g.lost, func(l journal.HoldRelease) bool { // written before, stored after
				return l.Attempt == h.Attempt && l.Number == h.Number
			})
		} else {
			g.lost = append(g.lost, h)
		}
	}
	for i := range w.Exclusions {
		g.exclusions = append(g.exclusions, &w.Exclusions[i])
	}
	for i := range w.Suppressions {
		g.suppressions = append(g.suppressions, &w.Suppressions[i])
	}
	if w.Bulk != nil {
		g.bulks = append(g.bulks, bulkOf{w.Campaign, w.Bulk})
	}
	if w.Schedule != nil {
		g.schedules = append(g.schedules, w.Schedule)
	}
	if w.Status != nil {
		g.statuses = append(g.statuses, w.Status)
	}
	if w.Retune != nil {
		g.retunes = append(g.retunes, retuneOf{w.Campaign, w.Retune})
	}
}

// sort gives all group commits the same order of locks on shared rows, so that they wait for each
// other instead of deadlocking.
func (g *gathered) sort() {
	slices.SortFunc(g.contacts, func(a, b *contact.Contact) int { return cmp.Compare(a.ID, b.ID) })
	g.kept = lastOf(g.kept, func(c *contact.Contact) string { return string(c.ID) + "\x00" + strconv.Itoa(c.Run) })
	slices.SortFunc(g.attempts, func(a, b *attempt.Attempt) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(g.campaigns, func(a, b *campaign.Campaign) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(g.released, byNumber)
	slices.SortFunc(g.lost, byNumber)
	// A statement may touch a row only once.
	g.exclusions = lastOf(g.exclusions, func(x *journal.Exclusion) string {
		return string(x.Campaign) + "\x00" + string(x.Number) + "\x00" + matchKey(x.Match)
	})
	g.statuses = lastOf(g.statuses, func(x *journal.StatusCallback) string { return x.Subject })
	g.suppressions = lastOf(g.suppressions, func(x *journal.Suppression) string { return string(x.Number) })
}

func byNumber(a, b journal.HoldRelease) int { return cmp.Compare(a.Number, b.Number) }

// lastOf keeps the last item of each key, in the order of keys.
func lastOf[T any](list []*T, key func(*T) string) []*T {
	slices.SortStableFunc(list, func(a, b *T) int { return cmp.Compare(key(a), key(b)) })
	out := list[:0]
	for i, x := range list {
		if i+1 < len(list) && key(list[i+1]) == key(x) {
			continue
		}
		out = append(out, x)
	}
	return out
}

func matchKey(m map[string]string) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b []byte
	for _, k := range keys {
		b = append(b, k...)
		b = append(b, 0)
		b = append(b, m[k]...)
		b = append(b, 0)
	}
	return string(b)
}
