package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
	"dialler/engine/run"
)

// --- the writer -------------------------------------------------------------------------

// writer is the group commit: what comes while a transaction is under way shares the
// next one, in the order in which it came.
type writer struct {
	p      *process
	queue  []queued
	flying int // of the queue's head, in the transaction under way; -1: the next try waits
	tries  int // that failed, one after the other
	group  []journal.Write
}

// queued is a write, or a fence when it has none.
type queued struct {
	write   *journal.Write
	contact *contactActor // that hears what became of it, by its step
	step    int
	run     *runner
	revoke  bool  // the run hears of a refusal
	ticket  int64 // the run hears what became of it; 0: it does not
	at      time.Duration
}

// groupCap bounds how many writes share one transaction.
const groupCap = 512

func (x *writer) submit(q queued) {
	q.at = x.p.w.now
	x.queue = append(x.queue, q)
	x.commit()
}

// late is for how long the oldest write has waited.
func (x *writer) late() time.Duration {
	for i := range x.queue {
		if x.queue[i].write != nil {
			return x.p.w.now - x.queue[i].at
		}
	}
	return 0
}

// commit begins a transaction. The database has it some time before that is heard:
// what goes wrong in between leaves it done, and not known to be.
func (x *writer) commit() {
	if x.flying != 0 || len(x.queue) == 0 {
		return
	}
	w, p := x.p.w, x.p
	x.group = x.group[:0]
	n := 0
	for n < len(x.queue) && len(x.group) < groupCap {
		if q := &x.queue[n]; q.write != nil {
			x.group = append(x.group, *q.write)
		}
		n++
	}
	x.flying = n
	if len(x.group) == 0 {
		x.flying = 0
		x.done(n, nil)
		return
	}
	takes := w.commit
	var refused []error
	err := errDatabaseAway
	p.do(takes*7/10, func() {
		if w.dbAway > 0 {
			return
		}
		refused, err = w.store.Commit(background, x.group)
		if err != nil {
			w.check.broke(nil, "the store did not take a group of writes: %v", err)
			return
		}
		for i := range x.group {
			if refused[i] == nil {
				w.check.durable(&x.group[i])
			}
		}
	})
	p.do(takes, func() {
		x.flying = 0
		if err != nil || w.dbAway > 0 {
			x.failed()
			return
		}
		x.tries = 0
		p.databaseDown(false)
		x.done(n, refused)
	})
}

// failed tries again.
func (x *writer) failed() {
	if x.tries++; x.tries > 1 {
		x.p.databaseDown(true)
	}
	x.flying = -1
	x.p.do(min(50*time.Millisecond<<min(x.tries, 5), time.Second), func() {
		x.flying = 0
		x.commit()
	})
}

// done tells what became of the first n of the queue.
func (x *writer) done(n int, refused []error) {
	p := x.p
	list := slices.Clone(x.queue[:n])
	rest := copy(x.queue, x.queue[n:])
	clear(x.queue[rest:])
	x.queue = x.queue[:rest]
	for i := range list {
		q := &list[i]
		var err error
		if q.write != nil {
			err, refused = refused[0], refused[1:]
			if err != nil && q.revoke {
				again := *q.write
				again.Events = slices.Clone(again.Events) // who wrote it may write its events again
				q.run.tell(&run.WriteRefused{Write: &again})
			}
		}
		switch {
		case q.write == nil && q.contact != nil:
			p.loadContact(q.contact)
		case q.write == nil:
			q.run.tell(&run.Durable{Ticket: q.ticket})
		case q.contact != nil:
			p.after(0, q.contact, &call.Durable{Step: q.step, Err: err})
		case q.ticket != 0:
			q.run.tell(&run.Written{Ticket: q.ticket, Err: err})
		}
	}
	x.commit()
}

// databaseDown notes whether the database answers and tells the runs.
func (p *process) databaseDown(down bool) {
	if p.dbDown == down {
		return
	}
	p.dbDown = down
	for _, r := range p.runs {
		if r != nil {
			r.tell(&run.DatabaseChanged{})
		}
	}
	if down {
		p.probe()
	}
}

// probe asks the database whether it is back.
func (p *process) probe() {
	p.do(time.Second, func() {
		if p.dbDown && p.w.dbAway == 0 && p.writer.flying == 0 && len(p.writer.queue) == 0 {
			p.databaseDown(false)
		} else if p.dbDown {
			p.probe()
		}
	})
}

// --- questions ---------------------------------------------------------------------------

var errDatabaseAway error = engine.Unavailable("database_unavailable", "the database does not answer; try again", time.Second)

// put puts a question to the store; read is given why it cannot be answered, or nil.
// The store reads at one moment, and its answer arrives at a later one.
func (p *process) put(to receiver, read func(err error) any) {
	w := p.w
	answer := func(d time.Duration, err error) {
		p.do(d, func() {
			if event := read(err); event != nil {
				p.after(w.delay(4*time.Millisecond), to, event)
			}
		})
	}
	if w.dbAway > 0 {
		answer(200*time.Millisecond+w.delay(2*time.Second), errDatabaseAway)
		return
	}
	answer(w.delay(4*time.Millisecond), nil)
}

// overduePage bounds how many overdue results are read at once.
const overduePage = 256

// ask puts a question of the run; false: the effect is none.
func (r *runner) ask(effect run.Effect) bool {
	p, w, s, id, now := r.p, r.p.w, r.p.w.store, r.c.id, r.p.w.wall()
	switch e := effect.(type) {
	case run.Load:
		life := r.state
		p.put(r, func(err error) any {
			if r.state != life {
				return nil // one that crashed while it loaded must not take the campaign over
			}
			m := &run.Loaded{Life: e.Life, Seats: r.asked, Err: err}
			if err == nil {
				m.Err = r.load(m)
			}
			return m
		})
	case run.ReadContact:
		p.do(e.After, func() {
			p.put(r, func(err error) any {
				m := &run.ContactRead{Contact: e.Contact, Err: err}
				if err == nil {
					m.Row, m.OK, m.Err = s.ContactByID(background, e.Contact)
					m.Row = asStored(m.Row)
				}
				return m
			})
		})
	case run.ReadDue:
		p.put(r, func(err error) any { return r.readDue(e, now, err) })
	case run.ReadOverdue:
		p.put(r, func(err error) any {
			m := &run.OverdueRead{Read: e.Read}
			if err == nil {
				m.Rows, _ = s.ResultsOverdue(background, id, now, overduePage)
			}
			return m
		})
	case run.FindContacts:
		p.put(r, func(err error) any {
			m := &run.ContactsFound{Read: e.Read, Op: e.Op, Err: err}
			if err == nil {
				m.Rows = w.contacts(id, e.Number, e.Match)
			}
			return m
		})
	case run.ReadExcluded:
		p.put(r, func(err error) any {
			m := &run.ExcludedRead{Read: e.Read, Again: e.Again, Left: e.Left, Err: err}
			if err == nil {
				m.Rows, m.Err = s.ExcludedContacts(background, id, numbersOf(e.Again))
			}
			return m
		})
	case run.ReadSuppressed:
		p.put(r, func(err error) any {
			m := &run.SuppressedRead{Read: e.Read, Run: e.Run, Numbers: e.Numbers, After: e.After, Err: err}
			if err == nil {
				m.Rows, m.Err = s.SuppressedContacts(background, id, e.Run, e.Numbers, e.After, e.Limit)
			}
			return m
		})
	case run.FindTrigger:
		p.put(r, func(err error) any { return r.findTrigger(e, err) })
	case run.FindOperated:
		p.put(r, func(err error) any {
			m := &run.OperateFound{Read: e.Read, Command: e.Command, Request: e.Request, Err: err}
			if err != nil {
				return m
			}
			m.Row, m.OK, m.Err = s.ContactByID(background, e.Command.Contact)
			m.Row = asStored(m.Row)
			if e.Calls && m.OK && w.suppressed(m.Row.Number) {
				m.Err = journal.ErrSuppressed
			}
			return m
		})
	case run.AddContacts:
		r.addContacts(e)
	case run.CheckStart:
		p.put(r, func(err error) any {
			m := &run.ActReady{Command: e.Command, Request: e.Request, Bots: w.bots(), Err: err}
			if err == nil {
				m.Facts = r.preflight(e.Run, e.Pool)
			}
			return m
		})
	case run.CheckReady:
		p.put(r, func(err error) any {
			m := &run.PreflightReady{Request: e.Request, Bots: w.bots(), Err: err}
			if err == nil {
				m.Facts = r.preflight(e.Run, e.Settings.Numbers)
				m.Seats, m.Free = w.seats, p.fleet.Free()
				m.Outlook, m.Err = s.Outlook(background, id, e.Run)
			}
			return m
		})
	case run.Prepare:
		p.put(r, func(err error) any { return r.prepare(e, now, err) })
	case run.ReadBulk:
		p.put(r, func(err error) any {
			m := &run.BulkRead{Seq: e.Seq, Epoch: e.Epoch, Err: err}
			if err == nil {
				m.Event, m.Stored, m.Err = s.EventAt(background, id, e.Seq)
			}
			return m
		})
	case run.ReadOpen:
		p.put(r, func(err error) any {
			if err != nil {
				return nil // asked again at the next comparison
			}
			open, _ := s.OpenAttempts(background)
			return &run.OpenListed{Life: e.Life, Open: open}
		})
	case run.Recover:
		r.recover(e)
	case run.SavePacing:
		p.put(r, func(err error) any {
			if err == nil {
				_ = s.SavePacing(background, id, e.Epoch, e.State, now)
			}
			return nil
		})
	default:
		return false
	}
	return true
}

// asStored is a row as a table gives it: without readings of the monotonic clock.
func asStored(c contact.Contact) contact.Contact {
	for _, t := range []**time.Time{&c.DueAt, &c.ResultDueAt, &c.CallbackAt} {
		if *t != nil {
			at := (*t).Round(0)
			*t = &at
		}
	}
	return c
}

func numbersOf(list []campaign.NewContact) []engine.PhoneNumber {
	numbers := make([]engine.PhoneNumber, len(list))
	for i := range list {
		numbers[i] = list[i].Number
	}
	return numbers
}

func (w *campaignWorld) bots() []engine.Bot {
	return []engine.Bot{{ID: botID, Name: "bot", Active: true, Seats: w.seats, Endpoints: []string{"ws://bot"}}}
}

func (w *campaignWorld) suppressed(n engine.PhoneNumber) bool {
	found, _ := w.store.Suppressed(background, n)
	return len(found) > 0
}

// contacts finds those of a campaign with a number, or else with some variables.
func (w *campaignWorld) contacts(id engine.CampaignID, n engine.PhoneNumber, match map[string]string) (rows []contact.Contact) {
	if n == "" {
		rows, _ = w.store.ContactsMatching(background, id, match)
	} else if row, ok, _ := w.store.ContactByNumber(background, id, n); ok {
		rows = append(rows, row)
	}
	for i := range rows {
		rows[i] = asStored(rows[i])
	}
	return rows
}

// load takes ownership and reads what is durable.
func (r *runner) load(m *run.Loaded) (err error) {
	s, id, now := r.p.w.store, r.c.id, r.p.w.wall()
	if m.Campaign, err = s.AcquireCampaign(background, id); err != nil {
		return err
	}
	m.Counters, _ = s.Counters(background, id, m.Campaign.Run)
	m.Contacts, _ = s.RunOfContacts(background, id)
	m.Exclusions, _ = s.Exclusions(background, id)
	m.Bots = r.p.w.bots()
	open, _ := s.OpenAttempts(background)
	watched, _ := s.OpenLegs(background)
	m.Open = run.OfCampaign(id, append(open, watched...))
	to := make([]engine.PhoneNumber, len(m.Open))
	for i := range m.Open {
		to[i] = m.Open[i].To
	}
	m.Suppressed, _ = s.Suppressed(background, to...)
	if m.Ledgers, err = r.ledgers(&m.Campaign, now); err != nil {
		return err
	}
	if learnt, ok, _ := s.Pacing(background, id); ok {
		m.Learnt = &learnt
	}
	return nil
}

func (r *runner) ledgers(c *campaign.Campaign, now time.Time) (l run.Ledgers, err error) {
	s := r.p.w.store
	l.Books, err = campaign.Books(c, now, func(since time.Time) (pacing.Counts, error) { return s.AbandonLedger(background, c.ID, since) })
	if err != nil || c.StartedAt == nil {
		return l, err
	}
	hours, err := s.AbandonHours(background, c.ID, now.Add(-pacing.ThirtyDays))
	for hour, n := range hours {
		l.Hours.Put(hour, n)
	}
	return l, err
}

func (r *runner) readDue(e run.ReadDue, now time.Time, err error) *run.DueRead {
	p, s, id := r.p, r.p.w.store, r.c.id
	m := &run.DueRead{Open: -1, Err: err}
	if err != nil {
		return m
	}
	m.Rows, _ = s.DueContacts(background, id, e.Run, e.Order, e.Limit, e.Except)
	numbers := make([]engine.PhoneNumber, len(m.Rows))
	for i := range m.Rows {
		m.Rows[i] = asStored(m.Rows[i])
		numbers[i] = m.Rows[i].Number
	}
	p.noteAbandons(now, numbers...)
	if len(m.Rows) >= e.Limit {
		return m
	}
	if m.Next, m.Open, m.Err = s.NextDue(background, id, e.Run); m.Err == nil && m.Open == 0 && e.Ends {
		m.Exhausted, m.Err = s.Exhausted(background, id, e.Run)
	}
	return m
}

// noteAbandons asks which of the numbers were abandoned in the last 72 hours.
func (p *process) noteAbandons(now time.Time, numbers ...engine.PhoneNumber) {
	found, _ := p.w.store.AbandonedSince(background, numbers, now.Add(-pacing.SeatedAfterAbandon))
	for n, at := range found {
		if at.After(p.abandoned[n]) {
			p.abandoned[n] = at
		}
	}
}

func (r *runner) findTrigger(e run.FindTrigger, err error) *run.TriggerFound {
	p, s, cmd := r.p, r.p.w.store, &e.Command
	m := &run.TriggerFound{Read: e.Read, Command: e.Command, Request: e.Request, Importing: e.Importing, Live: e.Live, Err: err}
	if err != nil {
		return m
	}
	if cmd.Idempotency.Present() && !e.Unanswered {
		if _, answered, _ := s.FindReply(background, cmd.Idempotency); answered {
			m.Err = journal.ErrReplyExists
			return m
		}
	}
	if e.Live {
		return m
	}
	if p.w.suppressed(cmd.Number) {
		m.Err = journal.ErrSuppressed
		return m
	}
	p.noteAbandons(p.w.wall(), cmd.Number)
	if m.Row, m.OK, m.Err = s.ContactByNumber(background, r.c.id, cmd.Number); m.OK {
		m.Row = asStored(m.Row)
	} else if e.Importing != "" {
		m.Staged, m.Err = s.StagedNumber(background, e.Importing, cmd.Number)
	}
	return m
}

func (r *runner) preflight(n int, pool []engine.PhoneNumber) (f campaign.PreflightFacts) {
	p, w := r.p, r.p.w
	for _, t := range p.trunks {
		s := t.Settings()
		f.Trunks, f.CPS, f.Channels = f.Trunks+1, f.CPS+s.CPSCap, f.Channels+s.ChannelCap
	}
	f.Numbers = map[engine.PhoneNumber]numberpool.State{}
	for _, slot := range p.slots {
		if no := slot.Settings().Number; slices.Contains(pool, no) {
			f.Numbers[no] = slot.State(w.mono())
		}
	}
	f.DatabaseDown = p.dbDown
	_, f.OpenContacts, _ = w.store.NextDue(background, r.c.id, n)
	return f
}

// addContacts stores a list; it is given again until it is known what became of it.
func (r *runner) addContacts(e run.AddContacts) {
	p, s := r.p, r.p.w.store
	p.put(r, func(err error) any {
		if err != nil {
			r.addContacts(e)
			return nil
		}
		ev := e.Insert.Event
		m := &run.RowsAdded{Read: e.Read, Request: e.Request, Command: e.Command, Epoch: e.Insert.Epoch, Lifting: e.Lifting}
		m.Report, m.Err = s.AddContacts(background, e.Insert)
		ev.Data.Count = m.Report.Added
		m.Event = ev
		for _, became := range e.Became {
			if became.Status == campaign.RowExcluded {
				m.Report.Excluded++
			}
		}
		if m.Err == nil && e.Lifting && m.Report.Duplicates > 0 {
			m.Again, m.Err = s.ExcludedContacts(background, r.c.id, numbersOf(e.Command.Contacts))
			m.Report.Readmitted = len(m.Again)
		}
		return m
	})
}

func (r *runner) prepare(e run.Prepare, now time.Time, err error) *run.Prepared {
	s, id, n := r.p.w.store, r.c.id, e.Campaign.Run
	m := &run.Prepared{Of: e.Of, Err: err}
	if err != nil {
		return m
	}
	switch of := e.Of.(type) {
	case campaign.ResetContacts:
		m.Err = s.ResetContacts(background, id, n, of.Unreached, now, e.Event)
	case campaign.RestoreContacts:
		if m.Err = s.RestoreContacts(background, id, n, e.Event); m.Err == nil {
			m.Ledgers, m.Err = r.ledgers(&e.Campaign, now)
		}
	case campaign.Remove:
		m.Err = s.RemoveCampaign(background, id, of.Who)
		return m
	}
	if m.Err == nil {
		m.Counters, m.Err = s.Counters(background, id, n)
	}
	return m
}

// recover reads the contacts of attempts that nobody has, however long that takes.
func (r *runner) recover(e run.Recover) {
	r.p.put(r, func(err error) any {
		if err != nil {
			r.p.do(time.Second, func() { r.recover(e) })
			return nil
		}
		m := &run.Recovered{Life: e.Life}
		for i := range e.Lost {
			row, ok, _ := r.p.w.store.ContactByID(background, e.Lost[i].Contact)
			at, still := r.p.w.stored(e.Lost[i].ID)
			if ok && still && (at.State != attempt.Ended || at.OpenLeg()) {
				m.Rows = append(m.Rows, run.RecoveredContact{Row: asStored(row), Attempt: at})
			}
		}
		return m
	})
}

// loadContact reads what a restarted contact goes on from.
func (p *process) loadContact(a *contactActor) {
	id := a.core.Machine.C.ID
	p.put(a, func(err error) any {
		m := &call.ContactLoaded{Err: err}
		if err != nil {
			return m
		}
		row, ok, _ := p.w.store.ContactByID(background, id)
		if !ok {
			m.Err = engine.NotFound("contact_not_found", "the contact is not stored")
			return m
		}
		m.Row = asStored(row)
		if at, ok := p.w.stored(row.Attempt); ok {
			m.Attempt = &at
		}
		return m
	})
}

// fetchAttempt reads the attempt that a result is about.
func (p *process) fetchAttempt(a *contactActor, e *call.FetchAttempt) {
	p.put(a, func(err error) any {
		m := *e.Result
		m.Fetched, m.Attempt, m.Err = true, nil, err
		if at, ok := p.w.stored(e.Attempt); err == nil && ok {
			m.Attempt = &at
		} else if err == nil {
			m.Err = call.ErrCallNotFound
		}
		return &m
	})
}
