package spool_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/spool"
	"dialler/persistence/storetest"
)

// nameless is a call's rows without the fields that distinguish it from another call.
func nameless(a attempt.Attempt, c contact.Contact) any {
	a.ID, a.Contact, a.To = "", "", ""
	for i := range a.Legs {
		a.Legs[i].ID = ""
	}
	c.ID, c.Number, c.Position, c.Attempt, c.UpdatedAt = "", "", 0, "", time.Time{}
	return []any{a, c}
}

func TestReplayedWritesMakeTheRowsThatCommittedOnesMake(t *testing.T) {
	store, ctx := storetest.Open(t), t.Context()
	now := time.Now().UTC().Truncate(time.Microsecond)
	if err := store.InsertCampaign(ctx, campaign.Campaign{ID: "cmp_1", State: campaign.Running, Run: 1, CreatedAt: now,
		Settings: campaign.Settings{Name: "x", MaxAttempts: 3}}); err != nil {
		t.Fatal(err)
	}
	owned, err := store.AcquireCampaign(ctx, "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	add := journal.ContactInsert{Campaign: "cmp_1", Epoch: owned.Epoch, Run: 1, Source: "csv", Max: 3, At: now,
		DueClass: contact.DueFirst,
		Event:    journal.Event{Campaign: "cmp_1", Seq: 1, Run: 1, At: now, Type: journal.ContactsAdded, Version: 1}}
	for i := range 2 {
		add.Contacts = append(add.Contacts, journal.IdentifiedContact{ID: engine.ContactID(storetest.RandomID()),
			NewContact: campaign.NewContact{Number: engine.PhoneNumber(fmt.Sprintf("+491511234567%d", i)),
				Variables: map[string]string{"name": "Ada"}}})
	}
	if _, err := store.AddContacts(ctx, add); err != nil {
		t.Fatal(err)
	}
	rows, err := store.DueContacts(ctx, "cmp_1", 1, contact.Order{Now: now.Add(time.Hour)}, 2, nil)
	if err != nil || len(rows) != 2 {
		t.Fatal(len(rows), err)
	}
	calls := []*storetest.Call{{Contact: rows[0], Epoch: owned.Epoch}, {Contact: rows[1], Epoch: owned.Epoch}}
	seq := int64(1)
	steps := make([][]journal.Write, 2)
	for i, k := range calls {
		for step := range storetest.CallSteps {
			seq++
			steps[i] = append(steps[i], k.Write(step, seq, now))
		}
	}
	do := func(group ...journal.Write) (refused int) {
		t.Helper()
		r, err := store.Commit(ctx, group)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range r {
			if err != nil {
				refused++
			}
		}
		return refused
	}
	// The first is committed as usual; of the second, only what the database alone can accept.
	if do(steps[0]...)+do(steps[1][0]) > 0 {
		t.Fatal("refused")
	}
	cfg := spool.Config{Dir: filepath.Join(t.TempDir(), "spool"), Size: spool.MinLane, Lanes: 1, Owner: make([]byte, 16)}
	with := func(f func(*spool.Spool) error) {
		t.Helper()
		s, err := spool.Open(cfg)
		if err == nil {
			err = errors.Join(f(s), s.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	take := func() {
		t.Helper()
		with(func(s *spool.Spool) error {
			n, err := s.Append(0, steps[1][1:4])
			if n != 3 {
				t.Errorf("took %d", n)
			}
			return err
		})
	}
	take()
	replay := func() (refused int) {
		t.Helper()
		with(func(s *spool.Spool) error {
			return s.Replay(2, func(group []journal.Write) (int, error) {
				n := do(group...)
				refused += n
				return n, nil
			})
		})
		return refused
	}
	if n := replay(); n > 0 {
		t.Fatalf("%d writes were refused", n)
	}
	if do(steps[1][4]) > 0 {
		t.Fatal("refused")
	}
	same := func() {
		t.Helper()
		var got [2]any
		for i, w := range steps {
			a, ok, err := store.Attempt(ctx, w[0].Intent.Attempt)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			c, ok, err := store.ContactByID(ctx, rows[i].ID)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			got[i] = nameless(a, c)
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("\ncommitted %+v\nreplayed  %+v", got[0], got[1])
		}
		if n := events(t, store); n != 11 {
			t.Errorf("%d events, want 11", n)
		}
	}
	same()
	// A crash between the commit and the overwriting of the file: everything is replayed, after the
	// result.
	take()
	if n := replay(); n > 0 {
		t.Fatalf("%d writes were refused", n)
	}
	same()
	// Another owner has the campaign: from now on the writes are a stale owner's.
	if _, err := store.AcquireCampaign(ctx, "cmp_1"); err != nil {
		t.Fatal(err)
	}
	take()
	if n := replay(); n != 3 {
		t.Errorf("%d writes of a stale owner were refused, want 3", n)
	}
	same()
}

func events(t *testing.T, store *persistence.Store) (n int) {
	t.Helper()
	if err := store.QueryRow(t.Context(), "SELECT count(*) FROM events", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
