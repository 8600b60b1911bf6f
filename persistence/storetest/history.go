package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/enginetest"
	"dialler/engine/journal"
	"dialler/engine/window"
)

func eventOrder(t *testing.T, w *world) {
	const n = 60
	writes := make([]journal.Write, n)
	for i := range writes {
		writes[i] = w.write(func(x *journal.Write) { x.Events = []journal.Event{w.event(journal.ContactChanged, "", "")} })
	}
	var wg sync.WaitGroup
	for k := range 3 {
		wg.Go(func() { // commits reorder; the sequence does not
			for i := n - 1 - k; i >= 0; i -= 3 {
				if refused, err := w.store.Commit(t.Context(), writes[i:i+1]); err != nil || refused[0] != nil {
					t.Error(err, refused)
				}
			}
		})
	}
	wg.Wait()
	events := w.events()
	if len(events) != n {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("place %d has sequence %d", i, e.Seq)
		}
	}
	after, err := w.store.Events(t.Context(), w.c.ID, 50, 5)
	must(t, err)
	if len(after) != 5 || after[0].Seq != 51 {
		t.Errorf("events after 50: %d", len(after))
	}
	filledEvent := enginetest.Filled[journal.Event]()
	filledEvent.Campaign, filledEvent.Seq, filledEvent.Contact, filledEvent.Attempt =
		w.c.ID, w.seq.Add(1), engine.ContactID(id()), engine.AttemptID(id())
	filledEvent.Data.Settings.Window = window.Window{Start: 9 * 60, End: 18 * 60, Zone: "UTC"}
	w.commit(w.write(func(x *journal.Write) { x.Events = []journal.Event{filledEvent} }))
	after, err = w.store.Events(t.Context(), w.c.ID, n, 5)
	must(t, err)
	sameFields(t, after[0], filledEvent)
}

func dialoutEvents(t *testing.T, w *world) {
	a := engine.AttemptID(id())
	ev := func(typ journal.Type, leg int) journal.Event {
		return journal.Event{At: w.now, Type: typ, Version: 1, Attempt: a, Data: journal.Data{Leg: a.Leg(leg)}}
	}
	x := journal.Write{Events: []journal.Event{ev(journal.AttemptReserved, 1), ev(journal.LegClosed, 1),
		ev(journal.LegClosed, 2)}}
	w.commit(x)
	w.commit(x)
	if n := count(t, w, fmt.Sprintf("SELECT count(*) FROM events WHERE attempt_id = '%s'", a)); n != 3 {
		t.Errorf("%d events", n)
	}
}

// count queries the database directly.
func count(t *testing.T, w *world, sql string) (n int) {
	t.Helper()
	must(t, w.pg.QueryRow(t.Context(), sql, &n))
	return n
}

func partitions(t *testing.T, w *world) {
	now := w.event(journal.CampaignStarted, "", "")
	old := w.event(journal.CampaignStarted, "", "")
	old.At = time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC)
	w.commit(w.write(func(x *journal.Write) { x.Events = []journal.Event{now, old} }))
	month := "events_" + w.now.Format("200601")
	if n := count(t, w, "SELECT count(*) FROM "+month); n != 1 {
		t.Errorf("%d events in the partition of this month", n)
	}
	if n := count(t, w, "SELECT count(*) FROM events_default"); n != 1 {
		t.Errorf("%d events in the default partition", n)
	}
	next := "events_" + w.now.AddDate(0, 0, 1-w.now.Day()).AddDate(0, 1, 0).Format("200601")
	if n := count(t, w, "SELECT count(*) FROM "+next); n != 0 {
		t.Errorf("%d events in the partition of the coming month", n)
	}
	must(t, w.pg.Maintain(t.Context(), w.now.AddDate(0, 4, 0)))
	must(t, w.pg.Maintain(t.Context(), w.now.AddDate(0, 4, 0)))
	// If a month's events are already in the default partition, they stay there.
	must(t, w.pg.Maintain(t.Context(), old.At))
	if n := count(t, w, "SELECT count(*) FROM events"); n != 2 {
		t.Errorf("%d events", n)
	}
}

func activity(t *testing.T, w *world) {
	who := &engine.Who{User: "u1", Name: "ada@example.org", From: "192.0.2.1"}
	for i, typ := range []journal.Type{journal.CampaignStarted, journal.CampaignPaused, journal.ContactChanged,
		journal.CampaignResumed} {
		e := w.event(typ, "", "")
		e.At = w.now.Add(time.Duration(i) * time.Second)
		if typ != journal.ContactChanged {
			e.Data.Who = who
		}
		w.commit(w.write(func(x *journal.Write) { x.Events = []journal.Event{e} }))
	}
	list, total, err := w.pg.Lists.Activity(t.Context(), w.c.ID, nil, campaign.Page{Number: 1, Size: 2})
	must(t, err)
	if len(list) != 2 || total != 3 || list[0].Type != journal.CampaignResumed || *list[0].Data.Who != *who {
		t.Errorf("activity %+v", list)
	}
	list, _, err = w.pg.Lists.Activity(t.Context(), w.c.ID, nil, campaign.Page{Number: 2, Size: 2})
	must(t, err)
	if len(list) != 1 || list[0].Type != journal.CampaignStarted {
		t.Errorf("second page %+v", list)
	}
	list, total, err = w.pg.Lists.Activity(
		t.Context(),
		w.c.ID,
		[]journal.Type{journal.CampaignStarted},
		campaign.Page{Number: 1, Size: 10},
	)
	must(t, err)
	if len(list) != 1 || total != 1 || list[0].Type != journal.CampaignStarted {
		t.Errorf("filtered activity %+v", list)
	}
	runs, err := w.pg.Lists.RunEvents(t.Context(), w.c.ID)
	must(t, err)
	if len(runs) != 1 || runs[0].Type != journal.CampaignStarted {
		t.Errorf("of the runs %+v", runs)
	}
}
