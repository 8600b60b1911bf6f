// Package actortest holds stand-ins for the ports of package actors: a store
// in memory that keeps the database's promises, and a carrier and media path
// that follow a script. They are for tests of the tree; the adapters have
// conformance suites of their own.
package actortest

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// Store keeps everything in memory, with the promises of persistence: a write
// is atomic, a held or suppressed number refuses its intent, a stale epoch is
// refused, a repeated write is harmless.
type Store struct {
	mu        sync.Mutex
	Campaigns map[engine.CampaignID]*campaign.Campaign
	Rows      map[engine.ContactID]*contact.Contact // each is replaced, never changed
	Attempts  map[engine.AttemptID]attempt.Attempt
	Holds     map[engine.PhoneNumber]Hold
	Supp      map[engine.PhoneNumber]bool
	Excl      []journal.Exclusion
	Events    []journal.Event
	Replies   map[string]journal.Reply
	// Earlier are the contacts as earlier runs left them, by run.
	Earlier   map[int]map[engine.ContactID]contact.Contact
	BotList   []engine.Bot
	TrunkList []engine.TrunkSettings
	Nums      []engine.NumberSettings
	Imports   Imports
	Pacing_   map[engine.CampaignID]pacing.State

	// NotOwned: another node acts for the campaigns.
	NotOwned bool

	// Delay is how long a commit takes; Down makes it fail.
	Delay time.Duration
	down  bool
	// deaf: commits are done and nobody hears of it.
	deaf bool
	seen map[eventKey]struct{}
	// FailNext is how many commits from now on fail, each as a lost connection.
	FailNext int
	// FailLookUps is how many look-ups of contacts fail from now on.
	FailLookUps int
	LateAnswer  time.Duration // between the reading of one contact, or of the dials of numbers, and the answer
	// Reads counts the attempts and contacts that were asked for one by one.
	Reads int
	// OnWrite sees every accepted write.
	OnWrite func(w *journal.Write)
}

// Hold is the right of one attempt to a number.
type Hold struct {
	Attempt engine.AttemptID
	Until   time.Time
}

// NewStore is an empty store.
func NewStore() *Store {
	return &Store{Campaigns: map[engine.CampaignID]*campaign.Campaign{}, Rows: map[engine.ContactID]*contact.Contact{},
		Attempts: map[engine.AttemptID]attempt.Attempt{}, Holds: map[engine.PhoneNumber]Hold{}, Supp: map[engine.PhoneNumber]bool{},
		Replies: map[string]journal.Reply{}, Earlier: map[int]map[engine.ContactID]contact.Contact{},
		Pacing_: map[engine.CampaignID]pacing.State{}, Delay: 2 * time.Millisecond}
}

// eventKey is what no second event has.
type eventKey struct {
	campaign engine.CampaignID
	seq      int64
	attempt  engine.AttemptID
	kind     journal.Type
	leg      engine.LegID
	at       time.Time
}

func keyOf(e *journal.Event) eventKey {
	if e.Campaign != "" {
		return eventKey{campaign: e.Campaign, seq: e.Seq}
	}
	return eventKey{attempt: e.Attempt, kind: e.Type, leg: e.Data.Leg, at: e.At.UTC().Round(time.Microsecond)}
}

// SetDeaf makes commits succeed without an answer, or answer again.
func (s *Store) SetDeaf(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// SetDown makes commits fail, or work again.
func (s *Store) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// View runs f under the store's lock.
func (s *Store) View(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

var errDown = errors.New("actortest: the database is away")

func (s *Store) wait(ctx context.Context) error {
	s.mu.Lock()
	delay := s.Delay
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(delay):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errDown
	}
	return nil
}

// Ping implements actors.Store.
func (s *Store) Ping(ctx context.Context) error { return s.wait(ctx) }

// Commit implements actors.Store.
func (s *Store) Commit(ctx context.Context, group []journal.Write) ([]error, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.FailNext > 0 {
		s.FailNext--
		return nil, errDown
	}
	refused := make([]error, len(group))
	for i := range group {
		refused[i] = s.apply(&group[i])
		if refused[i] == nil && s.OnWrite != nil {
			s.OnWrite(&group[i])
		}
	}
	if s.deaf {
		return nil, errDown
	}
	return refused, nil
}

func (s *Store) apply(w *journal.Write) (refused error) {
	if c := s.Campaigns[w.Campaign]; c != nil && w.Epoch != c.Epoch {
		return journal.ErrStaleEpoch
	}
	now := time.Now()
	if w.Reply != nil {
		k := string(w.Reply.Key) + "|" + w.Reply.Route + "|" + w.Reply.Token
		if old, dup := s.Replies[k]; dup && !(old.At.Equal(w.Reply.At) && old.BodyHash == w.Reply.BodyHash && string(old.Body) == string(w.Reply.Body)) {
			return journal.ErrReplyExists
		}
		defer func() {
			if refused == nil {
				s.Replies[k] = *w.Reply
			}
		}()
	}
	if w.Fresh {
		n := &w.Contacts[0]
		if s.Supp[n.Number] {
			return journal.ErrSuppressed
		}
		for id := range s.Rows {
			if c := s.Rows[id]; id != n.ID && c.Campaign == n.Campaign && c.Number == n.Number {
				return journal.ErrContactExists
			}
		}
	}
	if n := w.Intent; n != nil {
		if n.Refused != nil {
			return n.Refused
		}
		if h, held := s.Holds[n.Number]; held && h.Attempt != n.Attempt && (h.Until.IsZero() || now.Before(h.Until)) {
			return journal.ErrNumberHeld
		}
		if s.Supp[n.Number] {
			return journal.ErrSuppressed
		}
		if err := s.capped(n); err != nil {
			return err
		}
		if err := s.keyCapped(n); err != nil {
			return err
		}
		s.Holds[n.Number] = Hold{Attempt: n.Attempt}
	}
	for _, c := range w.Contacts {
		if _, ok := s.Rows[c.ID]; !ok && s.Imports.locked[c.Number] {
			s.Imports.Stalls++
		}
		if old, ok := s.Rows[c.ID]; !ok || c.Version > old.Version {
			s.Rows[c.ID] = &c
		}
	}
	for _, a := range w.Attempts {
		if old, ok := s.Attempts[a.ID]; ok && old.State == attempt.Ended && a.State != attempt.Ended {
			continue
		}
		s.Attempts[a.ID] = a
	}
	for _, h := range w.Holds {
		if cur, ok := s.Holds[h.Number]; ok && cur.Attempt == h.Attempt {
			if h.Until.IsZero() {
				delete(s.Holds, h.Number)
			} else {
				s.Holds[h.Number] = Hold{h.Attempt, h.Until}
			}
		}
	}
	s.Excl = append(s.Excl, w.Exclusions...)
	for _, x := range w.Suppressions {
		s.Supp[x.Number] = true
	}
	if w.CampaignRow != nil {
		row := *w.CampaignRow
		s.Campaigns[row.ID] = &row
	}
	if w.Bulk != nil {
		s.closeWaiting(w.Campaign, w.Bulk)
	}
	if w.Retune != nil {
		s.retune(w.Campaign, w.Retune)
	}
	for _, e := range w.Events {
		if s.seen == nil {
			s.seen = map[eventKey]struct{}{}
		}
		if _, dup := s.seen[keyOf(&e)]; !dup {
			s.seen[keyOf(&e)] = struct{}{}
			s.Events = append(s.Events, e)
		}
	}
	return nil
}

// capped refuses an intent whose number was called as often as is allowed.
func (s *Store) capped(n *journal.Intent) error {
	if _, repeat := s.Attempts[n.Attempt]; repeat || n.Cap == nil {
		return nil
	}
	var begun []time.Time
	for _, a := range s.Attempts {
		if a.To == n.Number && a.ReservedAt != nil && a.ReservedAt.After(n.Cap.Now.Add(-n.Cap.Period)) && (a.Consumed || a.Live()) {
			begun = append(begun, *a.ReservedAt)
		}
	}
	if len(begun) < n.Cap.Attempts {
		return nil
	}
	slices.SortFunc(begun, func(a, b time.Time) int { return b.Compare(a) })
	return n.Cap.Refusal(begun[n.Cap.Attempts-1])
}

// keyCapped refuses a dialout of a key that has placed as many as it may.
func (s *Store) keyCapped(n *journal.Intent) error {
	if n.KeyCap == nil {
		return nil
	}
	var begun []time.Time
	for _, a := range s.Attempts {
		if a.Key == n.KeyCap.Key && a.ID != n.Attempt && a.ReservedAt != nil && a.ReservedAt.After(n.KeyCap.Now.Add(-journal.KeyCapPeriod)) && (a.Consumed || a.Live()) {
			begun = append(begun, *a.ReservedAt)
		}
	}
	if len(begun) < n.KeyCap.Calls {
		return nil
	}
	slices.SortFunc(begun, func(a, b time.Time) int { return b.Compare(a) })
	return n.KeyCap.Refusal(begun[n.KeyCap.Calls-1])
}

// AcquireCampaign implements actors.Store.
func (s *Store) AcquireCampaign(_ context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.Campaigns[id]
	if c == nil {
		return campaign.Campaign{}, engine.NotFound("campaign_not_found", "no such campaign")
	}
	if s.NotOwned {
		return campaign.Campaign{}, engine.Conflict("not_owner", "another node acts for the campaign")
	}
	c.Epoch++
	for i := range s.Events {
		if s.Events[i].Campaign == id {
			c.Seq = max(c.Seq, s.Events[i].Seq)
		}
	}
	return *c, nil
}

// ActiveCampaigns implements actors.Store.
func (s *Store) ActiveCampaigns(context.Context) ([]engine.CampaignID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []engine.CampaignID
	for id, c := range s.Campaigns {
		active := c.State == campaign.Running || c.State == campaign.Paused
		for _, a := range s.Attempts {
			active = active || (a.Campaign == id && a.State != attempt.Ended)
		}
		for _, x := range s.Rows {
			active = active || (x.Campaign == id && x.ResultDueAt != nil) ||
				(x.Campaign == id && c.State == campaign.Completed && x.Run == c.Run && x.DueAt != nil)
		}
		if active {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Counters implements actors.Store: counted from the rows.
func (s *Store) Counters(_ context.Context, id engine.CampaignID, run int) (campaign.Counters, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := tally.New()
	for _, c := range s.contactsOf(id, run) {
		f := c.Facts()
		t.Contacts(&f, 1)
	}
	for _, a := range s.Attempts {
		if a.Campaign == id && a.Run == run {
			t.Attempt(&a)
		}
	}
	return t.Counters(), nil
}

// AbandonLedger implements actors.Store.
func (s *Store) AbandonLedger(ctx context.Context, id engine.CampaignID, since time.Time) (sum pacing.Counts, err error) {
	hours, err := s.AbandonHours(ctx, id, since)
	for _, c := range hours {
		sum.Add(c)
	}
	return sum, err
}

// AbandonHours implements actors.Store.
func (s *Store) AbandonHours(_ context.Context, id engine.CampaignID, since time.Time) (map[int64]pacing.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hours := map[int64]pacing.Counts{}
	for _, a := range s.Attempts {
		if a.Campaign != id || a.AnsweredAt == nil {
			continue
		}
		outcome, cause, at := a.Outcome, a.Cause, a.EndedAt
		if a.Live() && a.Ending != nil {
			outcome, cause, at = a.Ending.Outcome, a.Ending.Cause, &a.Ending.At
		}
		var c pacing.Counts
		switch {
		case a.WasConnected() && a.Live() && a.RevisableUntil != nil:
			continue // it does not count yet
		case a.WasConnected():
			c.Live, at = 1, a.ServedAt
			if r := a.RevisableUntil; r != nil {
				at = r
				if a.EndedAt.Before(*at) {
					at = a.EndedAt
				}
			}
		case outcome == engine.OutcomeAbandoned:
			c.Live, c.Abandoned = 1, 1
			if cause == engine.AbandonCapacityLoss {
				c.CapacityLoss = 1
			}
		case a.Verdict != "" && !a.Verdict.Live():
			c.Machines, at = 1, a.VerdictAt
		default:
			continue
		}
		if at == nil || at.Before(since) {
			continue
		}
		sum := hours[pacing.HourOf(*at)]
		sum.Add(c)
		hours[pacing.HourOf(*at)] = sum
	}
	return hours, nil
}

// SavePacing implements actors.Store.
func (s *Store) SavePacing(_ context.Context, id engine.CampaignID, _ int64, state pacing.State, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Pacing_[id] = state
	return nil
}

// Pacing implements actors.Store.
func (s *Store) Pacing(_ context.Context, id engine.CampaignID) (state pacing.State, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok = s.Pacing_[id]
	return state, ok, nil
}

// RemoveCampaign implements actors.Store.
func (s *Store) RemoveCampaign(_ context.Context, id engine.CampaignID, _ engine.Who) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.Campaigns, id)
	return nil
}

// AddContacts implements actors.Store.
func (s *Store) AddContacts(ctx context.Context, add journal.ContactInsert) (campaign.AddReport, error) {
	if err := s.wait(ctx); err != nil {
		return campaign.AddReport{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rep campaign.AddReport
	known, pos := map[engine.PhoneNumber]*contact.Contact{}, int64(0)
	for _, c := range s.Rows {
		if c.Campaign == add.Campaign {
			known[c.Number] = c
			pos = max(pos, c.Position)
		}
	}
	became := make([]campaign.BatchResult, 0, len(add.Contacts))
	var rows []*contact.Contact
	for _, n := range add.Contacts {
		if c, dup := known[n.Number]; dup {
			rep.Duplicates++
			status := campaign.RowDuplicate
			if camp := s.Campaigns[add.Campaign]; c.State == contact.Excluded && camp != nil && !camp.Settings.StickyExclusion {
				status = campaign.RowReadmitted
			}
			became = append(became, campaign.BatchResult{Status: status, ContactID: c.ID})
			continue
		}
		pos++
		due := add.At
		c := &contact.Contact{ID: n.ID, Campaign: add.Campaign, Number: n.Number, Variables: n.Variables, Position: pos,
			Source: add.Source, Run: add.Run, State: contact.Pending, Max: add.Max, DueAt: &due, DueClass: add.DueClass, DuePass: 1,
			CreatedAt: add.At, UpdatedAt: add.At, Version: 1}
		known[n.Number] = c
		rows = append(rows, c)
		became = append(became, campaign.BatchResult{Status: campaign.RowAdded, ContactID: n.ID})
		rep.Added++
	}
	if add.Answer != nil {
		if r := add.Answer(became); r != nil {
			k := string(r.Key) + "|" + r.Route + "|" + r.Token
			if _, dup := s.Replies[k]; dup {
				return campaign.AddReport{}, journal.ErrReplyExists
			}
			s.Replies[k] = *r
		}
	}
	for _, c := range rows {
		s.Rows[c.ID] = c
	}
	ev := add.Event
	ev.Data.Count = rep.Added
	s.Events = append(s.Events, ev)
	return rep, nil
}

// DueContacts implements actors.Store.
func (s *Store) DueContacts(ctx context.Context, id engine.CampaignID, _ int, order contact.Order, limit int, except []engine.ContactID) ([]contact.Contact, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	order.Now = order.Now.Round(0) // a database knows no monotonic clock
	left := make(map[engine.ContactID]struct{}, len(except))
	for _, x := range except {
		left[x] = struct{}{}
	}
	var rows []contact.Contact
	for _, c := range s.Rows {
		if c.Campaign != id || c.DueAt == nil || c.DueAt.After(order.Now) || c.Attempt != "" || !c.Open() {
			continue
		}
		if _, out := left[c.ID]; out {
			continue
		}
		if h, held := s.Holds[c.Number]; held && (h.Until.IsZero() || order.Now.Before(h.Until)) {
			continue
		}
		row, due := *c, c.DueAt.Round(0)
		row.DueAt = &due
		rows = append(rows, row)
	}
	sort.Slice(rows, func(i, j int) bool { return order.Before(&rows[i], &rows[j]) })
	return rows[:min(limit, len(rows))], nil
}

// AbandonedSince implements actors.Store.
func (s *Store) AbandonedSince(_ context.Context, numbers []engine.PhoneNumber, since time.Time) (map[engine.PhoneNumber]time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[engine.PhoneNumber]time.Time{}
	for _, a := range s.Attempts {
		if a.State == attempt.Ended && a.Outcome == engine.OutcomeAbandoned && slices.Contains(numbers, a.To) &&
			!a.EndedAt.Before(since) && a.EndedAt.After(out[a.To]) {
			out[a.To] = *a.EndedAt
		}
	}
	return out, nil
}

// NextDue implements actors.Store.
func (s *Store) NextDue(_ context.Context, id engine.CampaignID, _ int) (next *time.Time, open int, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.Rows {
		if c.Campaign != id || !c.Open() {
			continue
		}
		open++
		if c.DueAt != nil && c.Attempt == "" && (next == nil || c.DueAt.Before(*next)) {
			t := c.DueAt.Round(0)
			next = &t
		}
	}
	return next, open, nil
}

// Exhausted implements actors.Store.
func (s *Store) Exhausted(_ context.Context, id engine.CampaignID, run int) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.contactsOf(id, run) {
		if c.State == contact.Failed && c.Reason == contact.ReasonExhausted {
			return true, nil
		}
	}
	return false, nil
}

// answerLate keeps what was read back for LateAnswer.
func (s *Store) answerLate() {
	s.mu.Lock()
	late := s.LateAnswer
	s.mu.Unlock()
	time.Sleep(late)
}
