package process

import (
	"fmt"
	"testing"
	"time"

	"dialler/bench/carrier"
)

func TestCampaignsOfAnInterruptedSandboxAreStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	running, paused, draft := w.running(nil), w.running(map[string]any{"name": "Paused"}), w.campaign(
		map[string]any{"name": "Draft"})
	w.act(paused, "pause").expect(200)
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if err := w.p.EndInterrupted(t.Context(), say); err != nil {
		t.Fatal(err)
	}
	if a, b, c := w.detail(running).Status, w.detail(paused).Status, w.detail(draft).Status; a != "completed" ||
		b != "completed" || c != "draft" || len(said) != 2 {
		t.Errorf("%s, %s, %s; %q", a, b, c, said)
	}
	if err := w.p.EndInterrupted(t.Context(), say); err != nil || len(said) != 2 {
		t.Errorf("once more: %v, %q", err, said)
	}
}
