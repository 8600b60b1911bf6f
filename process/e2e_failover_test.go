package process

import (
	"context"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
)

// The first trunk refuses every call, the second one takes three a second. By the carriers' own
// ledgers, every contact is called over the second trunk, once, within its rate, and the reported
// result of a call is the second carrier's.
func TestACallThatGoesOverWaitsForTheNextTrunksRate(t *testing.T) {
	t.Parallel()
	const people, cps = 9, 3
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	second := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	first := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.Refuse, Code: 503,
		Reason: "No circuit available", Q850: 34, Headers: map[string]string{"Retry-After": "20"}}}})
	w.operator("DELETE", "/api/v1/trunks/model", nil).expect(204)
	for i, c := range []*carrier.Carrier{first, second} {
		host, port, err := splitHostPort(c.Addr())
		if err != nil {
			t.Fatal(err)
		}
		w.trunk([]string{"first", "second"}[i], host, port, map[string]any{"priority": i, "cps_cap": []int{100, cps}[i]})
	}
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": people,
		"endpoints":  []string{w.bot.URL()},
		"auth_token": ourToken, "account": ourAccount}).expect(200)
	eventually(t, "both trunks are up", func() bool {
		return w.shownTrunk("first").Status.Health == "up" && w.shownTrunk("second").Status.Health == "up"
	})
	id := w.campaign(map[string]any{"concurrency": people, "max_attempts": 1})
	var rows []any
	var numbers []engine.PhoneNumber
	for range people {
		n := newNumber()
		rows, numbers = append(rows, map[string]any{"mobile": n}), append(numbers, engine.PhoneNumber(n))
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "the campaign is completed", func() bool { return w.detail(id).Status == "completed" })
	if c := w.detail(id).Counters; c.Completed != people {
		t.Errorf("%+v", c)
	}
	var spans []span
	refused := 0
	for _, n := range numbers {
		refused += len(first.Ledger().To(n))
		calls := second.Ledger().To(n)
		if len(calls) != 1 || calls[0].AnsweredAt.IsZero() || len(first.Ledger().To(n)) > 1 {
			t.Errorf("the second carrier saw %d calls to a contact, the first %d", len(calls), len(first.Ledger().To(n)))
			continue
		}
		spans = append(spans, span{from: calls[0].LeftAt})
	}
	if refused < people/2 {
		t.Errorf("only %d calls went to the first trunk", refused)
	}
	if most := perSecond(spans); most > cps {
		t.Errorf("%d INVITEs in a second on a trunk of %d", most, cps)
	}
	attempts, err := w.p.store.Lists.CampaignAttempts(context.Background(), id)
	if err != nil || len(attempts) != people {
		t.Fatalf("%d attempts, %v", len(attempts), err)
	}
	for i := range attempts {
		a := w.stored(attempts[i].ID.Call())
		if a.Trunk != "second" || a.SIPCode != 200 || a.Q850 == 34 || a.Friendly != "" || a.RetryAfter != 0 {
			t.Errorf("by %s: %d %q, Q.850 %d, %q, retry after %v", a.Trunk, a.SIPCode, a.SIPReason, a.Q850, a.Friendly,
				a.RetryAfter)
		}
		if l := a.Legs[0]; len(a.Legs) == 2 && (l.Trunk != "first" || l.SIPCode != 503 || l.Q850 != 34) {
			t.Errorf("the first leg is told as %+v", l)
		}
		if c := w.call(a.ID.Call()); c.Trunk != "second" || c.SIPCode != 200 || c.SIPReason != "OK" {
			t.Errorf("the API shows %+v", c)
		}
	}
	w.quiet()
}

// A carrier without capacity asks to be left alone for a day: its trunk stops for at most a minute
// and says so, and a PUT ends the wait, by the carrier's ledger.
func TestAThrottledTrunkIsShownAndAPutEndsItsWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.Refuse, Code: 503,
		Reason: "CPS limit exceeded", Headers: map[string]string{"Retry-After": "86400"}}}})
	id := w.campaign(map[string]any{"max_attempts": 1})
	n := newNumber()
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": n}}}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "the trunk says that it waits, for a minute at most", func() bool {
		s := w.shownTrunk("model").Status
		return s.RetryAt != nil && time.Until(*s.RetryAt) > 30*time.Second && time.Until(*s.RetryAt) <= time.Minute
	})
	calls := func() int { return len(model.Ledger().To(engine.PhoneNumber(n))) }
	before := calls()
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, nil)
	eventually(t, "the contact is called again", func() bool { return calls() > before })
}

// A burst that the first trunk can send within a second stays on it, by the carriers' own ledgers.
// Where the machine took longer for the burst, it is tried again with another one.
func TestABurstStaysOnTheTrunkOfTheBestPriority(t *testing.T) {
	t.Parallel()
	const people = 12
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	profile := []carrier.Behaviour{{Kind: carrier.Refuse, Code: 486, Ring: draw.Exactly(2 * time.Second)}}
	second := w.carrier(carrier.Config{Profile: profile})
	first := w.carrier(carrier.Config{Profile: profile})
	w.operator("DELETE", "/api/v1/trunks/model", nil).expect(204)
	for i, c := range []*carrier.Carrier{first, second} {
		host, port, err := splitHostPort(c.Addr())
		if err != nil {
			t.Fatal(err)
		}
		w.trunk([]string{"first", "second"}[i], host, port, map[string]any{"priority": i, "cps_cap": 40})
	}
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": people,
		"endpoints":  []string{w.bot.URL()},
		"auth_token": ourToken, "account": ourAccount}).expect(200)
	eventually(t, "both trunks are up", func() bool {
		return w.shownTrunk("first").Status.Health == "up" && w.shownTrunk("second").Status.Health == "up"
	})
	for range 20 {
		id := w.campaign(map[string]any{"concurrency": people, "max_attempts": 1})
		var rows []any
		var numbers []engine.PhoneNumber
		for range people {
			n := newNumber()
			rows, numbers = append(rows, map[string]any{"mobile": n}), append(numbers, engine.PhoneNumber(n))
		}
		w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
		w.act(id, "start").expect(200)
		eventually(t, "the campaign is completed", func() bool { return w.detail(id).Status == "completed" })
		by := [2]int{}
		var spans []span
		for _, n := range numbers {
			for i, c := range []*carrier.Carrier{first, second} {
				for _, l := range c.Ledger().To(n) {
					by[i]++
					spans = append(spans, span{from: l.LeftAt})
				}
			}
		}
		if by[0]+by[1] != people {
			t.Fatalf("%v calls reached the carriers", by)
		}
		if perSecond(spans) < people {
			continue
		}
		if by[1] > 0 {
			t.Errorf("%d of a burst of %d on the second trunk", by[1], people)
		}
		return
	}
	t.Fatal("no burst left within a second")
}
