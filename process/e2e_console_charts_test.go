package process

import (
	"strconv"
	"testing"
	"time"

	"dialler/bench/carrier"
)

func TestTheCampaignPageOfTheConsoleTellsHowTheCampaignWorks(t *testing.T) {
	w := newWorld(t, tuning{}, 700*time.Millisecond)
	talks, busy := person(150*time.Millisecond), carrier.Busy()
	talks.Weight, busy.Weight = 4, 1
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{talks, busy}})
	const viewer, channels, before = "vera@example.org", 2, 6
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"channel_cap": channels}) // it is the limiting one
	w.consoleUser(viewer, "viewer")
	id := w.campaign(map[string]any{"always_on": true, "concurrency": 5, "max_attempts": 1, "abandon_cap_pct": 3})
	add := func(n int) {
		rows := make([]any, n)
		for i := range rows {
			rows[i] = map[string]any{"mobile": newNumber()}
		}
		w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	}
	// A first run, complete, and a second that continues while somebody watches.
	add(before)
	w.act(id, "start").expect(200)
	eventually(t, "the first run's calls are over", func() bool {
		c := w.detail(id).Counters
		return c.Completed+c.Failed == before
	})
	w.act(id, "stop").expect(200)
	w.quiet()
	w.act(id, "restart").expect(200)
	w.act(id, "start").expect(200)
	add(1000) // more than are dialled while the script runs
	w.browse("charts.mjs", "EMAIL", viewer, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "FROM", ourNumber,
		"CHANNELS", strconv.Itoa(channels), "BEFORE", strconv.Itoa(before))
	w.act(id, "stop").expect(200)
	w.quiet()
}
