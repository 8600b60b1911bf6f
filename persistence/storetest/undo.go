package storetest

import (
	"errors"
	"maps"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// imported makes n rows contacts of the world's campaign.
func (w *world) imported(n int, change ...func([]journal.StagedRow)) (campaign.Import, []journal.StagedRow) {
	w.t.Helper()
	imp, rows := w.begin(), stagedRows(n)
	for _, f := range change {
		f(rows)
	}
	must(w.t, w.store.StageImport(w.ctx, imp.ID, rows, nil, n, 0))
	out, err := w.store.ActivateImport(w.ctx, w.activation(imp, n), w.open)
	must(w.t, err)
	must(w.t, w.store.CloseImport(w.ctx, imp.ID))
	w.now = w.now.Add(time.Minute)
	return out.Import, rows
}

// page is the next page of an import that is taken back.
func (w *world) page(imp campaign.Import, limit int, except ...engine.ContactID) journal.TakeBack {
	ev := w.event(journal.ContactsTakenBack, "", "")
	w.event(journal.ImportUndone, "", "")
	return journal.TakeBack{Campaign: w.c.ID, Epoch: w.c.Epoch, Run: 1, Import: imp.ID, Who: imp.CreatedBy, At: w.now,
		Seq: ev.Seq, Except: except, Limit: limit}
}

func importUndo(t *testing.T, w *world) {
	there := w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{there} }))
	imp, rows := w.imported(12)
	if imp.Added != 12 || imp.Undo != nil {
		t.Fatalf("imported: %+v", imp)
	}
	of := func(i int) *contact.Contact { c := w.stored(rows[i].ID); return &c }

	called := of(0)
	first, a := w.intent(called)
	w.commit(first)
	last, _ := w.ended(called, a, engine.OutcomeBusy)
	w.commit(last)
	live := of(1)
	first, _ = w.intent(live)
	w.commit(first)
	excluded := of(2)
	excluded.State, excluded.DueAt, excluded.Version = contact.Excluded, nil, 2
	triggered := of(3)
	triggered.Version = 2
	putOff := of(4)
	later := w.now.Add(time.Hour)
	putOff.DueAt, putOff.Version = &later, 2
	w.commit(w.write(func(x *journal.Write) {
		x.Contacts = []contact.Contact{*excluded, *triggered, *putOff}
		x.Events = []journal.Event{w.event(journal.ContactExcluded, excluded.ID, ""),
			w.event(journal.ContactTriggered, triggered.ID, ""), w.event(journal.ContactChanged, putOff.ID, "")}
	}))
	// A second file and a list name one each.
	second, others := w.imported(2, func(r []journal.StagedRow) { r[0].Number = rows[5].Number })
	add := w.insert(1)
	add.Contacts[0].Number = rows[6].Number
	_, err := w.store.AddContacts(t.Context(), add)
	must(t, err)

	before, err := w.store.Counters(t.Context(), w.c.ID, 1)
	must(t, err)
	want := campaign.UndoCounts{TakenBack: 6, Stayed: 6, Reasons: map[contact.Stay]int{contact.StayInCall: 1,
		contact.StayDialled: 1, contact.StayExcluded: 1, contact.StayNamed: 3}}
	if n, err := w.store.UndoPreview(t.Context(), w.c.ID, imp.ID); err != nil || !reflect.DeepEqual(n, want) {
		t.Errorf("preview %+v, %v; want %+v", n, err, want)
	}

	// Row 11 is about to be dialled.
	want.TakenBack, want.Stayed, want.Reasons[contact.StayInCall] = 5, 7, 2
	folded := tally.From(before)
	var gone int
	for n := 0; ; n++ {
		p := w.page(imp, 5, rows[11].ID)
		out, err := w.store.TakeBack(t.Context(), p)
		must(t, err)
		again, err := w.store.TakeBack(t.Context(), p)
		if err != nil || !reflect.DeepEqual(again.Undo, out.Undo) ||
			!reflect.DeepEqual(again.Event.Data.Moves, out.Event.Data.Moves) {
			t.Errorf("page %d again: %+v, %v; it was %+v", n, again, err, out)
		}
		folded.Apply(&out.Event)
		for _, m := range out.Event.Data.Moves {
			gone += m.Count
		}
		open, err := w.store.OpenUndo(t.Context(), w.c.ID)
		must(t, err)
		if out.Undo.State == campaign.UndoDone {
			if n != 2 || open != "" || !reflect.DeepEqual(out.Undo.UndoCounts, want) || out.Undo.FinishedAt == nil {
				t.Errorf("after page %d, open %q: %+v, want %+v", n, open, out.Undo, want)
			}
			break
		}
		if n == 3 || open != imp.ID {
			t.Fatalf("page %d, open %q: %+v", n, open, out.Undo)
		}
	}
	if after, err := w.store.Counters(t.Context(), w.c.ID, 1); err != nil || gone != 5 ||
		after.Total != before.Total-5 || folded.C.Total != after.Total ||
		!maps.Equal(folded.C.States, after.States) {
		t.Errorf("%d went, counted %+v, folded %+v, %v", gone, after, folded.C, err)
	}
	for i, r := range rows {
		stays := i < 4 || i == 5 || i == 6 || i == 11
		if _, ok, err := w.store.ContactByID(t.Context(), r.ID); err != nil || ok != stays {
			t.Errorf("row %d is there: %v, %v", i, ok, err)
		}
	}
	for _, id := range []engine.ContactID{there.ID, others[1].ID} {
		if _, ok, err := w.store.ContactByID(t.Context(), id); err != nil || !ok {
			t.Errorf("contact %s of another: %v, %v", id, ok, err)
		}
	}
	if n := w.count("SELECT count(*) FROM contact_variables v WHERE NOT EXISTS (SELECT FROM contacts c " +
		"WHERE c.id = v.contact_id)"); n != 0 {
		t.Errorf("variables of %d contacts that went", n)
	}

	// Asked again it stays as it is, and the right file adds the same number.
	out, err := w.store.TakeBack(t.Context(), w.page(imp, 5))
	if err != nil || out.Event.Data.Moves != nil || !reflect.DeepEqual(out.Undo.UndoCounts, want) {
		t.Errorf("again: %+v, %v", out, err)
	}
	if right, _ := w.imported(1, func(r []journal.StagedRow) { r[0].Number = rows[8].Number }); right.Added != 1 {
		t.Errorf("the right file: %+v", right)
	}
	if got, err := w.store.Import(t.Context(), second.ID); err != nil || got.Undo != nil {
		t.Errorf("the second file: %+v, %v", got, err)
	}
	if got, err := w.store.Import(t.Context(), imp.ID); err != nil || got.Undo == nil || got.Undo.TakenBack != 5 {
		t.Errorf("the file: %+v, %v", got, err)
	}
}

func importNotUndone(t *testing.T, w *world) {
	open := w.begin()
	for _, x := range []struct {
		what, code string
		change     func(*journal.TakeBack)
	}{
		{"an open one", "import_not_active", func(p *journal.TakeBack) { p.Import = open.ID }},
		{"an unknown one", "import_not_found", func(p *journal.TakeBack) { p.Import = engine.ImportID(id()) }},
	} {
		p := w.page(open, 5)
		x.change(&p)
		if _, err := w.store.TakeBack(t.Context(), p); code(err) != x.code {
			t.Errorf("%s: %v", x.what, err)
		}
		if _, err := w.store.UndoPreview(t.Context(), w.c.ID, p.Import); code(err) != x.code {
			t.Errorf("preview of %s: %v", x.what, err)
		}
	}
	must(t, w.store.FailImport(t.Context(), open.ID, campaign.CancelledImport, w.now))
	must(t, w.store.CloseImport(t.Context(), open.ID))
	imp, _ := w.imported(1)
	p := w.page(imp, 5)
	p.Run = 2
	if _, err := w.store.TakeBack(t.Context(), p); !errors.Is(err, journal.ErrImportOlder) {
		t.Errorf("of an earlier run: %v", err)
	}
	p = w.page(imp, 5)
	p.Epoch--
	if _, err := w.store.TakeBack(t.Context(), p); code(err) != "stale_epoch" {
		t.Errorf("by an earlier owner: %v", err)
	}
}
