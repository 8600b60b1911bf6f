package campaign

import (
	"context"
	"sync"
	"time"

	fleetactor "dialler/actors/fleet"
	numberactor "dialler/actors/number"
	trunkactor "dialler/actors/trunk"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
	"dialler/engine/trunk"
)

// Queries of a run that take time, mostly to the database. Each runs outside the actor; its answer
// comes back as an event.

// outside runs f beside the actor and delivers its result to the run.
func (r *run) outside(limit time.Duration, f func(context.Context, *Deps) any) {
	d, self := r.d, r.self
	go func() {
		ctx, cancel := context.WithTimeout(d.Ctx, limit)
		defer cancel()
		if event := f(ctx, d); event != nil {
			d.Root.Send(self, event)
		}
	}()
}

// ask starts a query; it returns false if the effect is not one.
func (r *run) ask(effect core.Effect) bool {
	id, limit := r.id, r.d.Timeout
	switch e := effect.(type) {
	case core.Load:
		r.load(r.asked(e))
	case core.AddContacts:
		r.outside(limit, func(_ context.Context, d *Deps) any { return d.addRows(id, e) }) // may take long
	case core.CheckStart:
		r.outside(limit, func(ctx context.Context, d *Deps) any {
			a := &core.ActReady{Command: e.Command, Request: e.Request}
			a.Facts, a.Bots, a.Err = d.preflightFacts(ctx, id, e.Run, e.Pool)
			return a
		})
	case core.FetchConfig:
		r.outside(configPatience, func(ctx context.Context, d *Deps) any { return d.fetchConfig(ctx, e) })
	case core.CheckReady:
		r.outside(limit, func(ctx context.Context, d *Deps) any { return d.checkReady(ctx, id, e) })
	case core.Recover:
		d, self := r.d, r.self
		go func() {
			if a := d.recoverContacts(e); a != nil {
				d.Root.Send(self, a)
			}
		}()
	case core.ReadContact:
		time.AfterFunc(e.After, func() { r.answer(r.asked(e), limit) })
	case core.Prepare, core.TakeBack:
		r.answer(r.asked(e), 6*limit)
	default:
		if !core.AsksTables(effect) {
			return false
		}
		r.answer(r.asked(effect), limit)
	}
	return true
}

// asked wraps a query with the current time.
func (r *run) asked(question core.Effect) *core.Asked {
	d, now := r.d, r.d.Clock.Now()
	return &core.Asked{Campaign: r.id, Question: question, At: now, Together: sideBySide,
		Abandoned: func(n engine.PhoneNumber, at time.Time) { d.Abandoned.Add(n, at, now) }}
}

func sideBySide(questions ...func()) {
	var all sync.WaitGroup
	for _, ask := range questions {
		all.Go(ask)
	}
	all.Wait()
}

// answer runs a query against the database.
func (r *run) answer(q *core.Asked, limit time.Duration) {
	r.outside(limit, func(ctx context.Context, d *Deps) any {
		event, _ := q.Answer(ctx, d.Store)
		return event
	})
}

// load takes ownership and reads the durable state, for the newest activation only.
func (r *run) load(q *core.Asked) {
	d, self, activations := r.d, r.self, r.activations
	go func() {
		activations.one.Lock()
		defer activations.one.Unlock()
		if activations.newest.Load() != r {
			return
		}
		ctx, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		event, _ := q.Answer(ctx, d.Store)
		if m, ok := event.(*core.Loaded); ok {
			m.Seats = int(activations.seats.Load())
			if m.Err == nil {
				d.AdoptLegs(ctx, m.Campaign.Epoch, m.Open)
			}
		}
		d.Root.Send(self, event)
	}()
}

func (d *Deps) fetchConfig(ctx context.Context, e core.FetchConfig) *core.ActReady {
	again := *e.Ready
	again.Config = &core.FetchedConfig{Err: errNoConfigs}
	if d.Configs != nil {
		again.Config.Document, again.Config.Err = d.Configs.FetchConfig(ctx, e.URL)
	}
	again.Config.Document.URL = e.URL
	return &again
}

func (d *Deps) addRows(id engine.CampaignID, e core.AddContacts) *core.RowsAdded {
	list := &contactBatch{d: d, ins: e.Insert, became: e.Became, batch: e.Batch}
	rep, err := list.store()
	ctx, cancel := context.WithTimeout(d.Ctx, 2*d.Timeout)
	defer cancel()
	m := e.Added(ctx, d.Store, id, rep, err)
	m.Batch = list.reply
	return m
}

// preflightFacts reads what decides whether a campaign may start.
func (d *Deps) preflightFacts(ctx context.Context, id engine.CampaignID, run int,
	pool []engine.PhoneNumber) (f campaign.PreflightFacts, bots []engine.Bot, err error) {
	if bots, err = d.Store.Bots(ctx); err != nil {
		return f, nil, err
	}
	trunks, err := d.Store.Trunks(ctx)
	if err != nil {
		return f, nil, err
	}
	for _, t := range trunks {
		if t.Active {
			t = trunk.New(t).Settings() // defaults filled in
			f.Trunks, f.CPS, f.Channels = f.Trunks+1, f.CPS+t.CPSCap, f.Channels+t.ChannelCap
		}
	}
	if f.Numbers, err = writer.Ask[map[engine.PhoneNumber]numberpool.State](ctx, d.Writers, d.Numbers,
		&numberactor.States{Numbers: pool}); err != nil {
		return f, nil, err
	}
	f.DatabaseDown, f.Draining, f.Fenced = d.Writers.Database.Away(), d.Draining.Load(), d.Fenced()
	f.Callable, err = d.Store.Callable(ctx, id, run, d.Clock.Now())
	return f, bots, err
}

func (d *Deps) checkReady(ctx context.Context, id engine.CampaignID, e core.CheckReady) *core.PreflightReady {
	m, now := &core.PreflightReady{Request: e.Request}, d.Clock.Now()
	if m.Facts, m.Bots, m.Err = d.preflightFacts(ctx, id, e.Run, e.Settings.Numbers); m.Err != nil {
		return m
	}
	if m.Outlook, m.Err = d.Store.Outlook(ctx, id, e.Run, now); m.Err != nil {
		return m
	}
	groups, err := d.Store.WaitingNumbers(ctx, id, e.Run, now)
	if m.Err = err; err != nil {
		return m
	}
	m.Outlook.Bar(groups, func(to engine.PhoneNumber) error {
		return d.Destinations.Judge(to, first(e.Settings.Numbers))
	})
	seats, err := writer.Ask[fleetactor.SeatsLeft](ctx, d.Writers, d.Fleet, &fleetactor.SeatsOf{Bot: e.Settings.Bot})
	if m.Err = err; err != nil {
		return m
	}
	m.Seats, m.Free, m.Outage = seats.Seats, seats.Free, seats.Outage
	m.Trunks, m.Err = writer.Ask[[]trunk.Candidate](ctx, d.Writers, d.Trunks, &trunkactor.Candidates{})
	return m
}

// first returns a caller ID of the pool; all numbers of a pool are assumed to be of one country.
func first(pool []engine.PhoneNumber) engine.PhoneNumber {
	if len(pool) == 0 {
		return ""
	}
	return pool[0]
}

// recoverContacts reads the contacts of orphaned attempts, retrying as long as needed; nil means
// the tree stopped meanwhile.
func (d *Deps) recoverContacts(e core.Recover) *core.Recovered {
	m := &core.Recovered{Life: e.Life}
	for _, at := range e.Lost {
		for {
			c, ok, err := d.recoverContact(at)
			if err == nil {
				if ok {
					m.Rows = append(m.Rows, c)
				}
				break
			}
			select {
			case <-d.Ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
	}
	return m
}

func (d *Deps) recoverContact(at attempt.Attempt) (core.RecoveredContact, bool, error) {
	ctx, cancel := context.WithTimeout(d.Ctx, d.Timeout)
	defer cancel()
	return core.RecoverContact(ctx, d.Store, at.ID, at.Contact)
}
