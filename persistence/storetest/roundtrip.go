package storetest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/enginetest"
	"dialler/engine/journal"
	"dialler/engine/window"
)

// sameFields compares field by field, so that the test names the field that is not stored.
func sameFields(t *testing.T, got, want any) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s: %#v, want %#v", g.Type().Field(i).Name, g.Field(i).Interface(), w.Field(i).Interface())
		}
	}
}

func contactRoundTrip(t *testing.T, w *world) {
	c := enginetest.Filled[contact.Contact]()
	c.ID, c.Campaign, c.Attempt, c.Number = engine.ContactID(id()), w.c.ID, engine.AttemptID(id()), number()
	c.LastConversation, c.CallbackOf, c.CallsBack = engine.AttemptID(id()), engine.AttemptID(id()), engine.AttemptID(id())
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	sameFields(t, w.stored(c.ID), c)
	got, ok, err := w.store.ContactByNumber(t.Context(), w.c.ID, c.Number)
	must(t, err)
	if !ok {
		t.Fatal("not found by its number")
	}
	sameFields(t, got, c)

	// And every field can be changed.
	plain := contact.Contact{ID: c.ID, Campaign: c.Campaign, Number: c.Number, Run: c.Run, CreatedAt: c.CreatedAt,
		Version: c.Version + 1, Variables: c.Variables}
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{plain} }))
	got = w.stored(c.ID)
	got.UpdatedAt = plain.UpdatedAt // the zero time has another location
	sameFields(t, got, plain)

	for _, id := range []engine.ContactID{"", "x", engine.ContactID(id())} {
		if _, ok, err := w.store.ContactByID(t.Context(), id); ok || err != nil {
			t.Errorf("contact %q: %v %v", id, ok, err)
		}
	}
}

func attemptRoundTrip(t *testing.T, w *world) {
	a := enginetest.Filled[attempt.Attempt]()
	a.AwaitsResult, a.Waits = false, nil // its contact says so; it does not wait any more
	a.ID, a.Campaign, a.Contact, a.State = engine.AttemptID(id()), w.c.ID, engine.ContactID(id()), attempt.Connected
	a.Returns = engine.AttemptID(id())
	a.Legs = []attempt.Leg{enginetest.Filled[attempt.Leg](), enginetest.Filled[attempt.Leg]()}
	a.Legs[0].ID, a.Legs[1].ID = a.ID.Leg(1), a.ID.Leg(2)
	for i := range a.Legs {
		a.Legs[i].Dialog.BytesSent = 0 // only within this process
	}
	a.Peers = []attempt.Peer{enginetest.Filled[attempt.Peer](), enginetest.Filled[attempt.Peer]()}
	a.Peers[0].ID, a.Peers[1].ID = a.ID.Leg(3), a.ID.Leg(4)
	a.Peers[0].Dialog.BytesSent, a.Peers[1].Dialog.BytesSent = 0, 0
	a.Peers[1].EndedAt = nil
	w.commit(w.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{a} }))
	sameFields(t, w.storedAttempt(a.ID), a)

	// A far leg that was not touched since is stored as such, with the same Seq.
	a.Peers = slices.Clone(a.Peers)
	a.Peers[1].State = attempt.PeerLeaving
	w.commit(w.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{a} }))
	sameFields(t, w.storedAttempt(a.ID), a)

	b := enginetest.Filled[attempt.Attempt]() // a dialout
	b.AwaitsResult, b.Waits, b.Returns = false, nil, engine.AttemptID(id())
	b.ID, b.Campaign, b.Contact, b.Legs, b.Peers = engine.AttemptID(id()), "", "", nil, nil
	w.commit(journal.Write{Attempts: []attempt.Attempt{b}})
	sameFields(t, w.storedAttempt(b.ID), b)
	if w.pg != nil {
		list, err := w.pg.Dialouts(t.Context(), 10)
		must(t, err)
		if len(list) != 1 || list[0].ID != b.ID {
			t.Errorf("dialouts %v", list)
		}
	}
	for _, id := range []engine.AttemptID{"", "x", engine.AttemptID(id())} {
		if _, ok, err := w.store.Attempt(t.Context(), id); ok || err != nil {
			t.Errorf("attempt %q: %v %v", id, ok, err)
		}
	}
}

func campaignRoundTrip(t *testing.T, w *world) {
	c := enginetest.Filled[campaign.Campaign]()
	c.ID, c.Epoch, c.Seq = "cmp_roundtrip", 0, 0
	c.Settings.Window = window.Window{Start: 9 * 60, End: 18 * 60, Zone: "Europe/Berlin", Days: []window.Day{"Mon", "Tue"}}
	c.Previous.Settings.Window = c.Settings.Window
	c.External.Settings = json.RawMessage(`{"amd": "off"}`)
	c.Previous.External.Settings = c.External.Settings
	must(t, w.store.InsertCampaign(t.Context(), c))
	must(t, w.store.InsertCampaign(t.Context(), c)) // again
	got, err := w.store.Campaign(t.Context(), c.ID)
	must(t, err)
	sameFields(t, got, c)

	c, err = w.store.AcquireCampaign(t.Context(), c.ID)
	must(t, err)
	row := c
	row.State, row.Run, row.Seq, row.StartedAt, row.RestartedBy, row.Settings.Name =
		campaign.Draft, 9, 7, nil, nil, "renamed"
	row.Epoch += 5 // only a takeover moves it
	w.commit(journal.Write{Campaign: c.ID, Epoch: c.Epoch, CampaignRow: &row})
	row.Epoch = c.Epoch
	older := c
	older.Seq = 6
	w.commit(journal.Write{Campaign: c.ID, Epoch: c.Epoch, CampaignRow: &older})
	got, err = w.store.Campaign(t.Context(), c.ID)
	must(t, err)
	sameFields(t, got, row)
	if _, err := w.store.Campaign(t.Context(), "cmp_nowhere"); code(err) != "campaign_not_found" {
		t.Errorf("unknown campaign: %v", err)
	}
}

func variables(t *testing.T, w *world) {
	c := w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	c.Version++
	c.Variables = map[string]string{"name": "Ada", "plan": "silver", "new": "x"}
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	if got := w.stored(c.ID).Variables; !reflect.DeepEqual(got, c.Variables) {
		t.Errorf("variables %v", got)
	}
	other := newWorld(t, w.store)
	o := other.contact(func(o *contact.Contact) { o.Variables = c.Variables })
	other.commit(other.write(func(x *journal.Write) { x.Contacts = []contact.Contact{o} }))
	f := func(want int, match map[string]string) {
		t.Helper()
		list, err := w.store.ContactsMatching(t.Context(), w.c.ID, match)
		must(t, err)
		if len(list) != want || want == 1 && list[0].ID != c.ID {
			t.Errorf("%v matches %d, want %d", match, len(list), want)
		}
	}
	f(1, map[string]string{"plan": "silver"})
	f(1, map[string]string{"plan": "silver", "name": "Ada"})
	f(0, map[string]string{"plan": "gold"})
	f(0, map[string]string{"plan": "silver", "name": "Eve"})
	f(0, nil)
}
