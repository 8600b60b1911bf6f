package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// importChecked checks that the figures and lists are those of the switch afterwards.
func importChecked(t *testing.T, w *world) {
	there := w.contact(func(c *contact.Contact) { c.Position = 900 })
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{there} }))
	rows := stagedRows(12)
	rows[1].Number = there.Number
	rows[4].Number = rows[2].Number // twice
	rows[5].Number = rows[2].Number // three times
	rows[7].Variables = map[string]string{"region": "north"}
	rows[9].Number = rows[7].Number // the first of the two is excluded by its variables, this one is not
	w.commit(w.write(func(x *journal.Write) {
		x.Exclusions = []journal.Exclusion{{Campaign: w.c.ID, Match: map[string]string{"region": "north"},
			CreatedAt: w.now.Add(time.Second)},
			{Campaign: w.c.ID, Number: rows[8].Number, CreatedAt: w.now.Add(time.Second)}}
	}))
	w.commit(journal.Write{Suppressions: []journal.Suppression{{Number: rows[10].Number, Reason: "manual",
		CreatedAt: w.now}}})
	check := func(imp campaign.Import, sticky bool) (campaign.Import, map[int]string) {
		t.Helper()
		rejected := []campaign.RejectedRow{{Line: 70, Number: "123", Reason: "invalid_number", Message: "no number"}}
		staged := make([]journal.StagedRow, len(rows))
		for i := range rows {
			staged[i] = rows[i]
			staged[i].ID = engine.ContactID(id())
		}
		must(t, w.store.StageImport(t.Context(), imp.ID, staged, rejected, 13, 1))
		if !imp.DryRun {
			a := w.activation(imp, 12)
			a.Sticky = sticky
			done, err := w.store.ActivateImport(t.Context(), a, w.open)
			must(t, err)
			return done.Import, w.rejected(imp)
		}
		got, err := w.store.CheckImport(t.Context(), journal.Check{Import: imp.ID, Campaign: w.c.ID, Staged: 12,
			Sticky: sticky, Since: imp.CreatedAt, At: w.now})
		must(t, err)
		return got, w.rejected(imp)
	}
	before := len(w.contacts())
	dry := w.begin(func(i *campaign.Import) { i.DryRun = true })
	would, listed := check(dry, true)
	if len(w.contacts()) != before || len(w.events()) != 0 {
		t.Errorf("%d contacts, %d events", len(w.contacts()), len(w.events()))
	}
	if would.State != campaign.ImportChecked || !would.DryRun || would.FinishedAt == nil || would.Added != 6 ||
		would.Duplicate != 3 || would.Excluded != 3 || would.Invalid != 1 {
		t.Errorf("%+v", would)
	}
	if got, err := w.store.Import(t.Context(), dry.ID); err != nil || !reflect.DeepEqual(got, would) {
		t.Errorf("stored %+v, %v", got, err)
	}
	must(t, w.store.CloseImport(t.Context(), dry.ID))
	if n := w.count("SELECT count(*) FROM import_rows") + w.count("SELECT count(*) FROM import_exclusions"); n != 0 {
		t.Errorf("%d rows are still staged", n)
	}
	done, really := check(w.begin(), true)
	if done.Added != would.Added || done.Duplicate != would.Duplicate || done.Excluded != would.Excluded ||
		!reflect.DeepEqual(listed, really) {
		t.Errorf("it did %+v\nand said %+v\nlisted %v\nand said %v", done, would, really, listed)
	}
	// When fewer rows arrived than were staged, there is no report.
	lost := w.begin(func(i *campaign.Import) { i.DryRun = true })
	if _, err := w.store.CheckImport(t.Context(), journal.Check{Import: lost.ID, Campaign: w.c.ID, Staged: 1,
		At: w.now}); code(err) != "import_lost" {
		t.Errorf("%v", err)
	}
}

func importRequested(t *testing.T, w *world) {
	request := engine.Idempotency{Key: "key_1", Route: "imports", Token: "autumn", BodyHash: "abc"}
	with := func(i *campaign.Import) { i.Idempotency = request }
	found := func() (campaign.Import, bool) {
		t.Helper()
		imp, ok, err := w.pg.ImportByRequest(t.Context(), w.c.ID, engine.Idempotency{Key: "key_1", Token: "autumn"})
		must(t, err)
		return imp, ok
	}
	if _, ok := found(); ok {
		t.Error("found before it began")
	}
	first := w.begin(with)
	if got, ok := found(); !ok || got.ID != first.ID || got.Idempotency.BodyHash != "abc" ||
		got.State != campaign.ImportStaging {
		t.Errorf("%v %+v", ok, got)
	}
	for _, other := range []engine.Idempotency{{Key: "key_2", Token: "autumn"}, {Key: "key_1", Token: "spring"},
		{Key: "key_1"}} {
		if _, ok, err := w.pg.ImportByRequest(t.Context(), w.c.ID, other); ok || err != nil {
			t.Errorf("%+v: %v %v", other, ok, err)
		}
	}
	must(t, w.store.FailImport(t.Context(), first.ID, campaign.ImportProblem{Code: "upload_broken", Detail: "it was"},
		w.now))
	must(t, w.store.CloseImport(t.Context(), first.ID))
	if _, ok := found(); ok {
		t.Error("a failed one is in the way of the next try")
	}
	second := w.begin(with)
	must(t, w.store.StageImport(t.Context(), second.ID, stagedRows(3), nil, 3, 0))
	_, err := w.store.ActivateImport(t.Context(), w.activation(second, 3), w.open)
	must(t, err)
	must(t, w.store.CloseImport(t.Context(), second.ID))
	if got, ok := found(); !ok || got.ID != second.ID || got.State != campaign.ImportActive {
		t.Errorf("%v %+v", ok, got)
	}
	// Two nodes send the request at the same time, or one of them late.
	late := campaign.Import{ID: engine.ImportID(id()), Campaign: w.c.ID, CreatedAt: w.now, Idempotency: request}
	if err := w.store.BeginImport(t.Context(), late); !errors.Is(err, journal.ErrImportRequest) {
		t.Errorf("%v", err)
	}
	w.begin() // one without a key is always allowed
}

func importCancelled(t *testing.T, w *world) {
	cancel := func(imp campaign.Import) {
		t.Helper()
		must(t, w.store.FailImport(t.Context(), imp.ID, campaign.CancelledImport, w.now))
	}
	imp := w.begin()
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 5, 0))
	cancel(imp)
	if err := w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 10, 0); !errors.Is(err, journal.ErrImportGone) {
		t.Errorf("rows after the end: %v", err)
	}
	if _, err := w.store.ActivateImport(t.Context(), w.activation(imp, 5), w.open); !errors.Is(err,
		journal.ErrImportGone) {
		t.Errorf("a switch after the end: %v", err)
	}
	must(t, w.store.CloseImport(t.Context(), imp.ID))
	// During the switch.
	imp = w.begin()
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 5, 0))
	_, err := w.store.ActivateImport(t.Context(), w.activation(imp, 5), func(ctx context.Context) (journal.Gate, error) {
		cancel(imp)
		return w.open(ctx)
	})
	if !errors.Is(err, journal.ErrImportGone) {
		t.Errorf("%v", err)
	}
	must(t, w.store.CloseImport(t.Context(), imp.ID))
	if n := len(w.contacts()); n != 0 {
		t.Errorf("%d contacts", n)
	}
	if got, err := w.store.Import(t.Context(), imp.ID); err != nil || got.State != campaign.ImportFailed ||
		got.Problem == nil || got.Problem.Code != "cancelled" {
		t.Errorf("%+v %v", got, err)
	}
	// After the switch it is too late.
	imp = w.begin()
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 5, 0))
	_, err = w.store.ActivateImport(t.Context(), w.activation(imp, 5), w.open)
	must(t, err)
	cancel(imp)
	if got, err := w.store.Import(t.Context(), imp.ID); err != nil || got.State != campaign.ImportActive ||
		len(w.contacts()) != 5 {
		t.Errorf("%+v %v", got, err)
	}
}
