package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
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
	id, now, limit := r.id, r.d.clock.Now(), r.d.cfg.CommitTimeout
	switch e := effect.(type) {
	case core.Load:
		r.load(e)
	case core.ReadContact:
		d, self := r.d, r.self
		read := func() {
			ctx, cancel := context.WithTimeout(d.ctx, limit)
			defer cancel()
			a := &core.ContactRead{Contact: e.Contact}
			a.Row, a.OK, a.Err = d.store.ContactByID(ctx, e.Contact)
			d.root.Send(self, a)
		}
		if e.After > 0 {
			time.AfterFunc(e.After, read)
		} else {
			go read()
		}
	case core.ReadDue:
		r.outside(limit, func(ctx context.Context, d *deps) any { return d.readDue(ctx, id, e, now) })
	case core.ReadOverdue:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			rows, err := d.store.ResultsOverdue(ctx, id, now, overduePage)
			if err != nil {
				rows = nil // asked again in a moment
			}
			return &core.OverdueRead{Read: e.Read, Rows: rows}
		})
	case core.FindContacts:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			a := &core.ContactsFound{Read: e.Read, Op: e.Op}
			if e.Number == "" {
				a.Rows, a.Err = d.store.ContactsMatching(ctx, id, e.Match)
				return a
			}
			row, ok, err := d.store.ContactByNumber(ctx, id, e.Number)
			if a.Err = err; err == nil && ok {
				a.Rows = []contact.Contact{row}
			}
			return a
		})
	case core.ReadExcluded:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			a := &core.ExcludedRead{Read: e.Read, Again: e.Again, Left: e.Left}
			a.Rows, a.Err = d.store.ExcludedContacts(ctx, id, numbersOf(e.Again))
			return a
		})
	case core.ReadSuppressed:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			a := &core.SuppressedRead{Read: e.Read, Run: e.Run, Numbers: e.Numbers, After: e.After}
			a.Rows, a.Err = d.store.SuppressedContacts(ctx, id, e.Run, e.Numbers, e.After, e.Limit)
			return a
		})
	case core.FindTrigger:
		r.outside(limit, func(ctx context.Context, d *deps) any { return d.findTrigger(ctx, id, e, now) })
	case core.FindOperated:
		r.outside(limit, func(ctx context.Context, d *deps) any { return d.findOperated(ctx, e) })
	case core.AddContacts:
		// The list itself may take longer: it is given until it is known what became of it.
		r.outside(4*limit, func(_ context.Context, d *deps) any { return d.addRows(id, e) })
	case core.CheckStart:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			a := &core.ActReady{Command: e.Command, Request: e.Request}
			a.Facts, a.Bots, a.Err = d.preflightFacts(ctx, id, e.Run, e.Pool)
			return a
		})
	case core.FetchConfig:
		r.outside(configPatience, func(ctx context.Context, d *deps) any {
			again := *e.Ready
			again.Config = &core.FetchedConfig{Err: errNoConfigs}
			if d.configs != nil {
				again.Config.Document, again.Config.Err = d.configs.FetchConfig(ctx, e.URL)
			}
			again.Config.Document.URL = e.URL
			return &again
		})
	case core.CheckReady:
		r.outside(limit, func(ctx context.Context, d *deps) any { return d.checkReady(ctx, id, e) })
	case core.Prepare:
		r.outside(6*limit, func(ctx context.Context, d *deps) any { return d.prepare(ctx, e, now) })
	case core.ReadBulk:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			a := &core.BulkRead{Seq: e.Seq, Epoch: e.Epoch}
			a.Event, a.Stored, a.Err = d.store.EventAt(ctx, id, e.Seq)
			return a
		})
	case core.ReadOpen:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			open, err := d.store.OpenAttempts(ctx)
			if err != nil {
				return nil // asked again at the next comparison
			}
			return &core.OpenListed{Life: e.Life, Open: open}
		})
	case core.Recover:
		d, self := r.d, r.self
		go func() {
			if a := d.recoverContacts(e); a != nil {
				d.root.Send(self, a)
			}
		}()
	case core.SavePacing:
		r.outside(limit, func(ctx context.Context, d *deps) any {
			if err := d.store.SavePacing(ctx, id, e.Epoch, e.State, now); err != nil && !journal.Temporary(err) {
				d.log.Warn().Err(err).Str("campaign_id", string(id)).Msg("what pacing has learnt was not stored; it is tried again")
			}
			return nil
		})
	default:
		return false
	}
	return true
}

// overduePage bounds how many overdue results are read at once.
const overduePage = 256

func numbersOf(list []campaign.NewContact) []engine.PhoneNumber {
	numbers := make([]engine.PhoneNumber, len(list))
	for i := range list {
		numbers[i] = list[i].Number
	}
	return numbers
}

// load takes ownership and reads what is durable. Behind the writer's queue, so that
// nothing queued by an earlier life is missed, and only for the newest life.
func (r *run) load(e core.Load) {
	d, id, self, now, lives := r.d, r.id, r.self, r.d.clock.Now(), r.lives
	go func() {
		lives.one.Lock()
		defer lives.one.Unlock()
		if lives.newest.Load() != r {
			return
		}
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m := &core.Loaded{Life: e.Life, Seats: int(lives.seats.Load())}
		m.Err = d.readCampaign(ctx, id, m, now)
		d.root.Send(self, m)
	}()
}

func (d *deps) readCampaign(ctx context.Context, id engine.CampaignID, m *core.Loaded, now time.Time) (err error) {
	if m.Campaign, err = d.store.AcquireCampaign(ctx, id); err != nil {
		return err
	}
	if m.Counters, err = d.store.Counters(ctx, id, m.Campaign.Run); err != nil {
		return err
	}
	if m.Contacts, err = d.store.RunOfContacts(ctx, id); err != nil {
		return err
	}
	if m.Exclusions, err = d.store.Exclusions(ctx, id); err != nil {
		return err
	}
	if m.Bots, err = d.store.Bots(ctx); err != nil {
		return err
	}
	open, err := d.store.OpenAttempts(ctx)
	if err != nil {
		return err
	}
	watched, err := d.store.OpenLegs(ctx)
	if err != nil {
		return err
	}
	m.Open = core.OfCampaign(id, append(open, watched...))
	d.adoptLegs(ctx, m.Campaign.Epoch, m.Open)
	if m.Suppressed, err = d.suppressedAmong(ctx, m.Open); err != nil {
		return err
	}
	if m.Ledgers, err = loadLedgers(ctx, d.store, &m.Campaign, now); err != nil {
		return err
	}
	learnt, ok, err := d.store.Pacing(ctx, id)
	if err == nil && ok {
		m.Learnt = &learnt
	}
	return err
}

// loadLedgers reads the counts of the guaranteed periods, and those by the hour.
func loadLedgers(ctx context.Context, s Store, c *campaign.Campaign, now time.Time) (l core.Ledgers, err error) {
	l.Books, err = campaign.Books(c, now, func(since time.Time) (pacing.Counts, error) { return s.AbandonLedger(ctx, c.ID, since) })
	if err != nil || c.StartedAt == nil {
		return l, err
	}
	hours, err := s.AbandonHours(ctx, c.ID, now.Add(-pacing.ThirtyDays))
	for hour, c := range hours {
		l.Hours.Put(hour, c)
	}
	return l, err
}

func (d *deps) readDue(ctx context.Context, id engine.CampaignID, e core.ReadDue, now time.Time) *core.DueRead {
	m := &core.DueRead{Open: -1}
	if m.Rows, m.Err = d.store.DueContacts(ctx, id, e.Run, e.Order, e.Limit, e.Except); m.Err != nil {
		return m
	}
	if m.Err = d.lookForAbandons(ctx, m.Rows, now); m.Err != nil || len(m.Rows) >= e.Limit {
		return m
	}
	m.Next, m.Open, m.Err = d.store.NextDue(ctx, id, e.Run)
	if m.Err == nil && m.Open == 0 && e.Ends { // all of it is durable then
		m.Exhausted, m.Err = d.store.Exhausted(ctx, id, e.Run)
	}
	return m
}

// lookForAbandons notes which of the contacts' numbers were abandoned in the last 72
// hours.
func (d *deps) lookForAbandons(ctx context.Context, rows []contact.Contact, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	numbers := make([]engine.PhoneNumber, len(rows))
	for i := range rows {
		numbers[i] = rows[i].Number
	}
	found, err := d.store.AbandonedSince(ctx, numbers, now.Add(-pacing.SeatedAfterAbandon))
	for n, at := range found {
		d.abandons.add(n, at, now)
	}
	return err
}

// findTrigger asks all that a trigger must know at once: who triggers waits for one
// answer.
func (d *deps) findTrigger(ctx context.Context, id engine.CampaignID, e core.FindTrigger, now time.Time) *core.TriggerFound {
	cmd := &e.Command
	f := &core.TriggerFound{Read: e.Read, Command: e.Command, Request: e.Request, Importing: e.Importing, Live: e.Live}
	var all sync.WaitGroup
	var answered bool
	var suppressed map[engine.PhoneNumber]journal.Suppression
	var errReply, errSuppressed, errAbandons error
	if cmd.Idempotency.Present() && !e.Unanswered {
		all.Go(func() { _, answered, errReply = d.store.FindReply(ctx, cmd.Idempotency) })
	}
	if !e.Live {
		all.Go(func() { suppressed, errSuppressed = d.store.Suppressed(ctx, cmd.Number) })
		all.Go(func() { errAbandons = d.lookForAbandons(ctx, []contact.Contact{{Number: cmd.Number}}, now) })
		f.Row, f.OK, f.Err = d.store.ContactByNumber(ctx, id, cmd.Number)
	}
	all.Wait()
	switch {
	case answered:
		f.Err = journal.ErrReplyExists
	case errReply == nil && len(suppressed) > 0:
		f.Err = journal.ErrSuppressed
	default:
		f.Err = errors.Join(f.Err, errReply, errSuppressed, errAbandons)
	}
	if f.Err == nil && !f.OK && !e.Live && e.Importing != "" {
		f.Staged, f.Err = d.store.StagedNumber(ctx, e.Importing, cmd.Number)
	}
	return f
}

func (d *deps) findOperated(ctx context.Context, e core.FindOperated) *core.OperateFound {
	f := &core.OperateFound{Read: e.Read, Command: e.Command, Request: e.Request}
	f.Row, f.OK, f.Err = d.store.ContactByID(ctx, e.Command.Contact)
	f.OK = f.OK && f.Row.Campaign == e.Command.Campaign
	if e.Calls && f.OK && f.Err == nil {
		var suppressed map[engine.PhoneNumber]journal.Suppression
		if suppressed, f.Err = d.store.Suppressed(ctx, f.Row.Number); f.Err == nil && len(suppressed) > 0 {
			f.Err = journal.ErrSuppressed
		}
	}
	return f
}

func (d *deps) addRows(id engine.CampaignID, e core.AddContacts) *core.RowsAdded {
	list := &addition{d: d, ins: e.Insert, became: e.Became, batch: e.Batch}
	rep, err := list.store()
	ev := e.Insert.Event
	ev.Data.Count = rep.Added
	m := &core.RowsAdded{Read: e.Read, Request: e.Request, Report: rep, Batch: list.reply, Command: e.Command, Epoch: e.Insert.Epoch,
		Lifting: e.Lifting, Event: ev, Err: err}
	if err == nil && e.Lifting && rep.Duplicates > 0 {
		ctx, cancel := context.WithTimeout(d.ctx, 2*d.cfg.CommitTimeout)
		defer cancel()
		m.Again, m.Err = d.store.ExcludedContacts(ctx, id, numbersOf(e.Command.Contacts))
		m.Report.Readmitted = len(m.Again)
	}
	return m
}

// preflightFacts reads what decides whether a campaign may start.
func (d *deps) preflightFacts(ctx context.Context, id engine.CampaignID, run int, pool []engine.PhoneNumber) (f campaign.PreflightFacts, bots []engine.Bot, err error) {
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
	_, f.OpenContacts, err = d.store.NextDue(ctx, id, run)
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

func (d *deps) prepare(ctx context.Context, e core.Prepare, now time.Time) *core.Prepared {
	id, n := e.Campaign.ID, e.Campaign.Run
	m := &core.Prepared{Of: e.Of}
	switch of := e.Of.(type) {
	case campaign.ResetContacts:
		m.Err = d.store.ResetContacts(ctx, id, n, of.Unreached, now, e.Event)
	case campaign.RestoreContacts:
		m.Err = d.store.RestoreContacts(ctx, id, n, e.Event)
	case campaign.Remove:
		m.Err = d.store.RemoveCampaign(ctx, id, of.Who)
		return m
	}
	if m.Err == nil {
		m.Counters, m.Err = d.store.Counters(ctx, id, n)
	}
	if _, restored := e.Of.(campaign.RestoreContacts); restored && m.Err == nil {
		m.Ledgers, m.Err = loadLedgers(ctx, d.store, &e.Campaign, now)
	}
	return m
}

// recoverContacts reads the contacts of attempts that nobody has, however long that
// takes; nil when the tree ends meanwhile.
func (d *deps) recoverContacts(e core.Recover) *core.Recovered {
	m := &core.Recovered{Life: e.Life}
	for _, at := range e.Lost {
		for {
			row, at, ok, err := d.recoverContact(at)
			if err == nil {
				if ok {
					m.Rows = append(m.Rows, core.RecoveredContact{Row: row, Attempt: at})
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

func (d *deps) recoverContact(at attempt.Attempt) (row contact.Contact, now attempt.Attempt, ok bool, err error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
	defer cancel()
	if row, ok, err = d.store.ContactByID(ctx, at.Contact); err != nil {
		return row, at, false, err
	}
	// It may have ended since it was listed.
	now, still, err := d.store.Attempt(ctx, at.ID)
	return row, now, ok && still && (now.State != attempt.Ended || now.OpenLeg()), err
}
