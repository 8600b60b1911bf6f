package storetest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// begin opens an import into the world's campaign.
func (w *world) begin(change ...func(*campaign.Import)) campaign.Import {
	w.t.Helper()
	imp := campaign.Import{ID: engine.ImportID(id()), Campaign: w.c.ID, Filename: "autumn.csv", CreatedAt: w.now,
		CreatedBy: engine.Who{User: "u1", Name: "ada@example.org"}}
	for _, f := range change {
		f(&imp)
	}
	must(w.t, w.store.BeginImport(w.ctx, imp))
	w.t.Cleanup(func() { _ = w.store.CloseImport(context.Background(), imp.ID) })
	return imp
}

// stagedRows returns rows of a file, from line 2 on.
func stagedRows(n int) []journal.StagedRow {
	rows := make([]journal.StagedRow, n)
	for i := range rows {
		rows[i] = journal.StagedRow{ID: engine.ContactID(id()), Line: i + 2,
			NewContact: campaign.NewContact{Number: number(), Variables: map[string]string{"plan": "gold"}}}
	}
	return rows
}

func (w *world) activation(imp campaign.Import, staged int) journal.Activation {
	return journal.Activation{Import: imp.ID, Campaign: w.c.ID, Run: 1, Source: "csv", Max: 3, DueClass: contact.DueFirst,
		At: w.now, Staged: staged, Since: imp.CreatedAt}
}

// open is a gate that admits the import.
func (w *world) open(context.Context) (journal.Gate, error) {
	who := engine.Who{User: "u1", Name: "ada@example.org"}
	after := contact.Fresh(3)
	ev := w.event(journal.ContactsAdded, "", "")
	ev.Data = journal.Data{Who: &who, After: &after}
	return journal.Gate{Epoch: w.c.Epoch, Event: ev}, nil
}

// count queries PostgreSQL; another store has nothing to query.
func (w *world) count(sql string) (n int) {
	w.t.Helper()
	if w.pg == nil {
		return 0
	}
	must(w.t, w.pg.QueryRow(w.ctx, sql, &n))
	return n
}

func (w *world) contacts() []contact.Contact {
	w.t.Helper()
	list, err := w.store.Contacts(w.ctx, w.c.ID, campaign.Page{Number: 1, Size: 1000})
	must(w.t, err)
	out := make([]contact.Contact, len(list.Contacts))
	for i := range out {
		out[i] = list.Contacts[i].Contact
	}
	return out
}

// rejected returns the lines that could not become contacts, nil on another store.
func (w *world) rejected(imp campaign.Import) map[int]string {
	w.t.Helper()
	if w.pg == nil {
		return nil
	}
	list, total, err := w.pg.RejectedRows(w.ctx, imp.ID, campaign.Page{Number: 1, Size: 1000})
	must(w.t, err)
	out := map[int]string{}
	for _, r := range list {
		out[r.Line] = r.Reason
		if r.Message == "" {
			w.t.Errorf("line %d has no message", r.Line)
		}
	}
	if len(out) != total {
		w.t.Errorf("%d rejected rows, %d lines", total, len(out))
	}
	return out
}

func importSwitch(t *testing.T, w *world) {
	there := w.contact(func(c *contact.Contact) { c.Position, c.DueClass = 900, contact.DueTrigger })
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{there} }))
	imp := w.begin(func(i *campaign.Import) { i.Country = "DE" })
	rows := stagedRows(60)
	rows[10].Number = there.Number
	rows[20].Number = rows[15].Number
	rows[30].Variables = nil
	rows[31].Variables = map[string]string{"name": "Zo\u00eb \u0000\"x\""}
	rows[20].Record = "0151 \u0000;Zo\u00eb"
	must(t, w.store.StageImport(t.Context(), imp.ID, rows[:40],
		[]campaign.RejectedRow{{Line: 70, Number: "123", Reason: "invalid_number", Message: "no number",
			Record: "123;\"a\r\nb\""}}, 41, 1))
	must(t, w.store.StageImport(t.Context(), imp.ID, rows[40:], nil, 61, 1))
	if n := len(w.contacts()); n != 1 {
		t.Fatalf("%d contacts before the switch", n)
	}
	if got, err := w.store.Import(t.Context(), imp.ID); err != nil || got.State != campaign.ImportStaging ||
		got.Rows != 61 || got.Invalid != 1 || got.Added != 0 {
		t.Errorf("while staging: %+v, %v", got, err)
	}
	if due := w.due(100); len(due) != 1 {
		t.Errorf("%d due before the switch", len(due))
	}
	for _, x := range []struct {
		n    engine.PhoneNumber
		want bool
	}{{rows[0].Number, true}, {rows[59].Number, true}, {number(), false}} {
		if staged, err := w.store.StagedNumber(t.Context(), imp.ID, x.n); err != nil || staged != x.want {
			t.Errorf("staged %v, %v", staged, err)
		}
	}
	layout := campaign.FileLayout{Encoding: "windows-1252", Delimiter: "semicolon", Header: "Telefon;Name"}
	switched := w.activation(imp, 60)
	switched.Layout = layout
	done, err := w.store.ActivateImport(t.Context(), switched, w.open)
	must(t, err)
	want := imp
	want.FileLayout = layout
	want.State, want.Rows, want.Added, want.Invalid, want.Duplicate = campaign.ImportActive, 61, 58, 1, 2
	want.FinishedAt = done.Import.FinishedAt
	if !reflect.DeepEqual(done.Import, want) || want.FinishedAt == nil || len(done.Lifted) != 0 {
		t.Errorf("report %+v, want %+v", done, want)
	}
	if got, err := w.store.Import(t.Context(), imp.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, %v", got, err)
	}
	var order []journal.StagedRow
	for i, r := range rows {
		if i != 10 && i != 20 {
			order = append(order, r)
		}
	}
	due := w.due(100)
	if len(due) != 59 || due[0].ID != there.ID {
		t.Fatalf("%d due", len(due))
	}
	at := w.now
	for i, c := range due[1:] {
		r := order[i]
		vars := maps.Clone(r.Variables)
		if vars["name"] != "" && w.pg != nil { // it stores no NUL
			vars["name"] = "Zo\u00eb \"x\""
		}
		sameFields(t, c, contact.Contact{ID: r.ID, Campaign: w.c.ID, Number: r.Number, Variables: vars,
			Position: 900 + int64(r.Line),
			Source:   "csv", Run: 1, State: contact.Pending, Max: 3, DueAt: &at, DueClass: contact.DueFirst, DuePass: 1,
			CreatedAt: at, UpdatedAt: at, Version: 1})
	}
	if got, want := w.rejected(imp), map[int]string{12: "duplicate", 22: "duplicate", 70: "invalid_number"}; w.pg != nil &&
		!maps.Equal(got, want) {
		t.Errorf("rejected %v, want %v", got, want)
	}
	events := w.events()
	if len(events) != 1 || events[0].Type != journal.ContactsAdded || events[0].Data.Count != 58 {
		t.Errorf("events %+v", events)
	}
	must(t, w.store.CloseImport(t.Context(), imp.ID))
	if n := w.count("SELECT count(*) FROM import_rows"); n != 0 {
		t.Errorf("%d rows are still staged", n)
	}
	// The next file adds nothing new: no event.
	again := w.begin()
	for i := range rows {
		rows[i].ID = engine.ContactID(id())
	}
	must(t, w.store.StageImport(t.Context(), again.ID, rows, nil, 60, 0))
	done, err = w.store.ActivateImport(t.Context(), w.activation(again, 60), w.open)
	must(t, err)
	if done.Import.Added != 0 || done.Import.Duplicate != 60 || len(w.events()) != 1 || w.pg != nil &&
		len(w.rejected(again)) != 60 {
		t.Errorf("again: %+v", done.Import)
	}
	if w.pg == nil {
		return
	}
	records := map[int]string{}
	left, err := w.pg.RejectedAfter(t.Context(), imp.ID, 0, true)
	must(t, err)
	if bare, err := w.pg.RejectedAfter(t.Context(), imp.ID, 12, false); err != nil || len(bare) != len(left)-1 ||
		bare[0].Record != "" || bare[0].Number != left[1].Number {
		t.Errorf("after line 12, without records: %+v %v", bare, err)
	}
	if none, err := w.pg.RejectedAfter(t.Context(), imp.ID, 70, true); len(none) > 0 || err != nil {
		t.Errorf("after the last one: %+v %v", none, err)
	}
	for _, r := range left {
		records[r.Line] = r.Record
	}
	if want := map[int]string{12: "", 22: "0151 ;Zo\u00eb", 70: "123;\"a\r\nb\""}; !maps.Equal(records, want) {
		t.Errorf("records %v, want %v", records, want)
	}
	list, total, err := w.pg.Imports(t.Context(), w.c.ID, campaign.Page{Number: 1, Size: 10})
	if err != nil || total != 2 || len(list) != 2 || list[0].Campaign != w.c.ID {
		t.Errorf("%d imports, %v", total, err)
	}
}

// excluding returns rows covered by exclusions of every kind, in a campaign whose exclusions are
// sticky or not.
func (w *world) excluding(sticky bool) (rows []journal.StagedRow) {
	w.c = w.campaign(func(c *campaign.Campaign) { c.Settings.StickyExclusion = sticky })
	rows = stagedRows(10)
	rows[1].Variables = map[string]string{"plan": "gold", "region": "north"}
	rows[2].Variables = map[string]string{"plan": "silver", "region": "north"}
	rows[3].Variables = nil
	before := w.now.Add(-time.Minute)
	x := []journal.Exclusion{
		{Campaign: w.c.ID, Number: rows[0].Number, CreatedAt: before},
		{Campaign: w.c.ID, Match: map[string]string{"region": "north", "plan": "silver"}, CreatedAt: before},
		{Campaign: w.c.ID, Number: rows[4].Number, Lifted: true, CreatedAt: before},
		{Campaign: "cmp_other", Number: rows[5].Number, CreatedAt: before},
	}
	for i := range 200 { // typical for a CRM
		x = append(x, journal.Exclusion{Campaign: w.c.ID, Match: map[string]string{"account": fmt.Sprint(i)},
			CreatedAt: before})
	}
	w.commit(w.write(func(y *journal.Write) {
		y.Exclusions = x
		y.Suppressions = []journal.Suppression{{Number: rows[6].Number, Reason: "import", CreatedAt: before}}
	}))
	rows[7].Variables = map[string]string{"account": "77", "plan": "gold"}
	return rows
}

func importExcluded(t *testing.T, w *world) {
	for _, sticky := range []bool{true, false} {
		rows := w.excluding(sticky)
		imp := w.begin()
		must(t, w.store.StageImport(t.Context(), imp.ID, rows, nil, 10, 0))
		a := w.activation(imp, 10)
		a.Sticky = sticky
		done, err := w.store.ActivateImport(t.Context(), a, w.open)
		must(t, err)
		want := map[int]string{8: "suppressed"}
		if sticky {
			want = map[int]string{2: "excluded", 4: "excluded", 8: "suppressed", 9: "excluded"}
		}
		if got := w.rejected(imp); w.pg != nil && !maps.Equal(got, want) || done.Import.Excluded != len(want) ||
			done.Import.Added != 10-len(want) || len(w.contacts()) != 10-len(want) {
			t.Errorf("sticky %v: rejected %v, want %v; %+v", sticky, got, want, done.Import)
		}
		// Adding somebody on purpose undoes an exclusion unless exclusions are sticky.
		list, err := w.store.Exclusions(t.Context(), w.c.ID)
		must(t, err)
		still := 0
		for _, x := range list {
			if x.Number == rows[0].Number {
				still++
			}
		}
		if sticky && (still != 1 || len(done.Lifted) != 0) || !sticky &&
			(still != 0 || len(done.Lifted) != 1 || done.Lifted[0] != rows[0].Number) {
			t.Errorf("sticky %v: %d exclusions of the number, lifted %v", sticky, still, done.Lifted)
		}
		must(t, w.store.CloseImport(t.Context(), imp.ID))

		// Somebody who was excluded from the campaign is added again.
		w.now = w.now.Add(time.Minute)
		gone, kept := w.stored(rows[5].ID), w.stored(rows[8].ID)
		gone.State, gone.DueAt, gone.UpdatedAt, gone.Version = contact.Excluded, nil, w.now, gone.Version+1
		w.commit(w.write(func(y *journal.Write) { y.Contacts = []contact.Contact{gone} }))
		if list, err := w.store.ExcludedContacts(t.Context(), w.c.ID,
			[]engine.PhoneNumber{gone.Number, kept.Number, "+4915100000000"}); err != nil || len(list) != 1 ||
			list[0].ID != gone.ID {
			t.Errorf("excluded contacts %+v, %v", list, err)
		}
		w.now = w.now.Add(time.Minute)
		again := stagedRows(2)
		again[0].Number, again[0].Variables, again[1].Number = gone.Number, map[string]string{"again": "yes"}, kept.Number
		dry := w.begin(func(i *campaign.Import) { i.DryRun = true })
		must(t, w.store.StageImport(t.Context(), dry.ID, again, nil, 2, 0))
		would, err := w.store.CheckImport(t.Context(), journal.Check{Import: dry.ID, Campaign: w.c.ID, Staged: 2,
			Sticky: sticky, Since: dry.CreatedAt, At: w.now})
		must(t, err)
		must(t, w.store.CloseImport(t.Context(), dry.ID))
		next := w.begin()
		must(t, w.store.StageImport(t.Context(), next.ID, again, nil, 2, 0))
		a = w.activation(next, 2)
		a.Sticky = sticky
		done, err = w.store.ActivateImport(t.Context(), a, w.open)
		must(t, err)
		if n := len(done.Readmit); done.Import.Duplicate != 2 || sticky && n > 0 ||
			!sticky && (n != 1 || done.Readmit[0].Number != gone.Number || done.Readmit[0].Variables["again"] != "yes") {
			t.Errorf("sticky %v: readmitted %+v; %+v", sticky, done.Readmit, done.Import)
		}
		if n := len(done.Readmit); would.Readmitted != n || done.Import.Readmitted != n || would.Duplicate != 2 {
			t.Errorf("sticky %v: %d readmitted, the check said %+v, the import %+v", sticky, n, would, done.Import)
		}
		must(t, w.store.CloseImport(t.Context(), next.ID))
	}
}
