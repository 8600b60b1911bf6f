package process

import (
	"encoding/csv"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
)

// spec: "exports a CSV with one row per dial (not per contact)".
func TestTheReportHasARowForEveryDialOfTheCarrier(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	quick := draw.Exactly(50 * time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond),
		{Kind: carrier.Refuse, Code: 486, Ring: quick, Weight: 1},
		{Kind: carrier.Refuse, Code: 404, Ring: quick, Weight: 1}}})
	id := w.campaign(map[string]any{"concurrency": 5, "max_attempts": 1})
	var rows []any
	for range 30 {
		rows = append(rows, map[string]any{"mobile": newNumber(), "metadata": map[string]any{"first_name": "Ada",
			"plan": "=gold"}})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "the campaign ends", func() bool { d := w.detail(id); return d.Status == "completed" && !d.Draining })
	w.quiet()
	a := w.operator("GET", "/api/v1/campaigns/"+string(id)+"/attempts.csv", nil).expect(200)
	records, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(records[0], name) }
	dialled, outcomes := map[string]int{}, map[string]int{}
	for _, r := range records[1:] {
		dialled[r[column("phone_number")]]++
		outcomes[r[column("outcome")]]++
		if r[column("invite_at")] == "" || r[column("ended_at")] == "" || r[column("from_number")] != ourNumber ||
			r[column("variables.first_name")] != "Ada" || r[column("variables.plan")] != "'=gold" {
			t.Errorf("row %v", r)
		}
		if connected := r[column("outcome")] == "completed"; connected != (r[column("disposition")] == "interested") ||
			connected != (r[column("talk_s")] != "") {
			t.Errorf("row %v", r)
		}
	}
	carried := map[string]int{}
	for _, c := range model.Ledger().Calls() {
		carried[string(c.Number)]++
	}
	if !maps.Equal(dialled, carried) || len(records)-1 != int(w.metric("dialler_legs_sent_total")) {
		t.Errorf("%d rows %v, the carrier has %v", len(records)-1, outcomes, len(carried))
	}
	if outcomes["completed"] != w.detail(id).Counters.Completed {
		t.Errorf("outcomes %v, counters %+v", outcomes, w.detail(id).Counters)
	}
	for _, r := range records[1:] { // numbers, for the log's discretion
		w.hidden = append(w.hidden, r[column("phone_number")])
	}
}
