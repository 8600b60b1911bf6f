package process

import (
	"regexp"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine/campaign"
)

var sentBy = regexp.MustCompile(`(?m)^Via: SIP/2\.0/\S+ ([^;\r\n]+)`)

// senders counts the calls of each address that INVITEs came from.
func senders(calls []carrier.Call) map[string]int {
	n := map[string]int{}
	for i := range calls {
		if m := sentBy.FindStringSubmatch(calls[i].Invite); m != nil {
			n[m[1]]++
		}
	}
	return n
}

// A campaign that exceeds its node's capacity is dialled through another node as well. When that
// one is killed, its calls are closed, and the campaign continues.
func TestACampaignIsDialledThroughTwoNodes(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 1500*time.Millisecond, func(f *Flags) { f.MaxCalls = 4 })
	model := w.carrier(carrier.Config{KeepInvites: true, Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.campaignOf("one", map[string]any{"concurrency": 10, "always_on": true, "max_attempts": 3, "retry_delay_s": 1,
		"retry_on_system": []string{"lost", "no_answer"}})
	w.insist(id, "start")
	eventually(t, "the other node can be given calls", func() bool { return w.metric("dialler_cluster_carriers") == 1 })
	total := 0
	add := func(n int) {
		for range n {
			w.trigger(id, newNumber(), nil)
			total++
		}
	}
	add(24)
	eventually(t, "everybody was called, and every result is there", func() bool {
		c := w.detail(id).Counters
		return c.Completed+c.Abandoned == total // a busy bot may be late now and then
	})
	fewAbandoned(t, w.detail(id).Counters)
	ours := w.p.sip.Addr()
	from := senders(model.Ledger().Calls())
	if len(from) != 2 || from[ours] < 3 || total-from[ours] < 8 {
		t.Errorf("%d calls came from %v, this node is %s", total, from, ours)
	}
	if failed := w.metric("dialler_cluster_placements_failed_total"); failed != 0 {
		t.Errorf("%v calls could not be placed", failed)
	}

	eventually(t, "dialouts that come at the same time are carried by both nodes", func() bool {
		for range 4 { // the campaign's seats may not be free yet: 503
			w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
		}
		var nodes int
		w.query("SELECT count(DISTINCT incarnation) FROM attempts WHERE coalesce(campaign_id, '') = ''", &nodes)
		return nodes == 2
	})
	eventually(t, "the dialouts are over", func() bool {
		var open int
		w.query("SELECT count(*) FROM attempts WHERE coalesce(campaign_id, '') = '' AND coalesce(outcome, '') NOT IN "+
			"('completed', 'abandoned')", &open)
		return open == 0
	})

	add(24)
	eventually(t, "the other node has conversations", func() bool {
		var talk int
		w.query("SELECT count(*) FROM attempts a JOIN nodes n USING (incarnation) "+
			"WHERE coalesce(a.campaign_id, '') <> '' AND n.name = 'two' AND a.bot_connected_at IS NOT NULL AND a.ended_at IS "+
			"NULL", &talk)
		return talk >= 3
	})
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// For half a minute after the end of its lease it could still have them. Meanwhile the bot
	// posts its results to this node: conversations with a result are completed, the others are
	// lost.
	within(t, 3*patience, "its calls are closed", func() bool {
		var closed, open int
		w.query("SELECT count(*) FILTER (WHERE NOT live AND hung_up_by = 'system' AND outcome IN ('lost', 'completed')), "+
			"count(*) FILTER (WHERE live) FROM attempts a JOIN nodes n USING (incarnation) "+
			"WHERE coalesce(a.campaign_id, '') <> '' AND n.name = 'two'", &closed, &open)
		return closed > 0 && open == 0
	})
	add(3)
	eventually(t, "the campaign goes on by itself: who is not called again has a call that is not proven to be over",
		func() bool {
			var held int
			w.query("SELECT count(*) FROM number_holds WHERE hold_until > now()", &held)
			c := w.detail(id).Counters
			return c.Completed+c.Abandoned+held >= total
		})
	fewAbandoned(t, w.detail(id).Counters)
	eventually(t, "no call is left", func() bool { return len(model.Ledger().Live()) == 0 })
	ledger := model.Ledger().Calls()
	if twice := ledger.DuplicateInvites(); len(twice) > 0 {
		t.Errorf("dialled twice: %v", twice)
	}
	if over := ledger.Overlaps(); len(over) > 0 {
		t.Errorf("overlapping calls: %v", over)
	}
}

// fewAbandoned allows for a busy bot that is late now and then, but not often.
func fewAbandoned(t *testing.T, c campaign.Counters) {
	t.Helper()
	if c.Abandoned > c.Total/4 {
		t.Errorf("of %d calls %d were abandoned", c.Total, c.Abandoned)
	}
}
