package memstore

import (
	"context"

	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// InsertList stores a campaign with its whole list, resumed from the position of a run in another
// store. Consecutive contacts with equal facts share an event, and the row counts the events.
func (s *Store) InsertList(row *campaign.Campaign, list []contact.Contact, from *campaign.Position) {
	var events []journal.Event
	for i := range list {
		if f := list[i].Facts(); len(events) > 0 && *events[len(events)-1].Data.After == f {
			events[len(events)-1].Data.Count++
		} else {
			row.Seq++
			events = append(events, journal.Event{Campaign: row.ID, Seq: row.Seq, Run: row.Run, At: list[i].CreatedAt,
				Type: journal.ContactsAdded, Version: 1, Data: journal.Data{After: &f, Count: 1}})
		}
	}
	_ = s.InsertCampaign(context.Background(), *row, events...) // nothing is refused
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.book(row.ID)
	b.before, b.pacing = from.Answers, from.Learnt
	for i := range list {
		s.PutContact(list[i])
	}
}
