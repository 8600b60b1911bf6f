package actortest

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
)

// Imports is the part of the store that knows files of contacts.
type Imports struct {
	// Inserting is how long a switch inserts before it comes to its gate.
	Inserting time.Duration
	// LoseAnswer makes the next switch give an error although it committed.
	LoseAnswer bool
	// Stalls counts the writes that would have waited for a switch: they insert
	// a number that it has locked.
	Stalls int
	// Gates counts the gates.
	Gates int
	// Rejected are the rows that could not become contacts, of all files.
	Rejected []campaign.RejectedRow

	all    map[engine.ImportID]*openImport
	locked map[engine.PhoneNumber]bool
}

type openImport struct {
	imp  campaign.Import
	rows []journal.StagedRow
}

var errImportNotFound = engine.NotFound("import_not_found", "no such import")

// BeginImport implements actors.Imports.
func (s *Store) BeginImport(ctx context.Context, imp campaign.Import) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Campaigns[imp.Campaign] == nil {
		return errCampaignNotFound
	}
	for _, o := range s.Imports.all {
		if o.imp.Campaign == imp.Campaign && o.imp.Open() {
			return engine.Conflict("import_in_progress", "another one")
		}
		if imp.Idempotency.Present() && o.imp.Campaign == imp.Campaign && o.imp.State != campaign.ImportFailed &&
			o.imp.Idempotency.Key == imp.Idempotency.Key && o.imp.Idempotency.Token == imp.Idempotency.Token {
			return journal.ErrImportRequest
		}
	}
	if s.Imports.all == nil {
		s.Imports.all = map[engine.ImportID]*openImport{}
	}
	imp.State = campaign.ImportStaging
	s.Imports.all[imp.ID] = &openImport{imp: imp}
	return nil
}

// StageImport implements actors.Imports.
func (s *Store) StageImport(ctx context.Context, id engine.ImportID, rows []journal.StagedRow, rejected []campaign.RejectedRow, total, invalid int) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.Imports.all[id]
	if o == nil || o.imp.State != campaign.ImportStaging {
		return journal.ErrImportGone
	}
	o.rows = append(o.rows, rows...)
	s.Imports.Rejected = append(s.Imports.Rejected, rejected...)
	o.imp.Rows, o.imp.Invalid = total, invalid
	return nil
}

// ActivateImport implements actors.Imports.
func (s *Store) ActivateImport(ctx context.Context, a journal.Activation, gate func(context.Context) (journal.Gate, error)) (out journal.Activated, err error) {
	if err := s.wait(ctx); err != nil {
		return out, err
	}
	s.mu.Lock()
	o, err := s.openImport(a.Import, a.Staged)
	if err != nil {
		s.mu.Unlock()
		return out, err
	}
	o.imp.State = campaign.ImportActivating
	s.Imports.locked = map[engine.PhoneNumber]bool{}
	for _, r := range o.rows {
		s.Imports.locked[r.Number] = true
	}
	inserting := s.Imports.Inserting
	s.mu.Unlock()
	defer s.View(func() { s.Imports.locked = nil })
	select {
	case <-ctx.Done():
		return out, ctx.Err()
	case <-time.After(inserting):
	}
	s.View(func() { s.Imports.Gates++ })
	g, err := gate(ctx)
	if err != nil {
		return out, err
	}
	if err := s.wait(ctx); err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.openImport(a.Import, a.Staged); err != nil {
		return out, err // cancelled meanwhile
	}
	if c := s.Campaigns[a.Campaign]; c == nil || c.Epoch != g.Epoch {
		return out, journal.ErrStaleEpoch
	}
	out = s.activate(o, a, g)
	if s.Imports.LoseAnswer {
		s.Imports.LoseAnswer = false
		return journal.Activated{}, errDown
	}
	return out, nil
}

// openImport gives an import that may become contacts, all of its rows.
func (s *Store) openImport(id engine.ImportID, staged int) (*openImport, error) {
	o := s.Imports.all[id]
	switch {
	case o == nil || !o.imp.Open():
		return nil, journal.ErrImportGone
	case len(o.rows) != staged:
		return nil, journal.ErrImportLost
	}
	return o, nil
}

// lift undoes the exclusion of a number that is added on purpose.
func (s *Store) lift(out *journal.Activated, id engine.CampaignID, n engine.PhoneNumber, at time.Time) {
	out.Lifted = append(out.Lifted, n)
	s.putExclusion(journal.Exclusion{Campaign: id, Number: n, Lifted: true, CreatedAt: at})
}

// activate makes the switch.
func (s *Store) activate(o *openImport, a journal.Activation, g journal.Gate) (out journal.Activated) {
	known, pos := map[engine.PhoneNumber]bool{}, int64(0)
	for _, c := range s.Rows {
		if c.Campaign == a.Campaign {
			known[c.Number] = true
			pos = max(pos, c.Position)
		}
	}
	for _, r := range o.rows {
		covered, earlier := s.excluded(a, r)
		switch {
		case covered || s.Supp[r.Number]:
			o.imp.Excluded++
			continue
		case known[r.Number]:
			o.imp.Duplicate++
			for _, c := range s.Rows {
				if c.Campaign == a.Campaign && c.Number == r.Number && c.State == contact.Excluded && !a.Sticky && c.UpdatedAt.Before(a.Since) {
					out.Readmit = append(out.Readmit, r.NewContact)
					if earlier {
						s.lift(&out, a.Campaign, r.Number, g.Event.At)
					}
				}
			}
			continue
		case earlier:
			s.lift(&out, a.Campaign, r.Number, g.Event.At)
		}
		known[r.Number] = true
		due := a.At
		s.Rows[r.ID] = &contact.Contact{ID: r.ID, Campaign: a.Campaign, Number: r.Number, Variables: r.Variables, Position: pos + int64(r.Line),
			Source: a.Source, Run: a.Run, State: contact.Pending, Max: a.Max, DueAt: &due, DueClass: a.DueClass, DuePass: 1,
			CreatedAt: a.At, UpdatedAt: a.At, Version: 1}
		o.imp.Added++
	}
	if o.imp.Added > 0 {
		ev := g.Event
		ev.Data.Count = o.imp.Added
		s.Events = append(s.Events, ev)
	}
	at := g.Event.At
	o.imp.State, o.imp.FinishedAt, o.rows = campaign.ImportActive, &at, nil
	out.Import = o.imp
	return out
}

// CheckImport implements actors.Imports.
func (s *Store) CheckImport(ctx context.Context, k journal.Check) (campaign.Import, error) {
	if err := s.wait(ctx); err != nil {
		return campaign.Import{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.openImport(k.Import, k.Staged)
	if err != nil {
		return campaign.Import{}, err
	}
	known := map[engine.PhoneNumber]bool{}
	for _, c := range s.Rows {
		if c.Campaign == k.Campaign {
			known[c.Number] = true
		}
	}
	for _, r := range o.rows {
		covered, _ := s.excluded(journal.Activation{Campaign: k.Campaign, Sticky: k.Sticky, Since: k.Since}, r)
		switch {
		case covered || s.Supp[r.Number]:
			o.imp.Excluded++
		case known[r.Number]:
			o.imp.Duplicate++
		default:
			known[r.Number] = true
			o.imp.Added++
		}
	}
	at := k.At
	o.imp.State, o.imp.FinishedAt, o.rows = campaign.ImportChecked, &at, nil
	return o.imp, nil
}

// excluded says whether an exclusion covers a row, and whether an earlier one
// of its number is undone by it.
func (s *Store) excluded(a journal.Activation, r journal.StagedRow) (covered, earlier bool) {
	numbers := map[engine.PhoneNumber]*journal.Exclusion{}
	for i := range s.Excl {
		x := &s.Excl[i]
		switch {
		case x.Campaign != a.Campaign:
		case x.Number != "":
			numbers[x.Number] = x
		case a.Sticky || !x.CreatedAt.Before(a.Since):
			covered = covered || exclusion.Matches(r.Variables, x.Match)
		}
	}
	if x := numbers[r.Number]; x != nil && !x.Lifted {
		covered = covered || a.Sticky || !x.CreatedAt.Before(a.Since)
		earlier = !covered
	}
	return covered, earlier
}

// FailImport implements actors.Imports.
func (s *Store) FailImport(ctx context.Context, id engine.ImportID, problem campaign.ImportProblem, at time.Time) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.Imports.all[id]; o != nil && o.imp.Open() {
		o.imp.State, o.imp.Problem, o.imp.FinishedAt = campaign.ImportFailed, &problem, &at
	}
	return nil
}

// CloseImport implements actors.Imports.
func (s *Store) CloseImport(ctx context.Context, id engine.ImportID) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.Imports.all[id]; o != nil {
		o.rows = nil
	}
	return nil
}

// Import implements actors.Imports.
func (s *Store) Import(ctx context.Context, id engine.ImportID) (campaign.Import, error) {
	if err := s.wait(ctx); err != nil {
		return campaign.Import{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.Imports.all[id]
	if o == nil {
		return campaign.Import{}, errImportNotFound
	}
	return o.imp, nil
}

// StagedNumber implements actors.Imports.
func (s *Store) StagedNumber(ctx context.Context, id engine.ImportID, n engine.PhoneNumber) (bool, error) {
	if err := s.wait(ctx); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.Imports.all[id]; o != nil {
		for _, r := range o.rows {
			if r.Number == n {
				return true, nil
			}
		}
	}
	return false, nil
}

// Staged counts the rows that are staged.
func (s *Store) Staged() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.Imports.all {
		n += len(o.rows)
	}
	return n
}
