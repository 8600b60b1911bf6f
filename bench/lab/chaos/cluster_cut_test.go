//go:build cluster

package chaos

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/site"
	"dialler/engine"
)

// TestCallsOfANodeThatWasCutOffAreNotOverlapped has the owner of a campaign cut off
// from nodes, database and etcd for 13 s, its way to the carrier left whole, while
// callees ring and talk for longer than any number was held before. Whom it lost is
// called again by itself: by the carrier's clock never while the first call lives.
func TestCallsOfANodeThatWasCutOffAreNotOverlapped(t *testing.T) {
	const (
		people = 16
		cutFor = 13 * time.Second
		talk   = 120 * time.Second
	)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c, err := OpenCluster(ctx, ClusterConfig{Binary: build(t), Dir: folder(t), Drain: time.Second, Log: t.Logf,
		Callees: &carrier.Config{Listen: "127.0.0.1:0", Seed: 1, Profile: []carrier.Behaviour{{Kind: carrier.Human,
			Ring: draw.Between(200*time.Millisecond, 9*time.Second), Talk: draw.Exactly(talk)}}},
		Voices: &bot.Config{Listen: "127.0.0.1:0", Seed: 1, Conversations: []bot.Conversation{{Weight: 1, Talk: draw.Exactly(2 * talk)}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.api.Must(ctx, http.MethodPut, "/api/v1/bots/"+botID, map[string]any{"name": "Chaos", "seats": people, "endpoints": []string{c.bot.URL()}}, nil))
	must(c.trunk(ctx, people, people))
	var created struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	must(c.api.Must(ctx, http.MethodPost, "/api/v1/campaigns", map[string]any{"name": "Cut", "bot_id": botID, "concurrency": people, "number_pool": ownNumbers[2:],
		"window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"}, "pacing_mode": "progressive",
		"max_attempts": 3, "retry_delay_s": 3, "ring_timeout_s": 15, "call_limit_s": 150, "retry_on_system": []engine.Outcome{engine.OutcomeLost}}, &created))
	var rows []any
	for i := range people {
		rows = append(rows, map[string]any{"mobile": "+49151121" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + "000"})
	}
	at := "/api/v1/campaigns/" + string(created.ID)
	must(c.api.Must(ctx, http.MethodPost, at+"/contacts", map[string]any{"contacts": rows}, nil))
	must(c.api.Must(ctx, http.MethodPost, at+"/start", nil, nil))
	ringing := 0
	must(site.Poll(ctx, 20*time.Millisecond, func() (bool, error) {
		live := c.carrier.Ledger().Live()
		ringing = 0
		for i := range live {
			if live[i].AnsweredAt.IsZero() {
				ringing++
			}
		}
		return ringing >= people/4 && len(live)-ringing >= people/4, nil
	}))
	owners, err := c.site.Owners(ctx)
	must(err)
	i := slices.IndexFunc(c.site.Nodes, func(n *site.Node) bool { return n.Name == owners[created.ID] })
	owner, cut := c.site.Nodes[i], time.Now()
	for _, n := range c.site.Nodes {
		if n != owner {
			c.site.Part(owner, n, site.Both)
		}
	}
	owner.ToDatabase.Cut(site.Both, "")
	owner.ToEtcd.Cut(site.Both, "")
	must(site.Until(ctx, cut.Add(cutFor)))
	c.site.Mend()
	// Until the longest call that was up at the cut is over, and half a minute on.
	must(site.Until(ctx, cut.Add(9*time.Second+talk+30*time.Second)))
	calls := c.carrier.Ledger().Calls()
	for _, o := range calls.Overlaps() {
		t.Errorf("two calls to one number for %v, the second one %v after the cut", o.For, o.Second.InviteAt.Sub(cut))
	}
	again := 0
	for i := range calls {
		if calls[i].InviteAt.After(cut) {
			again++
		}
	}
	t.Logf("cut with %d ringing; %d calls in all, %d after the cut", ringing, len(calls), again)
}
