package storetest

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func (w *world) due(limit int, except ...engine.ContactID) []contact.Contact {
	w.t.Helper()
	return w.dueIn(contact.Order{Now: w.now}, limit, except...)
}

func (w *world) dueIn(order contact.Order, limit int, except ...engine.ContactID) []contact.Contact {
	w.t.Helper()
	list, err := w.store.DueContacts(w.ctx, w.c.ID, w.c.Run, order, limit, except)
	must(w.t, err)
	return list
}

// dueOrder compares the SQL with contact.Order.
func dueOrder(t *testing.T, w *world) {
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed mix, the same every time
	classes := []contact.DueClass{contact.DueCallback, contact.DueTrigger, contact.DueFirst, contact.DueRetry}
	var all []contact.Contact
	for range 120 {
		all = append(all, w.contact(func(c *contact.Contact) {
			c.DueClass = classes[rnd.IntN(len(classes))]
			due := w.now.Add(-time.Duration(rnd.IntN(20)) * time.Second)
			if rnd.IntN(5) == 0 {
				due = w.now.Add(time.Minute) // not yet
			}
			c.DueAt = &due
			if rnd.IntN(2) == 0 {
				c.Precedence = rnd.IntN(contact.PriorityCap+1) - contact.DefaultPriority + 1
			}
			if c.DueClass == contact.DueRetry || c.DueClass == contact.DueCallback {
				c.Used = rnd.IntN(4)
				c.State = contact.Waiting
			}
		}))
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	w.commit(w.write(func(x *journal.Write) { x.Contacts = all }))
	for _, overdue := range []time.Duration{0, 5 * time.Second, time.Millisecond} {
		dueInOrder(t, w, contact.Order{Now: w.now, Overdue: overdue}, all)
	}
}

func dueInOrder(t *testing.T, w *world, order contact.Order, all []contact.Contact) {
	t.Helper()
	var want []contact.Contact
	for _, c := range all {
		if !c.DueAt.After(w.now) {
			want = append(want, c)
		}
	}
	slices.SortFunc(want, func(a, b contact.Contact) int {
		if order.Before(&a, &b) {
			return -1
		}
		return 1
	})
	for _, limit := range []int{1, 7, 50, 1000} {
		got := w.dueIn(order, limit)
		if len(got) != min(limit, len(want)) {
			t.Fatalf("%d due contacts of %d with limit %d", len(got), len(want), limit)
		}
		for i := range got {
			if got[i].ID != want[i].ID {
				t.Fatalf("limit %d, place %d: class %d used %d at %v position %d, want class %d used %d at %v position %d", limit,
					i, got[i].DueClass, got[i].Used, got[i].DueAt, got[i].Position, want[i].DueClass, want[i].Used, want[i].DueAt,
					want[i].Position)
			}
		}
	}
	// Page after page, except those already taken.
	var seen []engine.ContactID
	for len(seen) < len(want) {
		page := w.dueIn(order, 9, seen...)
		if len(page) == 0 {
			t.Fatalf("nothing after %d of %d", len(seen), len(want))
		}
		for i := range page {
			if page[i].ID != want[len(seen)].ID {
				t.Fatalf("place %d differs when paged", len(seen))
			}
			seen = append(seen, page[i].ID)
		}
	}
}

func dueLeavesOut(t *testing.T, w *world) {
	plain, live, held, other := w.contact(), w.contact(), w.contact(), w.contact()
	otherRun := w.contact(func(c *contact.Contact) { c.Run = 2 })
	attemptID := engine.AttemptID(id())
	live.Attempt = attemptID
	w.commit(w.write(func(x *journal.Write) {
		x.Contacts = []contact.Contact{plain, live, held, other, otherRun}
	}))
	elsewhere := newWorld(t, w.store)
	rival := elsewhere.contact(func(c *contact.Contact) { c.Number = held.Number })
	x, a := elsewhere.intent(&rival)
	elsewhere.commit(x)

	got := w.due(100, other.ID)
	if len(got) != 1 || got[0].ID != plain.ID {
		t.Errorf("%d due", len(got))
	}
	if got[0].Variables["name"] != "Ada" {
		t.Error("without its variables")
	}
	end, _ := elsewhere.ended(&rival, a, engine.OutcomeBusy)
	elsewhere.commit(end)
	if got := w.due(100, other.ID); len(got) != 2 {
		t.Errorf("%d due once the number is free", len(got))
	}
}

// dueSuppressed checks that a suppressed contact is listed: if left out, it would wait forever.
func dueSuppressed(t *testing.T, w *world) {
	c := w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }),
		journal.Write{Suppressions: []journal.Suppression{{Number: c.Number, Reason: "import", CreatedAt: w.now}}})
	if got := w.due(100); len(got) != 1 || got[0].ID != c.ID {
		t.Errorf("%d due", len(got))
	}
	x, _ := w.intent(&c)
	if err := w.try(x)[0]; !errors.Is(err, journal.ErrSuppressed) {
		t.Errorf("its intent: %v", err)
	}
}

func nextDue(t *testing.T, w *world) {
	ask := func(wantNext *time.Time, wantOpen int) {
		t.Helper()
		next, open, err := w.store.NextDue(t.Context(), w.c.ID, w.c.Run)
		must(t, err)
		if (next == nil) != (wantNext == nil) || next != nil && !next.Equal(*wantNext) || open != wantOpen {
			t.Errorf("next %v open %d, want %v and %d", next, open, wantNext, wantOpen)
		}
	}
	exhausted := func(want bool) {
		t.Helper()
		got, err := w.store.Exhausted(t.Context(), w.c.ID, w.c.Run)
		must(t, err)
		if got != want {
			t.Errorf("exhausted %v", got)
		}
	}
	ask(nil, 0)
	exhausted(false)
	soon, later := w.now.Add(time.Minute), w.now.Add(time.Hour)
	put := func(cs ...contact.Contact) { w.commit(w.write(func(x *journal.Write) { x.Contacts = cs })) }
	retry := w.contact(func(c *contact.Contact) {
		c.DueAt, c.DueClass, c.Used, c.State = &soon, contact.DueRetry, 2, contact.Waiting
	})
	put(w.contact(func(c *contact.Contact) { c.DueAt = &later }), retry,
		w.contact(func(c *contact.Contact) { c.DueAt, c.State = nil, contact.Completed }),
		w.contact(func(c *contact.Contact) { c.DueAt, c.State, c.ResultDueAt = nil, contact.Connected, &later }))
	ask(&soon, 3)
	// One of another run, and one that is never due: neither counts.
	put(w.contact(func(c *contact.Contact) { c.Run = w.c.Run + 1 }),
		w.contact(func(c *contact.Contact) { c.DueAt, c.State = nil, contact.Waiting }))
	ask(&soon, 3)
	x, a := w.intent(&retry)
	w.commit(x)
	ask(&later, 3) // its attempt lives
	retry.State = contact.Failed
	end, _ := w.ended(&retry, a, engine.OutcomeBusy)
	w.commit(end)
	ask(&later, 2)
	failed := func(reason string, run int) contact.Contact {
		return w.contact(func(c *contact.Contact) { c.DueAt, c.State, c.Reason, c.Run = nil, contact.Failed, reason, run })
	}
	put(failed("busy", w.c.Run), failed(contact.ReasonExhausted, w.c.Run+1))
	exhausted(false)
	put(failed(contact.ReasonExhausted, w.c.Run))
	exhausted(true)
}

func callable(t *testing.T, w *world) {
	is := func(want bool, what string) {
		t.Helper()
		got, err := w.store.Callable(t.Context(), w.c.ID, w.c.Run, w.now)
		must(t, err)
		if got != want {
			t.Errorf("%s: callable %v", what, got)
		}
	}
	put := func(change func(*contact.Contact)) contact.Contact {
		c := w.contact(change)
		w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
		return c
	}
	is(false, "nobody is there")
	put(func(c *contact.Contact) { c.DueAt, c.State = nil, contact.Excluded })
	put(func(c *contact.Contact) { c.DueAt, c.State = nil, contact.Completed })
	put(func(c *contact.Contact) { c.Run = w.c.Run + 1 })
	is(false, "excluded, final, of another run")
	c := put(func(*contact.Contact) {})
	is(true, "one waits")
	w.commit(journal.Write{Suppressions: []journal.Suppression{{Number: c.Number, Reason: "import", CreatedAt: w.now}}})
	is(false, "it is suppressed")
	put(func(c *contact.Contact) { c.ExpiresAt = &w.now })
	is(false, "it has expired")
	soon := w.now.Add(time.Minute)
	put(func(c *contact.Contact) { c.DueAt, c.State, c.ResultDueAt = nil, contact.Connected, &soon })
	is(true, "a result is awaited")
}

func addContacts(t *testing.T, w *world) {
	trigger := w.contact(func(c *contact.Contact) { c.Position, c.DueClass = 1_000_000, contact.DueTrigger })
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{trigger} }))
	const n = 1000
	add := w.insert(n)
	add.Contacts[10].Number = add.Contacts[3].Number // the second row is the duplicate
	add.Contacts[20].Number = trigger.Number
	report, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	if want := (campaign.AddReport{Added: n - 2, Duplicates: 2, Total: n - 1}); report != want {
		t.Fatalf("report %+v, want %+v", report, want)
	}
	due := w.due(2 * n)
	if len(due) != n-1 || due[0].ID != trigger.ID {
		t.Fatalf("%d due", len(due))
	}
	var order []engine.ContactID
	for i, c := range add.Contacts {
		if i != 10 && i != 20 {
			order = append(order, c.ID)
		}
	}
	for i, c := range due[1:] {
		if c.ID != order[i] || c.Position <= trigger.Position {
			t.Fatalf("place %d: not in list order behind what was there", i)
		}
	}
	first := due[1]
	want := contact.Contact{ID: add.Contacts[0].ID, Campaign: w.c.ID, Number: add.Contacts[0].Number,
		Variables: add.Contacts[0].Variables,
		Position:  first.Position, Source: "csv", Run: 1, State: contact.Pending, Max: 3, DueAt: &add.At,
		DueClass: contact.DueFirst, DuePass: 1,
		CreatedAt: add.At, UpdatedAt: add.At, Version: 1}
	sameFields(t, first, want)

	events := w.events()
	if len(events) != 1 || events[0].Data.Count != n-2 || events[0].Type != journal.ContactsAdded {
		t.Errorf("events %+v", events)
	}
	// Nothing new: no event.
	again := add
	again.Event = w.event(journal.ContactsAdded, "", "")
	again.Contacts = again.Contacts[:1:1]
	again.Contacts[0].ID = engine.ContactID(id())
	report, err = w.store.AddContacts(t.Context(), again)
	must(t, err)
	if report.Added != 0 || report.Duplicates != 1 || len(w.events()) != 1 {
		t.Errorf("report %+v, %d events", report, len(w.events()))
	}
	again.Epoch--
	if _, err := w.store.AddContacts(t.Context(), again); code(err) != "stale_epoch" {
		t.Errorf("by the owner before: %v", err)
	}
}

func (w *world) insert(n int) journal.ContactInsert {
	add := journal.ContactInsert{Campaign: w.c.ID, Epoch: w.c.Epoch, Run: 1, Source: "csv", Max: 3, At: w.now,
		DueClass: contact.DueFirst, Event: w.event(journal.ContactsAdded, "", "")}
	for range n {
		add.Contacts = append(add.Contacts, journal.IdentifiedContact{ID: engine.ContactID(id()),
			NewContact: campaign.NewContact{Number: number(), Variables: map[string]string{"plan": "gold"}}})
	}
	return add
}

func addExcluded(t *testing.T, w *world) {
	add := w.insert(6)
	add.Contacts[1].Variables = map[string]string{"plan": "gold", "region": "north"}
	add.Contacts[2].Variables = nil
	w.commit(w.write(func(x *journal.Write) {
		x.Exclusions = []journal.Exclusion{
			{Campaign: w.c.ID, Number: add.Contacts[0].Number, CreatedAt: w.now},
			{Campaign: w.c.ID, Match: map[string]string{"region": "north"}, CreatedAt: w.now},
			{Campaign: w.c.ID, Number: add.Contacts[3].Number, Lifted: true, CreatedAt: w.now},
			{Campaign: "cmp_other", Number: add.Contacts[4].Number, CreatedAt: w.now},
		}
	}))
	loose := add
	loose.Contacts = add.Contacts[:1]
	report, err := w.store.AddContacts(t.Context(), loose)
	must(t, err)
	if report.Added != 1 || report.Excluded != 0 {
		t.Errorf("not sticky: %+v", report)
	}
	sticky := w.campaign(func(c *campaign.Campaign) { c.Settings.StickyExclusion = true })
	w.commit(journal.Write{Exclusions: []journal.Exclusion{
		{Campaign: sticky.ID, Number: add.Contacts[0].Number, CreatedAt: w.now},
		{Campaign: sticky.ID, Match: map[string]string{"region": "north"}, CreatedAt: w.now}}})
	add.Campaign, add.Epoch = sticky.ID, sticky.Epoch
	for i := range add.Contacts {
		add.Contacts[i].ID = engine.ContactID(id())
	}
	report, err = w.store.AddContacts(t.Context(), add)
	must(t, err)
	if want := (campaign.AddReport{Added: 4, Excluded: 2, Total: 4}); report != want {
		t.Errorf("sticky: %+v, want %+v", report, want)
	}
}

func addAgain(t *testing.T, w *world) {
	add := w.insert(50)
	add.Contacts[7].Number = add.Contacts[6].Number
	once, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	again, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	if once != again || once.Added != 49 {
		t.Errorf("first %+v, again %+v", once, again)
	}
	if n := len(w.events()); n != 1 {
		t.Errorf("%d events", n)
	}
}

// addBatch checks the result for each row, and that the reply is stored with it or not at all.
func addBatch(t *testing.T, w *world) {
	c := w.campaign(func(c *campaign.Campaign) { c.Settings.StickyExclusion = true })
	old := w.contact(func(x *contact.Contact) { x.Campaign = c.ID })
	out := w.contact(func(x *contact.Contact) { x.Campaign, x.State, x.DueAt = c.ID, contact.Excluded, nil })
	w.commit(journal.Write{Contacts: []contact.Contact{old, out}})
	add := w.insert(6)
	add.Campaign, add.Epoch = c.ID, c.Epoch
	add.Event.Campaign = c.ID
	w.commit(journal.Write{Exclusions: []journal.Exclusion{{Campaign: c.ID, Number: add.Contacts[1].Number,
		CreatedAt: w.now}}})
	add.Contacts[2].Number = add.Contacts[1].Number // covered too
	add.Contacts[3].Number = old.Number
	add.Contacts[4].Number = out.Number
	add.Contacts[5].Number = add.Contacts[0].Number // there twice
	var got []campaign.BatchResult
	r := reply("batch", w.now)
	add.Answer = func(rows []campaign.BatchResult) *journal.Reply { got = rows; return r }
	report, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	first := add.Contacts[0].ID
	want := []campaign.BatchResult{{Status: campaign.RowAdded, ContactID: first}, {Status: campaign.RowExcluded},
		{Status: campaign.RowExcluded},
		{Status: campaign.RowDuplicate, ContactID: old.ID}, {Status: campaign.RowDuplicate, ContactID: out.ID},
		{Status: campaign.RowDuplicate, ContactID: first}}
	if !reflect.DeepEqual(got, want) || report != (campaign.AddReport{Added: 1, Duplicates: 3, Excluded: 2, Total: 3}) {
		t.Errorf("%+v\nwant %+v\nreport %+v", got, want, report)
	}
	if kept, ok, err := w.store.FindReply(t.Context(), r.Idempotency); err != nil || !ok ||
		string(kept.Body) != string(r.Body) {
		t.Errorf("kept %v %+v %v", ok, kept, err)
	}
	// The commit was not confirmed: the same request again is no conflict.
	if again, err := w.store.AddContacts(t.Context(), add); err != nil || again != report ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("again %+v %v\n%+v", again, err, got)
	}
	// Another request under the same key leaves nothing.
	other := w.insert(3)
	other.Campaign, other.Epoch = c.ID, c.Epoch
	other.Answer = func([]campaign.BatchResult) *journal.Reply { return reply("batch", w.now.Add(time.Second)) }
	if _, err := w.store.AddContacts(t.Context(), other); !errors.Is(err, journal.ErrReplyExists) {
		t.Errorf("under the same key: %v", err)
	}
	if _, ok, err := w.store.ContactByID(t.Context(), other.Contacts[0].ID); ok || err != nil {
		t.Errorf("a contact is there all the same: %v", err)
	}
	// Not sticky: excluded contacts can be called again.
	loose := w.campaign(func(c *campaign.Campaign) { c.Settings.StickyExclusion = false })
	gone := w.contact(func(x *contact.Contact) { x.Campaign, x.State, x.DueAt = loose.ID, contact.Excluded, nil })
	w.commit(journal.Write{Contacts: []contact.Contact{gone}})
	last := w.insert(1)
	last.Campaign, last.Epoch, last.Contacts[0].Number = loose.ID, loose.Epoch, gone.Number
	last.Answer = func(rows []campaign.BatchResult) *journal.Reply { got = rows; return nil }
	_, err = w.store.AddContacts(t.Context(), last)
	must(t, err)
	if want := []campaign.BatchResult{{Status: campaign.RowReadmitted, ContactID: gone.ID}}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	last.Contacts = nil
	if report, err := w.store.AddContacts(t.Context(), last); err != nil || report.Added != 0 || report.Total != 1 ||
		len(got) != 0 {
		t.Errorf("an empty list: %+v %v", report, err)
	}
}

func exclusions(t *testing.T, w *world) {
	n := number()
	put := func(x journal.Exclusion) {
		w.commit(w.write(func(y *journal.Write) { y.Exclusions = []journal.Exclusion{x} }))
	}
	put(journal.Exclusion{Campaign: w.c.ID, Number: n, Reason: "asked", CreatedAt: w.now})
	put(journal.Exclusion{Campaign: w.c.ID, Match: map[string]string{"a": "1", "b": "2"},
		CreatedAt: w.now.Add(time.Second)})
	list, err := w.store.Exclusions(t.Context(), w.c.ID)
	must(t, err)
	if len(list) != 2 || list[0].Number != n || list[0].Match != nil || list[0].Reason != "asked" ||
		list[1].Match["b"] != "2" {
		t.Fatalf("exclusions %+v", list)
	}
	if w.pg != nil {
		exclusionsListed(t, w, n)
	}
	put(journal.Exclusion{Campaign: w.c.ID, Number: n, Lifted: true, CreatedAt: w.now.Add(time.Minute)})
	put(journal.Exclusion{Campaign: w.c.ID, Number: n, CreatedAt: w.now}) // the first comes again
	if list, _ := w.store.Exclusions(t.Context(), w.c.ID); len(list) != 1 {
		t.Errorf("%d exclusions after lifting", len(list))
	}
	put(journal.Exclusion{Campaign: w.c.ID, Match: map[string]string{"b": "2", "a": "1"}, Lifted: true,
		CreatedAt: w.now.Add(time.Minute)})
	if list, err := w.store.Exclusions(t.Context(), w.c.ID); err != nil || len(list) != 0 {
		t.Errorf("%d exclusions after lifting both, %v", len(list), err)
	}
	if w.pg == nil {
		return
	}
	if list, total, err := w.pg.ListExclusions(t.Context(), w.c.ID, "", campaign.Page{Number: 1, Size: 1}); err != nil ||
		total != 0 || len(list) != 0 {
		t.Errorf("%d exclusions listed after lifting both, %v", total, err)
	}
}

// exclusionsListed checks the exclusions of a number, then of a match.
func exclusionsListed(t *testing.T, w *world, n engine.PhoneNumber) {
	page := campaign.Page{Number: 1, Size: 1}
	newest, total, err := w.pg.ListExclusions(t.Context(), w.c.ID, "", page)
	must(t, err)
	if total != 2 || len(newest) != 1 || newest[0].Match["a"] != "1" || newest[0].Number != "" {
		t.Errorf("%d exclusions, the newest %+v", total, newest)
	}
	one, total, err := w.pg.ListExclusions(t.Context(), w.c.ID, n, page)
	must(t, err)
	if total != 1 || len(one) != 1 || one[0].Number != n || one[0].Match != nil || one[0].Reason != "asked" {
		t.Errorf("%d exclusions of a number, %+v", total, one)
	}
	var parts []journal.Exclusion
	for after := (journal.Exclusion{}); ; {
		part, err := w.pg.ExclusionsAfter(t.Context(), w.c.ID, after, 1)
		must(t, err)
		if len(part) == 0 {
			break
		}
		parts, after = append(parts, part...), part[0]
	}
	if len(parts) != 2 || parts[0].Match["b"] != "2" || parts[1].Number != n || parts[1].Reason != "asked" {
		t.Errorf("one after the other %+v", parts)
	}
}

func openAttempts(t *testing.T, w *world) {
	c, d := w.contact(), w.contact()
	x, a := w.intent(&c)
	y, b := w.intent(&d)
	dialout := w.attempt(contact.Contact{Number: number()})
	dialout.Contact = ""
	w.commit(x, y, journal.Write{Attempts: []attempt.Attempt{dialout},
		Intent: &journal.Intent{Attempt: dialout.ID, Number: dialout.To}})
	end, _ := w.ended(&d, b, engine.OutcomeBusy)
	w.commit(end)
	open, err := w.store.OpenAttempts(t.Context())
	must(t, err)
	got := map[engine.AttemptID]engine.CampaignID{}
	for _, o := range open {
		got[o.ID] = o.Campaign
		if len(o.Legs) != 1 {
			t.Errorf("%d legs", len(o.Legs))
		}
	}
	if len(got) != 2 || got[a.ID] != w.c.ID || got[dialout.ID] != "" {
		t.Errorf("open %v", got)
	}
}

func expired(t *testing.T, w *world) {
	past, future := w.now.Add(-time.Minute), w.now.Add(time.Minute)
	expires := func(at *time.Time, change ...func(*contact.Contact)) contact.Contact {
		c := w.contact(change...)
		c.ExpiresAt = at
		return c
	}
	late := expires(&w.now)
	later := expires(&past, func(c *contact.Contact) { c.DueAt = &future })
	w.commit(w.write(func(x *journal.Write) {
		x.Contacts = []contact.Contact{late, later, expires(&future), w.contact(),
			expires(&past, func(c *contact.Contact) { c.Run = w.c.Run + 1 }),
			expires(&past, func(c *contact.Contact) { c.DueAt, c.State = nil, contact.Completed }),
			expires(&past, func(c *contact.Contact) { c.Attempt = engine.AttemptID(id()) })}
	}))
	list, next, err := w.store.Expired(t.Context(), w.c.ID, w.c.Run, w.now, 10)
	must(t, err)
	if len(list) != 2 || list[0].ID != later.ID || list[1].ID != late.ID || next == nil || !next.Equal(future) {
		t.Errorf("%d expired, the next at %v", len(list), next)
	}
	if list, _, err := w.store.Expired(t.Context(), w.c.ID, w.c.Run, w.now, 1); err != nil || len(list) != 1 {
		t.Errorf("%d of the first: %v", len(list), err)
	}
}

func addTimed(t *testing.T, w *world) {
	soon, later := w.now.Add(time.Minute), w.now.Add(time.Hour)
	first, last := 9, 0
	add := w.insert(4)
	add.Contacts[1].Times = contact.Times{NotBefore: &soon, ExpiresAt: &later}
	add.Contacts[2].Times.Priority = &last
	add.Contacts[3].Times.Priority = &first
	_, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	var order []engine.ContactID
	for _, c := range w.due(10) {
		order = append(order, c.ID)
	}
	if want := []engine.ContactID{add.Contacts[3].ID, add.Contacts[0].ID, add.Contacts[2].ID}; !slices.Equal(order, want) {
		t.Errorf("due are %v, want %v", order, want)
	}
	c, _, err := w.store.ContactByID(t.Context(), add.Contacts[1].ID)
	must(t, err)
	if !c.NotBefore.Equal(soon) || !c.DueAt.Equal(soon) || !c.ExpiresAt.Equal(later) {
		t.Errorf("from %v until %v, due %v", c.NotBefore, c.ExpiresAt, c.DueAt)
	}
}

func overdue(t *testing.T, w *world) {
	past, future := w.now.Add(-time.Minute), w.now.Add(time.Minute)
	late := w.contact(func(c *contact.Contact) { c.DueAt, c.State, c.ResultDueAt = nil, contact.Connected, &past })
	w.commit(w.write(func(x *journal.Write) {
		x.Contacts = []contact.Contact{late, w.contact(func(c *contact.Contact) { c.ResultDueAt = &future }), w.contact()}
	}))
	list, err := w.store.ResultsOverdue(t.Context(), w.c.ID, w.now, 10)
	must(t, err)
	if len(list) != 1 || list[0].ID != late.ID {
		t.Errorf("%d overdue", len(list))
	}
}
