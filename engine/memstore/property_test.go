package memstore_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/memstore"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// draws makes random writes over a few campaigns, numbers and attempts.
type draws struct {
	*rapid.T
	seq int64
}

func (d *draws) n(most int) int { return rapid.IntRange(0, most).Draw(d.T, "n") }

func (d *draws) time(maybe bool) *time.Time {
	if maybe && d.n(2) == 0 {
		return nil
	}
	return ptr(at(d.n(30) - 15))
}

func one[T any](d *draws, of ...T) T { return of[d.n(len(of)-1)] }

func (d *draws) campaign() engine.CampaignID { return one[engine.CampaignID](d, "cmp_1", "cmp_2") }

func (d *draws) contact() contact.Contact {
	i := d.n(19)
	c := contact.Contact{
		ID: contactNo(i), Campaign: "cmp_1", Number: numberNo(i / 2), Position: int64(i + 1), Run: 1 + d.n(1), Max: 3,
		State: one(d, contact.States...), Reason: one(d, "", contact.ReasonExhausted), Used: d.n(3), DuePass: d.n(3),
		DueAt: d.time(true), DueClass: contact.DueClass(d.n(3)), ResultDueAt: d.time(true),
		ConnectedOnce: d.n(1) == 1, Version: int64(d.n(6)),
		Callback: one(d, append([]contact.CallbackState{""}, contact.CallbackStates...)...),
	}
	if i%2 == 1 { // the other half belong to the second campaign
		c.Campaign = "cmp_2"
	}
	switch d.n(5) {
	case 0:
		c.Attempt = attemptNo(d.n(9))
	case 1, 2, 3: // a waiting contact, for the first attempt more often than not
		c.State, c.DueAt = contact.Pending, d.time(false)
		c.DueClass = one(d, contact.DueFirst, contact.DueFirst, c.DueClass)
	}
	c.Precedence, c.ExpiresAt = d.n(2)-1, d.time(true)
	return c
}

func (d *draws) attempt() attempt.Attempt {
	i := d.n(9)
	a := attempt.Attempt{
		ID: attemptNo(i), Campaign: []engine.CampaignID{"cmp_1", "cmp_2"}[i%2], Contact: contactNo(i),
		Run: 1 + i%2, Pass: 1 + i%3, To: numberNo(i / 2),
		State: one(d, attempt.States...), ReservedAt: ptr(at(i)), MediaSeq: d.n(3), Consumed: d.n(1) == 1,
		Legs: []attempt.Leg{{ID: attemptNo(i).Leg(1), Seq: d.n(3), EndedAt: d.time(true)}},
	}
	if d.n(1) == 1 {
		a.AnsweredAt, a.ServedAt, a.BotConnectedAt = d.time(false), d.time(true), d.time(true)
	}
	if a.State == attempt.Ended {
		a.EndedAt = d.time(false)
		a.Outcome = one(d, engine.OutcomeCompleted, engine.OutcomeAbandoned, engine.OutcomeBusy)
	}
	if d.n(2) == 0 {
		a.Result = &attempt.Result{Disposition: "sold"}
	}
	return a
}

func (d *draws) write() journal.Write {
	w := journal.Write{Campaign: d.campaign(), Epoch: int64(d.n(4) / 4)} // now and then from a stale owner
	for range d.n(6) {
		w.Contacts = append(w.Contacts, d.contact())
	}
	for range d.n(2) {
		w.Attempts = append(w.Attempts, d.attempt())
	}
	a := d.attempt()
	switch d.n(6) {
	case 0:
		w.Intent = &journal.Intent{Attempt: a.ID, Number: a.To, Bound: at(20)}
	case 1:
		w.Holds = []journal.HoldRelease{{Attempt: a.ID, Number: a.To, Owed: d.n(1) == 1}}
		if until := d.time(true); until != nil {
			w.Holds[0].Until = *until
		}
	case 2:
		w.Suppressions = []journal.Suppression{{Number: a.To}}
	case 3:
		d.seq++
		s := journal.Sweep{At: at(1), Limit: d.n(3), Event: journal.Event{Campaign: w.Campaign, Seq: d.seq,
			Run: 1 + d.n(1), Type: journal.ContactsClosed}}
		w.Bulk = &journal.Bulk{To: contact.ManuallyStopped, Sweep: s}
	case 4:
		d.seq++
		s := journal.Sweep{At: at(1), Event: journal.Event{Campaign: w.Campaign, Seq: d.seq, Run: 1 + d.n(1),
			Type: journal.ContactsRetuned}}
		w.Retune = &journal.Retune{MaxAttempts: 1 + d.n(4), Sweep: s}
	default: // rows alone
	}
	return w
}

// naive computes a store's answers by going through all its data.
type naive struct {
	contacts []contact.Contact
	attempts []attempt.Attempt
	holds    map[engine.PhoneNumber]memstore.Hold
}

func (m *naive) held(n engine.PhoneNumber, now time.Time) bool {
	h, ok := m.holds[n]
	return ok && (h.Until.IsZero() || now.Before(h.Until))
}

func (m *naive) over(id engine.AttemptID) bool {
	return slices.ContainsFunc(m.attempts, func(a attempt.Attempt) bool { return a.ID == id && !a.Live() })
}

func (m *naive) due(id engine.CampaignID, run int, o contact.Order, limit int,
	except []engine.ContactID) (list []engine.ContactID) {
	var rows []contact.Contact
	for _, c := range m.contacts {
		waits := c.Campaign == id && c.Run == run && c.Open() && c.Attempt == "" && c.DueAt != nil
		if waits && !c.DueAt.After(o.Now) && !m.held(c.Number, o.Now) && !slices.Contains(except, c.ID) {
			rows = append(rows, c)
		}
	}
	slices.SortFunc(rows, func(a, b contact.Contact) int {
		if o.Before(&a, &b) {
			return -1
		}
		return 1
	})
	for _, c := range rows[:min(limit, len(rows))] {
		list = append(list, c.ID)
	}
	return list
}

func (m *naive) next(id engine.CampaignID, run int) (next *time.Time, open int, exhausted bool) {
	for _, c := range m.contacts {
		if c.Campaign != id || c.Run != run {
			continue
		}
		exhausted = exhausted || c.State == contact.Failed && c.Reason == contact.ReasonExhausted
		if !c.Open() || c.DueAt == nil && c.Attempt == "" && c.ResultDueAt == nil {
			continue
		}
		open++
		if c.DueAt != nil && c.Attempt == "" && (next == nil || c.DueAt.Before(*next)) {
			next = c.DueAt
		}
	}
	return next, open, exhausted
}

func (m *naive) counters(id engine.CampaignID, run int) campaign.Counters {
	t := tally.New()
	for _, c := range m.contacts {
		if f := c.Facts(); c.Campaign == id && c.Run == run {
			t.Contacts(&f, 1)
		}
	}
	for i := range m.attempts {
		if a := &m.attempts[i]; a.Campaign == id && a.Run == run {
			t.Attempt(a)
		}
	}
	return t.Counters()
}

// ledger handles the answers that draws makes: neither machines nor revisable ones.
func (m *naive) ledger(id engine.CampaignID, since time.Time) (sum pacing.Counts) {
	for _, a := range m.attempts {
		switch {
		case a.Campaign != id || a.AnsweredAt == nil:
		case a.WasConnected() && !a.ServedAt.Before(since):
			sum.Live++
		case !a.WasConnected() && a.Outcome == engine.OutcomeAbandoned && !a.EndedAt.Before(since):
			sum.Live++
			sum.Abandoned++
		}
	}
	return sum
}

func look(s *memstore.Store) naive {
	s.Lock()
	defer s.Unlock()
	return naive{slices.Collect(s.AllContacts()), slices.Collect(s.AllAttempts()), maps.Clone(s.Holds)}
}

// After any writes in any order, the indexes and running counts agree with the rows, versions do
// not go back, and a number has one holder.
func TestTheIndicesAgreeWithTheRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &draws{T: rt}
		clock := start
		s := memstore.New(memstore.Options{Now: func() time.Time { return clock }, KeepEvents: true, KeepEnded: true})
		for _, id := range []engine.CampaignID{"cmp_1", "cmp_2"} {
			must(rt, s.InsertCampaign(t.Context(), campaign.Campaign{ID: id, State: campaign.Running, Run: 1}))
		}
		versions := map[engine.ContactID]int64{}
		for range 1 + d.n(15) {
			clock = at(d.n(30) - 15)
			group := []journal.Write{d.write(), d.write()}[:1+d.n(1)]
			before := look(s)
			refused, err := s.Commit(t.Context(), group)
			must(rt, err)
			m := look(s)
			if n := group[0].Intent; n != nil && refused[0] == nil && !before.over(n.Attempt) {
				if h := before.holds[n.Number]; before.held(n.Number, clock) && h.Attempt != n.Attempt {
					rt.Fatalf("%s took the number of %s", n.Attempt, h.Attempt)
				}
			}
			for _, c := range m.contacts {
				if c.Version < versions[c.ID] {
					rt.Fatalf("%s went from version %d to %d", c.ID, versions[c.ID], c.Version)
				}
				versions[c.ID] = c.Version
			}
			for _, a := range before.attempts {
				i := slices.IndexFunc(m.attempts, func(b attempt.Attempt) bool { return b.ID == a.ID })
				if b := m.attempts[i]; !a.Live() && b.Live() || a.Result != nil && b.Result == nil {
					rt.Fatalf("%s went back from %+v to %+v", a.ID, a, b)
				}
			}
			agree(rt, t, d, s, &m)
		}
	})
}

func agree(rt *rapid.T, t *testing.T, d *draws, s *memstore.Store, m *naive) {
	id, run, limit := d.campaign(), 1+d.n(1), d.n(12)
	o := contact.Order{Now: *d.time(false), Overdue: time.Duration(d.n(1)*d.n(9)) * time.Second}
	var except []engine.ContactID
	for range d.n(3) {
		except = append(except, contactNo(d.n(19)))
	}
	list, err := s.DueContacts(t.Context(), id, run, o, limit, except)
	must(rt, err)
	got := make([]engine.ContactID, len(list))
	for i := range list {
		got[i] = list[i].ID
	}
	if want := m.due(id, run, o, limit, except); !slices.Equal(got, want) {
		rt.Fatalf("due at %v by %v: %v, want %v", o.Now, o.Overdue, got, want)
	}
	next, open, err := s.NextDue(t.Context(), id, run)
	must(rt, err)
	exhausted, err := s.Exhausted(t.Context(), id, run)
	must(rt, err)
	wantNext, wantOpen, wantExhausted := m.next(id, run)
	if !reflect.DeepEqual(next, wantNext) || open != wantOpen || exhausted != wantExhausted {
		rt.Fatalf("next %v, %d open, exhausted %v; want %v, %d, %v", next, open, exhausted, wantNext, wantOpen,
			wantExhausted)
	}
	late, err := s.ResultsOverdue(t.Context(), id, o.Now, 100)
	must(rt, err)
	want := 0
	for _, c := range m.contacts {
		if c.Campaign == id && c.ResultDueAt != nil && !c.ResultDueAt.After(o.Now) {
			want++
		}
	}
	if len(late) != want ||
		!slices.IsSortedFunc(late, func(a, b contact.Contact) int { return a.ResultDueAt.Compare(*b.ResultDueAt) }) {
		rt.Fatalf("%d overdue, want %d by time", len(late), want)
	}
	expired, nextExpiry, err := s.Expired(t.Context(), id, run, o.Now, 100)
	must(rt, err)
	want = 0
	var wantExpiry *time.Time
	for _, c := range m.contacts {
		switch at := c.ExpiresAt; {
		case c.Campaign != id || c.Run != run || !c.Open() || c.Attempt != "" || c.DueAt == nil || at == nil:
		case c.Expired(o.Now):
			want++
		case wantExpiry == nil || at.Before(*wantExpiry):
			wantExpiry = at
		}
	}
	if len(expired) != want || !reflect.DeepEqual(nextExpiry, wantExpiry) {
		rt.Fatalf("%d expired, the next at %v; want %d, %v", len(expired), nextExpiry, want, wantExpiry)
	}
	c, err := s.Counters(t.Context(), id, run)
	must(rt, err)
	for _, x := range tally.Compare(c, m.counters(id, run)) {
		rt.Fatalf("%s: kept %s, counted %s", x.Figure, x.A, x.B)
	}
	sum, err := s.AbandonLedger(t.Context(), id, o.Now)
	must(rt, err)
	if want := m.ledger(id, o.Now); sum != want {
		rt.Fatalf("ledger since %v: %+v, want %+v", o.Now, sum, want)
	}
	live, err := s.OpenAttempts(t.Context())
	must(rt, err)
	for _, a := range m.attempts {
		if slices.ContainsFunc(live, func(o attempt.Attempt) bool { return o.ID == a.ID }) != a.Live() {
			rt.Fatalf("%d open attempts, among them, or not, %s, which is %s", len(live), a.ID, a.State)
		}
	}
}

// A store that keeps neither events nor ended attempts gives the same answers as one that keeps
// everything, whatever writes are repeated.
func TestALargeStoreAnswersAsOneThatKeepsEverything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &draws{T: rt}
		const n = 8
		all := loaded(t, n, memstore.Options{KeepEvents: true, KeepEnded: true})
		large := loaded(t, n, memstore.Options{})
		var calls [n][5]journal.Write
		var done, writes [n]int
		seq := int64(1000)
		for i := range calls {
			c, _, _ := all.ContactByID(t.Context(), contactNo(i))
			calls[i], writes[i] = call(c, i, &seq, at(i)), 5
			if d.n(2) == 0 { // not served, so no result comes
				writes[i] = 4
				for k := 2; k < 4; k++ {
					a := &calls[i][k].Attempts[0]
					a.ServedAt, a.BotConnectedAt, a.Result = nil, nil, nil
					if a.State == attempt.Ended {
						a.Outcome = engine.OutcomeAbandoned
					}
				}
			}
		}
		for range 40 {
			i := d.n(n - 1)
			k := d.n(done[i]) // the call's next write, or a repeated one
			if k == writes[i] {
				continue
			}
			done[i] = max(done[i], k+1)
			for _, s := range []*memstore.Store{all, large} {
				refused, err := s.Commit(t.Context(), calls[i][k:k+1])
				must(rt, errors.Join(err, refused[0]))
			}
			a, b := answers(rt, t, all), answers(rt, t, large)
			if a != b {
				rt.Fatalf("after write %d of call %d:\n%s\nand large:\n%s", k, i, a, b)
			}
		}
	})
}

func answers(rt *rapid.T, t *testing.T, s *memstore.Store) string {
	var numbers []engine.PhoneNumber
	for i := range 8 {
		numbers = append(numbers, numberNo(i))
	}
	c, err := s.Counters(t.Context(), "cmp_1", 1)
	must(rt, err)
	hours, err := s.AbandonHours(t.Context(), "cmp_1", start)
	must(rt, err)
	abandoned, err := s.AbandonedSince(t.Context(), numbers, start)
	must(rt, err)
	live, err := s.OpenAttempts(t.Context())
	must(rt, err)
	due, err := s.DueContacts(t.Context(), "cmp_1", 1, order(at(100)), 100, nil)
	must(rt, err)
	return fmt.Sprintf("%+v\n%v\n%v\n%d live, %d due, holds %v", c.States, hours, abandoned, len(live),
		len(due), s.Holds) +
		fmt.Sprintf("\n%d %d %d %d %d", c.Attempts, c.LiveAnswers, c.ResultCalls, c.Answered, c.Conversations)
}

func must(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}
