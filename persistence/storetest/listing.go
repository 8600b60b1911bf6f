package storetest

import (
	"crypto/sha256"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/enginetest"
	"dialler/engine/journal"
)

func contactPages(t *testing.T, w *world) {
	add := w.insert(120)
	_, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	c := w.stored(add.Contacts[55].ID)
	x, a := w.intent(&c)
	w.commit(x)
	c.State, c.RangUnanswered = contact.Waiting, true
	end, _ := w.ended(&c, a, engine.OutcomeNoAnswer)
	y, b := w.intent(&c)
	w.commit(end)
	w.commit(y)

	page, err := w.store.Contacts(t.Context(), w.c.ID, campaign.Page{Number: 2, Size: 50})
	must(t, err)
	if page.Total != 120 || len(page.Contacts) != 50 {
		t.Fatalf("%d of %d", len(page.Contacts), page.Total)
	}
	for i, v := range page.Contacts {
		if v.Contact.ID != add.Contacts[50+i].ID {
			t.Fatalf("place %d is not in list order", i)
		}
	}
	trail := page.Contacts[5].Attempts
	ids := []engine.AttemptID{a.ID, b.ID}
	slices.Sort(ids) // identifiers in these tests are not ordered by time
	if len(trail) != 2 || trail[0].ID != ids[0] || trail[1].ID != ids[1] || len(trail[0].Legs) != 1 {
		t.Errorf("trail of %d", len(trail))
	}
	// Contacts whose last attempt rang unanswered: one waits for another attempt, one has failed. A
	// third, whose last attempt was refused at once, does not count as unanswered.
	vain := c.ID
	failed, refused := w.stored(add.Contacts[56].ID), w.stored(add.Contacts[57].ID)
	for _, one := range []*contact.Contact{&failed, &refused} {
		x, a := w.intent(one)
		w.commit(x)
		one.State, one.RangUnanswered = contact.Failed, true
		o := engine.OutcomeNoAnswer
		if one == &refused {
			one.State, one.RangUnanswered, o = contact.Waiting, false, engine.OutcomeBusy
		}
		end, _ := w.ended(one, a, o)
		w.commit(end)
	}
	for filter, want := range map[string][]engine.ContactID{
		"unanswered": {vain, failed.ID}, "waiting": {vain, refused.ID}, "failed": {failed.ID}, "connected": nil,
	} {
		page, err = w.store.Contacts(t.Context(), w.c.ID, campaign.Page{Number: 1, Size: 50, Filter: filter})
		must(t, err)
		var got []engine.ContactID
		for _, v := range page.Contacts {
			got = append(got, v.Contact.ID)
		}
		if page.Total != len(want) || !slices.Equal(got, want) {
			t.Errorf("filter %s: %v of %d, want %v", filter, got, page.Total, want)
		}
	}
	page, err = w.store.Contacts(t.Context(), w.c.ID, campaign.Page{Number: 9, Size: 50})
	must(t, err)
	if page.Total != 120 || len(page.Contacts) != 0 {
		t.Errorf("beyond the end: %d", len(page.Contacts))
	}
}

func campaignPages(t *testing.T, w *world) {
	var newest engine.CampaignID
	for i := range 5 {
		c := w.campaign(func(c *campaign.Campaign) {
			c.CreatedAt, c.State = w.now.Add(time.Duration(i+1)*time.Second), campaign.Draft
		})
		newest = c.ID
	}
	list, total, err := w.pg.Campaigns(t.Context(), campaign.Page{Number: 1, Size: 4})
	must(t, err)
	if total != 6 || len(list) != 4 || list[0].ID != newest {
		t.Errorf("%d of %d, first %s", len(list), total, list[0].ID)
	}
	list, total, err = w.pg.Campaigns(t.Context(), campaign.Page{Number: 1, Size: 4, Filter: "running"})
	must(t, err)
	if total != 1 || len(list) != 1 || list[0].ID != w.c.ID {
		t.Errorf("running: %d of %d", len(list), total)
	}
}

var admin = engine.Who{User: "u1", Name: "ada@example.org"}

func keys(t *testing.T, w *world) {
	k := engine.APIKey{ID: "key_1", Name: "CRM", Hash: sha256.Sum256([]byte("vx_secret")), Masked: "vx_secr…",
		Active: true,
		Scopes: []string{"trigger"}, Campaigns: []engine.CampaignID{w.c.ID}, DialoutsPerDay: 40, CreatedAt: w.now,
		CreatedBy: admin.Name}
	must(t, w.pg.Accounts.CreateKey(t.Context(), k, admin))
	got, ok, err := w.pg.Accounts.KeyByHash(t.Context(), k.Hash)
	must(t, err)
	if !ok || !reflect.DeepEqual(got, k) {
		t.Errorf("key %+v, want %+v", got, k)
	}
	if _, ok, err := w.pg.Accounts.KeyByHash(t.Context(), [32]byte{1}); ok || err != nil {
		t.Errorf("unknown key: %v %v", ok, err)
	}
	until := w.now.Add(time.Hour)
	got, err = w.pg.Accounts.UpdateKey(
		t.Context(),
		k.ID,
		func(k *engine.APIKey) error {
			k.Active, k.ExpiresAt, k.Scopes, k.DialoutsPerDay = false, &until, nil, 0
			return nil
		},
		admin,
	)
	must(t, err)
	if got.DialoutsPerDay != 0 || got.Active || !got.ExpiresAt.Equal(until) {
		t.Errorf("changed key %+v", got)
	}
	if _, err := w.pg.Accounts.UpdateKey(t.Context(), "key_2", func(*engine.APIKey) error { return nil }, admin); code(
		err,
	) != "key_not_found" {
		t.Errorf("unknown key: %v", err)
	}
	// A rotation keeps the secret before it, and a refused change leaves the key as it was.
	fresh, boom := sha256.Sum256([]byte("vx_fresh")), errors.New("refused")
	_, err = w.pg.Accounts.UpdateKey(t.Context(), k.ID, func(k *engine.APIKey) error {
		k.Hash = fresh
		return boom
	}, admin)
	if !errors.Is(err, boom) {
		t.Errorf("a refused change: %v", err)
	}
	if _, ok, err := w.pg.Accounts.KeyByHash(t.Context(), fresh); ok || err != nil {
		t.Errorf("a refused rotation is stored: %v", err)
	}
	_, err = w.pg.Accounts.UpdateKey(t.Context(), k.ID, func(k *engine.APIKey) error {
		old := k.Hash
		k.OldHash, k.OldUntil, k.Hash, k.Masked = &old, &until, fresh, "vx_fres…"
		return nil
	}, admin)
	must(t, err)
	for _, hash := range [][32]byte{k.Hash, fresh} {
		got, ok, err := w.pg.Accounts.KeyByHash(t.Context(), hash)
		must(t, err)
		if !ok || got.ID != k.ID || got.Hash != fresh || got.OldHash == nil || *got.OldHash != k.Hash ||
			!got.OldUntil.Equal(until) || got.Masked != "vx_fres…" {
			t.Errorf("rotated key %+v", got)
		}
	}
	must(t, w.pg.Accounts.KeysUsed(t.Context(), map[engine.KeyID]time.Time{k.ID: w.now, "key_2": w.now}))
	must(t, w.pg.Accounts.KeysUsed(t.Context(), map[engine.KeyID]time.Time{k.ID: w.now.Add(-time.Hour)}))
	must(t, w.pg.Accounts.KeysUsed(t.Context(), nil))
	list, err := w.pg.Accounts.Keys(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].LastUsedAt == nil || !list[0].LastUsedAt.Equal(w.now) || len(list[0].Scopes) != 0 {
		t.Errorf("keys %+v", list)
	}
	second := engine.APIKey{ID: "key_3", Name: "old", Hash: [32]byte{3}, Active: true, CreatedAt: w.now}
	must(t, w.pg.Accounts.CreateKey(t.Context(), second, admin))
	if err := w.pg.Accounts.DeleteKey(t.Context(), "key_3", admin); code(err) != "key_active" {
		t.Errorf("an active key deleted: %v", err)
	}
	must(t, w.pg.Accounts.DeleteKey(t.Context(), k.ID, admin))
	if err := w.pg.Accounts.DeleteKey(t.Context(), k.ID, admin); code(err) != "key_not_found" {
		t.Errorf("deleted twice: %v", err)
	}
	list, err = w.pg.Accounts.Keys(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].ID != "key_3" {
		t.Errorf("keys %+v", list)
	}
	log, _, err := w.pg.Lists.Activity(t.Context(), "", nil, campaign.Page{Number: 1, Size: 10})
	must(t, err)
	if len(log) != 5 || log[0].Type != "key.deleted" || log[2].Type != "key.secret_rotated" ||
		log[3].Type != "key.changed" ||
		log[0].Data.Who.Name != admin.Name {
		t.Errorf("activity %+v", log)
	}
}

func users(t *testing.T, w *world) {
	u := engine.User{ID: "u1", Email: "ada@example.org", Role: "admin", PasswordHash: "$argon2id$", Active: true,
		CreatedAt: w.now}
	must(t, w.pg.Accounts.CreateUser(t.Context(), u, admin))
	double := u
	double.ID = "u2"
	if err := w.pg.Accounts.CreateUser(t.Context(), double, admin); code(err) != "user_exists" {
		t.Errorf("same address twice: %v", err)
	}
	got, ok, err := w.pg.Accounts.UserByEmail(t.Context(), u.Email)
	must(t, err)
	if !ok || !reflect.DeepEqual(got, u) {
		t.Errorf("user %+v", got)
	}
	if _, ok, _ := w.pg.Accounts.User(t.Context(), "u9"); ok {
		t.Error("a user that is not there was found")
	}
	_, err = w.pg.Accounts.UpdateUser(t.Context(), u.ID, func(u *engine.User) { u.PasswordHash = "new" }, admin)
	must(t, err)
	must(t, w.pg.Accounts.LoggedIn(t.Context(), u.ID, w.now))
	got, _, _ = w.pg.Accounts.User(t.Context(), u.ID)
	if got.PasswordHash != "new" || got.LastLoginAt == nil {
		t.Errorf("user %+v", got)
	}
	lockOut(t, w, &u, admin)
	if _, err := w.pg.Accounts.UpdateUser(t.Context(), "u9", func(*engine.User) {}, admin); code(
		err,
	) != "user_not_found" {
		t.Errorf("unknown user: %v", err)
	}
	if list, _ := w.pg.Accounts.Users(t.Context()); len(list) != 1 {
		t.Errorf("%d users", len(list))
	}
	if got.TokenGeneration != 1 {
		t.Errorf("after a new password tokens are of generation %d", got.TokenGeneration)
	}
}

func lastAdmin(t *testing.T, w *world) {
	for _, id := range []engine.UserID{"u1", "u2"} {
		must(
			t,
			w.pg.Accounts.CreateUser(
				t.Context(),
				engine.User{
					ID:           id,
					Email:        string(id) + "@example.org",
					Role:         "admin",
					PasswordHash: "$argon2id$",
					Active:       true,
					CreatedAt:    w.now,
				},
				admin,
			),
		)
	}
	change := func(id engine.UserID, f func(*engine.User)) error {
		_, err := w.pg.Accounts.UpdateUser(t.Context(), id, f, admin)
		return err
	}
	operator := func(u *engine.User) { u.Role = "operator" }
	for range 10 { // two who demote each other at the same time
		errs := make(chan error, 2)
		for _, id := range []engine.UserID{"u1", "u2"} {
			go func() { errs <- change(id, operator) }()
		}
		if one, two := code(<-errs), code(<-errs); (one == "last_admin") == (two == "last_admin") {
			t.Fatalf("both at once: %q and %q", one, two)
		}
		for _, id := range []engine.UserID{"u1", "u2"} {
			must(t, change(id, func(u *engine.User) { u.Role = "admin" }))
		}
	}
	must(t, change("u1", func(u *engine.User) { u.Active = false }))
	if err := change("u2", func(u *engine.User) { u.Active = false }); code(err) != "last_admin" {
		t.Errorf("the last who is active: %v", err)
	}
	must(t, change("u2", func(u *engine.User) { u.PasswordHash = "new" }))
}

func configured(t *testing.T, w *world) {
	bot := enginetest.Filled[engine.Bot]()
	bot.ID, bot.AuthToken, bot.CreatedAt = "b1", "secret", w.now
	stored, created, err := w.pg.PutBot(t.Context(), bot, false, admin)
	must(t, err)
	if !created || !reflect.DeepEqual(stored, bot) {
		t.Errorf("bot %v %+v", created, stored)
	}
	change := bot
	change.AuthToken, change.Headers, change.Seats, change.CreatedAt = "", nil, 9, w.now.Add(time.Hour)
	stored, created, err = w.pg.PutBot(t.Context(), change, true, admin)
	must(t, err)
	if created || stored.AuthToken != "secret" || stored.Seats != 9 || stored.Headers != nil ||
		!stored.CreatedAt.Equal(w.now) {
		t.Errorf("bot %v %+v", created, stored)
	}
	bots, err := w.pg.Bots(t.Context())
	must(t, err)
	if len(bots) != 1 || !reflect.DeepEqual(bots[0], stored) {
		t.Errorf("bots %+v", bots)
	}

	trunk := enginetest.Filled[engine.TrunkSettings]()
	trunk.ID, trunk.Media.Reached = "t1", "" // that is of a call
	if created, err := w.pg.PutTrunk(t.Context(), trunk, false, admin); err != nil || !created {
		t.Fatal(created, err)
	}
	trunk.Password, trunk.CPSCap = "", 77
	if created, err := w.pg.PutTrunk(t.Context(), trunk, true, admin); err != nil || created {
		t.Fatal(created, err)
	}
	trunks, err := w.pg.Trunks(t.Context())
	must(t, err)
	trunk.Password = enginetest.Filled[engine.TrunkSettings]().Password
	if len(trunks) != 1 || !reflect.DeepEqual(trunks[0], trunk) {
		t.Errorf("trunks %+v, want %+v", trunks, trunk)
	}
	bare := engine.TrunkSettings{ID: trunk.ID}
	if created, err := w.pg.PutTrunk(t.Context(), bare, false, admin); err != nil || created {
		t.Fatal(created, err)
	}
	if trunks, err = w.pg.Trunks(t.Context()); err != nil || len(trunks) != 1 || !reflect.DeepEqual(trunks[0], bare) {
		t.Errorf("trunks %+v %v, want %+v", trunks, err, bare)
	}
	must(t, w.pg.DeleteTrunk(t.Context(), bare.ID, admin))
	if err := w.pg.DeleteTrunk(t.Context(), bare.ID, admin); code(err) != "trunk_not_found" {
		t.Errorf("deleted again: %v", err)
	}
	if trunks, err = w.pg.Trunks(t.Context()); err != nil || len(trunks) != 0 {
		t.Errorf("trunks after the deletion: %+v %v", trunks, err)
	}

	n := engine.NumberSettings{Number: number(), ConcurrentCap: 1, HourCap: 2, DayCap: 3, RestSec: 4, State: "active"}
	if created, err := w.pg.PutNumber(t.Context(), n, admin); err != nil || !created {
		t.Fatal(created, err)
	}
	n.State = "quarantined"
	if created, err := w.pg.PutNumber(t.Context(), n, admin); err != nil || created {
		t.Fatal(created, err)
	}
	numbers, err := w.pg.Numbers(t.Context())
	must(t, err)
	if len(numbers) != 1 || numbers[0] != n {
		t.Errorf("numbers %+v", numbers)
	}
}

func abandons(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	w.commit(x)
	end, done := w.ended(&c, a, engine.OutcomeAbandoned)
	end.Attempts = []attempt.Attempt{done}
	w.commit(end)
	other := w.contact()
	y, b := w.intent(&other)
	w.commit(y)
	busy, _ := w.ended(&other, b, engine.OutcomeBusy)
	w.commit(busy)
	got, err := w.store.AbandonedSince(t.Context(), []engine.PhoneNumber{c.Number, other.Number}, w.now.Add(-72*time.Hour))
	must(t, err)
	if len(got) != 1 || !got[c.Number].Equal(*done.EndedAt) {
		t.Errorf("abandoned %v", got)
	}
	if got, _ := w.store.AbandonedSince(t.Context(), []engine.PhoneNumber{c.Number}, w.now.Add(time.Hour)); len(got) != 0 {
		t.Error("an abandon of long ago counts")
	}
}

func deletedBots(t *testing.T, w *world) {
	b := engine.Bot{ID: engine.BotID("bot_" + id()[:12]), Name: "Anna", Seats: 1, Active: true,
		Endpoints: []string{"ws://b"}, CreatedAt: w.now}
	_, _, err := w.pg.PutBot(t.Context(), b, false, admin)
	must(t, err)
	of := func(s campaign.State) campaign.Campaign {
		w.now = w.now.Add(time.Second)
		return w.campaign(func(c *campaign.Campaign) { c.Settings.Bot, c.State, c.CreatedAt = b.ID, s, w.now })
	}
	of(campaign.Draft)
	of(campaign.Completed)
	ours := engine.NumberSettings{Number: number(), State: "active", CallbackPolicy: "bot", CallbackBot: b.ID}
	_, err = w.pg.PutNumber(t.Context(), ours, admin)
	must(t, err)
	err = w.pg.DeleteBot(t.Context(), b.ID, false, admin)
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != "bot_in_use" || len(e.Fields) != 1 || e.Fields[0].Field != "number" ||
		!strings.Contains(e.Fields[0].Message, string(ours.Number)) {
		t.Fatalf("those who call back get it: %+v", e)
	}
	ours.CallbackPolicy = "reject" // the bot of another policy stays with the number, and nobody gets it
	_, err = w.pg.PutNumber(t.Context(), ours, admin)
	must(t, err)
	running, paused := of(campaign.Running), of(campaign.Paused)
	err = w.pg.DeleteBot(t.Context(), b.ID, false, admin)
	if !errors.As(err, &e) || e.Code != "bot_in_use" || len(e.Fields) != 2 || e.Fields[0].Code != "running" ||
		e.Fields[1].Code != "paused" ||
		!strings.Contains(e.Fields[0].Message, string(running.ID)) ||
		!strings.Contains(e.Fields[1].Message, string(paused.ID)) {
		t.Fatalf("in use: %+v", e)
	}
	must(t, w.pg.DeleteBot(t.Context(), b.ID, true, admin))
	bots, err := w.pg.Bots(t.Context())
	must(t, err)
	if slices.ContainsFunc(bots, func(x engine.Bot) bool { return x.ID == b.ID }) {
		t.Error("it is still there")
	}
	if err := w.pg.DeleteBot(t.Context(), b.ID, false, admin); code(err) != "bot_not_found" {
		t.Errorf("again: %v", err)
	}
	log, _, err := w.pg.Lists.Activity(
		t.Context(),
		"",
		[]journal.Type{"bot.deleted"},
		campaign.Page{Number: 1, Size: 1},
	)
	must(t, err)
	if len(log) != 1 || log[0].Data.Reason != string(b.ID) || *log[0].Data.Who != admin {
		t.Errorf("activity %+v", log)
	}
}

// lockOut checks how many log-ins in a row may fail, and what unlocks.
func lockOut(t *testing.T, w *world, u *engine.User, admin engine.Who) {
	from := engine.Who{Name: "log-in", From: "192.0.2.1"}
	fail := func(at time.Time, n int) (locked bool) {
		t.Helper()
		for range n {
			if locked {
				t.Fatal("locked too soon")
			}
			var err error
			locked, err = w.pg.Accounts.LogInFailed(t.Context(), u.Email, at, from)
			must(t, err)
		}
		return locked
	}
	until := func() *time.Time {
		t.Helper()
		got, _, err := w.pg.Accounts.User(t.Context(), u.ID)
		must(t, err)
		return got.LockedUntil
	}
	if fail(w.now, engine.LogInFailures-1) || until() != nil {
		t.Error("locked before its time")
	}
	must(t, w.pg.Accounts.LoggedIn(t.Context(), u.ID, w.now))
	if !fail(w.now, engine.LogInFailures) || until() == nil || !until().Equal(w.now.Add(engine.LogInLock)) {
		t.Errorf("locked until %v", until())
	}
	// The owner can log in nevertheless, and that ends it.
	must(t, w.pg.Accounts.LoggedIn(t.Context(), u.ID, w.now))
	if until() != nil || !fail(w.now, engine.LogInFailures) {
		t.Errorf("after a log-in it is locked until %v", until())
	}
	if fail(w.now.Add(time.Minute), 1) || !until().Equal(w.now.Add(engine.LogInLock)) {
		t.Error("what comes while it is locked counts")
	}
	over := w.now.Add(engine.LogInLock)
	if fail(over, 1) || until() != nil {
		t.Errorf("after its time it is locked until %v", until())
	}
	if !fail(over, engine.LogInFailures-1) {
		t.Error("not locked again")
	}
	if _, err := w.pg.Accounts.UpdateUser(t.Context(), u.ID, func(u *engine.User) { u.LockedUntil = nil },
		admin); err != nil ||
		until() != nil {
		t.Errorf("unlocked: %v, %v", until(), err)
	}
	if fail(over, 1) {
		t.Error("what was before the unlocking counts")
	}
	if locked, err := w.pg.Accounts.LogInFailed(t.Context(), "nobody@example.org", w.now, from); locked || err != nil {
		t.Errorf("nobody: %v %v", locked, err)
	}
	events, n, err := w.pg.Lists.Activity(
		w.ctx,
		"",
		[]journal.Type{journal.UserLocked, journal.UserUnlocked},
		campaign.Page{Number: 1, Size: 9},
	)
	must(t, err)
	if n != 4 || events[0].Type != journal.UserUnlocked || *events[0].Data.Who != admin ||
		events[1].Type != journal.UserLocked ||
		*events[1].Data.Who != from ||
		events[1].Data.Reason != string(u.ID) {
		t.Errorf("%d entries: %+v", n, events)
	}
}

func callFrequency(t *testing.T, w *world) {
	noted := func() (list []string) {
		events, _, err := w.pg.Lists.Activity(t.Context(), "", []journal.Type{journal.CallFrequencyChanged},
			campaign.Page{Number: 1, Size: 50})
		must(t, err)
		for _, e := range events {
			if *e.Data.Who != admin || len(e.Data.Changes) != 1 || e.Data.Changes[0].Field != "call_frequency" {
				t.Errorf("%+v", e.Data)
			}
			list = append(list, string(e.Data.Changes[0].From)+" "+string(e.Data.Changes[0].To))
		}
		return list
	}
	note := func(rules string, want bool) {
		t.Helper()
		changed, err := w.pg.NoteCallFrequency(t.Context(), rules, admin)
		if must(t, err); changed != want {
			t.Errorf("%s: changed %v", rules, changed)
		}
	}
	note("none", false)
	note("*: 3 attempts in 1d", true)
	note("*: 3 attempts in 1d", false)
	note("none", true)
	if got := noted(); !slices.Equal(got, []string{`"*: 3 attempts in 1d" "none"`, `"none" "*: 3 attempts in 1d"`}) {
		t.Errorf("noted %q", got)
	}
}
