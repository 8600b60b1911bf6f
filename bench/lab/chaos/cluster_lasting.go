package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/carrier/media"
	"dialler/bench/draw"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/attempt"
)

// lastingLimit is the call limit where conversations outlast each hold.
const lastingLimit = 4 * time.Minute

// lastingCallees talk for longer than a lost call was ever held without a proof, ring for as long as a node needs to
// lose its lease and be replaced, and are behind a carrier that does not hear each CANCEL and BYE.
func lastingCallees() carrier.Config {
	ring, long := draw.Between(200*time.Millisecond, 25*time.Second), draw.Between(90*time.Second, 200*time.Second)
	talks := func(weight float64, b carrier.Behaviour) carrier.Behaviour {
		b.Kind, b.Weight, b.Ring, b.Talk = carrier.Human, weight, ring, long
		return b
	}
	rings := func(weight float64, c carrier.Cancel) carrier.Behaviour {
		return carrier.Behaviour{Kind: carrier.NoAnswer, Weight: weight, CancelRace: true, Cancel: c, Talk: long}
	}
	busy, away, full := carrier.Busy(), carrier.Refusal(480, "", 20), carrier.Refusal(503, "", 34)
	busy.Weight, away.Weight, full.Weight = 1, 0.8, 0.2
	return carrier.Config{Listen: "127.0.0.1:0", Seed: 1, Media: true, Profile: []carrier.Behaviour{
		talks(2.5, carrier.Behaviour{}),
		talks(0.8, carrier.Behaviour{CancelRace: true}),
		talks(0.8, carrier.Behaviour{CancelRace: true, Cancel: carrier.CancelUnknown}),
		talks(0.4, carrier.Behaviour{Cancel: carrier.CancelUnknown}),
		talks(0.4, carrier.Behaviour{Cancel: carrier.CancelLost}),
		talks(0.4, carrier.Behaviour{LostByes: 3}),
		talks(0.3, carrier.Behaviour{LostByes: 1000}),
		talks(0.3, carrier.Behaviour{ContactUnreachable: true}),
		talks(0.3, carrier.Behaviour{Progress: carrier.EarlyMedia, AnswerIn183: true}),
		talks(0.3, carrier.Behaviour{Update: true, Path: media.Path{JitterMS: 60, LossPct: 2, ReorderPct: 3}}),
		{Kind: carrier.Human, Weight: 1.2, Ring: ring}, // until the bot hangs up
		{Kind: carrier.Human, Weight: 4, Ring: ring, Talk: draw.Between(time.Second, 5*time.Second)},
		{Kind: carrier.Machine, Weight: 0.6, Ring: ring, Talk: draw.Exactly(20 * time.Second)},
		rings(0.15, ""), rings(0.15, carrier.CancelUnknown), {Kind: carrier.NoAnswer, Weight: 0.3},
		busy, away, full,
	}}
}

// lastingVoices leave four of five conversations to the callee.
func lastingVoices() bot.Config {
	cfg := voices()
	brief := cfg.Conversations[0]
	lasting := brief
	brief.Weight, lasting.Weight, lasting.Talk = 1, 4, draw.Between(90*time.Second, 200*time.Second)
	lasting.Pause = draw.Between(2*time.Second, 6*time.Second)
	cfg.Conversations = []bot.Conversation{lasting, brief}
	cfg.ResultTries = 100
	return cfg
}

// callAgain asks each second for a call to somebody who has one, first to those whose call has outlived a disturbance:
// no second one may leave while the first lives, whoever knows of it.
func (k *cluster) callAgain(ctx context.Context) {
	rng := rand.New(rand.NewPCG(k.cfg.Seed, 3)) //nolint:gosec // a plan that can be drawn again
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var asked sync.WaitGroup
	defer asked.Wait()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		live := k.carrier.Ledger().Live()
		var outlived carrier.Rows
		if last, ok := k.lastStrike(); ok {
			for _, c := range live {
				if c.InviteAt.Before(last.from) {
					outlived = append(outlived, c)
				}
			}
		}
		if len(outlived) > 0 && rng.IntN(4) > 0 {
			live = outlived
		}
		if len(live) == 0 {
			continue
		}
		to := live[rng.IntN(len(live))].Number
		asked.Go(func() {
			r, err := k.api.Send(ctx, http.MethodPost, "/api/v1/sip/dialout", fmt.Sprintf("again-%d-%d", k.cfg.Seed, i),
				map[string]any{"bot_id": botID, "to_number": to})
			what := "no answer"
			if err == nil {
				what = fmt.Sprintf("%d %s", r.Status, r.Code())
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.rep.Again[what]++
		})
	}
}

// strike is a disturbance that was dealt.
type strike struct {
	*clusterDisturbance
	from, to time.Time // to is zero while it lasts
}

func (k *cluster) lastStrike() (s strike, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.strikes) == 0 {
		return s, false
	}
	return k.strikes[len(k.strikes)-1], true
}

// still says whether the process behind an address did nothing at some moment of a span: killed, or stopped.
func (k *cluster) still(peer string, from, to time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.strikes {
		down := s.kind == killNode || s.kind == stopNode || s.kind == drainNode || s.kind == upgradeNodes
		if down && (s.kind == upgradeNodes || k.site.Nodes[s.node].SIP == peer) && s.from.Before(to) &&
			(s.to.IsZero() || s.to.After(from)) {
			return true
		}
	}
	return false
}

// struckAnswers are the attempts, with what the cap does not promise told as such: who answered while something was
// done to the node that carried the call, or to the one that had placed it, and was served too late.
func (k *cluster) struckAnswers(ctx context.Context, all []attempt.Attempt) ([]attempt.Attempt, error) {
	writers, err := k.history.writers(ctx)
	if err != nil {
		return nil, err
	}
	lives, err := k.history.lives(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(all)
	for i := range out {
		a := &out[i]
		if a.Cause != engine.AbandonLateConnect || a.AnsweredAt == nil {
			continue
		}
		at := *a.AnsweredAt
		if k.struck(at.Add(-letGo), at.Add(3*time.Second), lives[a.Node].name, writers[a.ID].node) {
			a.Cause = engine.AbandonCapacityLoss
		}
	}
	return out, nil
}

// struck says whether something was done in a span to one of the nodes, or to what all of them need.
func (k *cluster) struck(from, to time.Time, nodes ...string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.strikes {
		if !s.from.Before(to) || !s.to.IsZero() && !s.to.After(from) {
			continue
		}
		switch s.kind {
		case killNode, stopNode, drainNode, partDatabase, isolateNode, partNode:
			if slices.Contains(nodes, k.site.Nodes[s.node].Name) {
				return true
			}
		case partNodes:
			if slices.Contains(nodes, k.site.Nodes[s.node].Name) && slices.Contains(nodes, k.site.Nodes[s.other].Name) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// deafLimit is how long an answer, or a BYE of the callee's, is repeated: 64*T1.
const deafLimit = 32 * time.Second

// excused are the calls without what they suffered from a process that did nothing meanwhile: nobody acknowledged an
// answer, or answered a BYE.
func (k *cluster) excused(calls carrier.Rows) carrier.Rows {
	out := make(carrier.Rows, len(calls))
	copy(out, calls)
	for i := range out {
		c := &out[i]
		if c.AckMissing && k.still(c.Peer, c.AnsweredAt, c.AnsweredAt.Add(deafLimit)) {
			c.AckMissing = false
		}
		if len(c.Violations) == 1 && c.Violations[0] == "bye_unanswered" && k.still(c.Peer, c.ByeAt, c.ByeAt.Add(deafLimit)) {
			c.Violations = nil
		}
	}
	return out
}

// during is what a call does at the moment of a disturbance.
type during string

const (
	anyTime  during = "at any time"
	ringing  during = "while a phone rings"
	answered during = "between an answer and its ACK"
)

// await waits for a call that is in the moment of a disturbance, and has it hit the node that carries the call.
func (k *cluster) await(ctx context.Context, b *clusterDisturbance) error {
	if b.during == anyTime {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	since := time.Now()
	var met carrier.Call
	err := k.carrier.Ledger().Wait(limit, func(l carrier.Ledger) bool {
		for _, c := range l.Live() {
			if b.during == ringing && c.State == carrier.StateRinging && c.RingingAt.After(since) ||
				b.during == answered && c.State == carrier.StateAnswered && c.AckAt.IsZero() && c.AnsweredAt.After(since) {
				met = c
				return true
			}
		}
		return false
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		k.rep.Missed++
		return nil
	}
	for i, n := range k.site.Nodes {
		if n.SIP == met.Peer {
			b.node = i
		}
	}
	if b.other == b.node {
		b.other = (b.node + 1) % len(k.site.Nodes)
	}
	k.rep.Moments[b.during]++
	return site.Until(ctx, time.Now().Add(b.delay))
}
