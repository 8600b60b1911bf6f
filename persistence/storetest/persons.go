package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// others are numbers after the first.
func others(numbers ...engine.PhoneNumber) contact.Alternates {
	list := make([]contact.Alternate, len(numbers))
	for i, n := range numbers {
		list[i] = contact.Alternate{Number: n, Label: "office"}
	}
	return contact.NewAlternates(list)
}

// person is a contact with numbers after the first.
func (w *world) person(choice contact.Choice, numbers ...engine.PhoneNumber) contact.Contact {
	return w.contact(func(c *contact.Contact) { c.Alternates, c.Choice = others(numbers...), choice })
}

func (w *world) put(list ...contact.Contact) {
	w.t.Helper()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = list }))
}

func identifiers(list []contact.Contact) (ids []engine.ContactID) {
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

func (w *world) has(n engine.PhoneNumber, want ...contact.Contact) {
	w.t.Helper()
	list, err := w.store.ContactsByNumber(w.ctx, w.c.ID, n)
	must(w.t, err)
	if got := identifiers(list); !slices.Equal(got, identifiers(want)) {
		w.t.Errorf("contacts with a number: %v, want %v", got, identifiers(want))
	}
	c, ok, err := w.store.ContactByNumber(w.ctx, w.c.ID, n)
	must(w.t, err)
	if ok != (len(want) > 0) || ok && c.ID != want[0].ID {
		w.t.Errorf("the contact with a number: %s %v", c.ID, ok)
	}
}

func personByNumber(t *testing.T, w *world) {
	shared, gone := number(), number()
	a, b := w.person(0, shared, gone), w.person(0, shared)
	elsewhere := newWorld(t, w.store)
	elsewhere.put(elsewhere.person(0, shared))
	w.put(a, b)
	w.has(a.Number, a)
	w.has(shared, a, b)
	w.has(gone, a)
	w.has(number())
	a.Alternates, a.Version = others(shared), 2
	c := w.contact(func(c *contact.Contact) { c.Number = shared }) // the first number goes before others
	w.put(a, c)
	w.has(gone)
	w.has(shared, c, a, b)
	c.Alternates, c.Version = others(gone), 2
	w.put(c)
	w.has(gone, c)
	if w.pg == nil {
		return
	}
	page, err := w.store.Contacts(w.ctx, w.c.ID, campaign.Page{Number: 1, Size: 9, Phone: shared})
	must(t, err)
	if page.Total != 3 {
		t.Errorf("%d contacts listed by a shared number", page.Total)
	}
}

func personFresh(t *testing.T, w *world) {
	second := number()
	known := w.person(0, second)
	w.put(known)
	fresh := func(n engine.PhoneNumber, others contact.Alternates) journal.Write {
		c := w.contact(func(c *contact.Contact) { c.Number, c.Alternates = n, others })
		return w.write(func(x *journal.Write) { x.Fresh, x.Contacts = true, []contact.Contact{c} })
	}
	shares := fresh(number(), others(second, known.Number))
	group := []journal.Write{fresh(second, ""), shares}
	for range 2 {
		if got := w.try(group...); !errors.Is(got[0], journal.ErrContactExists) || got[1] != nil {
			t.Errorf("%v", got)
		}
	}
	w.has(second, known, shares.Contacts[0])
	beside := number()
	group = []journal.Write{fresh(number(), others(beside)), fresh(beside, "")}
	for range 2 {
		if got := w.try(group...); got[0] != nil || !errors.Is(got[1], journal.ErrContactExists) {
			t.Errorf("a number that another of the group has beside: %v", got)
		}
	}
	w.has(beside, group[0].Contacts[0])
}

// personSQL compares the store's way of choosing a number, and of knowing that none may be called, with
// the contact's own.
func personSQL(t *testing.T, w *world) {
	numbers := make([]engine.PhoneNumber, 12)
	for i := range numbers {
		numbers[i] = number()
	}
	var listed []journal.Suppression
	bad := map[engine.PhoneNumber]bool{}
	for _, n := range numbers[:6] {
		listed, bad[n] = append(listed, journal.Suppression{Number: n, Reason: "import", CreatedAt: w.now}), true
	}
	var all []contact.Contact
	later := w.now.Add(time.Hour)
	for i := range numbers {
		for place := range 3 {
			for out := range 7 {
				at := func(n int) engine.PhoneNumber { return numbers[(i+n)%len(numbers)] }
				all = append(all, w.contact(func(c *contact.Contact) {
					c.Alternates = others(at(5), at(7))
					c.Choice = contact.Choice(place + out<<3)
					if place+out == 0 && i < 6 {
						c.Number, c.Alternates = numbers[i], ""
					} else if i%2 == 0 {
						bad[c.Number], listed = true, append(listed, journal.Suppression{Number: c.Number, Reason: "import",
							CreatedAt: w.now})
					}
					if i%3 == 0 {
						c.DueAt = &later
					}
				}))
			}
		}
	}
	w.put(all...)
	w.commit(journal.Write{Suppressions: listed})
	var stopped []engine.ContactID
	waiting := 0
	for i := range all {
		if all[i].StopsFor(func(n engine.PhoneNumber) bool { return bad[n] }) {
			stopped = append(stopped, all[i].ID)
		} else {
			waiting++
		}
	}
	slices.Sort(stopped)
	got, err := w.store.SuppressedContacts(w.ctx, w.c.ID, w.c.Run, nil, "", 1000)
	must(t, err)
	if !slices.Equal(identifiers(got), stopped) {
		t.Errorf("%d contacts whose numbers are all suppressed, want %d", len(got), len(stopped))
	}
	of := func(n engine.PhoneNumber) (ids []engine.ContactID) {
		for i := range all {
			if _, found := slices.BinarySearch(stopped, all[i].ID); found && all[i].HasNumber(n) {
				ids = append(ids, all[i].ID)
			}
		}
		slices.Sort(ids)
		return ids
	}
	got, err = w.store.SuppressedContacts(w.ctx, w.c.ID, w.c.Run, numbers[1:2], "", 1000)
	must(t, err)
	if !slices.Equal(identifiers(got), of(numbers[1])) {
		t.Errorf("%d such contacts with a number, want %d", len(got), len(of(numbers[1])))
	}
	o, err := w.store.Outlook(w.ctx, w.c.ID, w.c.Run, w.now)
	must(t, err)
	if o.Waiting != waiting {
		t.Errorf("%d wait, want %d", o.Waiting, waiting)
	}
	if w.pg != nil {
		p, err := w.pg.Standing(w.ctx, &w.c, w.now)
		must(t, err)
		ahead := 0
		for _, a := range p.Ahead {
			ahead += a.Count
		}
		if ahead != waiting {
			t.Errorf("%d are ahead, want %d", ahead, waiting)
		}
	}

	held := number()
	caller := newWorld(t, w.store)
	c := caller.contact(func(c *contact.Contact) { c.Number = held })
	x, _ := caller.intent(&c)
	caller.commit(x)
	only := newWorld(t, w.store)
	next, other := only.person(1, held), only.person(0, held)
	only.put(next, other)
	if got := identifiers(only.due(9)); !slices.Equal(got, []engine.ContactID{other.ID}) {
		t.Errorf("%v are due while a number is held, want the one that is not called at it", got)
	}
}

func personLists(t *testing.T, w *world) {
	excluded, second := number(), number()
	w.commit(journal.Write{Exclusions: []journal.Exclusion{{Campaign: w.c.ID, Number: excluded, CreatedAt: w.now}}})
	sticky := w.campaign(func(c *campaign.Campaign) { c.Settings.StickyExclusion = true })
	w.commit(journal.Write{Exclusions: []journal.Exclusion{{Campaign: sticky.ID, Number: excluded, CreatedAt: w.now}}})
	add := w.insert(2)
	add.Contacts[0].Alternates, add.Contacts[1].Alternates = others(second), others(second, excluded)
	report, err := w.store.AddContacts(w.ctx, add)
	must(t, err)
	list := w.contacts()
	if report.Added != 2 || list[0].Alternates != others(second) || list[1].Alternates != others(second, excluded) {
		t.Errorf("added: %+v", report)
	}
	w.has(second, list...)
	add.Campaign, add.Epoch = sticky.ID, sticky.Epoch
	for i := range add.Contacts {
		add.Contacts[i].ID = engine.ContactID(id())
	}
	if report, err = w.store.AddContacts(w.ctx, add); err != nil || report.Added != 1 || report.Excluded != 1 {
		t.Errorf("where a number is excluded: %+v %v", report, err)
	}
}

func personImport(t *testing.T, w *world) {
	excluded, second := number(), number()
	w.commit(journal.Write{Exclusions: []journal.Exclusion{{Campaign: w.c.ID, Number: excluded,
		CreatedAt: w.now.Add(-time.Hour)}}})
	imp := w.begin()
	rows := stagedRows(3)
	rows[0].Alternates, rows[1].Alternates = others(second), others(excluded)
	must(t, w.store.StageImport(w.ctx, imp.ID, rows, nil, 3, 0))
	for n, want := range map[engine.PhoneNumber]bool{second: true, rows[0].Number: true, number(): false} {
		if staged, err := w.store.StagedNumber(w.ctx, imp.ID, n); err != nil || staged != want {
			t.Errorf("staged %v, want %v; %v", staged, want, err)
		}
	}
	a := w.activation(imp, 3)
	a.Sticky = true
	out, err := w.store.ActivateImport(w.ctx, a, w.open)
	must(t, err)
	if out.Import.Added != 2 || out.Import.Excluded != 1 {
		t.Errorf("%+v", out.Import)
	}
	list := w.contacts()
	if list[0].Alternates != others(second) || list[1].Alternates != "" {
		t.Errorf("%q, %q", string(list[0].Alternates), string(list[1].Alternates))
	}

	imp = w.begin()
	rows = stagedRows(1)
	rows[0].Alternates = others(excluded)
	must(t, w.store.StageImport(w.ctx, imp.ID, rows, nil, 1, 0))
	out, err = w.store.ActivateImport(w.ctx, w.activation(imp, 1), w.open)
	must(t, err)
	if out.Import.Added != 1 || !slices.Equal(out.Lifted, []engine.PhoneNumber{excluded}) {
		t.Errorf("not sticky: %+v, lifted %v", out.Import, out.Lifted)
	}
}

func personReset(t *testing.T, w *world) {
	c := w.person(contact.ChoiceKept|1<<3|1, number())
	c.State, c.DueAt = contact.Completed, nil
	w.put(c)
	next := w.c
	next.Run, next.Seq, next.State = 2, w.seq.Add(1), campaign.Draft
	w.commit(journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch, CampaignRow: &next})
	reset := w.event(journal.ContactsReset, "", "")
	reset.Run = 2
	must(t, w.store.ResetContacts(w.ctx, w.c.ID, 2, false, w.now, reset))
	if o, err := w.store.Outlook(w.ctx, w.c.ID, 2, w.now); err != nil || o.Waiting != 0 || len(o.Skipped) != 1 ||
		o.Skipped[0] != (campaign.SkipReason{Reason: "excluded", Count: 1}) {
		t.Errorf("ahead: %+v %v", o, err)
	}
	if got := w.stored(c.ID); got.Choice != contact.ChoiceKept || got.Alternates != c.Alternates {
		t.Errorf("%d of %q", got.Choice, string(got.Alternates))
	}
}

func personImportSuppressed(t *testing.T, w *world) {
	a, b := number(), number()
	w.commit(journal.Write{Suppressions: []journal.Suppression{{Number: a, Reason: "import", CreatedAt: w.now},
		{Number: b, Reason: "import", CreatedAt: w.now}}})
	rows := stagedRows(5)
	rows[0].Number, rows[0].Alternates = a, others(b)           // both
	rows[1].Alternates = others(b)                              // the second
	rows[2].Number, rows[2].Alternates = b, others(a, number()) // all but the third
	rows[3].Number = a
	left := []engine.ContactID{rows[1].ID, rows[2].ID, rows[4].ID}
	for _, check := range []bool{true, false} {
		imp := w.begin()
		must(t, w.store.StageImport(w.ctx, imp.ID, rows, nil, 5, 0))
		if check {
			got, err := w.store.CheckImport(w.ctx, journal.Check{Import: imp.ID, Campaign: w.c.ID, Staged: 5, At: w.now,
				Since: imp.CreatedAt})
			if err != nil || got.Added != 3 || got.Excluded != 2 {
				t.Errorf("checked: %+v, %v", got, err)
			}
			must(t, w.store.CloseImport(w.ctx, imp.ID))
			continue
		}
		out, err := w.store.ActivateImport(w.ctx, w.activation(imp, 5), w.open)
		if err != nil || out.Import.Added != 3 || out.Import.Excluded != 2 {
			t.Errorf("%+v, %v", out.Import, err)
		}
	}
	var got []engine.ContactID
	for _, c := range w.contacts() {
		got = append(got, c.ID)
	}
	if !slices.Equal(got, left) {
		t.Errorf("contacts %v, want %v", got, left)
	}
}
