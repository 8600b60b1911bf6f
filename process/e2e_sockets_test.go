package process

import (
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
)

// A bot refuses a quarter of its sockets, and later takes seconds for each. INVITEs leave only once
// their socket is open, so that nobody is abandoned even with no credit in the ledger.
func TestNobodyIsAbandonedByABotThatRefusesAQuarterOfItsSockets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	talk := []bot.Conversation{conversation(time.Second)}
	if err := w.bot.Configure(bot.Config{Door: bot.Door{RefuseShare: 0.25}, Conversations: talk}); err != nil {
		t.Fatal(err)
	}
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(300 * time.Millisecond)}})
	const people = 20
	id := w.campaign(map[string]any{"concurrency": 5, "max_attempts": 1, "abandon_cap_pct": 1})
	numbers := make([]string, people)
	for i := range numbers {
		numbers[i] = newNumber()
	}
	w.addTo(id, numbers...).expect(200)
	w.insist(id, "start")
	eventually(t, "everybody was called", func() bool { return w.detail(id).Status == "completed" })
	if c := w.detail(id).Counters; c.Abandoned > 0 || c.Completed != people {
		t.Errorf("%d abandoned, %d served of %d", c.Abandoned, c.Completed, people)
	}
	if s := w.bot.Summary(); s.Refused == 0 || len(s.Violations) > 0 {
		t.Errorf("the bot saw %+v", s)
	}
	if n := len(model.Ledger().Calls()); n != people {
		t.Errorf("%d calls", n)
	}
	w.quiet()
}
