package storetest

import (
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

func suppressions(t *testing.T, w *world) {
	who := engine.Who{User: "u1", Name: "ada@example.org"}
	a, b, c := number(), number(), number()
	add := func(want int, reason string, numbers ...engine.PhoneNumber) {
		t.Helper()
		added, err := w.pg.Suppress(w.ctx, numbers, reason, who)
		must(t, err)
		if added != want {
			t.Errorf("%d added, want %d", added, want)
		}
	}
	add(1, "first", a)
	add(2, "second", a, b, c, b)
	add(0, "third", a, b)
	list, total, err := w.pg.Suppressions(w.ctx, "", campaign.Page{Number: 1, Size: 2})
	must(t, err)
	if total != 3 || len(list) != 2 || list[0].Reason != "second" {
		t.Errorf("%d of %d: %+v", len(list), total, list)
	}
	list, total, err = w.pg.Suppressions(w.ctx, a, campaign.Page{Number: 1, Size: 2})
	must(t, err)
	if total != 1 || len(list) != 1 || list[0].Number != a || list[0].Reason != "first" || list[0].CreatedAt.IsZero() {
		t.Errorf("%+v", list)
	}
	if ok, err := w.pg.Unsuppress(w.ctx, a, who); err != nil || !ok {
		t.Error(ok, err)
	}
	if ok, err := w.pg.Unsuppress(w.ctx, a, who); err != nil || ok {
		t.Error("lifted twice", err)
	}
	found, err := w.store.Suppressed(w.ctx, a, b, number())
	must(t, err)
	if _, ok := found[b]; !ok || len(found) != 1 {
		t.Errorf("%d found", len(found))
	}
	events, n, err := w.pg.Activity(w.ctx, "", []journal.Type{journal.SuppressionAdded, journal.SuppressionLifted}, campaign.Page{Number: 1, Size: 10})
	must(t, err)
	if n != 3 || events[0].Type != journal.SuppressionLifted || events[1].Data.Count != 2 || events[2].Data.Count != 1 || *events[2].Data.Who != who {
		t.Fatalf("%d events: %+v", n, events)
	}
	if said := events[2].Data.Reason; said == "" || said == a.E164() {
		t.Errorf("the history names %q", said)
	}
}
