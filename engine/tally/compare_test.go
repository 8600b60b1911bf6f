package tally

import (
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func TestEachFigureThatDiffersIsNamed(t *testing.T) {
	at := time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)
	a := campaign.Counters{Total: 3, TalkMS: 5, States: map[contact.State]int{contact.Pending: 3}}
	b := campaign.Counters{Total: 4, TalkMS: 5, States: map[contact.State]int{contact.Pending: 3, contact.Failed: 1}}
	b.Callbacks.Cancelled = 1
	b.Pass(2).Connected = 7
	b.Pass(2).Dialled(at)
	got := map[string]Difference{}
	for _, d := range Compare(a, b) {
		got[d.Figure] = d
	}
	for figure, want := range map[string][2]string{"total": {"3", "4"}, "contacts failed": {"0", "1"},
		"callbacks cancelled": {"0", "1"},
		"pass 2 connected":    {"0", "7"}, "pass 2 first_dial_at": {"never", "2030-03-01T09:00:00Z"},
		"pass 2 last_dial_at": {"never", "2030-03-01T09:00:00Z"}} {
		if d, ok := got[figure]; !ok || d.A != want[0] || d.B != want[1] {
			t.Errorf("%s: %+v, want %v", figure, d, want)
		}
		delete(got, figure)
	}
	if len(got) > 0 {
		t.Errorf("and %+v", got)
	}
	if len(a.Passes) != 0 {
		t.Error("what was compared changed")
	}
	if d := Compare(b, b); d != nil {
		t.Errorf("equal counts: %+v", d)
	}
}

func TestEventsAreFoldedRunByRun(t *testing.T) {
	first, second := added(3), added(5)
	first.Run, second.Run = 1, 2
	r := Runs{}
	for _, e := range []journal.Event{first, second} {
		r.Apply(&e)
	}
	if a, b := r.Counters(1).Total, r.Counters(2).Total; a != 3 || b != 5 || r.Counters(7).Total != 0 {
		t.Errorf("%d and %d", a, b)
	}
}
