package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
	"dialler/engine/trunk"
)

// Questions of a run to the tables, and to others that take their time. Each is put
// outside the actor; its answer comes back as an event.

// outside runs f beside the actor and gives what it returns to the run.
func (r *run) outside(limit time.Duration, f func(context.Context, *deps) any) {
	d, self := r.d, r.self
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, limit)
		defer cancel()
		if event := f(ctx, d); event != nil {
			d.root.Send(self, event)
		}
	}()
}

// ask puts a question; false: the effect is none.
func (r *run) ask(effect core.Effect) bool {
	id, limit := r.id, r.d.cfg.CommitTimeout
	switch e := effect.(type) {
	case core.Load:
		r.load(r.asked(e))
	case core.FindTrigger:
		r.outside(limit, func(ctx context.Context, d *deps) any { return d.findTrigger(ctx, r.asked(e), e) })
	case core.AddContacts:
		r.outside(limit, func(_ context.Context, d *deps) any { return d.addRows(id, e) }) // it takes its time
	case core.CheckStart:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			a := &core.ActReady{Command: e.Command, Request: e.Request}
			a.Facts, a.Bots, a.Err = d.preflightFacts(ctx, id, e.Run, e.Pool)
			return a
		})
	case core.FetchConfig:
		r.outside(configPatience, func(ctx context.Context, d *deps) any { return d.fetchConfig(ctx, e) })
	case core.CheckReady:
		r.outside(limit, func(ctx context.Context, d *deps) any { return d.checkReady(ctx, id, e) })
	case core.Recover:
		d, self := r.d, r.self
		go func() {
			if a := d.recoverContacts(e); a != nil {
				d.root.Send(self, a)
			}
		}()
	case core.ReadContact:
		time.AfterFunc(e.After, func() { r.answer(r.asked(e), limit) })
	case core.Prepare:
		r.answer(r.asked(e), 6*limit)
	default:
		if !core.AsksTables(effect) {
			return false
		}
		r.answer(r.asked(effect), limit)
	}
	return true
}

// asked is a question that is put now.
func (r *run) asked(question core.Effect) *core.Asked {
	d, now := r.d, r.d.clock.Now()
	return &core.Asked{Campaign: r.id, Question: question, At: now,
		Abandoned: func(n engine.PhoneNumber, at time.Time) { d.abandons.add(n, at, now) }}
}

// answer has the tables answer a question.
func (r *run) answer(q *core.Asked, limit time.Duration) {
	r.outside(limit, func(ctx context.Context, d *deps) any {
		event, _ := q.Answer(ctx, d.store)
		return event
	})
}

// load takes ownership and reads what is durable, for the newest life only.
func (r *run) load(q *core.Asked) {
	d, self, lives := r.d, r.self, r.lives
	go func() {
		lives.one.Lock()
		defer lives.one.Unlock()
		if lives.newest.Load() != r {
			return
		}
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		event, _ := q.Answer(ctx, d.store)
		if m, ok := event.(*core.Loaded); ok {
			m.Seats = int(lives.seats.Load())
			if m.Err == nil {
				d.adoptLegs(ctx, m.Campaign.Epoch, m.Open)
			}
		}
		d.root.Send(self, event)
	}()
}

// findTrigger asks all that a trigger must know at once: who triggers waits for one
// answer.
func (d *deps) findTrigger(ctx context.Context, q *core.Asked, e core.FindTrigger) *core.TriggerFound {
	n := e.Command.Number
	var of core.TriggerAnswers
	var errAbandons error
	var all sync.WaitGroup
	if e.AsksReply() {
		all.Go(func() { _, of.Answered, of.Reply = d.store.FindReply(ctx, e.Command.Idempotency) })
	}
	if !e.Live {
		all.Go(func() {
			suppressed, err := d.store.Suppressed(ctx, n)
			of.Suppressed, of.Number = len(suppressed) > 0, err
		})
		all.Go(func() { errAbandons = q.NoteAbandons(ctx, d.store, n) })
		of.Row, of.OK, of.Rows = d.store.ContactByNumber(ctx, q.Campaign, n)
	}
	all.Wait()
	of.Number = errors.Join(of.Number, errAbandons)
	m := e.Found(of)
	if e.AsksStaged(m) {
		m.Staged, m.Err = d.store.StagedNumber(ctx, e.Importing, n)
	}
	return m
}

func (d *deps) fetchConfig(ctx context.Context, e core.FetchConfig) *core.ActReady {
	again := *e.Ready
	again.Config = &core.FetchedConfig{Err: errNoConfigs}
	if d.configs != nil {
		again.Config.Document, again.Config.Err = d.configs.FetchConfig(ctx, e.URL)
	}
	again.Config.Document.URL = e.URL
	return &again
}

func (d *deps) addRows(id engine.CampaignID, e core.AddContacts) *core.RowsAdded {
	list := &addition{d: d, ins: e.Insert, became: e.Became, batch: e.Batch}
	rep, err := list.store()
	ctx, cancel := context.WithTimeout(d.ctx, 2*d.cfg.CommitTimeout)
	defer cancel()
	m := e.Added(ctx, d.store, id, rep, err)
	m.Batch = list.reply
	return m
}

// preflightFacts reads what decides whether a campaign may start.
func (d *deps) preflightFacts(ctx context.Context, id engine.CampaignID, run int,
	pool []engine.PhoneNumber) (f campaign.PreflightFacts, bots []engine.Bot, err error) {
	if bots, err = d.store.Bots(ctx); err != nil {
		return f, nil, err
	}
	trunks, err := d.store.Trunks(ctx)
	if err != nil {
		return f, nil, err
	}
	for _, t := range trunks {
		if t.Active {
			t = trunk.New(t).Settings() // defaults filled in
			f.Trunks, f.CPS, f.Channels = f.Trunks+1, f.CPS+t.CPSCap, f.Channels+t.ChannelCap
		}
	}
	if f.Numbers, err = ask[map[engine.PhoneNumber]numberpool.State](ctx, d, d.numbers, &numberStates{pool}); err != nil {
		return f, nil, err
	}
	f.DatabaseDown, f.Draining, f.Fenced = d.dbDown.Load(), d.draining.Load(), d.fenced()
	f.Callable, err = d.store.Callable(ctx, id, run)
	return f, bots, err
}

func (d *deps) checkReady(ctx context.Context, id engine.CampaignID, e core.CheckReady) *core.PreflightReady {
	m := &core.PreflightReady{Request: e.Request}
	if m.Facts, m.Bots, m.Err = d.preflightFacts(ctx, id, e.Run, e.Settings.Numbers); m.Err != nil {
		return m
	}
	if m.Outlook, m.Err = d.store.Outlook(ctx, id, e.Run); m.Err != nil {
		return m
	}
	groups, err := d.store.WaitingNumbers(ctx, id, e.Run)
	if m.Err = err; err != nil {
		return m
	}
	m.Outlook.Bar(groups, func(to engine.PhoneNumber) error { return d.destinations.judge(to, first(e.Settings.Numbers)) })
	seats, err := ask[seatsLeft](ctx, d, d.fleet, &seatsOf{e.Settings.Bot})
	if m.Err = err; err != nil {
		return m
	}
	m.Seats, m.Free, m.Outage = seats.Seats, seats.Free, seats.Outage
	m.Trunks, m.Err = ask[[]trunk.Candidate](ctx, d, d.trunks, &trunksKnown{})
	return m
}

// first is a caller ID of the pool; the pool's numbers are taken to be of one
// country.
func first(pool []engine.PhoneNumber) engine.PhoneNumber {
	if len(pool) == 0 {
		return ""
	}
	return pool[0]
}

// recoverContacts reads the contacts of attempts that nobody has, however long that
// takes; nil when the tree ends meanwhile.
func (d *deps) recoverContacts(e core.Recover) *core.Recovered {
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
			case <-d.ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
		}
	}
	return m
}

func (d *deps) recoverContact(at attempt.Attempt) (core.RecoveredContact, bool, error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
	defer cancel()
	return core.RecoverContact(ctx, d.store, at.ID, at.Contact)
}
