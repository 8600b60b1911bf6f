package process

import (
	"sync"
	"testing"
	"time"

	campaignactor "dialler/actors/campaign"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/enginetest/replay"
	"dialler/engine/run"
)

// A run's effects follow from its inputs: those of two runs over real SIP, RTP, bots and
// PostgreSQL, in two processes, lead to the same effects and events again, byte for byte.
func TestTheInputsOfARunReplayToTheSameEffects(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lives []*replay.Recorder
	record := func(id engine.CampaignID, cfg run.Config) campaignactor.RunRecorder {
		mu.Lock()
		defer mu.Unlock()
		lives = append(lives, replay.New(id, cfg, time.Now()))
		return lives[len(lives)-1]
	}
	w := newWorld(t, tuning{recordRun: record}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond),
		person(300 * time.Millisecond), carrier.Busy(), person(200 * time.Millisecond)}})
	// A result that comes during the restart is lost, and the run waits for it when everything else
	// is over.
	id := w.campaign(map[string]any{"concurrency": 6, "max_attempts": 2, "retry_delay_s": 1, "result_timeout_s": 2})
	path := "/api/v1/campaigns/" + string(id)
	var rows []any
	var numbers []string
	for range 24 { // after a missed answer, the rest are dialled one at a time at first
		numbers = append(numbers, newNumber())
		rows = append(rows, map[string]any{"mobile": numbers[len(numbers)-1],
			"metadata": map[string]any{"first_name": "Ada"}})
	}
	w.operator("POST", path+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	calls := func() int { return len(model.Ledger().Calls()) }
	eventually(t, "calls", func() bool { return calls() > 5 })
	w.exclude(id, numbers[23])
	for _, to := range []string{newNumber(), numbers[20]} {
		w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to}).expect(200)
	}
	w.act(id, "pause").expect(200)
	var settings struct{ Version int }
	w.operator("GET", path, nil).expect(200).into(&settings)
	w.operator("PATCH", path, map[string]any{"max_attempts": 3, "version": settings.Version}).expect(200)
	w.act(id, "resume").expect(200)
	eventually(t, "more calls", func() bool { return calls() > 15 })
	w.restart()
	// The slower the machine, the fewer lines at once.
	within(t, 3*patience, "the run is over", func() bool {
		d := w.detail(id)
		return d.Status == "completed" && !d.Draining
	})
	w.act(id, "restart").expect(200)
	w.act(id, "start").expect(200)
	first := calls()
	eventually(t, "calls of the second run", func() bool { return calls() > first+10 })
	w.act(id, "stop").expect(200)
	eventually(t, "its conversations finish", func() bool { return !w.detail(id).Draining })

	mu.Lock()
	defer mu.Unlock()
	inputs := 0
	for _, r := range lives {
		n, err := r.Verify()
		if inputs += n; err != nil {
			t.Error(err)
		}
	}
	if len(lives) < 2 || inputs < 500 {
		t.Errorf("%d inputs in %d lives were replayed", inputs, len(lives))
	}
	t.Logf("%d inputs in %d lives", inputs, len(lives))
}
