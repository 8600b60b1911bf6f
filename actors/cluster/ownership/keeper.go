package ownership

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/ownership"
)

const (
	// lookEvery is the interval of the search for unowned campaigns: a dead node is replaced within
	// its lease, its margin and this interval.
	lookEvery = time.Second
	// dialoutsEvery is the interval at which the calls outside campaigns of lost nodes are looked for
	// while this process has some of them.
	dialoutsEvery = 5 * time.Second
	// askFor bounds how long the database may take to list the nodes, stopFor how long the actors
	// of one campaign may take to stop.
	askFor  = 2 * time.Second
	stopFor = 10 * time.Second
)

// Keeper acts for the campaigns that this node owns. The node calls Begin and Fence; Attach is
// called once the node exists, and Keep runs after that.
type Keeper struct {
	cfg  Config
	node Node
	log  zerolog.Logger

	acts  atomic.Int64  // campaigns whose actors are up here
	given atomic.Int64  // campaigns handed to a node with fewer
	begun chan struct{} // has an element when as has changed

	looking sync.Mutex // held during a round
	roll    ownership.Roll
	nodes   []ownership.Node // as last listed
	balance ownership.Balance
	was     engine.Incarnation // the incarnation in the last round
	// dialoutsAt is when calls outside campaigns of lost nodes are looked for again; 0: when one is lost.
	dialoutsAt engine.BootTime

	mu      sync.Mutex
	as      engine.Incarnation // 0: fenced
	drained bool               // campaigns are handed over, none is adopted any more
}

// New makes the keeper of a node that has no lease yet.
func New(cfg Config) *Keeper {
	return &Keeper{cfg: cfg, log: cfg.Log, begun: make(chan struct{}, 1),
		roll: ownership.Roll{Margin: cfg.Terms.WithDefaults().Margin}, balance: ownership.Balance{}.WithDefaults()}
}

// Campaigns returns how many campaigns' actors were up here in the last round.
func (k *Keeper) Campaigns() int64 { return k.acts.Load() }

// Given returns how many campaigns this node handed to one that acted for fewer.
func (k *Keeper) Given() int64 { return k.given.Load() }

// Begin says that the node may act, as a new incarnation.
func (k *Keeper) Begin(id engine.Incarnation) {
	k.cfg.Calls.Join(id)
	k.become(id)
}

// Fence says that others may act for what this node owns. Live calls go on; the tree starts nothing
// new because it checks the lease itself.
func (k *Keeper) Fence(engine.Incarnation, string) { k.become(0) }

func (k *Keeper) become(id engine.Incarnation) {
	k.cfg.Store.ActAs(id)
	k.mu.Lock()
	k.as = id
	k.mu.Unlock()
	if k.cfg.Begun != nil {
		k.cfg.Begun(id)
	}
	select {
	case k.begun <- struct{}{}:
	default:
	}
}

// Attach sets the node.
func (k *Keeper) Attach(node Node) { k.node = node }

// Keep adopts what no node acts for, and lets go of what this node acted for as an earlier
// incarnation, until ctx ends.
func (k *Keeper) Keep(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.begun:
		case <-tick.C:
		}
		k.round(ctx)
	}
}

// round looks once.
func (k *Keeper) round(ctx context.Context) {
	k.looking.Lock()
	defer k.looking.Unlock()
	k.mu.Lock()
	as, drained := k.as, k.drained
	k.mu.Unlock()
	if as == 0 {
		return
	}
	gone, ok := k.bury(ctx)
	if !ok {
		return // the database is down
	}
	anew := as != k.was
	switch all := func(engine.CampaignID) bool { return true }; {
	case drained: // actors that did not stop before
		k.letGo(ctx, all, k.giveUp)
	case anew: // the actors are those of an earlier incarnation
		k.letGo(ctx, all, nil)
	}
	if anew {
		k.disown()
	} else {
		k.lost()
	}
	k.dialouts(ctx, gone || anew)
	if !drained {
		k.look(ctx)
	}
	k.was = as
}

// lost ends what is left at the carrier of calls that no node has any more.
func (k *Keeper) lost() {
	if lost := k.cfg.Calls.Lost(); len(lost) > 0 {
		k.log.Warn().Int("calls", len(lost)).Msg("the nodes that carried calls are gone, and have not come back")
		k.cfg.Tree.LegsGone(lost)
	}
}

// disown gives up the calls on other nodes that belonged to an earlier incarnation of this one. Another
// owner may have taken them over while this node was cut off and heard nothing; if none has, this node
// adopts them again.
func (k *Keeper) disown() {
	for _, id := range k.cfg.Calls.Disown() {
		k.cfg.Tree.Taken(id)
	}
}

// dialouts closes the calls outside campaigns of lost nodes when it is time to.
func (k *Keeper) dialouts(ctx context.Context, lost bool) {
	now := k.cfg.Clock.Boot()
	if !lost && (k.dialoutsAt == 0 || now < k.dialoutsAt) {
		return
	}
	k.dialoutsAt = 0
	switch here, err := k.closeDialouts(ctx); {
	case err != nil:
		k.dialoutsAt = now
	case here:
		k.dialoutsAt = now.Add(dialoutsEvery)
	}
}

// bury records which nodes are gone. The legs they had count as lost once they must have ended
// them (lost). ok is false if the nodes could not be listed.
func (k *Keeper) bury(ctx context.Context) (some, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	all, err := k.cfg.Nodes.Nodes(ctx)
	if err != nil {
		return false, false
	}
	if k.cfg.Seen != nil {
		k.cfg.Seen(all)
	}
	k.nodes = all
	gone := k.roll.Call(k.cfg.Clock.Boot(), all)
	for i := range gone {
		k.balance.Disturbed(k.cfg.Clock.Boot())
		k.cfg.Calls.Gone(gone[i].Incarnation, gone[i].Address)
		if k.cfg.Gone != nil {
			k.cfg.Gone(gone[i].Incarnation)
		}
	}
	return len(gone) > 0, true
}

// closeDialouts closes the calls outside campaigns of lost nodes, unless the database is away. Only
// one node does so for each of them. here reports that some of them have an actor in this process, which
// may yet stop without having stored their end.
func (k *Keeper) closeDialouts(ctx context.Context) (here bool, err error) {
	open, err := k.cfg.Tree.OpenDialouts(ctx)
	if err != nil {
		return false, err
	}
	mine := map[engine.Incarnation]int64{} // the epoch, 0: it is another node's
	for i := range open {
		id := open[i].Node
		epoch, asked := mine[id]
		if !asked && !k.roll.There(id) {
			of := ownership.Identity{Kind: ownership.Dialouts, ID: strconv.Itoa(int(id))}
			if _, err := k.node.Claim(ctx, of); err != nil {
				return here, err
			}
			if w, ok := k.node.Owned(of); ok {
				epoch = w.Epoch
			}
			mine[id] = epoch
		}
		switch {
		case epoch == 0:
		case k.cfg.Tree.Has(open[i].ID): // this process was that node, or has adopted the call
			here = true
		default:
			k.cfg.Tree.CloseDialout(open[i], epoch)
		}
	}
	return here, nil
}

func campaignOf(id engine.CampaignID) ownership.Identity {
	return ownership.Identity{Kind: ownership.Campaign, ID: string(id)}
}

// look adopts what this node owns, claims what no node owns, and hands a campaign to a node that
// acts for fewer.
func (k *Keeper) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopFor)
	defer cancel()
	active, err := k.cfg.Tree.ActiveCampaigns(ctx)
	if err != nil {
		return // the database is down, which is logged elsewhere
	}
	names := make([]string, len(active))
	for i, id := range active {
		names[i] = string(id)
	}
	owners, err := k.node.OwnersOf(ctx, ownership.Campaign, names)
	if err != nil {
		return
	}
	owned, waiting := map[engine.Incarnation]int{}, 0
	var ours []engine.CampaignID
	for i, id := range active {
		if owners[i].Live {
			owned[owners[i].Incarnation]++
		} else {
			waiting++
			if _, err := k.node.Owner(ctx, campaignOf(id)); err != nil {
				continue // retried in the next round
			}
		}
		if _, mine := k.node.Owned(campaignOf(id)); mine {
			k.cfg.Tree.Adopt(id)
			ours = append(ours, id)
		}
	}
	// Stop campaigns that another node acts for now.
	k.letGo(ctx, func(id engine.CampaignID) bool {
		_, mine := k.node.Owned(campaignOf(id))
		return !mine && k.node.May() // a fenced node's calls go on until another node takes them
	}, nil)
	k.level(ctx, ours, owned, waiting)
}

// level hands the campaign with the fewest calls to a node that acts for fewer campaigns than this
// one, if it is time to.
func (k *Keeper) level(ctx context.Context, ours []engine.CampaignID, owned map[engine.Incarnation]int, waiting int) {
	loads := make([]ownership.Load, len(k.nodes))
	for i, n := range k.nodes {
		loads[i] = ownership.Load{Node: n, Owned: owned[n.Incarnation]}
	}
	k.mu.Lock()
	as := k.as
	k.mu.Unlock()
	to, give := k.balance.Look(k.cfg.Clock.Boot(), as, loads, waiting)
	if !give {
		return
	}
	id, ok := ownership.Lightest(k.cfg.Tree.CallsOf(ours))
	if !ok {
		return
	}
	defer k.cfg.Tree.Left(id)
	err := k.stop(ctx, id)
	if err == nil {
		err = k.node.HandTo(ctx, campaignOf(id), to)
	}
	if err != nil {
		k.balance.Disturbed(k.cfg.Clock.Boot())
		k.log.Warn().Err(err).Str("campaign_id", string(id)).Int32("to",
			int32(to)).Msg("a campaign was not handed to a node that owns fewer; it is tried again later")
		return
	}
	k.given.Add(1)
	k.log.Info().Str("campaign_id", string(id)).Int32("to",
		int32(to)).Msg("a campaign was handed to a node that owns fewer; its live calls go on here")
}

// letGo stops the actors of campaigns, and calls then for each campaign whose actors have all
// stopped.
func (k *Keeper) letGo(ctx context.Context, which func(engine.CampaignID) bool,
	then func(context.Context, engine.CampaignID)) {
	ids, err := k.cfg.Tree.Up(ctx)
	if err != nil {
		k.log.Warn().Str("code", engine.ErrorCode(err)).Msg("could not tell which campaigns are up; will ask again")
		return
	}
	stopped := 0
	for _, id := range ids {
		if !which(id) {
			continue
		}
		err := k.stop(ctx, id)
		switch {
		case err != nil:
			k.log.Warn().Err(err).Str("campaign_id", string(id)).Msg("the actors of a campaign did not stop; it is tried again")
		case then != nil:
			then(ctx, id)
			stopped++
		default:
			stopped++
		}
		k.cfg.Tree.Left(id)
	}
	k.acts.Store(int64(len(ids) - stopped))
}

// stop stops the actors of one campaign and leaves its live calls waiting for its next owner.
func (k *Keeper) stop(ctx context.Context, id engine.CampaignID) error {
	ctx, cancel := context.WithTimeout(ctx, stopFor)
	defer cancel()
	if err := k.cfg.Tree.Release(ctx, id); err != nil {
		return err
	}
	row, err := k.cfg.Store.Campaign(ctx, id)
	if err != nil {
		return err
	}
	open, err := k.cfg.Store.OpenAttempts(ctx)
	if err != nil {
		return err
	}
	for i := range open {
		a := &open[i]
		if a.Campaign != id {
			continue
		}
		peers := make([]engine.LegID, len(a.Peers))
		for j := range a.Peers {
			peers[j] = a.Peers[j].ID
		}
		k.cfg.Calls.Leave(a.ID, a.Node, row.Epoch, peers)
	}
	return nil
}

// HandOver gives every campaign up for others to take at once, and takes no more; their live calls
// go on here.
func (k *Keeper) HandOver(ctx context.Context) {
	k.mu.Lock()
	k.drained = true
	k.mu.Unlock()
	k.node.Drain()
	k.looking.Lock() // adoptions in progress are finished
	defer k.looking.Unlock()
	k.letGo(ctx, func(engine.CampaignID) bool { return true }, k.giveUp)
}

// giveUp releases a campaign whose actors have stopped.
func (k *Keeper) giveUp(ctx context.Context, id engine.CampaignID) {
	if err := k.node.Release(ctx, campaignOf(id)); err != nil {
		k.log.Warn().Err(err).Str("campaign_id",
			string(id)).Msg("a campaign was not released; it is taken over once this node has left")
	}
}
