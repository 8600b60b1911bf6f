package run

import (
	"testing"
	"time"

	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func in3s(w *world) *time.Time { at := w.now.Add(3 * time.Second); return &at }

func TestATriggerForLaterIsQueuedAndDueThen(t *testing.T) {
	w := ready(t)
	w.due(nil, 1)
	w.seats(w.s.Asked)
	m := triggers("c9")
	m.Command.Times.NotBefore = in3s(w)
	r := w.ask(m)
	none[ReserveTrunks](w)
	row := one[Write](w).Write.Contacts[0]
	eq(w, "due", row.DueAt.Equal(*m.Command.Times.NotBefore), true)
	w.durable()
	got := granted[campaign.TriggerReply](w, r)
	eq(w, "answer", []any{got.Status, got.Reason, got.NextEligibleAt}, []any{"queued", "not_before", row.DueAt})
}

func TestASingleDayCampaignRefusesATriggerForAfterItsEnd(t *testing.T) {
	w := ready(t, set(func(s *campaign.Settings) { s.SingleDay = true }), func(l *Loaded) {
		end := t0.Add(time.Hour)
		l.Campaign.WindowEndsAt = &end
	})
	m, later := triggers("c9"), t0.Add(time.Hour)
	m.Command.Times.NotBefore = &later
	w.refused(w.ask(m), "outside_window")
}

func TestOfTriggersThatWaitTheOneWithTheHighestPriorityIsDialledFirst(t *testing.T) {
	w := ready(t, set(func(s *campaign.Settings) { s.Concurrency = 1 }))
	w.due(nil, 1)
	for _, of := range []struct {
		id       string
		priority int
	}{{"c1", 5}, {"c2", 2}, {"c3", 8}, {"c4", 8}} {
		m := triggers(of.id)
		m.Command.Times.Priority = &of.priority
		row := w.s.newContact(&m.Command)
		w.s.pend(&PendingTrigger{Row: row, Trigger: &call.Trigger{Command: m.Command}, LookedUp: true})
		w.now = w.now.Add(time.Millisecond)
	}
	var order []string
	for _, x := range w.s.Triggers {
		order = append(order, string(x.Row.Number))
	}
	eq(w, "order", order, []string{string(phone("c3")), string(phone("c4")), string(phone("c1")), string(phone("c2"))})
}

// expiring is a row that expires at a time.
func (w *world) expiring(id string, at *time.Time) contact.Contact {
	c := w.row(id)
	c.ExpiresAt = at
	return c
}

func TestADialLeavesNoLaterThanItsContactExpires(t *testing.T) {
	w := ready(t)
	w.due([]contact.Contact{w.expiring("c1", in3s(w))}, 0)
	w.seats(w.s.Asked)
	w.round()
	dial := one[Spawn](w).First[0].(*call.Dial)
	eq(w, "within", dial.SendWithin, 3*time.Second)
}

func TestAContactThatHasExpiredWhenItsTurnComesIsNotDialled(t *testing.T) {
	w := ready(t)
	w.due([]contact.Contact{w.expiring("c1", &w.now)}, 0)
	w.seats(w.s.Asked)
	none[ReserveTrunks](w)
	x := one[Write](w).Write
	eq(w, "event", x.Events[0].Type, journal.ContactExpired)
	eq(w, "state", x.Contacts[0].State, contact.Expired)
}

func TestContactsExpireWhetherOrNotAnybodyIsDialled(t *testing.T) {
	for _, state := range []campaign.State{campaign.Running, campaign.Paused} {
		w := ready(t, in(state), set(from9to11))
		w.goTo(t0.Add(3 * time.Hour)) // the window is closed
		w.forget()
		w.s.Expiry = Expiry{}
		w.pass(500 * time.Millisecond)
		q := one[ReadExpired](w)
		next := w.now.Add(time.Minute)
		w.do(&ExpiredRead{Read: q.Read, Run: 1, Rows: []contact.Contact{w.expiring("c1", &w.now)}, Next: &next})
		eq(w, "event", one[Write](w).Write.Events[0].Type, journal.ContactExpired)
		w.durable()
		w.forget()
		// The next one is looked for when it expires, and not before.
		w.pass(time.Minute - 500*time.Millisecond)
		none[ReadExpired](w)
		w.pass(time.Second)
		one[ReadExpired](w)
	}
}

func TestAContactInACallIsLookedAtAgainOnceItExpired(t *testing.T) {
	w := dialling(t, 1)
	w.pass(500 * time.Millisecond)
	q := one[ReadExpired](w)
	w.do(&ExpiredRead{Read: q.Read, Run: 1, Rows: []contact.Contact{w.expiring("c1", &w.now)}})
	none[Write](w)
	w.forget()
	w.pass(2 * time.Second)
	one[ReadExpired](w)
}

func TestAListOfContactsThatExpireIsLookedForThen(t *testing.T) {
	w := ready(t)
	w.pass(500 * time.Millisecond)
	w.do(&ExpiredRead{Read: one[ReadExpired](w).Read, Run: 1})
	w.ask(&AddRows{Command: campaign.AddContacts{Contacts: []campaign.NewContact{{Number: phone("c1"),
		Times: contact.Times{ExpiresAt: in3s(w)}}}}})
	a := one[AddContacts](w)
	w.do(&RowsAdded{Read: a.Read, Request: a.Request, Command: a.Command, Epoch: a.Insert.Epoch,
		Report: campaign.AddReport{Added: 1}, Event: a.Insert.Event})
	w.forget()
	w.pass(3*time.Second - 1)
	none[ReadExpired](w)
	w.pass(1)
	one[ReadExpired](w)
}
