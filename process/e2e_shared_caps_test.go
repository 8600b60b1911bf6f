package process

import (
	"slices"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// span is the time of a use, by the clock of the resource's side.
type span struct{ from, until time.Time }

// peak returns the maximum number of concurrent uses.
func peak(spans []span) (most int) {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, s := range spans {
		edges = append(edges, edge{s.from, 1})
		if !s.until.IsZero() {
			edges = append(edges, edge{s.until, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.step - b.step // ends before beginnings
	})
	n := 0
	for _, e := range edges {
		n += e.step
		most = max(most, n)
	}
	return most
}

// perSecond returns the maximum number of beginnings within a half-open second.
func perSecond(spans []span) (most int) {
	at := make([]time.Time, len(spans))
	for i := range spans {
		at[i] = spans[i].from
	}
	slices.SortFunc(at, time.Time.Compare)
	for i, j := 0, 0; j < len(at); j++ {
		for at[j].Sub(at[i]) >= time.Second {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

// Two nodes dial through one trunk, with one bot and from one number: the carrier and the bot never
// see more than the caps allow, even when the node that keeps the count dies. The other node then
// continues dialling.
func TestCapsAreSharedByAllNodes(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	const channels, cps, seats, narrow = 5, 10, 4, "+493023125007"
	w, other := newClusterWorld(t, 400*time.Millisecond)
	w.hidden = append(w.hidden, narrow)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(200 * time.Millisecond)}})
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"channel_cap": channels, "cps_cap": cps})
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": seats,
		"endpoints":  []string{w.bot.URL()},
		"auth_token": ourToken, "account": ourAccount}).expect(200)
	w.operator("PUT", "/api/v1/numbers/"+narrow, map[string]any{"concurrent_cap": 1}).expect(201)

	contacts := map[engine.CampaignID]int{}
	begin := func(node string) (wide, thin engine.CampaignID) {
		settings := map[string]any{"concurrency": 4, "always_on": true, "max_attempts": 3, "retry_delay_s": 1}
		wide = w.campaignOf(node, settings)
		settings["number_pool"] = []string{narrow}
		thin = w.campaignOf(node, settings)
		for id, n := range map[engine.CampaignID]int{wide: 6, thin: 3} {
			w.insist(id, "start")
			for range n {
				w.trigger(id, newNumber(), nil)
				contacts[id]++
			}
		}
		return wide, thin
	}
	keeps := func(kind, node string) int {
		var n int
		w.query(`SELECT count(*) FROM owners o JOIN nodes n USING (incarnation) WHERE o.kind = '`+kind+`' AND n.name = '`+
			node+`'
			AND n.left_at IS NULL AND n.expires_at > clock_timestamp()`, &n)
		return n
	}
	served := func(id engine.CampaignID) int { return w.detail(id).Counters.Completed }

	theirs, theirThin := begin("two")
	eventually(t, "the other node keeps the counts", func() bool {
		return keeps("trunk", "two") == 1 && keeps("fleet", "two") == 1 && keeps("number", "two") == 2
	})
	ours, ourThin := begin("one")
	eventually(t, "both nodes dial", func() bool {
		return served(theirs) > 0 && served(theirThin) > 0 && served(ours) > 0 && served(ourThin) > 0
	})

	killed := time.Now()
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "this node keeps the counts", func() bool {
		return keeps("trunk", "one") == 1 && keeps("fleet", "one") == 1 && keeps("number", "one") == 2
	})
	t.Logf("the counts are kept by another node after %v", time.Since(killed))
	for id, n := range contacts {
		// A call lost with its node holds its seat for half a minute, and its number until its end
		// is proven. A CANCEL proves nothing, so a ringing contact is not called again for as long
		// as the call could last.
		within(t, 4*patience, "everybody was called", func() bool {
			var held int
			w.query("SELECT count(*) FROM number_holds h JOIN attempts a ON a.id = h.attempt_id "+
				"WHERE a.outcome = 'lost' AND h.hold_until > now() AND a.campaign_id = '"+string(id)+"'", &held)
			c := w.detail(id).Counters
			return c.Total == n && c.Completed+c.Failed+c.Abandoned+c.Unanswered+held >= n
		})
	}

	ledger := model.Ledger().Calls()
	var all, thin, talks []span
	for i := range ledger {
		c := &ledger[i]
		s := span{c.InviteAt, c.EndedAt}
		all = append(all, s)
		if c.From == narrow {
			thin = append(thin, s)
		}
	}
	for _, s := range w.bot.Sessions() {
		if !s.StartedAt.IsZero() {
			talks = append(talks, span{s.StartedAt, s.EndedAt})
		}
	}
	for _, c := range []struct {
		what     string
		got, cap int
	}{{"calls on the trunk", peak(all), channels}, {"INVITEs in a second", perSecond(all), cps},
		{"calls from the number", peak(thin), 1}, {"conversations of the bot", peak(talks), seats}} {
		t.Logf("%s: %d of %d", c.what, c.got, c.cap)
		if c.got > c.cap {
			t.Errorf("%d %s, the cap is %d", c.got, c.what, c.cap)
		}
	}
	if len(thin) < contacts[ourThin] || len(all) < contacts[ours]+contacts[ourThin] {
		t.Errorf("%d calls, %d from the narrow number", len(all), len(thin))
	}
	if over := ledger.Overlaps(); len(over) > 0 {
		t.Errorf("overlapping calls: %v", over)
	}
}

// A carrier without capacity stops the trunk for a minute on the node that keeps its count. A PUT ends
// that, though another node gets it.
func TestAPutOfATrunkEndsItsWaitOnEveryNode(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, _ := newClusterWorld(t, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.Refuse, Code: 503,
		Reason: "CPS limit exceeded", Headers: map[string]string{"Retry-After": "86400"}}}})
	id := w.campaignOf("two", map[string]any{"max_attempts": 1, "always_on": true})
	w.insist(id, "start")
	n := engine.PhoneNumber(newNumber())
	w.trigger(id, string(n), nil)
	calls := func() int { return len(model.Ledger().To(n)) }
	eventually(t, "it is called, and refused", func() bool { return calls() == 1 })
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	put := time.Now()
	eventually(t, "it is called again", func() bool {
		if calls() == 1 && time.Since(put) < 20*time.Second {
			w.trunk("model", host, port, nil) // again, until the refusal has reached the trunk's count
		}
		return calls() > 1
	})
	if d := time.Since(put); d > 40*time.Second {
		t.Errorf("after %v", d)
	}
	w.insist(id, "stop")
}
