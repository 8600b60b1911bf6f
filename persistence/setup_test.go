package persistence_test

import (
	"testing"

	"dialler/engine/journal"
	"dialler/persistence/storetest"
)

func TestTheSetUpIsOverWithACampaignThatStartedOrACallThatWasServed(t *testing.T) {
	t.Parallel()
	w := newCalls(t, storetest.URL(t), 1, 0, false)
	w.each(1, func(group []journal.Write) { w.commit(w.store, group) })
	is := func(when string, called, hidden bool) {
		t.Helper()
		c, h, err := w.store.SetUpNotes(t.Context())
		if err != nil || c != called || h != hidden {
			t.Errorf("%s: called %v, hidden %v, %v", when, c, h, err)
		}
	}
	run(t, w.url, "UPDATE campaigns SET state = 'running'; UPDATE attempts SET served_at = NULL")
	is("a campaign was started", true, false)
	run(t, w.url, "UPDATE campaigns SET state = 'draft'")
	is("nobody was served", false, false)
	run(t, w.url, "UPDATE attempts SET served_at = now()")
	is("somebody was served", true, false)
	for _, hidden := range []bool{true, true, false} {
		if err := w.store.HideSetUp(t.Context(), hidden); err != nil {
			t.Fatal(err)
		}
		is("hidden", true, hidden)
	}
}
