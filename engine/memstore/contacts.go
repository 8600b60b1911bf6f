package memstore

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// row is a stored contact. What its pointers and its map point at is shared with readers and
// writers, and never changed.
type row struct {
	c    contact.Contact
	book *book
	left uint64 // the query that excludes it, of Store.asked
}

// run is a campaign's data of one run: the contacts that are in it, and those that moved to a later
// one, as it left them.
type run struct {
	queue    queue
	expiring index[*row] // contacts that wait for a dial, by ExpiresAt
	// tally counts the contacts, including those in earlier, and the attempts.
	tally           *tally.Tally
	rows            int
	open, exhausted int
	earlier         map[engine.ContactID]contact.Contact
}

func (b *book) run(n int) *run {
	r := b.runs[n]
	if r == nil {
		r = &run{tally: tally.New()}
		b.runs[n] = r
	}
	return r
}

// waits says whether a contact waits for a dial.
func waits(c *contact.Contact) bool { return c.DueAt != nil && c.Attempt == "" && c.Open() }

// enter adds a row to the indexes and counts, leave removes it.
func (r *row) enter() { r.index(1) }
func (r *row) leave() { r.index(-1) }

func (r *row) index(sign int) {
	c, b := &r.c, r.book
	n := b.run(c.Run)
	f := c.Facts()
	n.tally.Contacts(&f, sign)
	n.rows += sign
	if c.Open() && (c.DueAt != nil || c.Attempt != "" || c.ResultDueAt != nil) {
		n.open += sign
	}
	if c.State == contact.Failed && c.Reason == contact.ReasonExhausted {
		n.exhausted += sign
	}
	switch {
	case !waits(c):
	case sign > 0:
		n.queue.add(r)
	default:
		n.queue.remove(r)
	}
	switch {
	case !waits(c) || c.ExpiresAt == nil:
	case sign > 0:
		n.expiring.add(c.ExpiresAt.UnixNano(), c.Position, r)
	default:
		n.expiring.remove(c.ExpiresAt.UnixNano(), c.Position, r)
	}
	switch {
	case c.ResultDueAt == nil:
	case sign > 0:
		b.results.add(c.ResultDueAt.UnixNano(), c.Position, r)
	default:
		b.results.remove(c.ResultDueAt.UnixNano(), c.Position, r)
	}
}

// slabSize is how many rows are allocated at once.
const slabSize = 256

// putContact stores a contact unless its version is already stored.
func (s *tables) putContact(c *contact.Contact) {
	r := s.rows[c.ID]
	switch {
	case r == nil:
		if len(s.slab) == 0 {
			s.slab = make([]row, slabSize)
		}
		r, s.slab = &s.slab[0], s.slab[1:]
		r.book = s.book(c.Campaign)
		r.book.rows = append(r.book.rows, r)
		s.rows[c.ID] = r
	case c.Version <= r.c.Version:
		return
	}
	s.set(r, c)
}

// set replaces a stored contact.
func (s *tables) set(r *row, c *contact.Contact) {
	b := r.book
	if r.c.ID != "" {
		r.leave()
		if r.c.Number != c.Number {
			delete(b.numbers, r.c.Number)
		}
		b.unlist(r)
	}
	r.c = *c
	for _, t := range []**time.Time{&r.c.DueAt, &r.c.ResultDueAt, &r.c.CallbackAt} {
		if *t != nil && **t != (*t).Round(0) { // a monotonic reading is not stored
			at := (*t).Round(0)
			*t = &at
		}
	}
	b.numbers[c.Number] = r
	for n := range c.Alternates.Numbers() {
		b.others[n] = append(b.others[n], r)
	}
	b.position = max(b.position, c.Position)
	r.enter()
}

// unlist forgets the numbers of a row beside its first.
func (b *book) unlist(r *row) {
	for n := range r.c.Alternates.Numbers() {
		if b.others[n] = slices.DeleteFunc(b.others[n], func(o *row) bool { return o == r }); len(b.others[n]) == 0 {
			delete(b.others, n)
		}
	}
}

// byNumber lists the contacts that have a number, the one whose first it is before the others, which
// are in the order of the list.
func (b *book) byNumber(n engine.PhoneNumber) (list []*row) {
	if r := b.numbers[n]; r != nil {
		list = append(list, r)
	}
	others := slices.Clone(b.others[n])
	slices.SortFunc(others, func(x, y *row) int { return cmp.Compare(x.c.Position, y.c.Position) })
	return append(list, others...)
}

// taken says whether another contact of the campaign has the number as its first, or at all if the
// contact is new.
func (s *tables) taken(c *contact.Contact, fresh bool) bool {
	b := s.books[c.Campaign]
	if b == nil {
		return false
	}
	if fresh {
		return slices.ContainsFunc(b.byNumber(c.Number), func(r *row) bool { return r.c.ID != c.ID })
	}
	r := b.numbers[c.Number]
	return r != nil && r.c.ID != c.ID
}

// AllContacts yields every contact, campaign by campaign, in the order of addition; call it under
// the lock.
func (s *Roster) AllContacts() iter.Seq[contact.Contact] {
	return func(yield func(contact.Contact) bool) {
		for _, b := range s.inOrder() {
			for _, r := range b.rows {
				if !yield(r.c) {
					return
				}
			}
		}
	}
}

// Contacts returns a page of a campaign's contacts in the order of the list.
func (s *Roster) Contacts(_ context.Context, id engine.CampaignID,
	page campaign.Page) (list campaign.ContactList, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.inList(id)
	list.Total = len(rows)
	for i := (page.Number - 1) * page.Size; i < min(page.Number*page.Size, len(rows)); i++ {
		list.Contacts = append(list.Contacts, campaign.ContactView{Contact: rows[i].c})
	}
	return list, nil
}

// inList returns a campaign's contacts by position.
func (s *tables) inList(id engine.CampaignID) []*row {
	b := s.books[id]
	if b == nil {
		return nil
	}
	rows := slices.Clone(b.rows)
	slices.SortStableFunc(rows, func(x, y *row) int { return cmp.Compare(x.c.Position, y.c.Position) })
	return rows
}

// ContactByNumber returns a campaign's contact with a number: the one whose first it is, else the first
// of those that have it beside.
func (s *Roster) ContactByNumber(_ context.Context, id engine.CampaignID,
	n engine.PhoneNumber) (c contact.Contact, ok bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil {
		if list := b.byNumber(n); len(list) > 0 {
			return list[0].c, true, nil
		}
	}
	return c, false, nil
}

// ContactsByNumber lists all contacts of a campaign that have a number.
func (s *Roster) ContactsByNumber(_ context.Context, id engine.CampaignID,
	n engine.PhoneNumber) (list []contact.Contact, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil {
		for _, r := range b.byNumber(n) {
			list = append(list, r.c)
		}
	}
	return list, nil
}

// ContactByID returns a contact.
func (s *Roster) ContactByID(_ context.Context, id engine.ContactID) (c contact.Contact, ok bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[id]; r != nil {
		return r.c, true, nil
	}
	return c, false, nil
}

// ContactsMatching lists the contacts whose variables contain all pairs, in the order of the list.
// Without pairs nobody matches.
func (s *Roster) ContactsMatching(_ context.Context, id engine.CampaignID,
	match map[string]string) (list []contact.Contact, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.inList(id) {
		if exclusion.Matches(r.c.Variables, match) {
			list = append(list, r.c)
		}
	}
	return list, nil
}

// ExcludedContacts lists the excluded contacts that have one of the numbers.
func (s *Roster) ExcludedContacts(_ context.Context, id engine.CampaignID,
	numbers []engine.PhoneNumber) (list []contact.Contact, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return nil, nil
	}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		if r := b.numbers[n]; r != nil && r.c.State == contact.Excluded {
			list = append(list, r.c)
		}
	}
	return list, nil
}

// Suppressed returns those of the numbers that are on the suppression list.
func (s *Roster) Suppressed(_ context.Context,
	numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[engine.PhoneNumber]journal.Suppression{}
	for _, n := range numbers {
		if x, ok := s.Suppressions[n]; ok {
			found[n] = x
		}
	}
	return found, nil
}

func (s *tables) suppressed(n engine.PhoneNumber) bool {
	_, ok := s.Suppressions[n]
	return ok
}

// SuppressedContacts returns, sorted by identifier, up to limit contacts after a given one that
// wait for a dial in the run although their numbers are all suppressed: with one of these, or all
// such contacts when none are given.
func (s *Roster) SuppressedContacts(_ context.Context, id engine.CampaignID, run int, numbers []engine.PhoneNumber,
	after engine.ContactID, limit int) (list []contact.Contact, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return nil, nil
	}
	found := map[*row]bool{}
	look := func(n engine.PhoneNumber) {
		for _, r := range b.byNumber(n) {
			if r.c.Run == run && waits(&r.c) && r.c.ID > after && s.suppressed(n) && !found[r] &&
				r.c.StopsFor(s.suppressed) {
				found[r] = true
				list = append(list, r.c)
			}
		}
	}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		look(n)
	}
	if len(numbers) == 0 {
		for n := range s.Suppressions {
			look(n)
		}
	}
	slices.SortFunc(list, func(x, y contact.Contact) int { return cmp.Compare(x.ID, y.ID) })
	return list[:min(len(list), limit)], nil
}

// newContact is a contact that waits for its first attempt; contacts that are added together share
// the time.
func newContact(n *campaign.NewContact, id engine.ContactID, at *time.Time) contact.Contact {
	c := contact.Contact{ID: id, Number: n.Number, Alternates: n.Alternates, Variables: n.Variables,
		State: contact.Pending, DuePass: 1, CreatedAt: *at, UpdatedAt: *at, Version: 1}
	c.Take(n.Times)
	if c.DueAt = at; c.NotYet(*at) {
		c.DueAt = c.NotBefore
	}
	return c
}

// AddContacts inserts contacts with ascending positions; it skips and counts duplicates by number
// and, while exclusions are sticky, excluded contacts.
func (s *Roster) AddContacts(_ context.Context, add journal.ContactInsert) (rep campaign.AddReport, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.campaign(add.Campaign)
	switch {
	case err != nil:
		return rep, err
	case add.Epoch != b.row.Epoch:
		return rep, journal.ErrStaleEpoch
	}
	sticky, at := b.row.Settings.StickyExclusion, add.At.Round(0)
	became := make([]campaign.BatchResult, 0, len(add.Contacts))
	fresh := make([]contact.Contact, 0, len(add.Contacts))
	added := map[engine.PhoneNumber]engine.ContactID{}
	excluded := map[engine.PhoneNumber]bool{}
	for i := range add.Contacts {
		n := &add.Contacts[i]
		old := b.numbers[n.Number]
		mine, here := added[n.Number]
		r := campaign.BatchResult{Status: campaign.RowDuplicate}
		switch {
		case excluded[n.Number] || !here && (old == nil || old.c.ID != n.ID) &&
			b.excluded.Refuses(n.Number, n.Alternates, n.Variables, sticky):
			excluded[n.Number], r.Status = true, campaign.RowExcluded
			if old != nil {
				r.ContactID = old.c.ID
			}
			rep.Excluded++
		case here:
			r.ContactID = mine
			rep.Duplicates++
		case old != nil && old.c.ID != n.ID:
			r.ContactID = old.c.ID
			if old.c.State == contact.Excluded && !sticky {
				r.Status = campaign.RowReadmitted
			}
			s.mentions[old.c.ID] = struct{}{}
			rep.Duplicates++
		default:
			if old == nil { // otherwise it was added before, and the answer was lost
				c := newContact(&n.NewContact, n.ID, &at)
				c.Campaign, c.Run, c.Position = add.Campaign, add.Run, b.position+int64(len(fresh))+1
				c.Source, c.Max, c.DueClass = add.Source, add.Max, add.DueClass
				fresh = append(fresh, c)
			}
			added[n.Number] = n.ID
			r = campaign.BatchResult{Status: campaign.RowAdded, ContactID: n.ID}
			rep.Added++
		}
		became = append(became, r)
	}
	rep.Total = len(b.rows) + len(fresh)
	if add.Answer != nil {
		if r := add.Answer(became); r != nil {
			if !s.takesReply(r) {
				return campaign.AddReport{}, journal.ErrReplyExists
			}
			s.Replies[keyOf(r.Idempotency)] = *r
		}
	}
	for i := range fresh {
		s.putContact(&fresh[i])
	}
	if rep.Added > 0 {
		ev := add.Event
		ev.Data.Count = rep.Added
		s.putEvent(&ev)
	}
	return rep, nil
}
