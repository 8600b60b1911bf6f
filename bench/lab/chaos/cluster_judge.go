package chaos

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/promise"
	"dialler/process/keys"
)

// judge compares the ledgers once the campaigns have ended.
func (k *cluster) judge(ctx context.Context) error {
	if err := k.idle(ctx); err != nil {
		return err
	}
	if err := k.unwatched(ctx); err != nil {
		return fmt.Errorf("legs of lost calls: %w", err)
	}
	calls := k.carrier.Ledger().Calls()
	k.whole.judgeCarrier(k.excused(calls))
	var all []attempt.Attempt
	for _, r := range k.runs {
		mine, err := k.store.Lists.CampaignAttempts(ctx, r.id)
		if err != nil {
			return err
		}
		if err := k.judgeRun(ctx, r, callsOf(mine, calls)); err != nil {
			return err
		}
		all = append(all, mine...)
	}
	outs, err := k.store.Dialouts(ctx, 10_000)
	if err != nil {
		return err
	}
	all = append(all, outs...)
	k.whole.judgeLegs(calls, all)
	k.whole.stood = func(s *bot.Session) bool {
		id, _ := s.CallID.Attempt()
		c, ok := k.carrier.Ledger().Call(string(id.Leg(1)))
		return ok && k.still(c.Peer, s.StartedAt, s.EndedAt)
	}
	k.whole.judgeBot(all)
	facts := &k.whole.record
	if err := k.judgeOwners(ctx, calls, all, facts); err != nil {
		return err
	}
	for _, r := range k.runs {
		facts.Record = append(facts.Record, r.record.Record...)
		if err := k.noteCampaign(ctx, facts, r.id); err != nil {
			return err
		}
	}
	promised, err := k.struckAnswers(ctx, all)
	if err != nil {
		return err
	}
	facts.attempts(promised)
	facts.calls(calls, k.began)
	k.noteCaps(facts, all)
	peak := facts.judged(k.rep.fail, k.whole.brief)
	k.rep.Channels, k.rep.PeakCPS, k.rep.Seats, k.rep.PeakAbandons = peak.Channels, peak.CPS, peak.Seats, peak.Abandons*100
	if n := len(k.carrier.Ledger().Calls()); n != len(calls) {
		k.rep.fail("%d calls were placed after the campaigns' end", n-len(calls))
	}
	k.rep.Overlaps = max(k.rep.Overlaps, len(calls.Overlaps()))
	k.rep.Talks, k.rep.Long = lasted(k.bot.Sessions())
	ended := map[string]time.Time{}
	for i := range all {
		if all[i].EndedAt != nil {
			ended[string(all[i].ID)] = *all[i].EndedAt
		}
	}
	for i := range calls {
		c := &calls[i]
		if c.Unheard == 0 {
			continue
		}
		k.rep.Unheard++
		id, _, _ := strings.Cut(c.CallID, ".")
		if at, ok := ended[id]; ok && c.EndedAt.Sub(at) > orphanFor {
			k.rep.Ghosts++
		}
	}
	if err := k.judgeAfterEnd(ctx); err != nil {
		return err
	}
	return k.audit(ctx)
}

// judgeAfterEnd: nothing happens to an attempt that has ended but the ends of its legs, and its result.
func (k *cluster) judgeAfterEnd(ctx context.Context) error {
	late, err := k.history.afterEnd(ctx)
	for _, l := range late {
		k.rep.fail("after the end of attempt %s", l)
	}
	return err
}

// unproven is how long what a lost call has may be in use: where calls last, until such a call must be over.
func (k *cluster) unproven(brief time.Duration) time.Duration {
	if k.lasting {
		return brief + 2*lastingLimit
	}
	return brief
}

// unwatched waits until every leg of a lost call has its end: with each change of
// the campaign's owner it is watched anew.
func (k *cluster) unwatched(ctx context.Context) error {
	if k.whole.brief {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	err := site.Poll(limit, 500*time.Millisecond, func() (bool, error) {
		for _, r := range k.runs {
			attempts, err := k.store.Lists.CampaignAttempts(limit, r.id)
			if err != nil {
				return false, err
			}
			if slices.ContainsFunc(attempts, func(a attempt.Attempt) bool { return a.OpenLeg() }) {
				return false, nil
			}
		}
		return true, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil // the judge says of each that it has no end
	}
	return err
}

// judgeRun: one campaign by itself.
func (k *cluster) judgeRun(ctx context.Context, r *run, calls carrier.Rows) error {
	r.judgeTries(calls)
	if err := errors.Join(r.judgeCounters(ctx), r.judgeCRM(ctx, calls), r.judgeEvents(ctx)); err != nil {
		return err
	}
	k.rep.take(r)
	return nil
}

// noteCaps notes what all nodes share: its room is for all of them together.
func (k *cluster) noteCaps(facts *record, attempts []attempt.Attempt) {
	facts.Add(time.Time{}, promise.TrunkCaps{Trunk: trunkID, CPS: k.room.cps, Channels: k.room.channels,
		Within: cpsWindow})
	for i, n := range k.room.numbers {
		number := engine.NumberSettings{Number: engine.PhoneNumber(ownNumbers[i]), ConcurrentCap: n}
		facts.Add(time.Time{}, promise.NumberCaps{NumberSettings: number})
	}
	k.conversations(facts, attempts, time.Time{}, k.room.seats)
}

// callsOf are the calls of a campaign.
func callsOf(attempts []attempt.Attempt, calls carrier.Rows) (mine carrier.Rows) {
	of := map[string]bool{}
	for i := range attempts {
		of[string(attempts[i].ID)] = true
	}
	for i := range calls {
		if id, _, ok := strings.Cut(calls[i].CallID, "."); ok && of[id] {
			mine = append(mine, calls[i])
		}
	}
	return mine
}

// idle waits until no node holds anything any more, and no call is at the carrier.
func (k *cluster) idle(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, k.unproven(2*leaseLimit))
	defer cancel()
	held := []string{"dialler_live_calls", "dialler_seats_held"}
	if !k.whole.brief { // else those of lost calls are still in use
		held = append(held, "dialler_trunk_channels_held", "dialler_number_slots_held", "dialler_sip_legs_live",
			"dialler_bot_sockets", "dialler_media_paths", "dialler_cluster_calls_hosted", "dialler_cluster_calls_away")
	}
	wrong := []string{"dialler_illegal_events_total", "dialler_actor_restarts_total"}
	for _, n := range k.site.Nodes {
		api := site.NewAPI(1, n.HTTP)
		var figures map[string]float64
		err := site.Poll(limit, 100*time.Millisecond, func() (bool, error) {
			var err error
			if figures, err = api.Figures(limit); err != nil {
				return false, err
			}
			return !slices.ContainsFunc(held, func(name string) bool { return figures[name] != 0 }) &&
				len(k.carrier.Ledger().Live()) == 0, nil
		})
		api.Close()
		if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
			return err
		}
		for _, name := range append(held, wrong...) {
			if figures[name] != 0 {
				k.rep.fail("%s of node %s is %v after the end", name, n.Name, figures[name])
			}
		}
	}
	for _, c := range k.carrier.Ledger().Live() {
		k.rep.fail("call %s is still %s at the carrier", c.CallID, c.State)
	}
	return nil
}

// judgeOwners: who dialled for what, and when, by the epochs and the leases; facts hear
// of every act.
func (k *cluster) judgeOwners(ctx context.Context, calls carrier.Rows, attempts []attempt.Attempt,
	facts *record) error {
	epochs, err := k.history.epochs(ctx)
	if err != nil {
		return err
	}
	writers, err := k.history.writers(ctx)
	if err != nil {
		return err
	}
	lives, err := k.history.lives(ctx)
	if err != nil {
		return err
	}
	type term struct {
		of    engine.CampaignID
		epoch int64
	}
	acquirer := map[term]string{}
	for _, e := range epochs {
		t := term{e.campaign, e.epoch}
		if by, twice := acquirer[t]; twice {
			k.rep.fail("epoch %d of campaign %s was acquired by %s and by %s", e.epoch, e.campaign, by, e.node)
		}
		acquirer[t] = e.node
	}
	k.rep.Epochs = len(epochs)
	byID := map[string]*attempt.Attempt{}
	for i := range attempts {
		a := &attempts[i]
		byID[string(a.ID)] = a
		w := writers[a.ID]
		if by := acquirer[term{a.Campaign, w.epoch}]; a.Campaign != "" && by != w.node {
			k.rep.fail("attempt %s of epoch %d was stored by %s, and %s had acquired the epoch", a.ID, w.epoch, w.node, by)
		}
	}
	for i := range calls {
		id, _, _ := strings.Cut(calls[i].CallID, ".")
		a := byID[id]
		if a == nil {
			continue // judgeLegs says so
		}
		at := leftAt(&calls[i])
		if a.Campaign != "" {
			w := writers[a.ID]
			facts.Add(at, promise.Acted{Identity: string(a.Campaign), Epoch: w.epoch, By: w.node})
		}
		switch l, ok := lives[a.Node]; {
		case !ok:
			k.rep.fail("call %s was placed by incarnation %d, which there never was", calls[i].CallID, a.Node)
		case at.Sub(l.expires) > clockGrain:
			k.rep.fail("the INVITE of call %s left %v after the lease of node %s was over",
				calls[i].CallID, at.Sub(l.expires), l.name)
		case l.left != nil && at.Sub(*l.left) > clockGrain:
			k.rep.fail("the INVITE of call %s left %v after node %s had left", calls[i].CallID, at.Sub(*l.left), l.name)
		}
		k.rep.ByNode[lives[a.Node].name]++
	}
	return nil
}

// audit has the program itself compare events, tables and the chain.
func (k *cluster) audit(ctx context.Context) error {
	n := k.site.Nodes[0]
	args := []string{"db", "audit", "--database-url", k.site.DatabaseURL(), "--data-dir", filepath.Join(n.Dir, "data"),
		"--signing-key", filepath.Join(filepath.Dir(n.Dir), keys.SigningFile)}
	out, err := exec.CommandContext(ctx, n.Binary, args...).CombinedOutput() //nolint:gosec // our own binary
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		k.rep.fail("dialler db audit: %s", out)
		return nil
	}
	return err
}
