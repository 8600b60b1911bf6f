//go:build cluster

package chaos

import (
	"context"
	"fmt"
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

// talks is a cluster of whose campaign so many people ring or talk, for longer than any cut, with
// bots that never hang up.
type talks struct {
	*Cluster
	ctx   context.Context
	owner *site.Node // of the campaign
}

// talking are the calls in which a bot hears somebody.
func (k *talks) talking() (all []carrier.Call) {
	for _, s := range k.bot.Sessions() {
		if id, _ := s.CallID.Attempt(); s.FramesIn > 0 && s.EndedAt.IsZero() {
			if c, ok := k.carrier.Ledger().Call(string(id.Leg(1))); ok && c.State == carrier.StateAnswered {
				all = append(all, c)
			}
		}
	}
	return all
}

// openTalks waits until so many ring, at least, and so many talk.
func openTalks(t *testing.T, people, ringing, talking int, ring draw.Span, talk time.Duration) *talks {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	c, err := OpenCluster(ctx, ClusterConfig{Binary: build(t), Dir: folder(t), Drain: time.Second, Log: t.Logf,
		Callees: &carrier.Config{Listen: "127.0.0.1:0", Seed: 1, Media: true,
			Profile: []carrier.Behaviour{{Kind: carrier.Human, Ring: ring, Talk: draw.Exactly(talk)}}},
		Voices: &bot.Config{Listen: "127.0.0.1:0", Seed: 1,
			Conversations: []bot.Conversation{{Weight: 1, Talk: draw.Exactly(2 * talk)}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &talks{Cluster: c, ctx: ctx}
	k.must(t, c.api.Must(ctx, http.MethodPut, "/api/v1/bots/"+botID,
		map[string]any{"name": "Chaos", "seats": people, "endpoints": []string{c.bot.URL()}}, nil))
	k.must(t, c.trunk(ctx, people, people))
	var created struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	k.must(t, c.api.Must(ctx, http.MethodPost, "/api/v1/campaigns",
		map[string]any{"name": "Cut", "bot_id": botID, "concurrency": people, "number_pool": ownNumbers[2:],
			"window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"}, "pacing_mode": "progressive",
			"max_attempts": 3, "retry_delay_s": 3, "ring_timeout_s": 15, "call_limit_s": int(talk/time.Second) + 30,
			"retry_on_system": []engine.Outcome{engine.OutcomeLost}}, &created))
	var rows []any
	for i := range people {
		rows = append(rows, map[string]any{"mobile": fmt.Sprintf("+49151121%02d000", i)})
	}
	at := "/api/v1/campaigns/" + string(created.ID)
	k.must(t, c.api.Must(ctx, http.MethodPost, at+"/contacts", map[string]any{"contacts": rows}, nil))
	k.must(t, c.api.Must(ctx, http.MethodPost, at+"/start", nil, nil))
	k.must(t, site.Poll(ctx, 20*time.Millisecond, func() (bool, error) {
		rings := 0
		for _, c := range c.carrier.Ledger().Live() {
			if c.AnsweredAt.IsZero() {
				rings++
			}
		}
		return rings >= ringing && len(k.talking()) >= talking, nil
	}))
	owners, err := c.site.Owners(ctx)
	k.must(t, err)
	i := slices.IndexFunc(c.site.Nodes, func(n *site.Node) bool { return n.Name == owners[created.ID] })
	k.owner = c.site.Nodes[i]
	return k
}

func (k *talks) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isolate cuts a node from nodes, database and etcd; its way to the carrier is left whole.
func (k *talks) isolate(n *site.Node) {
	for _, other := range k.site.Nodes {
		if other != n {
			k.site.Part(n, other, site.Both)
		}
	}
	n.ToDatabase.Cut(site.Both, "")
	n.ToEtcd.Cut(site.Both, "")
}

// TestCallsOfANodeThatWasCutOffAreNotOverlapped has the owner of a campaign isolated for 13 s while
// callees ring and talk for longer than any number was held before. Whom it lost is
// called again by itself: by the carrier's clock never while the first call lives.
func TestCallsOfANodeThatWasCutOffAreNotOverlapped(t *testing.T) {
	const (
		people = 16
		talk   = 120 * time.Second
		rings  = 9 * time.Second
	)
	// Whoever is answered has a bot only after a moment: three of four is enough.
	k := openTalks(t, people, people/4, people/4, draw.Between(200*time.Millisecond, rings), talk)
	cut := time.Now()
	k.isolate(k.owner)
	k.must(t, site.Until(k.ctx, cut.Add(13*time.Second)))
	k.site.Mend()
	// Until the longest call that was up at the cut is over, and half a minute on.
	k.must(t, site.Until(k.ctx, cut.Add(rings+talk+30*time.Second)))
	calls := k.carrier.Ledger().Calls()
	for _, o := range calls.Overlaps() {
		t.Errorf("two calls to one number for %v, the second one %v after the cut", o.For, o.Second.InviteAt.Sub(cut))
	}
	again := 0
	for i := range calls {
		if calls[i].InviteAt.After(cut) {
			again++
		}
	}
	t.Logf("%d calls in all, %d after the cut", len(calls), again)
}

// Whatever is cut for 13 s, nodes reachable or not: who talks talks on, with the same bot.
func TestNoConversationEndsByACutOf13Seconds(t *testing.T) {
	const people = 20
	for what, cut := range map[string]func(k *talks){
		"database":            func(k *talks) { k.owner.ToDatabase.Cut(site.Both, "") },
		"all but the carrier": func(k *talks) { k.isolate(k.owner) },
	} {
		t.Run(what, func(t *testing.T) {
			k := openTalks(t, people, 0, people/2, draw.Between(50*time.Millisecond, time.Second), 3*time.Minute)
			k.must(t, site.Until(k.ctx, time.Now().Add(12*time.Second))) // classification has decided
			at, talking := time.Now(), k.talking()
			cut(k)
			k.must(t, site.Until(k.ctx, at.Add(13*time.Second)))
			k.site.Mend()
			k.must(t, site.Until(k.ctx, at.Add(65*time.Second))) // lease, limbo and what follows are over
			on := map[string]bool{}
			for _, c := range k.talking() {
				on[c.CallID] = true
			}
			for i := range talking {
				if c, _ := k.carrier.Ledger().Call(talking[i].CallID); !on[c.CallID] {
					t.Errorf("call %s (%s): ended %v after the cut by %q: %s",
						c.CallID, c.State, c.EndedAt.Sub(at), c.ByeBy, c.ByeReason)
				}
			}
			for _, o := range k.carrier.Ledger().Overlaps() {
				t.Errorf("two calls to one number for %v", o.For)
			}
			t.Logf("%d conversations", len(talking))
		})
	}
}

// A node that stays cut off for a minute ends its conversations itself, at its fence and 30 s, none
// later. From 40 s after the cut on every call at the carrier is one of a live attempt.
func TestANodeThatStaysCutOffEndsItsConversationsAtItsFence(t *testing.T) {
	const people = 20
	k := openTalks(t, people, 0, people/2, draw.Between(50*time.Millisecond, time.Second), 4*time.Minute)
	theirs, others := map[string]bool{}, map[string]bool{}
	for _, c := range k.talking() {
		if c.Peer == k.owner.SIP {
			theirs[c.CallID] = true
		} else {
			others[c.CallID] = true
		}
	}
	cut := time.Now()
	k.isolate(k.owner)
	k.must(t, site.Until(k.ctx, cut.Add(12*time.Second)))
	lives, err := k.history.lives(k.ctx)
	k.must(t, err)
	var until time.Time // of its lease, as it counts it itself
	for _, l := range lives {
		if l.name == k.owner.Name && l.expires.After(until) {
			until = l.expires
		}
	}
	until = until.Add(-time.Second)
	k.must(t, site.Until(k.ctx, cut.Add(40*time.Second)))
	for time.Since(cut) < 75*time.Second {
		if time.Since(cut) > time.Minute {
			k.site.Mend()
		}
		live, orphans := k.carrier.Ledger().Live(), 0
		open, err := k.openLegs(k.ctx)
		k.must(t, err)
		for _, c := range live {
			if now, ok := k.carrier.Ledger().Call(c.CallID); ok && now.Live() && open[c.CallID] == "" {
				orphans++
			}
		}
		if orphans > 0 {
			t.Errorf("%v after the cut %d of %d calls at the carrier are no live attempt's", time.Since(cut), orphans, len(live))
		}
		k.must(t, site.Until(k.ctx, time.Now().Add(time.Second)))
	}
	ended := 0
	for _, c := range k.carrier.Ledger().Calls() {
		if !theirs[c.CallID] {
			if !c.EndedAt.IsZero() && others[c.CallID] {
				t.Errorf("call %s of another node ended %v after the cut", c.CallID, c.EndedAt.Sub(cut))
			}
			continue
		}
		ended++
		if apart := c.EndedAt.Sub(until) - engine.LimboFor; c.ByeBy != carrier.Caller || apart < -time.Second ||
			apart > time.Second {
			t.Errorf("call %s ended %v from the fence and 30 s, by %q", c.CallID, apart, c.ByeBy)
		}
	}
	t.Logf("%d conversations were the isolated node's, %d others'", ended, len(others))
	if ended == 0 {
		t.Error("it had none")
	}
	for _, o := range k.carrier.Ledger().Overlaps() {
		t.Errorf("two calls to one number for %v", o.For)
	}
}
