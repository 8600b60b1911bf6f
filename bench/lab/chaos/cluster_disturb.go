package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dialler/bench/site"
	"dialler/engine"
)

// deal waits for a disturbance's moment, strikes, and waits until the cluster is whole.
func (k *cluster) deal(ctx context.Context, i int, b *clusterDisturbance) error {
	if err := site.Until(ctx, time.Now().Add(b.after)); err != nil {
		return err
	}
	if err := k.await(ctx, b); err != nil {
		return err
	}
	k.rep.ByLabel[b.label()]++
	k.whole.noteDisturbance(fmt.Sprintf("disturbance %d of seed %d: %s", i+1, k.cfg.Seed, b))
	k.mu.Lock()
	k.strikes = append(k.strikes, strike{clusterDisturbance: b, from: time.Now()})
	k.mu.Unlock()
	if err := k.strike(ctx, b); err != nil {
		return err
	}
	k.site.Mend()
	for _, n := range k.site.Nodes {
		if err := n.Joined(ctx); err != nil {
			k.fail("%s: %v", b, err)
			if err := n.Joined(ctx); err != nil {
				return err
			}
		}
	}
	k.mu.Lock()
	k.strikes[len(k.strikes)-1].to = time.Now()
	k.mu.Unlock()
	return k.goesOn(ctx, b)
}

func (k *cluster) strike(ctx context.Context, b *clusterDisturbance) error {
	n, at := k.site.Nodes[b.node], time.Now()
	owned, err := k.ownedBy(ctx, n.Name)
	if err != nil {
		return err
	}
	var undo func() error
	switch b.kind {
	case killNode:
		k.rep.Kills++
		err, undo = n.Kill(), n.Start
	case stopNode:
		err, undo = n.Pause(), n.Resume
	case drainNode:
		err, undo = n.Terminate(), func() error {
			return errors.Join(k.gone(n), site.Until(ctx, time.Now().Add(b.down)), n.Start())
		}
	case upgradeNodes:
		return k.upgrade(ctx, b)
	case partNodes:
		k.site.Part(n, k.site.Nodes[b.other], b.way)
	case partNode:
		for _, other := range k.site.Nodes {
			if other != n {
				k.site.Part(n, other, b.way)
			}
		}
	case partDatabase:
		n.ToDatabase.Cut(b.way, "")
	case partEtcd:
		n.ToEtcd.Cut(b.way, "")
	case isolateNode:
		for _, other := range k.site.Nodes {
			if other != n {
				k.site.Part(n, other, b.way)
			}
		}
		n.ToDatabase.Cut(b.way, "")
		n.ToEtcd.Cut(b.way, "")
	case killServer:
		err, undo = k.site.KillDatabase(), func() error { return k.site.StartDatabase(ctx) }
	case stopEtcd:
		err, undo = k.site.Etcd.Pause(), k.site.Etcd.Resume
	default:
		return fmt.Errorf("%s is nothing for a cluster", b.kind)
	}
	if err != nil {
		return err
	}
	ends := at.Add(max(b.lasts, b.down))
	if b.kind == drainNode {
		ends = at
	}
	taken := make(chan error, 1)
	go func() {
		if b.replaced() {
			taken <- k.takenOver(ctx, b, n.Name, owned, at)
			return
		}
		taken <- nil
	}()
	if err := site.Until(ctx, ends); err != nil {
		return err
	}
	if b.replaced() && b.lasts > 0 {
		// It must not come back before it was replaced: that is what is judged.
		err = <-taken
		taken <- nil
	}
	k.site.Mend()
	if undo != nil {
		err = errors.Join(err, undo())
	}
	return errors.Join(err, <-taken)
}

// upgrade drains one node after the other and starts it as another program.
func (k *cluster) upgrade(ctx context.Context, b *clusterDisturbance) error {
	for i, n := range k.site.Nodes {
		at := time.Now()
		owned, err := k.ownedBy(ctx, n.Name)
		if err != nil {
			return err
		}
		if err := n.Terminate(); err != nil {
			return err
		}
		if err := k.takenOver(ctx, b, n.Name, owned, at); err != nil {
			return err
		}
		if err := k.gone(n); err != nil {
			return err
		}
		was := n.Binary
		if n.Binary = k.other; i == len(k.site.Nodes)-1 {
			k.other = was // the next upgrade leads back
		}
		if err := errors.Join(n.Start(), n.Joined(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// gone waits until a node that was told to has ended, and looks how.
func (k *cluster) gone(n *site.Node) error {
	if err := n.Gone(); err != nil {
		k.fail("node %s ended with %v after SIGTERM; %s", n.Name, err, n.Tail())
	}
	return nil
}

// ownedBy lists the campaigns that a node acts for.
func (k *cluster) ownedBy(ctx context.Context, name string) (mine []engine.CampaignID, err error) {
	owners, err := k.site.Owners(ctx)
	for _, r := range k.runs {
		if owners[r.id] == name {
			mine = append(mine, r.id)
		}
	}
	return mine, err
}

// takeOverLimit bounds the wait for a take-over.
const takeOverLimit = time.Minute

// takenOver waits until somebody acts for what a node acted for, by the moment at
// which the campaign was acquired under its next epoch.
func (k *cluster) takenOver(ctx context.Context, b *clusterDisturbance, name string,
	owned []engine.CampaignID, at time.Time) error {
	limit, cancel := context.WithTimeout(ctx, takeOverLimit)
	defer cancel()
	for _, id := range owned {
		var took time.Duration
		var by string
		err := site.Poll(limit, 50*time.Millisecond, func() (bool, error) {
			e, ok, err := k.history.acquiredAfter(limit, id, at)
			took, by = e.at.Sub(at), e.node
			return ok, err
		})
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			k.fail("%s: nobody acts for campaign %s %v later", b, id, takeOverLimit)
			return nil
		}
		if err != nil {
			return err
		}
		k.note(b, took)
		k.log("%s acts for campaign %s of %s %v after the disturbance", by, id, name, took.Round(10*time.Millisecond))
		if took > k.cfg.TakeOver {
			k.fail("%s: it took %v until somebody acted for campaign %s", b, took.Round(10*time.Millisecond), id)
		}
	}
	return nil
}

// note keeps how long it took until somebody else acted.
func (k *cluster) note(b *clusterDisturbance, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch b.kind {
	case drainNode, upgradeNodes: // nothing was lost
		k.rep.HandOvers = append(k.rep.HandOvers, took)
	default:
		k.rep.TakeOvers = append(k.rep.TakeOvers, took)
	}
}

// fail notes what is not as it must be.
func (k *cluster) fail(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rep.fail(format, args...)
}

// progress counts what each campaign's CRM had acknowledged.
func (k *cluster) progress() (all []int64) {
	for _, r := range k.runs {
		all = append(all, r.crm.progress())
	}
	return all
}

// goesOn waits until every campaign's CRM is answered again.
func (k *cluster) goesOn(ctx context.Context, b *clusterDisturbance) error {
	limit, cancel := context.WithTimeout(ctx, 2*recoverLimit)
	defer cancel()
	before := k.progress()
	err := site.Poll(limit, 20*time.Millisecond, func() (bool, error) {
		for i, n := range k.progress() {
			if n == before[i] {
				return false, nil
			}
		}
		return true, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		k.fail("%s: not every campaign acknowledged a request within %v of its end", b, 2*recoverLimit)
		return nil
	}
	return err
}
