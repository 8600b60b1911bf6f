package process

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/besthour"
)

// A campaign dials with the option Best hour; later its page says what that gains, and at which hours
// people answer.
func TestAViewerSeesInTheConsoleWhatTheBestHourGains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	talks, busy := person(100*time.Millisecond), carrier.Busy()
	talks.Weight, busy.Weight = 1, 1
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{talks, busy}})
	const viewer, contacts = "vera@example.org", 60
	w.consoleUser(viewer, "viewer")
	id := w.campaign(map[string]any{"max_attempts": 1, "concurrency": 5, "best_hour": true})
	rows := make([]any, contacts)
	for i := range rows {
		rows[i] = map[string]any{"mobile": newNumber()}
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	var answered int
	within(t, 5*patience, "everybody is dialled", func() bool {
		c := w.detail(id).Counters
		answered = c.Connected
		return c.Completed+c.Failed == contacts
	})
	w.quiet()
	learn := func(later time.Duration) {
		for more := true; more; {
			var err error
			if more, err = w.p.store.LearnHours(t.Context(), time.Now().Add(later)); err != nil {
				t.Fatal(err)
			}
		}
	}
	learn(time.Hour)
	var told struct {
		BestHour   bool `json:"best_hour"`
		With       struct{ Dials, Answers int }
		Control    struct{ Dials, Answers int }
		Difference *struct{ Points, Low, High float64 }
		Countries  []struct{ Dials, Answers int }
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/best-hour", nil).expect(200).into(&told)
	if !told.BestHour || told.With.Dials+told.Control.Dials != contacts ||
		told.With.Answers+told.Control.Answers != answered ||
		len(told.Countries) != 1 || told.Countries[0].Dials != contacts || told.Countries[0].Answers != answered {
		t.Errorf("%+v, %d were reached", told, answered)
	}
	// What was learned earlier: in Germany people answer in the evening.
	w.exec(`INSERT INTO answer_hours SELECT current_date - 7, r, d * 24 + h, 30,
			CASE WHEN r = 'FR' THEN 12 WHEN h < 17 THEN 6 ELSE 18 END
		FROM unnest('{DE,FR}'::text[]) r, generate_series(0, 6) d, generate_series(9, 20) h WHERE r = 'DE' OR h < 19`)
	learn(2 * time.Hour)
	w.browse("best-hour.mjs", "EMAIL", viewer, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "ANSWERS",
		strconv.Itoa(answered), "DIALS", strconv.Itoa(contacts))
}

// An installation has calls of days when it begins to learn: it pauses after each piece of time, so that the database
// is there for calls.
func TestTheHoursOfManyDaysAreLearnedWithPauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{learnEvery: time.Hour}, 50*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.ended(w.dialout(newNumber()), engine.OutcomeCompleted)
	w.tampered = true // the calls of the other hours have no history
	w.exec(`ALTER TABLE attempts DISABLE TRIGGER ALL;
		INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('reserved_at', at, 'invite_at', at,
			'id', lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') ||
				substr(replace(gen_random_uuid()::text, '-', ''), 13)))).*
		FROM attempts a, generate_series(1, 50) i, LATERAL (SELECT now() - i * interval '1 hour' AS at) x;
		DELETE FROM answer_hours_learned; DELETE FROM answer_hours`)
	dials := func() (n int) { w.query("SELECT coalesce(sum(dials), 0) FROM answer_hours", &n); return n }
	paused := []int{0}
	h := hourLearner{store: w.p.store, clock: w.p.clock, log: zerolog.Nop(), tell: func(besthour.Table) {},
		pause: func(context.Context) { paused = append(paused, dials()) }}
	if _, err := h.learn(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	for i, n := range paused[1:] {
		if n > paused[i]+1 {
			t.Errorf("from %d to %d dials without a pause", paused[i], n)
		}
	}
	if n := paused[len(paused)-1]; n != 50 {
		t.Errorf("%d dials after the last pause", n)
	}
}
