package process

import (
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
)

// kill -9 while a call or a contact waits for its moment: what comes next finds it, and calls once, at the
// right number, and no sooner than before. A cadence's wait, a second number and a call back have tests of
// their own (TestAContactIsRedialledAsTheCadenceSaysThroughAKill,
// TestAPersonsNumbersAreCalledInTheirOrderThroughAKill, TestACallerOfAKilledProcessIsHungUpOn).
func TestNoMomentIsLostOrDoubledByAKill(t *testing.T) {
	t.Parallel()
	const ahead = 8 * time.Second
	type scene struct {
		w             *world
		model         *carrier.Carrier
		first, second string
		id            engine.CampaignID
		at            time.Time // not before which it is called
	}
	called := func(s *scene, n string) int { return len(s.model.Ledger().To(engine.PhoneNumber(n))) }
	for what, c := range map[string]struct {
		begin func(*scene)      // on the process that is killed
		waits func(*scene) bool // it is in the moment in which the process is killed
		after func(*scene)      // on the next one
		want  map[bool]int      // calls to the first number (true) and to the second
	}{
		"a contact that is not to be called yet": {
			begin: func(s *scene) {
				s.at = time.Now().Add(ahead)
				s.w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": s.id, "mobile": s.second,
					"not_before": s.at.Format(time.RFC3339Nano)}).expect(200)
			},
			waits: func(s *scene) bool { return s.w.rows("contacts WHERE not_before > now()") == 1 },
			want:  map[bool]int{false: 1},
		},
		"a dialout that waits for its time": {
			begin: func(s *scene) { s.at = *s.w.dialoutAt(s.second, ahead, nil).NotBefore },
			waits: func(s *scene) bool { return s.w.rows("scheduled_dialouts") == 1 },
			want:  map[bool]int{false: 1},
		},
		"a calendar that is closed": {
			begin: func(s *scene) {
				var closed []any
				for day := range 2 {
					date := time.Now().UTC().AddDate(0, 0, day).Format(time.DateOnly)
					closed = append(closed, map[string]any{"date": date, "hours": []string{}})
				}
				s.w.operator("PUT", "/api/v1/calendars/office", map[string]any{"name": "Office", "zone": "UTC",
					"exceptions": closed}).expect(201)
				s.id = s.w.running(map[string]any{"calendar_ids": []string{"office"}})
				s.w.addTo(s.id, s.second).expect(200)
			},
			waits: func(s *scene) bool {
				code, message := s.w.explained(s.id, s.second)
				return code == "outside_window" && strings.Contains(message, "Office")
			},
			after: func(s *scene) {
				if code, _ := s.w.explained(s.id, s.second); code != "outside_window" || called(s, s.second) > 0 {
					s.w.t.Errorf("the next process says %s, and called %d times", code, called(s, s.second))
				}
				s.at = time.Now()
				s.w.operator("PUT", "/api/v1/calendars/office", map[string]any{"name": "Office", "zone": "UTC",
					"version": 1}).expect(200)
			},
			want: map[bool]int{false: 1},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := &scene{w: newWorld(t, tuning{}, 300*time.Millisecond), first: newNumber(), second: newNumber()}
			s.model = s.w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
				engine.PhoneNumber(s.first):  {carrier.Refusal(404, "", 1)},
				engine.PhoneNumber(s.second): {{Kind: carrier.Human, Ring: draw.Exactly(50 * time.Millisecond)}}}})
			first := s.w.asProgram()
			eventually(t, "the program is there", func() bool {
				s.id = s.w.campaign(map[string]any{"always_on": true, "max_attempts": 4, "retry_delay_s": 1,
					"retry_on_system": []string{"lost"}})
				return s.w.act(s.id, "start").status == 200
			})
			c.begin(s)
			eventually(t, "it is in that moment", func() bool { return c.waits(s) })
			s.w.killed(first)
			if c.after != nil {
				c.after(s)
			}
			eventually(t, "it is called", func() bool { return called(s, s.second) > 0 })
			eventually(t, "all is over", func() bool {
				return s.w.rows("attempts WHERE live") == 0 && s.w.rows("number_holds") == 0
			})
			for first, n := range map[bool]string{true: s.first, false: s.second} {
				if got := called(s, n); got != c.want[first] {
					t.Errorf("first number %v: %d calls, want %d", first, got, c.want[first])
				}
			}
			if at := s.model.Ledger().To(engine.PhoneNumber(s.second))[0].InviteAt; at.Before(s.at) {
				t.Errorf("called %s too soon", s.at.Sub(at))
			}
			if over := s.model.Ledger().Overlaps(); len(over) > 0 {
				t.Errorf("overlaps: %v", over)
			}
		})
	}
}
