// Package actortest holds stand-ins for the ports of package actors: a store
// in memory that passes the conformance suite of PostgreSQL's, and a carrier and
// media path that follow a script. They are for tests of the tree.
package actortest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// Store keeps everything in memory, with the promises of storetest.RunPort. It
// knows nothing of SQL's types: text is kept as it comes.
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
	pacingOf  map[engine.CampaignID]int64 // the epoch that saved it

	// NotOwned: another node acts for the campaigns.
	NotOwned bool

	// Delay is how long a commit takes; Down makes it fail.
	Delay time.Duration
	// LookDelay is how long the answer of NextDue is under way.
	LookDelay time.Duration
	down      bool
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
	Bound   time.Time // of the intent
}

// NewStore is an empty store.
func NewStore() *Store {
	return &Store{Campaigns: map[engine.CampaignID]*campaign.Campaign{}, Rows: map[engine.ContactID]*contact.Contact{},
		Attempts: map[engine.AttemptID]attempt.Attempt{}, Holds: map[engine.PhoneNumber]Hold{}, Supp: map[engine.PhoneNumber]bool{},
		Replies: map[string]journal.Reply{}, Earlier: map[int]map[engine.ContactID]contact.Contact{},
		Pacing_: map[engine.CampaignID]pacing.State{}, pacingOf: map[engine.CampaignID]int64{}, Delay: 2 * time.Millisecond}
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

var errCampaignNotFound = engine.NotFound("campaign_not_found", "no such campaign")

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
	answered := map[replyKey]bool{}
	for i := range group {
		refused[i] = s.apply(&group[i], answered)
		if refused[i] == nil && s.OnWrite != nil {
			s.OnWrite(&group[i])
		}
	}
	if s.deaf {
		return nil, errDown
	}
	return refused, nil
}

// apply does one write of a group, whose replies so far are answered.
func (s *Store) apply(w *journal.Write, answered map[replyKey]bool) error {
	if err := s.refuse(w, answered); err != nil {
		return err
	}
	if r := w.Reply; r != nil {
		k := keyOfReply(r.Idempotency)
		s.Replies[k], answered[k] = *r, true
	}
	if n := w.Intent; n != nil && !s.ended(n.Attempt) {
		s.Holds[n.Number] = Hold{Attempt: n.Attempt, Bound: n.Bound}
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
		s.putAttempt(a)
	}
	for _, h := range w.Holds {
		if cur, ok := s.Holds[h.Number]; ok && cur.Attempt == h.Attempt {
			switch {
			case h.Until.IsZero():
				delete(s.Holds, h.Number)
			case h.Owed && cur.Bound.After(h.Until):
				s.Holds[h.Number] = Hold{h.Attempt, cur.Bound, cur.Bound}
			default:
				s.Holds[h.Number] = Hold{h.Attempt, h.Until, cur.Bound}
			}
		}
	}
	for _, x := range w.Exclusions {
		s.putExclusion(x)
	}
	for _, x := range w.Suppressions {
		s.Supp[x.Number] = true
	}
	if w.CampaignRow != nil {
		s.putCampaign(*w.CampaignRow)
	}
	if w.Bulk != nil {
		s.closeWaiting(w.Campaign, w.Bulk)
	}
	if w.Retune != nil {
		s.retune(w.Campaign, w.Retune)
	}
	for _, e := range w.Events {
		s.putEvent(e)
	}
	return nil
}

// refuse says why the database does not take a write. It changes nothing.
func (s *Store) refuse(w *journal.Write, answered map[replyKey]bool) error {
	if w.Campaign != "" {
		if c := s.Campaigns[w.Campaign]; c == nil || w.Epoch != c.Epoch {
			return journal.ErrStaleEpoch
		}
	}
	if r := w.Reply; r != nil && (answered[keyOfReply(r.Idempotency)] || !s.takesReply(r)) {
		return journal.ErrReplyExists
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
	n := w.Intent
	if n == nil {
		return nil
	}
	if n.Refused != nil {
		return n.Refused
	}
	if h, held := s.Holds[n.Number]; held && !s.ended(n.Attempt) && h.Attempt != n.Attempt &&
		(h.Until.IsZero() || time.Now().Before(h.Until)) {
		return journal.ErrNumberHeld
	}
	if s.Supp[n.Number] {
		return journal.ErrSuppressed
	}
	if err := s.capped(n); err != nil {
		return err
	}
	return s.keyCapped(n)
}

// ended: the intent of such an attempt is a repeat of what was done long ago.
func (s *Store) ended(id engine.AttemptID) bool {
	a, ok := s.Attempts[id]
	return ok && !a.Live()
}

type replyKey = string

func keyOfReply(id engine.Idempotency) replyKey {
	return string(id.Key) + "|" + id.Route + "|" + id.Token
}

// replyLife is how long a reply is kept.
const replyLife = 24 * time.Hour

// takesReply: there is none, it is this one, or its day is over.
func (s *Store) takesReply(r *journal.Reply) bool {
	old, dup := s.Replies[keyOfReply(r.Idempotency)]
	return !dup || !old.At.After(r.At.Add(-replyLife)) ||
		old.At.Equal(r.At) && old.BodyHash == r.BodyHash && string(old.Body) == string(r.Body)
}

// putAttempt keeps the attempt from going back, and each of its legs.
func (s *Store) putAttempt(a attempt.Attempt) {
	old, ok := s.Attempts[a.ID]
	if ok {
		stands := a
		if !old.Live() && a.Live() || progress(&a) < progress(&old) {
			stands = old
		} else if old.Result != nil && a.Result == nil {
			stands.Result = old.Result
			if !old.Live() {
				stands.Outcome = old.Outcome
			}
		}
		stands.Legs = newerLegs(old.Legs, a.Legs)
		a = stands
	}
	s.Attempts[a.ID] = a
}

// progress grows with every event of the legs and the media path.
func progress(a *attempt.Attempt) int {
	n := a.MediaSeq
	for i := range a.Legs {
		n += a.Legs[i].Seq
	}
	for i := range a.Peers {
		n += a.Peers[i].Seq
	}
	return n
}

func newerLegs(old, legs []attempt.Leg) []attempt.Leg {
	out := slices.Clone(old)
	for _, l := range legs {
		i := slices.IndexFunc(out, func(o attempt.Leg) bool { return o.ID == l.ID })
		switch {
		case i < 0:
			out = append(out, l)
		case l.Seq >= out[i].Seq && (out[i].EndedAt == nil || l.EndedAt != nil):
			out[i] = l
		}
	}
	return out
}

// putCampaign: the newest row stands, and only taking ownership moves the epoch.
func (s *Store) putCampaign(row campaign.Campaign) {
	old := s.Campaigns[row.ID]
	if old != nil {
		if row.Seq < old.Seq {
			return
		}
		row.Epoch, row.CreatedAt, row.CreatedBy = old.Epoch, old.CreatedAt, old.CreatedBy
	}
	s.Campaigns[row.ID] = &row
}

// putExclusion keeps the newest word on a number or a match.
func (s *Store) putExclusion(x journal.Exclusion) {
	i := slices.IndexFunc(s.Excl, func(o journal.Exclusion) bool {
		return o.Campaign == x.Campaign && o.Number == x.Number && maps.Equal(o.Match, x.Match)
	})
	switch {
	case i < 0:
		s.Excl = append(s.Excl, x)
	case !x.CreatedAt.Before(s.Excl[i].CreatedAt):
		s.Excl[i] = x
	}
}

// putEvent keeps an event once.
func (s *Store) putEvent(e journal.Event) {
	if s.seen == nil {
		s.seen = map[eventKey]struct{}{}
	}
	if _, dup := s.seen[keyOf(&e)]; !dup {
		s.seen[keyOf(&e)] = struct{}{}
		s.Events = append(s.Events, e)
	}
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
		return campaign.Campaign{}, errCampaignNotFound
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
func (s *Store) SavePacing(_ context.Context, id engine.CampaignID, epoch int64, state pacing.State, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Campaigns[id] != nil && epoch >= s.pacingOf[id] {
		s.Pacing_[id], s.pacingOf[id] = state, epoch
	}
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
	c := s.Campaigns[id]
	if c == nil {
		return nil
	}
	if c.EverRun || c.Run > 1 {
		return engine.Conflict("campaign_was_run", "only a draft that never ran can be deleted")
	}
	delete(s.Campaigns, id)
	delete(s.Pacing_, id)
	maps.DeleteFunc(s.Rows, func(_ engine.ContactID, c *contact.Contact) bool { return c.Campaign == id })
	maps.DeleteFunc(s.Imports.all, func(_ engine.ImportID, o *openImport) bool { return o.imp.Campaign == id })
	s.Excl = slices.DeleteFunc(s.Excl, func(x journal.Exclusion) bool { return x.Campaign == id })
	return nil
}

// AddContacts implements actors.Store.
func (s *Store) AddContacts(ctx context.Context, add journal.ContactInsert) (campaign.AddReport, error) {
	if err := s.wait(ctx); err != nil {
		return campaign.AddReport{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	camp := s.Campaigns[add.Campaign]
	switch {
	case camp == nil:
		return campaign.AddReport{}, errCampaignNotFound
	case add.Epoch != camp.Epoch:
		return campaign.AddReport{}, journal.ErrStaleEpoch
	}
	sticky := camp.Settings.StickyExclusion
	known, pos, total := map[engine.PhoneNumber]*contact.Contact{}, int64(0), 0
	for _, c := range s.Rows {
		if c.Campaign == add.Campaign {
			known[c.Number] = c
			pos = max(pos, c.Position)
			total++
		}
	}
	var rep campaign.AddReport
	became := make([]campaign.BatchResult, 0, len(add.Contacts))
	rows := map[engine.PhoneNumber]*contact.Contact{}
	excluded := map[engine.PhoneNumber]bool{}
	for _, n := range add.Contacts {
		c := known[n.Number]
		r := campaign.BatchResult{Status: campaign.RowDuplicate}
		switch {
		case excluded[n.Number] || sticky && rows[n.Number] == nil && (c == nil || c.ID != n.ID) && s.covered(add.Campaign, n.NewContact):
			excluded[n.Number], r.Status = true, campaign.RowExcluded
			if c != nil {
				r.ContactID = c.ID
			}
			rep.Excluded++
		case rows[n.Number] != nil:
			r.ContactID = rows[n.Number].ID
			rep.Duplicates++
		case c == nil:
			pos++
			due := add.At
			c = &contact.Contact{ID: n.ID, Campaign: add.Campaign, Number: n.Number, Variables: n.Variables, Position: pos,
				Source: add.Source, Run: add.Run, State: contact.Pending, Max: add.Max, DueAt: &due, DueClass: add.DueClass, DuePass: 1,
				CreatedAt: add.At, UpdatedAt: add.At, Version: 1}
			total++
			fallthrough
		case c.ID == n.ID: // added the first time, whose answer was not heard
			rows[n.Number] = c
			r = campaign.BatchResult{Status: campaign.RowAdded, ContactID: n.ID}
			rep.Added++
		default:
			r.ContactID = c.ID
			if c.State == contact.Excluded && !sticky {
				r.Status = campaign.RowReadmitted
			}
			rep.Duplicates++
		}
		became = append(became, r)
	}
	rep.Total = total
	if add.Answer != nil {
		if r := add.Answer(became); r != nil {
			if !s.takesReply(r) {
				return campaign.AddReport{}, journal.ErrReplyExists
			}
			s.Replies[keyOfReply(r.Idempotency)] = *r
		}
	}
	for _, c := range rows {
		s.Rows[c.ID] = c
	}
	if rep.Added > 0 {
		ev := add.Event
		ev.Data.Count = rep.Added
		s.putEvent(ev)
	}
	return rep, nil
}

// covered says whether an exclusion of the campaign covers a new contact.
func (s *Store) covered(id engine.CampaignID, n campaign.NewContact) bool {
	return slices.ContainsFunc(s.Excl, func(x journal.Exclusion) bool {
		return x.Campaign == id && !x.Lifted && exclusion.Concerns(x.Number, x.Match, n.Number, n.Variables)
	})
}

// DueContacts implements actors.Store.
func (s *Store) DueContacts(ctx context.Context, id engine.CampaignID, run int, order contact.Order, limit int, except []engine.ContactID) ([]contact.Contact, error) {
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
		if c.Campaign != id || c.Run != run || c.DueAt == nil || c.DueAt.After(order.Now) || c.Attempt != "" || !c.Open() {
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
func (s *Store) NextDue(_ context.Context, id engine.CampaignID, run int) (next *time.Time, open int, _ error) {
	s.mu.Lock()
	defer func() {
		delay := s.LookDelay
		s.mu.Unlock()
		time.Sleep(delay)
	}()
	for _, c := range s.Rows {
		if c.Campaign != id || c.Run != run || !c.Open() {
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
