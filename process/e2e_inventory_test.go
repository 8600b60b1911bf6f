package process

import (
	"context"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
)

// The actors of a campaign are gone while its callee talks, and nobody is told: leg, audio and the
// bot's socket still work, but have no owner. A process that runs alone finds and ends them; a call
// with its actor goes on.
func TestAConversationThatNobodyActsForIsEndedAlsoInAProcessThatIsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.silently(0)
	w.tampered = true // nothing records the end of the call
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	orphaned := w.running(nil)
	orphan, other := w.talks(orphaned), w.talks(w.running(nil))
	if err := w.p.Tree().Ownership().Release(context.Background(), orphaned); err != nil {
		t.Fatal(err)
	}
	within(t, 2*patience+patience, "the conversation is ended", func() bool {
		live := model.Ledger().Calls().Live()
		return len(live) == 1
	})
	w.session(orphan.AttemptID.Call(), "is over", func(s bot.Session) bool { return !s.EndedAt.IsZero() })
	eventually(t, "its audio is over", func() bool { return len(w.p.media.Calls()) == 1 })
	if n := w.metric("dialler_unowned_calls_total"); n != 1 {
		t.Errorf("%v calls were found without anybody", n)
	}
	w.flows(model, other.AttemptID.Call(), other.AttemptID.Leg(1))
}
