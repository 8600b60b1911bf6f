package actors

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	campaignactor "dialler/actors/campaign"
	dialoutactor "dialler/actors/dialout"
	fleetactor "dialler/actors/fleet"
	numberactor "dialler/actors/number"
	trunkactor "dialler/actors/trunk"
	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
	"dialler/engine/trunk"
)

// BotsChanged makes the tree reload the configured bots.
func (t *Tree) BotsChanged(ctx context.Context) error {
	t.configuring.Lock()
	defer t.configuring.Unlock()
	bots, err := t.store.Bots(ctx)
	if err != nil {
		return journal.Unavailable(err)
	}
	t.botsChanged(bots)
	return nil
}

// CadencesChanged makes the tree reload the configured cadences.
func (t *Tree) CadencesChanged(ctx context.Context) error {
	t.configuring.Lock()
	defer t.configuring.Unlock()
	list, err := t.store.Cadences(ctx)
	if err != nil {
		return journal.Unavailable(err)
	}
	t.sys.Root.Send(t.campaigns, &campaignactor.EveryRun{Msg: &core.CadencesChanged{Cadences: list}})
	return nil
}

// CalendarsChanged makes the tree reload the calendars.
func (t *Tree) CalendarsChanged(ctx context.Context) error {
	list, err := t.store.Calendars(ctx)
	if err != nil {
		return journal.Unavailable(err)
	}
	t.sys.Root.Send(t.campaigns, &campaignactor.EveryRun{Msg: &core.CalendarsChanged{Calendars: list}})
	return nil
}

// HoursLearned tells every run at which hours people answer.
func (t *Tree) HoursLearned(learned besthour.Table) {
	t.sys.Root.Send(t.campaigns, &campaignactor.EveryRun{Msg: &core.HoursLearned{Hours: learned}})
}

// TrunksChanged makes the tree reload the configured trunks. put names those that were edited,
// which ends a hold of theirs.
func (t *Tree) TrunksChanged(ctx context.Context, put ...engine.TrunkID) error {
	trunks, err := t.store.Trunks(ctx)
	if err != nil {
		return journal.Unavailable(err)
	}
	t.sys.Root.Send(t.trunks, &trunkactor.Configured{Trunks: trunks, Put: put})
	return nil
}

// TrunkStatuses returns the status of the trunks, including deleted ones with legs still in
// progress.
func (t *Tree) TrunkStatuses(ctx context.Context) (map[engine.TrunkID]trunk.Status, error) {
	return t.trunkStatuses(ctx, &trunkactor.Actors{})
}

func (t *Tree) trunkStatuses(ctx context.Context, of *trunkactor.Actors) (map[engine.TrunkID]trunk.Status, error) {
	pids, err := ask[map[engine.TrunkID]*actor.PID](ctx, t, t.trunks, of)
	if err != nil {
		return nil, err
	}
	all := make(map[engine.TrunkID]trunk.Status, len(pids))
	for id, pid := range pids {
		s, err := ask[trunk.Status](ctx, t, pid, &trunkactor.Status{})
		if err != nil {
			return nil, err
		}
		all[id] = s
	}
	return all, nil
}

// TrunkHealth takes the telephony adapter's report on a trunk.
func (t *Tree) TrunkHealth(h engine.TrunkHealth) { t.sys.Root.Send(t.trunks, &h) }

// NumberChanged tells a number's owner that its caps were edited.
func (t *Tree) NumberChanged(n engine.NumberSettings) {
	t.calls.Destinations.Add(n.Number)
	t.sys.Root.Send(t.numbers, &numberactor.Configured{List: []engine.NumberSettings{n}})
	t.sys.Root.Send(t.dialout, &dialoutactor.Numbers{Also: n.Number})
}

// NumbersKnown makes the tree apply all configured numbers; calls to others ask nobody.
func (t *Tree) NumbersKnown(list []engine.NumberSettings) {
	all := make([]engine.PhoneNumber, len(list))
	for i := range list {
		all[i] = list[i].Number
		t.NumberChanged(list[i])
	}
	t.sys.Root.Send(t.dialout, &dialoutactor.Numbers{All: all})
}

// NumberStatuses returns the status of the outbound numbers that are configured or were used.
func (t *Tree) NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error) {
	pids, err := ask[map[engine.PhoneNumber]*actor.PID](ctx, t, t.numbers, &numberactor.Actors{})
	if err != nil {
		return nil, err
	}
	all := make(map[engine.PhoneNumber]numberpool.Status, len(pids))
	for no, pid := range pids {
		s, err := ask[numberpool.Status](ctx, t, pid, &numberactor.Status{})
		if err != nil {
			return nil, err
		}
		all[no] = s
	}
	return all, nil
}

// BotStatuses returns the status of the configured bots.
func (t *Tree) BotStatuses(ctx context.Context) (map[engine.BotID]fleetactor.BotStatus, error) {
	return ask[map[engine.BotID]fleetactor.BotStatus](ctx, t, t.fleet, &fleetactor.Statuses{})
}

// supplied caches the latest answers of the trunks and numbers, shared by all requests for
// campaigns.
type supplied struct {
	mu    sync.Mutex
	at    engine.BootTime // when they were asked
	known engine.BootTime // when they answered
	list  *campaign.Supplies
}

const (
	suppliedFor    = time.Second            // maximum age
	suppliedWithin = 250 * time.Millisecond // else the previous answers are shown …
	suppliedAtMost = 5 * time.Second        // … unless they are older than this
)

// supplies returns the state of trunks and numbers, nil if unknown.
func (t *Tree) supplies(ctx context.Context) *campaign.Supplies {
	s := &t.supplied
	s.mu.Lock()
	defer s.mu.Unlock()
	now := t.sys.Clock.Boot()
	if s.at != 0 && now-s.at < engine.BootTime(suppliedFor) {
		return s.list
	}
	s.at = now
	ctx, cancel := context.WithTimeout(ctx, suppliedWithin)
	defer cancel()
	trunks, err := t.trunkStatuses(ctx, &trunkactor.Actors{Configured: true})
	var numbers map[engine.PhoneNumber]numberpool.Status
	if err == nil {
		numbers, err = t.NumberStatuses(ctx)
	}
	switch {
	case err == nil:
		s.known, s.list = now, campaign.SuppliesOf(slices.Collect(maps.Values(trunks)), numbers)
	case now-s.known >= engine.BootTime(suppliedAtMost):
		s.list = nil
	}
	return s.list
}
