package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/run"
)

// --- the writer -------------------------------------------------------------------------

// writer is the group commit: writes that come during a transaction share the next one, in order of
// arrival.
type writer struct {
	p      *process
	queue  []queued
	flying int // number at the queue's head in the transaction in progress; -1 means waiting for a retry
	tries  int // failures in a row
	group  []journal.Write
}

// queued is a write, or a fence when it has none.
type queued struct {
	write   *journal.Write
	contact *contactActor // gets the write's fate, by its step
	callIn  *callIn       // likewise
	step    int
	run     *runner
	revoke  bool              // the run is told of a refusal
	ticket  int64             // of a fence
	then    *run.Continuation // the run is told the write's fate; nil means that it is not
	at      time.Duration
}

// groupCap limits the number of writes in one transaction.
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

// commit begins a transaction. The database completes it some time before the answer arrives: after
// a fault in between it is done, but not known to be.
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
			} else {
				w.check.refused(&x.group[i], refused[i])
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

// done reports the fate of the first n in the queue.
func (x *writer) done(n int, refused []error) {
	p := x.p
	list := slices.Clone(x.queue[:n])
	x.queue = slices.Delete(x.queue, 0, n)
	for i := range list {
		q := &list[i]
		var err error
		if q.write != nil {
			err, refused = refused[0], refused[1:]
			if err != nil && q.revoke {
				again := *q.write
				again.Events = slices.Clone(again.Events) // the writer may reuse its events
				q.run.tell(&run.WriteRefused{Write: &again, Err: err})
			}
		}
		switch {
		case q.callIn != nil:
			p.after(0, q.callIn, &call.Durable{Step: q.step, Err: err})
		case q.write == nil && q.contact != nil:
			p.loadContact(q.contact)
		case q.write == nil:
			q.run.tell(&run.Durable{Ticket: q.ticket})
		case q.contact != nil:
			p.after(0, q.contact, &call.Durable{Step: q.step, Err: err})
		case q.then != nil:
			q.run.tell(&run.Written{Then: q.then, Err: err})
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

// probe checks whether the database is available again.
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

var errDatabaseAway error = engine.Unavailable("database_unavailable", "the database does not answer; try again",
	time.Second)

// put sends a query to the store; read is given the reason why it cannot be answered, or nil. The
// store reads at one moment, and its answer arrives later.
func (p *process) put(to receiver, read func(err error) any) {
	w := p.w
	var err error
	takes := w.delay(4 * time.Millisecond)
	if w.dbAway > 0 {
		takes, err = 200*time.Millisecond+w.delay(2*time.Second), errDatabaseAway
	}
	p.do(takes, func() {
		if event := read(err); event != nil {
			p.after(w.delay(4*time.Millisecond), to, event)
		}
	})
}

// ask sends a query of the run; false if the effect is not a query.
func (r *runner) ask(effect run.Effect) bool {
	p, w := r.p, r.p.w
	switch e := effect.(type) {
	case run.ReadContact:
		p.do(e.After, func() { r.put(e) })
	case run.AddContacts:
		r.addContacts(e)
	case run.CheckStart:
		p.put(r, func(err error) any {
			m := &run.ActReady{Command: e.Command, Request: e.Request, Err: err}
			m.Facts, m.Bots = r.preflight(e.Run, e.Pool)
			return m
		})
	case run.CheckReady:
		p.put(r, func(err error) any {
			m := &run.PreflightReady{Request: e.Request, Seats: w.seats, Free: max(p.fleet.Free(), 0), Err: err}
			m.Facts, m.Bots = r.preflight(e.Run, e.Settings.Numbers)
			m.Outlook, _ = w.store.Outlook(background, r.c.id, e.Run, w.wall())
			return m
		})
	case run.Recover:
		r.recover(e)
	default:
		if !run.AsksTables(effect) {
			return false
		}
		r.put(effect)
	}
	return true
}

// put sends a query that the tables answer.
func (r *runner) put(e run.Effect) {
	life, asked := r.state, run.Asked{Campaign: r.c.id, Question: e, At: r.p.w.wall(), Abandoned: r.p.noteAbandon}
	r.p.put(r, func(err error) any {
		if _, load := e.(run.Load); load && r.state != life {
			return nil // a run that crashed while it loaded must not take the campaign over
		}
		if err != nil {
			return run.Unanswered(e, err)
		}
		event, _ := asked.Answer(background, r.p.w.store)
		if m, ok := event.(*run.Loaded); ok {
			m.Seats = r.asked
		}
		return event
	})
}

func (p *process) noteAbandon(n engine.PhoneNumber, at time.Time) {
	if at.After(p.abandoned[n]) {
		p.abandoned[n] = at
	}
}

func (r *runner) preflight(n int, pool []engine.PhoneNumber) (f campaign.PreflightFacts, bots []engine.Bot) {
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
	f.Callable, _ = w.store.Callable(background, r.c.id, n, w.wall())
	bots, _ = w.store.Bots(background)
	return f, bots
}

// addContacts stores a list, and repeats that until the result is known.
func (r *runner) addContacts(e run.AddContacts) {
	s := r.p.w.store
	r.p.put(r, func(err error) any {
		if err != nil {
			r.addContacts(e)
			return nil
		}
		report, err := s.AddContacts(background, e.Insert)
		return e.Added(background, s, r.c.id, report, err)
	})
}

// recover reads the contacts of attempts without an owner, however long that takes.
func (r *runner) recover(e run.Recover) {
	r.p.put(r, func(err error) any {
		if err != nil {
			r.p.do(time.Second, func() { r.recover(e) })
			return nil
		}
		m := &run.Recovered{Life: e.Life}
		for i := range e.Lost {
			if x, ok, _ := run.RecoverContact(background, r.p.w.store, e.Lost[i].ID, e.Lost[i].Contact); ok {
				m.Rows = append(m.Rows, x)
			}
		}
		return m
	})
}

// loadContact reads what a restarted contact resumes from.
func (p *process) loadContact(a *contactActor) {
	id := a.core.Machine.C.ID
	p.put(a, func(err error) any {
		if err != nil {
			return &call.ContactLoaded{Err: err}
		}
		return call.ReadContact(background, p.w.store, id)
	})
}

// fetchAttempt reads the attempt that a result is about.
func (p *process) fetchAttempt(a callShell, e *call.FetchAttempt) {
	p.put(a, func(err error) any {
		if err != nil {
			return e.Unread(err)
		}
		return e.Read(background, p.w.store)
	})
}
