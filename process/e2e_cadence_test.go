package process

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/engine"
)

// A contact is busy twice and rings in vain once; the program is killed while it waits, and another
// continues from what is stored.
func TestAContactIsRedialledAsTheCadenceSaysThroughAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	to, inVain := newNumber(), carrier.Behaviour{Kind: carrier.NoAnswer, Ring: draw.Exactly(50 * time.Millisecond)}
	model := w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(to): {carrier.Busy(), carrier.Busy(), inVain, inVain, person(50 * time.Millisecond)}}})
	put := func(body map[string]any) answer { return w.operator("PUT", "/api/v1/cadences/evenings", body) }
	put(map[string]any{"name": "Evenings too", "rules": "busy: 3s, 6s · no_answer: 5m"}).expect(201)
	id := w.campaign(map[string]any{"max_attempts": 5, "retry_delay_s": 600, "cadence_id": "evenings"})
	w.addTo(id, to).expect(200)
	w.tampered = true // there is nothing to audit here while another process runs
	w.p.Close()
	w.flags.SIP = fmt.Sprintf("127.0.0.1:%d", ports.Of(t))
	first := w.another()
	defer first.kill()
	eventually(t, "the campaign starts", func() bool { return w.act(id, "start").status == 200 })

	type shown struct {
		Trail []struct {
			EndedAt *time.Time `json:"ended_at"`
		} `json:"attempt_trail"`
		Explain struct {
			Code, Message string
			NextAt        *time.Time `json:"next_at"`
		}
	}
	contact := w.contact(id, to).ID
	read := func() (c shown) {
		w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts/"+string(contact), nil).expect(200).into(&c)
		return c
	}
	ended := func(n int) (c shown) {
		eventually(t, fmt.Sprintf("attempt %d ends", n), func() bool {
			c = read()
			return len(c.Trail) == n && c.Trail[n-1].EndedAt != nil && c.Explain.NextAt != nil
		})
		return c
	}
	due := func(c shown, n int, wait time.Duration, says string) {
		t.Helper()
		if next, want := *c.Explain.NextAt, c.Trail[n-1].EndedAt.Add(wait); next.Sub(want).Abs() > time.Millisecond {
			t.Errorf("attempt %d is due at %s, want %s", n+1, next, want)
		}
		if c.Explain.Code != "retry_delay" || !strings.Contains(c.Explain.Message, says) {
			t.Errorf("why not now: %s: %s", c.Explain.Code, c.Explain.Message)
		}
	}
	due(ended(1), 1, 3*time.Second, "by the cadence Evenings too (busy: 3s)")
	first.kill()
	second := w.another()
	defer second.kill()
	due(ended(2), 2, 6*time.Second, "by the cadence Evenings too (busy: 6s)") // it knows of the first
	c := ended(3)
	due(c, 3, 5*time.Minute, "(no_answer: 5m)")
	// An edit holds from the contact's next attempt: this one stays due.
	put(map[string]any{"name": "Evenings too", "rules": "no_answer: 1s", "version": 1}).expect(200)
	due(read(), 3, 5*time.Minute, "Evenings too")
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts/"+string(contact)+"/retry-now", nil).expect(200)
	eventually(t, "the edited cadence has it dialled in a second", func() bool {
		return w.contact(id, to).Status == "completed"
	})
	rows := model.Ledger().To(engine.PhoneNumber(to))
	if len(rows) != 5 {
		t.Fatalf("%d calls", len(rows))
	}
	for i, least := range []time.Duration{3 * time.Second, 6 * time.Second, 0, time.Second} {
		if gap := rows[i+1].InviteAt.Sub(rows[i].EndedAt); gap < least-10*time.Millisecond {
			t.Errorf("call %d came %s after the one before, want %s", i+2, gap, least)
		}
	}
	if a := w.operator("DELETE", "/api/v1/cadences/evenings", nil).expect(409); a.code() != "cadence_in_use" {
		t.Errorf("%s", a)
	}
}
