package process

import (
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/carrier/media"
	"dialler/bench/draw"
	"dialler/engine"
)

// What real carriers and their networks do beside the book, each in a call of its own: all are served, heard at both
// ends, and nothing is owed.
func TestTheHabitsOfRealCarriersHarmNoCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 1500*time.Millisecond)
	habits := map[string]carrier.Behaviour{
		"the answer is in the 183":        {Progress: carrier.EarlyMedia, AnswerIn183: true},
		"the Contact cannot be reached":   {ContactUnreachable: true},
		"an UPDATE behind the answer":     {Update: true},
		"two BYEs are lost":               {LostByes: 2},
		"audio from behind a NAT":         {Path: media.Path{NAT: true}},
		"audio that is late, lost, mixed": {Path: media.Path{JitterMS: 60, LossPct: 3, ReorderPct: 5}},
		"audio that stalls":               {Path: media.Path{StallMS: 200}},
	}
	script, numbers := map[engine.PhoneNumber][]carrier.Behaviour{}, map[string]string{}
	for name, b := range habits {
		b.Kind, b.Ring, b.Chatter = carrier.Human, draw.Exactly(50*time.Millisecond), draw.Exactly(20*time.Millisecond)
		numbers[name] = newNumber()
		script[engine.PhoneNumber(numbers[name])] = []carrier.Behaviour{b}
	}
	model := w.carrier(carrier.Config{Script: script})
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"media": map[string]any{"symmetric": "on"}})
	ids := map[string]engine.CallID{}
	for name, number := range numbers {
		ids[name] = w.dialout(number)
	}
	for name, id := range ids {
		w.ended(id, engine.OutcomeCompleted)
		row, a := w.over(model, id), w.stored(id)
		if len(row.Violations) > 0 || row.AckAt.IsZero() || row.ByeBy != carrier.Caller {
			t.Errorf("%s: at the carrier %v, ACK %v, BYE by %s", name, row.Violations, row.AckAt, row.ByeBy)
		}
		if q := a.Quality; q == nil || q.PacketsReceived < 40 || row.RTP.Received < 40 || row.RTP.AudioAt.IsZero() {
			t.Errorf("%s: heard %+v, by the callee %+v", name, a.Quality, row.RTP)
		} else if (q.HeardFrom != "") != habits[name].Path.NAT {
			t.Errorf("%s: heard from %q", name, q.HeardFrom)
		}
	}
	w.quiet()
}
