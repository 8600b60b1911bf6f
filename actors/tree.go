package actors

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	callactor "dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	dialoutactor "dialler/actors/dialout"
	fleetactor "dialler/actors/fleet"
	"dialler/actors/host"
	"dialler/actors/lease"
	numberactor "dialler/actors/number"
	trunkactor "dialler/actors/trunk"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/attempt"
	core "dialler/engine/run"
)

// Tree is the running campaign tree.
type Tree struct {
	sys       *host.System
	store     Store
	member    Membership       // nil: alone
	caps      lease.SharedCaps // nil: alone
	writesCap int

	// configuring is held while a part of the configuration is read and sent: what was read later is
	// sent later.
	configuring sync.Mutex

	writers *writer.Group
	calls   *callactor.Process
	imports *campaignactor.Imports
	board   campaignactor.Board
	// mailboxes are those of the actors that accept commands: of dialout under "", of each run
	// under its campaign.
	mailboxes host.Mailboxes[engine.CampaignID]
	stats     Stats
	supplied  supplied

	fleet, trunks, numbers, dialout, campaigns *actor.PID

	cancel   context.CancelFunc
	once     sync.Once
	watching sync.WaitGroup
}

// Stats are the tree's metrics for /metrics.
type Stats struct {
	Actors  *host.Stats
	Writers *writer.Stats
	Calls   *callactor.Stats
	Fleet   fleetactor.Stats
	Trunks  trunkactor.Stats
	Numbers numberactor.Stats
	// Dialouts are those that waited for their time.
	Dialouts dialoutactor.Stats
}

// Stats gives the tree's figures.
func (t *Tree) Stats() *Stats { return &t.stats }

// past is what the database says when the tree starts.
type past struct {
	bots    []engine.Bot
	trunks  []engine.TrunkSettings
	numbers []engine.NumberSettings
	open    []attempt.Attempt // not ended
	watched []attempt.Attempt // ended, with legs that have not
	active  []engine.CampaignID
}

// Start starts the tree and recovers what an earlier process left: every open attempt is closed as
// lost and its legs are ended before anything new is dialled to their numbers. Legs that the
// earlier process had itself taken over, and whose end it had not seen, are still watched.
func Start(ctx context.Context, cfg Config, p Ports) (*Tree, error) {
	cfg = cfg.withDefaults()
	tctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &Tree{sys: host.New(tctx, p.Clock, cfg.Log, cfg.Actors...), store: p.Store, member: p.Membership,
		caps: p.SharedCaps, writesCap: cfg.WritesCap, cancel: cancel}
	if err := t.start(ctx, cfg, p); err != nil {
		cancel()
		return nil, err
	}
	return t, nil
}

func (t *Tree) start(ctx context.Context, cfg Config, p Ports) error {
	writers := cfg.Writers
	writers.OnDatabase = func(bool) {
		if t.campaigns != nil {
			t.sys.Root.Send(t.campaigns, &campaignactor.DatabaseState{})
		}
	}
	t.writers = writer.New(t.sys, writers, p.Store, p.Spool)
	t.calls = t.newCalls(cfg, p)
	t.stats.Actors, t.stats.Writers, t.stats.Calls = &t.sys.Stats, &t.writers.Stats, &t.calls.Stats
	// Before anything is loaded and before a campaign is taken over, which would make the earlier
	// process's writes those of a stale owner.
	stale, err := t.writers.Replay(ctx)
	if err != nil {
		return fmt.Errorf("actors: write what the spool holds to the database: %w", err)
	}
	for i := range stale {
		t.calls.EndAnswered(&stale[i])
	}
	if err := t.store.HoldOpen(ctx); err != nil {
		return fmt.Errorf("actors: hold the numbers of open attempts: %w", err)
	}
	was, err := t.load(ctx)
	if err != nil {
		return err
	}
	t.calls.Destinations.Configure(cfg.AllowedCountries, was.numbers)
	t.calls.CalleeLimit.Set(cfg.Frequency)
	if err := t.writers.Start(); err != nil {
		return err
	}
	if err := t.spawn(cfg, p, &was); err != nil {
		return err
	}
	t.recover(&was)
	t.watching.Go(t.writers.Database.Watch)
	return nil
}

func (t *Tree) newCalls(cfg Config, p Ports) *callactor.Process {
	calls := &callactor.Process{System: t.sys, Config: cfg.Calls, Store: p.Store, Phone: p.Telephony, Media: p.Media,
		Remote: p.RemoteLegs, Eligibility: p.Eligibility, SharesCaps: p.SharedCaps != nil, Reach: new(fleetactor.Reach),
		Suppress: t.suppressedBy, Held: t.writers.Hold}
	if p.Membership != nil {
		calls.Lease = p.Membership
	}
	if calls.Returned == nil {
		calls.Returned = t.SubmitResult
	}
	return calls
}

// load reads the tree's initial state.
func (t *Tree) load(ctx context.Context) (p past, err error) {
	read := func(what string, f func() error) {
		if err == nil {
			if err = f(); err != nil {
				err = fmt.Errorf("actors: load %s: %w", what, err)
			}
		}
	}
	read("bots", func() (err error) { p.bots, err = t.store.Bots(ctx); return err })
	read("trunks", func() (err error) { p.trunks, err = t.store.Trunks(ctx); return err })
	read("open attempts", func() (err error) { p.open, err = t.store.OpenAttempts(ctx); return err })
	read("the legs of lost calls", func() (err error) { p.watched, err = t.store.OpenLegs(ctx); return err })
	read("numbers", func() (err error) { p.numbers, err = t.store.Numbers(ctx); return err })
	read("active campaigns", func() (err error) { p.active, err = t.store.ActiveCampaigns(ctx); return err })
	return p, err
}

// spawn starts the top-level actors. A restart stops an actor's children, and calls would lose
// their owners with them. So actors with children are resumed with their state after a fault, and
// so are those that own leases.
func (t *Tree) spawn(cfg Config, p Ports, was *past) (err error) {
	f := &fleetactor.Deps{System: t.sys, LeaseTTL: cfg.LeaseTTL, Shared: p.SharedCaps, Phone: p.Telephony,
		Media: p.Media, Reach: t.calls.Reach, Stats: &t.stats.Fleet}
	if t.fleet, err = t.sys.Spawn("fleet", func() actor.Actor { return fleetactor.New(f, &was.bots) },
		host.Restarts, host.Restarts); err != nil {
		return err
	}
	tr := &trunkactor.Deps{System: t.sys, Reconcile: cfg.Campaigns.Reconcile, Shared: p.SharedCaps,
		Owned: t.calls.Owners.OwnedLeg, Stats: &t.stats.Trunks}
	if t.trunks, err = t.sys.Spawn("trunks", func() actor.Actor { return trunkactor.New(tr, was.trunks) },
		host.Resumes, host.Resumes); err != nil {
		return err
	}
	n := &numberactor.Deps{
		System:    t.sys,
		Store:     p.Store,
		Timeout:   cfg.Calls.Timeout,
		Reconcile: cfg.Campaigns.Reconcile,
		Shared:    p.SharedCaps,
		Owned:     t.calls.Owners.Owned,
		Edited:    t.numberEdited,
		Stats:     &t.stats.Numbers,
	}
	if t.numbers, err = t.sys.Spawn("numbers", func() actor.Actor { return numberactor.New(n) },
		host.Resumes, host.Resumes); err != nil {
		return err
	}
	t.calls.Fleet, t.calls.Trunks = t.fleet, t.trunks
	d := &dialoutactor.Deps{Process: t.calls, Store: p.Store, Writers: t.writers, Numbers: t.numbers,
		LeaseTTL: cfg.LeaseTTL, BotsChanged: t.botsChanged, Stats: &t.stats.Dialouts}
	if t.dialout, err = t.sys.Spawn("dialout", func() actor.Actor { return dialoutactor.New(d) },
		host.Resumes, host.Restarts, t.mailboxes.Of("")); err != nil {
		return err
	}
	c := &campaignactor.Deps{Process: t.calls, Config: cfg.Campaigns, Store: p.Store, Configs: p.Configs,
		Writers: t.writers, Numbers: t.numbers, Mailboxes: &t.mailboxes, Board: &t.board,
		TrunksDown: t.stats.Trunks.AllDown.Load}
	t.campaigns, err = t.sys.Spawn("campaigns", func() actor.Actor { return campaignactor.New(c) },
		host.Resumes, host.Resumes)
	t.imports = campaignactor.NewImports(c, t.campaigns)
	return err
}

// recover takes over what an earlier process left.
func (t *Tree) recover(was *past) {
	if t.member != nil { // others may do it: this node is told what it owns
		return
	}
	for _, a := range slices.Concat(was.open, was.watched) {
		if a.Campaign == "" {
			t.sys.Root.Send(t.dialout, &dialoutactor.Recover{Attempt: a})
		}
	}
	active := was.active
	for i := range was.watched {
		if id := was.watched[i].Campaign; id != "" && !slices.Contains(active, id) {
			active = append(active, id)
		}
	}
	for _, id := range active {
		t.sys.Root.Send(t.campaigns, &campaignactor.Wake{Campaign: id})
	}
}

// Close stops the tree. Calls go on in the adapters; what was not durable is recovered by the next
// process.
func (t *Tree) Close() {
	t.once.Do(func() {
		t.cancel()
		t.watching.Wait()
		t.imports.Close() // while the runs still answer
		t.sys.Close(append([]*actor.PID{t.campaigns, t.dialout, t.numbers, t.trunks, t.fleet}, t.writers.PIDs()...)...)
	})
}

// Drain stops new dials: live calls go on.
func (t *Tree) Drain() { t.calls.Draining.Store(true) }

// numberEdited tells the runs of a number whose caps were edited.
func (t *Tree) numberEdited(n engine.PhoneNumber) {
	t.sys.Root.Send(t.campaigns, &campaignactor.EveryRun{Msg: &core.NumberChanged{Number: n}})
}

// botsChanged broadcasts the configured bots.
func (t *Tree) botsChanged(bots []engine.Bot) {
	m := &core.BotsChanged{Bots: bots}
	t.sys.Root.Send(t.fleet, m)
	t.sys.Root.Send(t.dialout, m)
	t.sys.Root.Send(t.campaigns, &campaignactor.EveryRun{Msg: m})
}
