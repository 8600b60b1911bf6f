package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/site"
)

// Cluster is a model world around the nodes of one cluster, which are broken while
// campaigns go through all of them.
type Cluster struct {
	*Lab
	site    *site.Site
	history *history
	other   string // the program by another name: what an upgrade puts in place
	room    room
	lasting bool
}

// ClusterConfig says what is broken, and where it lives.
type ClusterConfig struct {
	Binary string
	// Upgrade is the program that a rolling upgrade puts in place; the same one
	// when empty.
	Upgrade string
	Dir     string
	// Drain is how long a node may wait for its calls' end.
	Drain time.Duration
	// Lasting: conversations outlast each hold and each cut, and the carrier does not hear everything.
	Lasting bool
	// Callees and Voices are other people and bots than the usual ones.
	Callees *carrier.Config
	Voices  *bot.Config
	Log     func(format string, args ...any)
}

const clusterNodes = 3

// room is what all nodes share: seats of the bot, calls a second and at a time of the trunk, concurrent calls of the
// callers' numbers; 0: any.
type room struct {
	seats, cps, channels int
	numbers              []int
}

// Where calls last nothing but seats and calls a second is short: the carrier counts a call whose end it did not hear
// of, the nodes do not.
var (
	briskRoom   = room{seats: 6, cps: 6, channels: 10, numbers: []int{1, 2, 0}}
	lastingRoom = room{seats: 24, cps: 6, channels: 100, numbers: []int{0, 0, 0}}
)

// OpenCluster brings the world and three nodes up.
func OpenCluster(ctx context.Context, cfg ClusterConfig) (_ *Cluster, err error) {
	c := &Cluster{Lab: &Lab{log: cfg.Log, dir: cfg.Dir}, other: cfg.Upgrade, room: briskRoom, lasting: cfg.Lasting}
	if c.log == nil {
		c.log = func(string, ...any) {}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	people, bots := callees(), voices()
	if cfg.Lasting {
		people, bots, c.room = lastingCallees(), lastingVoices(), lastingRoom
	}
	if cfg.Callees != nil {
		people = *cfg.Callees
	}
	if cfg.Voices != nil {
		bots = *cfg.Voices
	}
	if c.carrier, err = carrier.Start(people); err != nil {
		return nil, err
	}
	if c.bot, err = bot.Start(bots); err != nil {
		return nil, err
	}
	c.site, err = site.Open(ctx, site.Config{Binary: cfg.Binary, Dir: cfg.Dir, Nodes: clusterNodes,
		Args: []string{"--drain-timeout", cfg.Drain.String()}})
	if err != nil {
		return nil, err
	}
	if c.other == "" {
		c.other = cfg.Binary
	}
	if c.store, err = openWitness(ctx, c.site.DatabaseURL()); err != nil {
		return nil, err
	}
	if c.history, err = openHistory(ctx, c.site.DatabaseURL()); err != nil {
		return nil, err
	}
	c.api = site.NewAPI(excluders, c.site.Addresses()...)
	if err := c.furnish(ctx, c.site.Nodes[0].Password, c.room.seats); err != nil {
		return nil, err
	}
	if err := c.trunk(ctx, c.room.cps, c.room.channels); err != nil {
		return nil, err
	}
	for i, n := range ownNumbers {
		if err := c.api.Must(ctx, http.MethodPut, "/api/v1/numbers/"+n, map[string]any{"concurrent_cap": c.room.numbers[i]},
			nil); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close ends the nodes and the world.
func (c *Cluster) Close() error {
	var errs []error
	if c.history != nil {
		c.history.close()
	}
	if c.store != nil {
		c.store.Close()
		c.store = nil
	}
	if c.site != nil {
		errs = append(errs, c.site.Close())
	}
	return errors.Join(append(errs, c.Lab.Close())...)
}

// ClusterRun says what is done.
type ClusterRun struct {
	Seed uint64
	// For is how long disturbances are dealt; 0: a short deck once, and the campaigns are
	// stopped after it instead of being left to complete.
	For time.Duration
	// TakeOver is how long it may take until somebody else acts for what a node
	// acted for.
	TakeOver time.Duration
}

// cluster is such a run under way.
type cluster struct {
	*Cluster
	cfg   ClusterRun
	runs  []*run // one a campaign
	whole *run   // what is judged of all of them together
	rep   *ClusterReport
	began time.Time

	mu      sync.Mutex // of what follows and of rep, while disturbances are dealt
	strikes []strike
}

// Run deals disturbances while campaigns go on, and judges. The error says that the
// harness could not go on; what was wrong with the nodes is in the report.
func (c *Cluster) Run(ctx context.Context, cfg ClusterRun) (*ClusterReport, error) {
	k := &cluster{Cluster: c, cfg: cfg, began: time.Now(), rep: newClusterReport(cfg.Seed, c.room)}
	k.whole = &run{Lab: c.Lab, cfg: Campaign{Seed: cfg.Seed}, began: k.began, rep: &k.rep.Report, brief: cfg.For == 0}
	work, stop := context.WithCancel(ctx)
	defer stop()
	// The first two have the same people on their lists.
	for i, seed := range []uint64{cfg.Seed, cfg.Seed, cfg.Seed + 1} {
		r := &run{Lab: c.Lab, cfg: Campaign{Seed: seed, Stop: cfg.For == 0 || c.lasting, Lasting: c.lasting},
			rep: &Report{ByLabel: map[string]int{}, Acked: map[request]int{}}}
		if err := r.seed(ctx); err != nil {
			return k.rep, fmt.Errorf("campaign %d: %w", i+1, err)
		}
		r.crm.outs = i * 1000 // nobody whom another one calls: it would be refused
		k.runs = append(k.runs, r)
	}
	for _, r := range k.runs {
		go r.crm.work(work)
	}
	var watcher, caller sync.WaitGroup
	calling, hush := context.WithCancel(work)
	defer hush()
	if c.lasting {
		watcher.Go(func() { k.watch(work) })
		caller.Go(func() { k.callAgain(calling) })
	}
	p := &clusterPlan{nodes: len(c.site.Nodes), short: cfg.For == 0, lasting: c.lasting}
	p.rng = rand.New(rand.NewPCG(cfg.Seed, 2)) //nolint:gosec // a plan that can be drawn again
	for i := 0; i < len(shortDeck) || time.Since(k.began) < cfg.For; i++ {
		b := p.next()
		if err := k.deal(ctx, i, b); err != nil {
			return k.rep, fmt.Errorf("disturbance %d (%s): %w", i+1, b, err)
		}
	}
	hush()
	caller.Wait()
	for _, r := range k.runs {
		r.crm.finish()
	}
	for _, r := range k.runs {
		if err := r.end(ctx); err != nil {
			return k.rep, err
		}
	}
	stop()
	watcher.Wait()
	err := k.judge(ctx)
	k.rep.Took = time.Since(k.began)
	return k.rep, err
}
