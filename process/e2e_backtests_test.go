package process

import (
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine/forecast"
)

func TestARunThatIsOverIsBackTestedByItself(t *testing.T) {
	t.Parallel()
	const plays = 5 // the race detector makes them slow
	w := newWorld(t, tuning{backTestEvery: 200 * time.Millisecond, backTestPlays: plays}, 300*time.Millisecond)
	busy := carrier.Busy()
	busy.Weight = 2
	talks := person(100 * time.Millisecond)
	talks.Weight = 1
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{busy, talks}})
	// Half of the dials, minus those in progress, are enough to measure people; a quarter is not.
	const contacts, most = 130, 10
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": most,
		"endpoints": []string{w.bot.URL()}, "auth_token": ourToken, "account": ourAccount}).expect(200)
	id := w.campaign(map[string]any{"concurrency": most, "max_attempts": 1})
	var rows []any
	for range contacts {
		rows = append(rows, map[string]any{"mobile": newNumber()})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	var told struct {
		BackTests []forecast.RunBackTest `json:"back_tests"`
		Trust     *forecast.Trust
	}
	within(t, 10*patience, "the back-test is there", func() bool {
		w.operator("GET", "/api/v1/campaigns/"+string(id)+"/back-tests", nil).expect(200).into(&told)
		return len(told.BackTests) > 0
	})
	d := w.detail(id)
	if len(told.BackTests) != 1 || told.BackTests[0].Run != 1 || told.Trust == nil || told.Trust.Runs != 1 {
		t.Fatalf("%+v", told)
	}
	for i, p := range told.BackTests[0].Points {
		if p.SharePct != forecast.BackTestShares[i] || p.Plays != plays ||
			p.Connected.Real != float64(d.Counters.Connected) ||
			p.Dials.Real != contacts || p.Dials.Median != contacts || p.DurationSec.Real <= 0 || p.Measured != (i > 1) ||
			p.DurationSec.Low <= 0 {
			t.Errorf("%+v", p)
		}
	}
	// By the last moment most of it is known. (How long the rest takes depends on the machine: bench/lab/foretell.)
	if last := told.BackTests[0].Points[3]; last.Connected.Error() > 0.25 {
		t.Errorf("%+v", last)
	}
	var n int
	w.query("SELECT count(*) FROM back_tests WHERE points IS NOT NULL", &n)
	if n != 1 {
		t.Errorf("%d are kept", n)
	}
}
