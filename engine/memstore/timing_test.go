package memstore_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/memstore"
)

// loaded is a store with a running campaign and a list of n contacts.
func loaded(t testing.TB, n int, o memstore.Options) *memstore.Store {
	t.Helper()
	o.Now = func() time.Time { return start }
	s := memstore.New(o)
	c := campaign.Campaign{ID: "cmp_1", State: campaign.Running, Run: 1, Settings: campaign.Settings{MaxAttempts: 3}}
	if err := s.InsertCampaign(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	const batch = 1000
	for from := 0; from < n; from += batch {
		add := journal.ContactInsert{Campaign: "cmp_1", Run: 1, Source: "csv", Max: 3, At: start,
			DueClass: contact.DueFirst,
			Event: journal.Event{Campaign: "cmp_1", Seq: int64(from + 1), Run: 1, At: start,
				Type: journal.ContactsAdded}}
		for i := from; i < min(n, from+batch); i++ {
			add.Contacts = append(add.Contacts, journal.IdentifiedContact{ID: contactNo(i),
				NewContact: campaign.NewContact{Number: numberNo(i)}})
		}
		if _, err := s.AddContacts(t.Context(), add); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func contactNo(i int) engine.ContactID  { return engine.ContactID(fmt.Sprintf("%032x", i)) }
func numberNo(i int) engine.PhoneNumber { return engine.PhoneNumber(fmt.Sprintf("+49151%08d", i)) }
func attemptNo(i int) engine.AttemptID  { return engine.AttemptID(fmt.Sprintf("%032x", 1<<40+i)) }
func ptr(t time.Time) *time.Time        { return &t }
func at(seconds int) time.Time          { return start.Add(time.Duration(seconds) * time.Second) }
func order(now time.Time) contact.Order { return contact.Order{Now: now} }

// call returns the writes of one call that a bot takes: its intent, the answer, the bot's
// connection, its end and its result.
func call(c contact.Contact, i int, seq *int64, now time.Time) [5]journal.Write {
	var w [5]journal.Write
	event := func(k int, t journal.Type, before contact.Facts) {
		*seq++
		after := c.Facts()
		w[k].Events = append(w[k].Events, journal.Event{Campaign: c.Campaign, Seq: *seq, Run: 1, At: now, Type: t,
			Contact: c.ID,
			Attempt: attemptNo(i), Data: journal.Data{Before: &before, After: &after, Pass: 1}})
	}
	a := attempt.Attempt{ID: attemptNo(i), Campaign: c.Campaign, Contact: c.ID, Run: 1, Pass: 1, To: c.Number,
		From:  "+4930111111",
		State: attempt.Reserved, ReservedAt: &now, Legs: []attempt.Leg{{ID: attemptNo(i).Leg(1)}}}
	for k := range w {
		before := c.Facts()
		c.Version++
		a.Legs = []attempt.Leg{a.Legs[0]}
		a.Legs[0].Seq = k
		w[k].Campaign = c.Campaign
		switch k {
		case 0:
			w[k].Intent = &journal.Intent{Attempt: a.ID, Number: a.To, Bound: now.Add(time.Hour)}
			c.Attempt, c.DueAt = a.ID, nil
			event(k, journal.AttemptReserved, before)
		case 1:
			a.State, a.InviteAt, a.AnsweredAt, a.Consumed = attempt.Answered, &now, &now, true
			event(k, journal.AttemptAnswered, before)
		case 2:
			a.State, a.ServedAt, a.BotConnectedAt = attempt.Connected, &now, &now
			c.State, c.ConnectedOnce = contact.Connected, true
			event(k, journal.AttemptConnected, before)
		case 3:
			a.State, a.Outcome, a.EndedAt, a.Legs[0].EndedAt = attempt.Ended, engine.OutcomeCompleted, &now, &now
			c.Attempt, c.Used, c.ResultDueAt = "", 1, ptr(now.Add(time.Minute))
			w[k].Holds = []journal.HoldRelease{{Attempt: a.ID, Number: a.To}}
			event(k, journal.AttemptEnded, before)
		case 4:
			a.Result = &attempt.Result{Disposition: "sold", ReceivedAt: now}
			c.State, c.HasResult, c.ResultDueAt = contact.Completed, true, nil
			event(k, journal.ResultStored, before)
		}
		w[k].Attempts = []attempt.Attempt{a}
		if k != 1 { // the answer concerns only the attempt
			w[k].Contacts = []contact.Contact{c}
		}
	}
	return w
}

// BenchmarkCommit measures the five writes of a call, one at a time.
func BenchmarkCommit(b *testing.B) {
	for _, large := range []bool{false, true} {
		b.Run(fmt.Sprintf("large=%v", large), func(b *testing.B) {
			b.ReportAllocs()
			s := loaded(b, b.N, memstore.Options{KeepEvents: !large, KeepEnded: !large})
			calls := make([][5]journal.Write, b.N)
			seq := int64(1 << 40)
			for i := range calls {
				c, _, _ := s.ContactByID(b.Context(), contactNo(i))
				calls[i] = call(c, i, &seq, at(i/1000))
			}
			b.ResetTimer()
			for i := range calls {
				for k := range calls[i] {
					if refused, err := s.Commit(b.Context(), calls[i][k:k+1]); err != nil || refused[0] != nil {
						b.Fatal(err, refused)
					}
				}
			}
		})
	}
}

// BenchmarkDueContacts reads pages of a thousand, excluding the previous thousand.
func BenchmarkDueContacts(b *testing.B) {
	const n, page = 200_000, 1000
	for _, overdue := range []time.Duration{0, time.Minute} {
		b.Run(fmt.Sprintf("overdue=%v", overdue), func(b *testing.B) {
			s := loaded(b, n, memstore.Options{})
			retries := make([]journal.Write, 1)
			for i := range n / 4 { // some of every class
				c, _, _ := s.ContactByID(b.Context(), contactNo(i*4))
				c.Version++
				c.DueClass, c.Used, c.DueAt = contact.DueClass(i%4), i%3, ptr(at(-i%600))
				retries[0].Contacts = append(retries[0].Contacts, c)
			}
			if _, err := s.Commit(b.Context(), retries); err != nil {
				b.Fatal(err)
			}
			o := contact.Order{Now: at(60), Overdue: overdue}
			first, _ := s.DueContacts(b.Context(), "cmp_1", 1, o, page, nil)
			except := make([]engine.ContactID, len(first))
			for i := range first {
				except[i] = first[i].ID
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				list, err := s.DueContacts(b.Context(), "cmp_1", 1, o, page, except)
				if err != nil || len(list) != page {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// BenchmarkLoad adds lists of a thousand until there are 200,000.
func BenchmarkLoad(b *testing.B) {
	const n = 200_000
	for b.Loop() {
		loaded(b, n, memstore.Options{})
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/200k")
}

func TestAContactAtRestTakesLittleSpace(t *testing.T) {
	const n = 100_000
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	s := loaded(t, n, memstore.Options{})
	if _, err := s.DueContacts(t.Context(), "cmp_1", 1, order(at(1)), 1, nil); err != nil {
		t.Fatal(err)
	}
	each := (used() - before) / n
	runtime.KeepAlive(s)
	t.Logf("%d bytes a contact", each)
	if each > 800 {
		t.Errorf("%d bytes a contact", each)
	}
}
