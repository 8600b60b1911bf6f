package memstore

import (
	"dialler/engine"
	"dialler/engine/journal"
)

// Erase replaces a person's number by a tombstone and removes its variables, in contacts, attempts
// and exclusions. Versions stay: the eraser notifies the owners of rows in memory.
func (s *Store) Erase(n, tombstone engine.PhoneNumber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := map[engine.ContactID]bool{}
	for _, b := range s.inOrder() {
		if r := b.numbers[n]; r != nil {
			c := r.c
			gone[c.ID] = true
			c.Number, c.Alternates, c.Choice, c.Variables = tombstone, "", 0, nil
			s.set(r, &c)
		}
		for _, run := range b.runs {
			for id, c := range run.earlier {
				if c.Number == n {
					c.Number, c.Alternates, c.Choice, c.Variables = tombstone, "", 0, nil
					run.earlier[id] = c
				}
			}
		}
		if i, ok := b.excludedAt[string(n)]; ok {
			x := b.exclusions[i]
			x.Number, x.Reason = tombstone, "person_erased"
			b.exclusions[i] = x
			delete(b.excludedAt, string(n))
			b.excludedAt[string(tombstone)] = i
			b.excluded.Add(&journal.Exclusion{Campaign: x.Campaign, Number: n, Lifted: true})
			b.excluded.Add(&x)
		}
	}
	for _, r := range s.attempts {
		if r.a.To == n || gone[r.a.Contact] {
			r.a.To, r.a.Variables, r.a.Transfer = tombstone, nil, nil
		}
	}
}
