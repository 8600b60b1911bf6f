// Package actortest holds fakes for the ports of package actors: a store in memory that fails or
// delays on demand, and a carrier and media path that follow a script. They are for tests of the
// tree.
package actortest

import (
	"context"
	"errors"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/memstore"
)

// Store is the in-memory store (engine/memstore) with a configuration, and with the delays and
// faults of a database.
type Store struct {
	*memstore.Store
	BotList      []engine.Bot
	CadenceList  []cadence.Named
	CalendarList []calendar.Named
	TrunkList    []engine.TrunkSettings
	Nums         []engine.NumberSettings
	Imports      Imports

	// NotOwned makes another node act for the campaigns.
	NotOwned bool

	// Delay is how long a commit takes; Down makes it fail.
	Delay time.Duration
	// LookDelay delays the answer of NextDue.
	LookDelay time.Duration
	down      bool
	// deaf makes commits succeed without an answer.
	deaf bool
	held func() []journal.Write
	// FailNext is how many of the next commits fail, as if the connection was lost.
	FailNext int
	// FailLookUps is how many of the next contact look-ups fail.
	FailLookUps int
	LateAnswer  time.Duration // between reading a contact, or the dials of numbers, and the answer
	// Reads counts the single reads of attempts and contacts.
	Reads int
	// OnWrite sees every accepted write.
	OnWrite func(w *journal.Write)

	committing sync.Mutex // held for a commit and its bookkeeping
}

// Imports is how the store treats files of contacts.
type Imports struct {
	// Inserting is how long a switch inserts before it reaches its gate.
	Inserting time.Duration
	// LoseAnswer makes the next switch return an error although it committed.
	LoseAnswer bool
	// Stalls counts the writes that would have waited for a switch, because they insert a number
	// that it has locked.
	Stalls int
	// Gates counts the gates passed.
	Gates int
	// Rejected are the rejected rows of all files.
	Rejected []campaign.RejectedRow

	activating engine.ImportID // the import currently at its switch
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{Store: memstore.New(memstore.Options{Now: time.Now, KeepEvents: true, KeepEnded: true}),
		Delay: 2 * time.Millisecond}
}

// View runs f under the store's lock.
func (s *Store) View(f func()) {
	s.Lock()
	defer s.Unlock()
	f()
}

// Counts returns how many contacts, exclusions and attempts are stored; call it in View.
func (s *Store) Counts() (contacts, exclusions, attempts int) {
	for range s.AllContacts() {
		contacts++
	}
	for range s.AllAttempts() {
		attempts++
	}
	return contacts, len(s.AllExclusions()), attempts
}

// IsSuppressed says whether a number is on the suppression list; call it in View.
func (s *Store) IsSuppressed(n engine.PhoneNumber) bool {
	_, ok := s.Suppressions[n]
	return ok
}

// Suppress puts a number on the suppression list; call it in View.
func (s *Store) Suppress(n engine.PhoneNumber) { s.Suppressions[n] = journal.Suppression{Number: n} }

// SetDeaf makes commits succeed without an answer, or answer again.
func (s *Store) SetDeaf(deaf bool) { s.View(func() { s.deaf = deaf }) }

// SetDown makes commits fail, or work again.
func (s *Store) SetDown(down bool) { s.View(func() { s.down = down }) }

var errDown = errors.New("actortest: the database is unavailable")

// wait simulates the database's delay.
func (s *Store) wait(ctx context.Context) (err error) {
	var delay time.Duration
	s.View(func() { delay = s.Delay })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(delay):
	}
	s.View(func() {
		if s.down {
			err = errDown
		}
	})
	return err
}

// answerLate delays an answer by LateAnswer.
func (s *Store) answerLate() {
	var late time.Duration
	s.View(func() { late = s.LateAnswer })
	time.Sleep(late)
}

// fails counts down the requested failures.
func (s *Store) fails(left *int) (err error) {
	s.View(func() {
		if *left > 0 {
			*left--
			err = errDown
		}
	})
	return err
}

// Ping implements actors.Store.
func (s *Store) Ping(ctx context.Context) error { return s.wait(ctx) }

// Renews implements actors.Store.
func (s *Store) Renews(held func() []journal.Write) { s.View(func() { s.held = held }) }

// HoldOpen implements actors.Store: nothing here loses a hold.
func (s *Store) HoldOpen(context.Context) error { return nil }

// Held returns the writes that are committed first on a server that replaces another.
func (s *Store) Held() (all []journal.Write) {
	s.View(func() { all = s.held() })
	return all
}

// Commit implements actors.Store.
func (s *Store) Commit(ctx context.Context, group []journal.Write) ([]error, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	if err := s.fails(&s.FailNext); err != nil {
		return nil, err
	}
	s.committing.Lock()
	defer s.committing.Unlock()
	stalls := s.stalls(ctx, group)
	refused, err := s.Store.Commit(ctx, group)
	s.View(func() {
		for i := range refused {
			if refused[i] == nil {
				s.Imports.Stalls += stalls[i]
				if s.OnWrite != nil {
					s.OnWrite(&group[i])
				}
			}
		}
		if s.deaf {
			refused, err = nil, errDown
		}
	})
	return refused, err
}

// stalls counts, for each write, the new contacts whose number is locked by an import at its
// switch.
func (s *Store) stalls(ctx context.Context, group []journal.Write) []int {
	n := make([]int, len(group))
	var importing engine.ImportID
	s.View(func() { importing = s.Imports.activating })
	if importing == "" {
		return n
	}
	for i := range group {
		for _, c := range group[i].Contacts {
			locked, _ := s.Store.StagedNumber(ctx, importing, c.Number)
			if _, known, _ := s.Store.ContactByID(ctx, c.ID); locked && !known {
				n[i]++
			}
		}
	}
	return n
}

// AcquireCampaign implements actors.Store.
func (s *Store) AcquireCampaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	var other bool
	s.View(func() { other = s.NotOwned && s.CampaignRow(id) != nil })
	if other {
		return campaign.Campaign{}, engine.Conflict("not_owner", "")
	}
	return s.Store.AcquireCampaign(ctx, id)
}

// AddContacts implements actors.Store.
func (s *Store) AddContacts(ctx context.Context, add journal.ContactInsert) (campaign.AddReport, error) {
	if err := s.wait(ctx); err != nil {
		return campaign.AddReport{}, err
	}
	return s.Store.AddContacts(ctx, add)
}

// DueContacts implements actors.Store.
func (s *Store) DueContacts(ctx context.Context, id engine.CampaignID, run int, order contact.Order, limit int,
	except []engine.ContactID) ([]contact.Contact, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.DueContacts(ctx, id, run, order, limit, except)
}

// NextDue implements actors.Store.
func (s *Store) NextDue(ctx context.Context, id engine.CampaignID, run int) (*time.Time, int, error) {
	next, open, err := s.Store.NextDue(ctx, id, run)
	var delay time.Duration
	s.View(func() { delay = s.LookDelay })
	time.Sleep(delay)
	return next, open, err
}

// ResetContacts implements actors.Store.
func (s *Store) ResetContacts(ctx context.Context, id engine.CampaignID, run int, unreached bool,
	now time.Time, ev journal.Event) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.ResetContacts(ctx, id, run, unreached, now, ev)
}

// RestoreContacts implements actors.Store.
func (s *Store) RestoreContacts(ctx context.Context, id engine.CampaignID, run int, ev journal.Event) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.RestoreContacts(ctx, id, run, ev)
}

// EventAt implements actors.Store.
func (s *Store) EventAt(ctx context.Context, id engine.CampaignID, seq int64) (journal.Event, bool, error) {
	if err := s.wait(ctx); err != nil {
		return journal.Event{}, false, err
	}
	return s.Store.EventAt(ctx, id, seq)
}

// FindReply implements actors.Store.
func (s *Store) FindReply(ctx context.Context, id engine.Idempotency) (journal.Reply, bool, error) {
	defer s.answerLate()
	if err := s.fails(&s.FailLookUps); err != nil {
		return journal.Reply{}, false, err
	}
	return s.Store.FindReply(ctx, id)
}

// ContactByNumber implements actors.Store.
func (s *Store) ContactByNumber(ctx context.Context, id engine.CampaignID,
	n engine.PhoneNumber) (contact.Contact, bool, error) {
	defer s.answerLate()
	if err := s.fails(&s.FailLookUps); err != nil {
		return contact.Contact{}, false, err
	}
	return s.Store.ContactByNumber(ctx, id, n)
}

// ContactsByNumber implements actors.Store.
func (s *Store) ContactsByNumber(ctx context.Context, id engine.CampaignID,
	n engine.PhoneNumber) ([]contact.Contact, error) {
	defer s.answerLate()
	if err := s.fails(&s.FailLookUps); err != nil {
		return nil, err
	}
	return s.Store.ContactsByNumber(ctx, id, n)
}

// ContactsMatching implements actors.Store.
func (s *Store) ContactsMatching(ctx context.Context, id engine.CampaignID,
	match map[string]string) ([]contact.Contact, error) {
	if err := s.fails(&s.FailLookUps); err != nil {
		return nil, err
	}
	return s.Store.ContactsMatching(ctx, id, match)
}

// ContactByID implements actors.Store.
func (s *Store) ContactByID(ctx context.Context, id engine.ContactID) (contact.Contact, bool, error) {
	defer s.answerLate()
	s.View(func() { s.Reads++ })
	return s.Store.ContactByID(ctx, id)
}

// Attempt implements actors.Store.
func (s *Store) Attempt(ctx context.Context, id engine.AttemptID) (attempt.Attempt, bool, error) {
	s.View(func() { s.Reads++ })
	return s.Store.Attempt(ctx, id)
}

// DueDialouts implements actors.Store.
func (s *Store) DueDialouts(ctx context.Context, now time.Time, claim time.Duration, limit int,
	except []engine.BotID) (due []campaign.ScheduledDialout, next *time.Time, err error) {
	var down bool
	if s.View(func() { down = s.down }); down {
		return nil, nil, errDown
	}
	return s.Store.DueDialouts(ctx, now, claim, limit, except)
}

// BeginImport implements actors.Imports.
func (s *Store) BeginImport(ctx context.Context, imp campaign.Import) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.BeginImport(ctx, imp)
}

// StageImport implements actors.Imports.
func (s *Store) StageImport(ctx context.Context, id engine.ImportID, rows []journal.StagedRow,
	rejected []campaign.RejectedRow, total, invalid int) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	err := s.Store.StageImport(ctx, id, rows, rejected, total, invalid)
	if err == nil {
		s.View(func() { s.Imports.Rejected = append(s.Imports.Rejected, rejected...) })
	}
	return err
}

// ActivateImport implements actors.Imports.
func (s *Store) ActivateImport(ctx context.Context, a journal.Activation,
	gate func(context.Context) (journal.Gate, error)) (out journal.Activated, err error) {
	if err := s.wait(ctx); err != nil {
		return out, err
	}
	defer func() { s.View(func() { s.Imports.activating = "" }) }()
	out, err = s.Store.ActivateImport(ctx, a, func(ctx context.Context) (g journal.Gate, err error) {
		var inserting time.Duration
		s.View(func() { s.Imports.activating, inserting = a.Import, s.Imports.Inserting })
		select {
		case <-ctx.Done():
			return g, ctx.Err()
		case <-time.After(inserting):
		}
		s.View(func() { s.Imports.Gates++ })
		if g, err = gate(ctx); err == nil {
			err = s.wait(ctx)
		}
		return g, err
	})
	if err == nil {
		s.View(func() {
			if s.Imports.LoseAnswer {
				s.Imports.LoseAnswer = false
				out, err = journal.Activated{}, errDown
			}
		})
	}
	return out, err
}

// CheckImport implements actors.Imports.
func (s *Store) CheckImport(ctx context.Context, k journal.Check) (campaign.Import, error) {
	if err := s.wait(ctx); err != nil {
		return campaign.Import{}, err
	}
	return s.Store.CheckImport(ctx, k)
}

// FailImport implements actors.Imports.
func (s *Store) FailImport(ctx context.Context, id engine.ImportID, problem campaign.ImportProblem,
	at time.Time) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.FailImport(ctx, id, problem, at)
}

// CloseImport implements actors.Imports.
func (s *Store) CloseImport(ctx context.Context, id engine.ImportID) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.CloseImport(ctx, id)
}

// Import implements actors.Imports.
func (s *Store) Import(ctx context.Context, id engine.ImportID) (campaign.Import, error) {
	if err := s.wait(ctx); err != nil {
		return campaign.Import{}, err
	}
	return s.Store.Import(ctx, id)
}

// StagedNumber implements actors.Imports.
func (s *Store) StagedNumber(ctx context.Context, id engine.ImportID, n engine.PhoneNumber) (bool, error) {
	if err := s.wait(ctx); err != nil {
		return false, err
	}
	return s.Store.StagedNumber(ctx, id, n)
}
