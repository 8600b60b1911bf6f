package memstore

import (
	"context"
	"maps"
	"slices"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// undoable returns an import whose contacts can be taken back in the campaign's run.
func (s *tables) undoable(id engine.CampaignID, of engine.ImportID, run int) (*staging, error) {
	o := s.imports[of]
	switch {
	case o == nil || o.imp.Campaign != id:
		return nil, engine.NotFound("import_not_found", "")
	case o.imp.State != campaign.ImportActive:
		return nil, journal.ErrImportNotActive
	case o.made.run != run && o.imp.Undo == nil:
		return nil, journal.ErrImportOlder
	}
	return o, nil
}

// stay says why a contact of an import stays; mine is false if another one added it.
func (s *tables) stay(o *staging, c *contact.Contact) (as contact.Stay, mine bool) {
	if c.Source != contact.SourceFile || !c.CreatedAt.Equal(o.made.at) {
		return "", false
	}
	_, named := s.mentions[c.ID]
	return c.Trace(named).Stay(), true
}

// between lists the rows of a campaign from one position, without it, to another.
func (b *book) between(from, to int64) (list []*row) {
	for _, r := range b.rows {
		if from < r.c.Position && r.c.Position <= to {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y *row) int { return int(x.c.Position - y.c.Position) })
	return list
}

// TakeBack takes back a page of an import.
func (s *Files) TakeBack(_ context.Context, t journal.TakeBack) (out journal.TakenBack, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.campaign(t.Campaign)
	if err != nil {
		return out, err
	}
	if b.row.Epoch != t.Epoch {
		return out, journal.ErrStaleEpoch
	}
	o, err := s.undoable(t.Campaign, t.Import, t.Run)
	if err != nil {
		return out, err
	}
	if u := o.imp.Undo; u != nil && (u.State == campaign.UndoDone || t.Seq <= o.made.seq) {
		out.Undo = *u
		if i, ok := b.history.events[t.Seq]; ok && t.Seq == o.made.seq {
			out.Event = s.events[i]
		}
		return out, nil
	}
	undo := *t.Begin()
	if u := o.imp.Undo; u != nil {
		undo = *u
		undo.Reasons = maps.Clone(u.Reasons)
	}
	rows := b.between(o.made.reached, o.made.last)
	over := len(rows) <= t.Limit || o.made.run != t.Run
	rows = rows[:min(len(rows), t.Limit)]
	var gone moves
	for _, r := range rows {
		o.made.reached = r.c.Position
		as, mine := s.stay(o, &r.c)
		switch {
		case !mine || o.made.run != t.Run:
			continue
		case as == contact.Goes && slices.Contains(t.Except, r.c.ID):
			as = contact.StayInCall
		}
		undo.Count(as, 1)
		if as == contact.Goes {
			gone.remove(r.c.Facts())
			s.remove(r)
		}
	}
	if over {
		undo.State, undo.FinishedAt = campaign.UndoDone, &t.At
	}
	o.imp.Undo, o.made.seq, out.Undo = &undo, t.Seq, undo
	for _, e := range t.Events(&o.imp, gone.list) {
		if e.Seq == t.Seq {
			out.Event = e
		}
		s.keepEvent(&e, true)
	}
	return out, nil
}

// remove counts a contact that goes.
func (m *moves) remove(before contact.Facts) {
	for i := range m.list {
		if *m.list[i].Before == before {
			m.list[i].Count++
			return
		}
	}
	m.list = append(m.list, journal.Move{Before: &before, Count: 1})
}

// remove deletes a contact.
func (s *tables) remove(r *row) {
	b := r.book
	r.leave()
	delete(b.numbers, r.c.Number)
	b.unlist(r)
	b.rows = slices.DeleteFunc(b.rows, func(o *row) bool { return o == r })
	delete(s.rows, r.c.ID)
	delete(s.mentions, r.c.ID)
}

// OpenUndo returns the import of a campaign that is being taken back, "" if none is.
func (s *Files) OpenUndo(_ context.Context, id engine.CampaignID) (engine.ImportID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.imports {
		if u := o.imp.Undo; u != nil && u.State == campaign.UndoInProgress && o.imp.Campaign == id {
			return o.imp.ID, nil
		}
	}
	return "", nil
}

// UndoPreview counts what TakeBack would do now.
func (s *Files) UndoPreview(_ context.Context, id engine.CampaignID, of engine.ImportID) (n campaign.UndoCounts,
	err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.campaign(id)
	if err != nil {
		return n, err
	}
	o, err := s.undoable(id, of, b.row.Run)
	if err != nil {
		return n, err
	}
	for _, r := range b.between(o.made.first, o.made.last) {
		if as, mine := s.stay(o, &r.c); mine {
			n.Count(as, 1)
		}
	}
	return n, nil
}
