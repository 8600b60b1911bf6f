package memstore

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
)

// staging is an import and, until it is closed, its rows.
type staging struct {
	imp     campaign.Import
	rows    []journal.StagedRow
	numbers map[engine.PhoneNumber]struct{}
	made    made
}

// made are the contacts that an import became, and how far they have been taken back.
type made struct {
	run         int
	at          time.Time
	first, last int64 // positions
	reached     int64
	seq         int64 // of the latest page
}

// end sets the final state of the import.
func (o *staging) end(state campaign.ImportState, at time.Time) {
	o.imp.State, o.imp.FinishedAt = state, &at
	o.close()
}

func (o *staging) close() { o.rows, o.numbers = nil, nil }

// BeginImport opens an import, the only open one of its campaign.
func (s *Files) BeginImport(_ context.Context, imp campaign.Import) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.campaign(imp.Campaign); err != nil {
		return err
	}
	same := false
	for _, o := range s.imports {
		if o.imp.Campaign != imp.Campaign {
			continue
		}
		if o.imp.Open() {
			return engine.Conflict("import_in_progress", "")
		}
		same = same || imp.Idempotency.Present() && o.imp.State != campaign.ImportFailed &&
			o.imp.Idempotency.Key == imp.Idempotency.Key && o.imp.Idempotency.Token == imp.Idempotency.Token
	}
	if same {
		return journal.ErrImportRequest
	}
	imp.State = campaign.ImportStaging
	s.imports[imp.ID] = &staging{imp: imp, numbers: map[engine.PhoneNumber]struct{}{}}
	return nil
}

// StageImport adds rows; total and invalid are the file's figures so far. Rejected rows are not
// stored.
func (s *Files) StageImport(_ context.Context, id engine.ImportID, rows []journal.StagedRow,
	_ []campaign.RejectedRow, total, invalid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.imports[id]
	if o == nil || o.imp.State != campaign.ImportStaging {
		return journal.ErrImportGone
	}
	o.rows = append(o.rows, rows...)
	for i := range rows {
		o.numbers[rows[i].Number] = struct{}{}
		for n := range rows[i].Alternates.Numbers() {
			o.numbers[n] = struct{}{}
		}
	}
	o.imp.Rows, o.imp.Invalid = total, invalid
	return nil
}

// openImport returns an import that may still become contacts, with all of its rows present.
func (s *Files) openImport(id engine.ImportID, staged int) (*staging, error) {
	o := s.imports[id]
	switch {
	case o == nil || !o.imp.Open():
		return nil, journal.ErrImportGone
	case len(o.rows) != staged:
		return nil, journal.ErrImportLost
	}
	return o, nil
}

// ActivateImport turns the staged rows into contacts, all at once and only if gate lets them pass.
// The lock is not held while gate is called.
func (s *Files) ActivateImport(ctx context.Context, a journal.Activation,
	gate func(context.Context) (journal.Gate, error)) (out journal.Activated, err error) {
	if err := s.beginActivation(a.Import, a.Staged); err != nil {
		return out, err
	}
	g, err := gate(ctx)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.openImport(a.Import, a.Staged)
	if err != nil {
		return out, err // cancelled meanwhile
	}
	b, err := s.campaign(a.Campaign)
	if err != nil || b.row.Epoch != g.Epoch {
		return out, journal.ErrStaleEpoch
	}
	return s.activate(b, o, a, g), nil
}

func (s *Files) beginActivation(id engine.ImportID, staged int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.openImport(id, staged)
	if err == nil {
		o.imp.State = campaign.ImportActivating
	}
	return err
}

// activate carries out the switch.
func (s *Files) activate(b *book, o *staging, a journal.Activation, g journal.Gate) (out journal.Activated) {
	standing := b.standing(a.Sticky, a.Since)
	again := map[engine.PhoneNumber]bool{}
	first, at := b.position, a.At.Round(0)
	o.made = made{run: a.Run, at: at, first: first, last: first, reached: first}
	for i := range o.rows {
		r := &o.rows[i]
		o.made.last = max(o.made.last, first+int64(r.Line))
		old := b.numbers[r.Number]
		was := old != nil && old.c.State == contact.Excluded
		switch {
		case standing.Refuses(r.Number, r.Alternates, r.Variables, true) || r.Person().StopsFor(s.suppressed):
			o.imp.Excluded++
			continue
		case old != nil:
			o.imp.Duplicate++
			if !old.c.CreatedAt.Equal(at) {
				s.mentions[old.c.ID] = struct{}{}
			}
			if b.readmits(r.Number, a.Sticky, a.Since) && !again[r.Number] && len(again) < journal.ReadmitCap {
				again[r.Number] = true
				out.Readmit = append(out.Readmit, r.NewContact)
			}
		default:
			c := newContact(&r.NewContact, r.ID, &at)
			c.Campaign, c.Run, c.Position = a.Campaign, a.Run, first+int64(r.Line)
			c.Source, c.Max, c.DueClass = a.Source, a.Max, a.DueClass
			s.putContact(&c)
			o.imp.Added++
		}
		// Adding a contact on purpose undoes an exclusion that is not sticky.
		for n := range (&contact.Contact{Number: r.Number, Alternates: r.Alternates}).Numbers() {
			if b.excluded.Has(n, nil) && (old == nil || was) {
				out.Lifted = append(out.Lifted, n)
				s.putExclusion(journal.Exclusion{Campaign: a.Campaign, Number: n, Lifted: true, CreatedAt: g.Event.At})
			}
		}
	}
	o.imp.Readmitted = len(again)
	if o.imp.Added > 0 {
		ev := g.Event
		ev.Data.Count = o.imp.Added
		s.putEvent(&ev)
	}
	o.imp.FileLayout = a.Layout
	o.end(campaign.ImportActive, g.Event.At)
	out.Import = o.imp
	return out
}

// readmits says whether adding a contact again makes it callable: it was excluded before the import began.
func (b *book) readmits(n engine.PhoneNumber, sticky bool, since time.Time) bool {
	old := b.numbers[n]
	return !sticky && old != nil && old.c.State == contact.Excluded && old.c.UpdatedAt.Before(since)
}

// standing are the exclusions that refuse rows of an import: every one while they are sticky,
// otherwise those made since it began.
func (b *book) standing(sticky bool, since time.Time) exclusion.Book {
	x := exclusion.NewBook(nil)
	for i := range b.exclusions {
		if e := &b.exclusions[i]; !e.Lifted && (sticky || !e.CreatedAt.Before(since)) {
			x.Add(e)
		}
	}
	return x
}

// CheckImport counts the results that the staged rows would have.
func (s *Files) CheckImport(_ context.Context, k journal.Check) (campaign.Import, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.openImport(k.Import, k.Staged)
	if err != nil {
		return campaign.Import{}, err
	}
	b := s.book(k.Campaign)
	standing := b.standing(k.Sticky, k.Since)
	seen, again := map[engine.PhoneNumber]bool{}, map[engine.PhoneNumber]bool{}
	for i := range o.rows {
		r := &o.rows[i]
		switch {
		case standing.Refuses(r.Number, r.Alternates, r.Variables, true) || r.Person().StopsFor(s.suppressed):
			o.imp.Excluded++
		case seen[r.Number] || b.numbers[r.Number] != nil:
			o.imp.Duplicate++
			if b.readmits(r.Number, k.Sticky, k.Since) && len(again) < journal.ReadmitCap {
				again[r.Number] = true
			}
		default:
			seen[r.Number] = true
			o.imp.Added++
		}
	}
	o.imp.Readmitted = len(again)
	o.imp.FileLayout = k.Layout
	o.end(campaign.ImportChecked, k.At)
	return o.imp, nil
}

// FailImport ends an open import.
func (s *Files) FailImport(_ context.Context, id engine.ImportID, problem campaign.ImportProblem, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.imports[id]; o != nil && o.imp.Open() {
		o.imp.State, o.imp.Problem, o.imp.FinishedAt = campaign.ImportFailed, &problem, &at
	}
	return nil
}

// CloseImport drops the rows that are still staged.
func (s *Files) CloseImport(_ context.Context, id engine.ImportID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.imports[id]; o != nil {
		o.close()
	}
	return nil
}

// Import returns an import.
func (s *Files) Import(_ context.Context, id engine.ImportID) (campaign.Import, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.imports[id]; o != nil {
		return o.imp, nil
	}
	return campaign.Import{}, engine.NotFound("import_not_found", "")
}

// StagedNumber says whether an import has a row with the number, as the first or beside it.
func (s *Files) StagedNumber(_ context.Context, id engine.ImportID, n engine.PhoneNumber) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.imports[id]
	if o == nil {
		return false, nil
	}
	_, ok := o.numbers[n]
	return ok, nil
}

// Staged counts the staged rows.
func (s *Files) Staged() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.imports {
		n += len(o.rows)
	}
	return n
}
