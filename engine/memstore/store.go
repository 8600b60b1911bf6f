package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// Options configure a store.
type Options struct {
	// Now is the clock of the store, like that of a database: it decides when a hold or a reply
	// expires.
	Now func() time.Time
	// KeepEvents keeps every event. Without it only events that cover many contacts are kept, since
	// they are read back and must not be counted twice.
	KeepEvents bool
	// KeepEnded keeps every attempt. Without it a campaign's attempt is dropped once it has ended
	// with all its legs and awaits no result: counters and ledgers still include it, Attempt and
	// Outlook do not.
	KeepEnded bool
	// Bots returns the installation's bots; nil means none.
	Bots func() []engine.Bot
	// Numbers are ours, with what becomes of calls to them.
	Numbers []engine.NumberSettings
	// Cadences are the installation's.
	Cadences []cadence.Named
	// Calendars are the installation's.
	Calendars []calendar.Named
	// Hours returns what was learned of the hours at which people answer; nil means nothing.
	Hours func() besthour.Table
	// Closed, if set, is called for each attempt whose legs Maintain ended. It must not call the
	// store.
	Closed func(*attempt.Attempt)
}

// Store keeps everything in memory. Its methods take its lock, but for those that
// say that they belong under it. It is divided as the database's is (package persistence).
type Store struct {
	*tables
	Roster
	Files
}

// Roster has the contacts: who they are, who is due, and what is to come.
type Roster struct{ *tables }

// Files imports lists of contacts.
type Files struct{ *tables }

// tables are what is stored, with the lock.
type tables struct {
	opt Options
	mu  sync.Mutex

	// Access Holds, Suppressions and Replies only under the lock.
	Holds        map[engine.PhoneNumber]Hold
	Suppressions map[engine.PhoneNumber]journal.Suppression
	Replies      map[ReplyKey]journal.Reply
	// Committed, if set, is called after each transaction, outside the lock.
	Committed func()

	books    map[engine.CampaignID]*book
	rows     map[engine.ContactID]*row
	attempts map[engine.AttemptID]*record
	live     map[engine.AttemptID]*record
	loose    map[engine.AttemptID]*record // ended, with an open leg
	imports  map[engine.ImportID]*staging
	mentions map[engine.ContactID]struct{} // contacts that something other than their file has named
	events   []journal.Event
	dialouts map[eventKey]struct{} // events that belong to no campaign
	waiting  map[engine.AttemptID]campaign.ScheduledDialout
	abandons map[engine.PhoneNumber]int64  // when a call to it was last abandoned
	byKey    map[engine.KeyID][]dial       // dialouts of each API key
	byNumber map[engine.PhoneNumber][]dial // nil until a number's calls are capped
	begun    int64                         // attempts so far
	asked    uint64                        // queries with exceptions so far
	slab     []row                         // preallocated rows
}

// Hold is the right of one attempt to a number.
type Hold struct {
	Attempt engine.AttemptID
	Until   time.Time // zero means until it is released
	Bound   time.Time // of the intent
}

// ReplyKey is the lookup key of a stored reply.
type ReplyKey struct {
	Key          engine.KeyID
	Route, Token string
}

// book is the store's data of one campaign.
type book struct {
	row      *campaign.Campaign // nil when none is stored, or it was removed
	rows     []*row             // in the order of addition
	numbers  map[engine.PhoneNumber]*row
	others   map[engine.PhoneNumber][]*row // the contacts that have a number beside their first, in any order
	position int64                         // the highest one in use
	runs     map[int]*run
	results  index[*row] // contacts that await a result, by its time-out
	live     int         // attempts
	answers  ledger
	before   []campaign.PastAnswers // from another store

	exclusions []journal.Exclusion
	excludedAt map[string]int // index of each in exclusions
	excluded   exclusion.Book

	pacing      *pacing.State
	pacingEpoch int64

	history *history
}

// history is a campaign's events by their sequence; it stays when the campaign is removed.
type history struct {
	events map[int64]int // places in Store.events
	last   int64
}

// New returns an empty store.
func New(o Options) *Store {
	t := &tables{
		opt:          o,
		Holds:        map[engine.PhoneNumber]Hold{},
		Suppressions: map[engine.PhoneNumber]journal.Suppression{},
		Replies:      map[ReplyKey]journal.Reply{},
		books:        map[engine.CampaignID]*book{},
		rows:         map[engine.ContactID]*row{},
		attempts:     map[engine.AttemptID]*record{},
		live:         map[engine.AttemptID]*record{},
		loose:        map[engine.AttemptID]*record{},
		imports:      map[engine.ImportID]*staging{},
		mentions:     map[engine.ContactID]struct{}{},
		dialouts:     map[eventKey]struct{}{},
		waiting:      map[engine.AttemptID]campaign.ScheduledDialout{},
		abandons:     map[engine.PhoneNumber]int64{},
		byKey:        map[engine.KeyID][]dial{},
	}
	return &Store{t, Roster{t}, Files{t}}
}

// Lock freezes the store until Unlock, for methods and fields to be used under the lock.
func (s *tables) Lock() { s.mu.Lock() }

// Unlock releases the store.
func (s *tables) Unlock() { s.mu.Unlock() }

func (s *tables) book(id engine.CampaignID) *book {
	b := s.books[id]
	if b == nil {
		b = newBook(&history{events: map[int64]int{}})
		s.books[id] = b
	}
	return b
}

func newBook(h *history) *book {
	return &book{numbers: map[engine.PhoneNumber]*row{}, others: map[engine.PhoneNumber][]*row{},
		runs: map[int]*run{}, answers: ledger{},
		excludedAt: map[string]int{}, excluded: exclusion.NewBook(nil), history: h}
}

// campaign returns a stored campaign.
func (s *tables) campaign(id engine.CampaignID) (*book, error) {
	if b := s.books[id]; b != nil && b.row != nil {
		return b, nil
	}
	return nil, engine.NotFound("campaign_not_found", "")
}

// InsertCampaign stores a new campaign, with its events so far.
func (s *Store) InsertCampaign(_ context.Context, c campaign.Campaign, events ...journal.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.book(c.ID); b.row == nil {
		b.row = &c
	}
	for i := range events {
		s.putEvent(&events[i])
	}
	return nil
}

// Campaign returns the row of a campaign.
func (s *Store) Campaign(_ context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.campaign(id)
	if err != nil {
		return campaign.Campaign{}, err
	}
	return *b.row, nil
}

// CampaignRow is the stored row itself, nil if there is none; call it under the lock.
func (s *tables) CampaignRow(id engine.CampaignID) *campaign.Campaign {
	if b := s.books[id]; b != nil {
		return b.row
	}
	return nil
}

// AcquireCampaign takes ownership: the epoch grows by one.
func (s *Store) AcquireCampaign(_ context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.campaign(id)
	if err != nil {
		return campaign.Campaign{}, err
	}
	b.row.Epoch++
	b.row.Seq = max(b.row.Seq, b.history.last)
	return *b.row, nil
}

// putCampaign keeps the newest row; only taking ownership changes the epoch.
func (s *tables) putCampaign(row campaign.Campaign) {
	b := s.book(row.ID)
	if old := b.row; old != nil {
		if row.Seq < old.Seq {
			return
		}
		row.Epoch, row.CreatedAt, row.CreatedBy = old.Epoch, old.CreatedAt, old.CreatedBy
	}
	b.row = &row
}

// ActiveCampaigns lists the campaigns that are running or paused, have live attempts or awaited
// results, or are completed with waiting contacts.
func (s *Store) ActiveCampaigns(context.Context) ([]engine.CampaignID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []engine.CampaignID
	for id, b := range s.books {
		if b.row == nil {
			continue
		}
		r := b.runs[b.row.Run]
		if b.row.State == campaign.Running || b.row.State == campaign.Paused || b.live > 0 || b.results.size > 0 ||
			b.row.State == campaign.Completed && r != nil && !r.queue.empty() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y engine.CampaignID) int {
		return cmp.Or(s.books[x].row.CreatedAt.Compare(s.books[y].row.CreatedAt), cmp.Compare(x, y))
	})
	return ids, nil
}

// RemoveCampaign deletes a campaign that never ran, with all its own data except its history.
func (s *Store) RemoveCampaign(_ context.Context, id engine.CampaignID, _ engine.Who) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil || b.row == nil {
		return nil
	}
	if b.row.EverRun || b.row.Run > 1 {
		return engine.Conflict("campaign_was_run", "")
	}
	for _, r := range b.rows {
		delete(s.rows, r.c.ID)
	}
	maps.DeleteFunc(s.imports, func(_ engine.ImportID, o *staging) bool { return o.imp.Campaign == id })
	s.books[id] = newBook(b.history)
	return nil
}

// SavePacing stores a campaign's learnt pacing state, unless the owner is outdated.
func (s *Store) SavePacing(_ context.Context, id engine.CampaignID, epoch int64, state pacing.State,
	_ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil && b.row != nil && epoch >= b.pacingEpoch {
		b.pacing, b.pacingEpoch = &state, epoch
	}
	return nil
}

// Pacing returns that state.
func (s *Store) Pacing(_ context.Context, id engine.CampaignID) (state pacing.State, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil && b.pacing != nil {
		return *b.pacing, true, nil
	}
	return state, false, nil
}

// Bots returns the bots of the installation.
func (s *Store) Bots(context.Context) ([]engine.Bot, error) {
	if s.opt.Bots == nil {
		return nil, nil
	}
	return s.opt.Bots(), nil
}

// AnswerHours returns what was learned of the hours at which people answer.
func (s *Store) AnswerHours(context.Context) (t besthour.Table, err error) {
	if s.opt.Hours != nil {
		t = s.opt.Hours()
	}
	return t, nil
}

// Cadences returns the cadences of the installation.
func (s *Store) Cadences(context.Context) ([]cadence.Named, error) { return s.opt.Cadences, nil }

// SetCalendars puts other calendars in place of the installation's.
func (s *Store) SetCalendars(list []calendar.Named) { s.opt.Calendars = list }

// Calendars returns the calendars of the installation.
func (s *Store) Calendars(context.Context) ([]calendar.Named, error) { return s.opt.Calendars, nil }

// eventKey identifies an event of a dialout.
type eventKey struct {
	attempt engine.AttemptID
	kind    journal.Type
	leg     engine.LegID
	at      int64
}

// putEvent stores an event once, if the store keeps events of that kind.
func (s *tables) putEvent(e *journal.Event) { s.keepEvent(e, s.opt.KeepEvents) }

func (s *tables) keepEvent(e *journal.Event, keep bool) {
	if e.Campaign == "" {
		k := eventKey{e.Attempt, e.Type, e.Data.Leg, e.At.Round(time.Microsecond).UnixMicro()}
		if _, dup := s.dialouts[k]; keep && !dup {
			s.dialouts[k] = struct{}{}
			s.events = append(s.events, *e)
		}
		return
	}
	if e.Mentions() {
		s.mentions[e.Contact] = struct{}{}
	}
	h := s.book(e.Campaign).history
	h.last = max(h.last, e.Seq)
	if _, dup := h.events[e.Seq]; keep && !dup {
		h.events[e.Seq] = len(s.events)
		s.events = append(s.events, *e)
	}
}

// told says whether an event is stored.
func (s *tables) told(e *journal.Event) bool {
	_, ok := s.book(e.Campaign).history.events[e.Seq]
	return ok
}

// EventAt returns the event at a position of a campaign's sequence.
func (s *Store) EventAt(_ context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[id]; b != nil {
		if i, ok := b.history.events[seq]; ok {
			return s.events[i], true, nil
		}
	}
	return e, false, nil
}

// Events returns a campaign's events after a position of its sequence, in order.
func (s *Store) Events(_ context.Context, id engine.CampaignID, after int64,
	limit int) (list []journal.Event, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return nil, nil
	}
	for _, seq := range slices.Sorted(maps.Keys(b.history.events)) {
		if seq > after && len(list) < limit {
			list = append(list, s.events[b.history.events[seq]])
		}
	}
	return list, nil
}

// AllEvents returns every event in order of arrival; call it under the lock.
func (s *tables) AllEvents() []journal.Event { return s.events }

// replyLife is how long a reply is kept.
const replyLife = 24 * time.Hour

func keyOf(id engine.Idempotency) ReplyKey { return ReplyKey{id.Key, id.Route, id.Token} }

// takesReply says that there is no reply yet, that it is this one, or that it has expired.
func (s *tables) takesReply(r *journal.Reply) bool {
	old, dup := s.Replies[keyOf(r.Idempotency)]
	return !dup || !old.At.After(r.At.Add(-replyLife)) ||
		old.At.Equal(r.At) && old.BodyHash == r.BodyHash && string(old.Body) == string(r.Body)
}

// FindReply returns the stored reply of a request, unless it is older than a day.
func (s *Store) FindReply(_ context.Context, id engine.Idempotency) (journal.Reply, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.Replies[keyOf(id)]
	if !ok || s.opt.Now().Sub(r.At) >= replyLife {
		return journal.Reply{}, false, nil
	}
	return r, true, nil
}

// PutAttempt stores an attempt outside a write; call it under the lock.
func (s *tables) PutAttempt(a attempt.Attempt) { s.putAttempt(&a) }

// PutContact stores a contact outside a write; call it under the lock.
func (s *tables) PutContact(c contact.Contact) { s.putContact(&c) }
