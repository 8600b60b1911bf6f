package run

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// played is a world that serves a run correctly, but at its own pace: rapid draws the order in
// which pending answers arrive, and any request may be refused.
type played struct {
	*world
	rt       *rapid.T
	rows     map[engine.ContactID]contact.Contact // as stored
	bulks    map[int64]journal.Event              // results of writes to all contacts
	writer   []func()                             // the writer's pending work, in order
	answers  []func()                             // answers in progress, in any order
	actors   map[engine.ContactID]*actor
	trunk    map[engine.LegID]string // state of each grant
	number   map[engine.AttemptID]string
	open     map[engine.Request]string // requests that have not been answered
	excluded map[engine.PhoneNumber]bool
	twin     *State // gets the same inputs, and is serialised and read back now and then
	calm     bool   // nothing is refused any more
}

func newPlayed(rt *rapid.T, contacts int, change ...func(*Loaded)) *played {
	p := &played{world: empty(rt), rt: rt, rows: map[engine.ContactID]contact.Contact{},
		bulks:  map[int64]journal.Event{},
		actors: map[engine.ContactID]*actor{}, trunk: map[engine.LegID]string{}, number: map[engine.AttemptID]string{},
		open: map[engine.Request]string{}, excluded: map[engine.PhoneNumber]bool{}}
	p.twin = New("cmp", p.s.Config)
	every := rapid.IntRange(1, 20).Draw(rt, "written down every")
	p.onApply = func(in Input, effects []Effect) {
		if p.given%every == 0 {
			p.twin = readBack(rt, p.twin)
		}
		twin, err := p.twin.Apply(in, nil)
		if a, b := dump(effects), dump(twin); a != b || err != nil {
			rt.Fatalf("%T: the same input has other effects: %v\n%s\n%s", in.Event, err, a, b)
		}
		p.check()
	}
	for _, c := range p.world.rows(contacts) {
		p.rows[c.ID] = c
	}
	p.load(change...)
	p.serve()
	return p
}

func (p *played) yes(what string, percent int) bool {
	return p.calm || rapid.IntRange(0, 99).Draw(p.rt, what) < percent
}

// ask records that a request waits for its answer.
func (p *played) ask(what string, event any) {
	r := engine.Request(fmt.Sprint("request-", p.asked+1))
	p.open[r] = what
	p.world.ask(event)
	p.serve()
}

// tell gives the run an event and handles the effects.
func (p *played) tell(event any) {
	p.do(event)
	p.serve()
}

// serve accepts the run's effects and schedules them.
func (p *played) serve() {
	for len(p.out) > 0 {
		e := p.out[0]
		p.out = p.out[1:]
		p.take(e)
	}
	p.owed = nil // the writer has them
}

func (p *played) write(f func()) { p.writer = append(p.writer, f) }
func (p *played) later(f func()) { p.answers = append(p.answers, f) }

func (p *played) take(e Effect) {
	switch e := e.(type) {
	case Reply:
		p.answered(e.Request)
	case Spawn:
		p.spawn(e)
	case Tell:
		if a := p.actors[e.Contact]; a != nil {
			a.inbox = append(a.inbox, e.Command)
		}
	case CallRoster:
		p.later(func() { p.tell(&RosterCalled{Life: e.Life}) })
	case PassOn:
		p.write(func() {
			a := p.actors[e.Contact]
			if list := p.byNumber(e.Write.Contacts[0].Number); len(list) > 0 && list[0].ID != e.Contact {
				p.tell(&WriteRefused{e.Write, journal.ErrContactExists})
				if a != nil {
					a.refused()
				}
				return
			}
			p.store(e.Write)
			if a != nil {
				a.written()
			}
		})
	case Write:
		p.write(func() { p.writes(e) })
	case Fence:
		p.write(func() { p.tell(&Durable{e.Ticket}) })
	case ReserveTrunks, ReleaseTrunk, ReserveNumbers, ReleaseNumber, DemandSeats:
		p.leases(e)
	case ReadContact, ReadDue, ReadOverdue, ReadExpired, FindContacts, ReadExcluded, ReadSuppressed, FindTrigger,
		AddContacts, CheckStart, Prepare, ReadBulk:
		p.later(func() { p.tables(e) })
	}
}

// answered counts the replies to a request.
func (p *played) answered(r engine.Request) {
	if r == "" {
		return
	}
	if _, ok := p.open[r]; !ok {
		p.rt.Fatalf("%s is answered again", r)
	}
	delete(p.open, r)
}

// leases grants, refuses and takes back leases.
func (p *played) leases(e Effect) {
	move := func(what, from, to string) {
		if from != "granted" {
			p.rt.Fatalf("%s is given back, it was %q", what, from)
		}
	}
	switch e := e.(type) {
	case ReserveTrunks:
		p.later(func() {
			m := &TrunksReserved{Round: e.Round, Legs: e.Legs, Constraint: engine.ConstraintTrunkCPS}
			for _, leg := range e.Legs {
				t := engine.TrunkID("")
				if p.yes("trunk", 80) {
					t, p.trunk[leg] = "trunk", "granted"
				}
				m.Trunks, m.Media, m.Validity = append(m.Trunks, t), append(m.Media, nil), append(m.Validity,
					call.Validity{})
			}
			p.tell(m)
		})
	case ReleaseTrunk:
		move(string(e.Leg), p.trunk[e.Leg], "released")
		p.trunk[e.Leg] = "released"
	case ReserveNumbers:
		p.later(func() {
			m := &NumbersReserved{Round: e.Round}
			for _, x := range e.Want {
				g := NumberGrant{Attempt: x.Attempt, Constraint: engine.ConstraintNumberPool}
				if p.yes("number", 80) {
					g.From, p.number[x.Attempt] = "+4930100", "granted"
				}
				m.Got = append(m.Got, g)
			}
			p.tell(m)
		})
	case ReleaseNumber:
		move(string(e.Attempt), p.number[e.Attempt], "released")
		p.number[e.Attempt] = "released"
	case DemandSeats:
		p.later(func() {
			n := min(e.Want, 6)
			p.tell(&SeatsAllotted{Bot: "bot", Seats: n, Target: n, N: e.N})
		})
	}
}

// tables answers from what is stored.
func (p *played) tables(e Effect) {
	switch e := e.(type) {
	case ReadContact:
		if !p.yes("read", 90) {
			p.tell(&ContactRead{Contact: e.Contact, Err: errDown})
			return
		}
		c, ok := p.rows[e.Contact]
		p.tell(&ContactRead{Contact: e.Contact, Row: c, OK: ok})
	case ReadDue:
		p.tell(p.dueRead(e))
	case ReadOverdue:
		p.tell(&OverdueRead{Read: e.Read, All: e.All})
	case ReadExpired:
		p.tell(p.expiredRead(e))
	case FindContacts:
		p.tell(&ContactsFound{Read: e.Read, Op: e.Op, Rows: p.byNumber(e.Number)})
	case ReadExcluded:
		m := &ExcludedRead{Read: e.Read, Again: e.Again, Left: e.Left}
		for _, a := range e.Again {
			for _, c := range p.byNumber(a.Number) {
				if c.State == contact.Excluded {
					m.Rows = append(m.Rows, c)
				}
			}
		}
		p.tell(m)
	case ReadSuppressed:
		p.tell(&SuppressedRead{Read: e.Read, Run: e.Run, Numbers: e.Numbers})
	case FindTrigger:
		m := &TriggerFound{Read: e.Read, Request: e.Request, Command: e.Command, Live: e.Live, Importing: e.Importing}
		if list := p.byNumber(e.Command.Number); len(list) > 0 && !e.Live {
			m.Row, m.OK = list[0], true
		}
		if !p.yes("found", 90) {
			m.Err = errDown
		}
		p.tell(m)
	case AddContacts:
		p.add(e)
	case CheckStart:
		p.tell(&ActReady{Command: e.Command, Request: e.Request, Facts: facts(), Bots: []engine.Bot{{ID: "bot",
			Active: true, Seats: 100}}})
	case Prepare:
		if !p.yes("prepared", 80) {
			p.tell(&Prepared{Of: e.Of, Err: errDown})
			return
		}
		for id, c := range p.rows {
			due := p.now
			c.Run, c.State, c.Used, c.Attempt = e.Campaign.Run, contact.Pending, 0, ""
			c.DueAt, c.DueClass = &due, contact.DueFirst
			p.rows[id] = c
		}
		p.tell(&Prepared{Of: e.Of, Counters: campaign.Counters{Total: len(p.rows)}})
	case ReadBulk:
		ev, ok := p.bulks[e.Seq]
		p.tell(&BulkRead{Seq: e.Seq, Epoch: e.Epoch, Stored: ok, Event: ev})
	}
}

// sorted lists the stored contacts in a fixed order.
func (p *played) sorted() (list []contact.Contact) {
	for _, c := range p.rows {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b contact.Contact) int { return int(a.Position - b.Position) })
	return list
}

func (p *played) byNumber(n engine.PhoneNumber) (list []contact.Contact) {
	for _, c := range p.sorted() {
		if c.Number == n {
			list = append(list, c)
		}
	}
	return list
}

func (p *played) dueRead(e ReadDue) *DueRead {
	m := &DueRead{}
	for _, c := range p.sorted() {
		if !c.Open() {
			continue
		}
		m.Open++
		switch {
		case c.DueAt == nil || c.Attempt != "" || slices.Contains(e.Except, c.ID):
		case c.DueAt.After(p.now):
			if m.Next == nil || c.DueAt.Before(*m.Next) {
				m.Next = c.DueAt
			}
		case len(m.Rows) < e.Limit:
			m.Rows = append(m.Rows, c)
		}
	}
	if len(m.Rows) == e.Limit {
		m.Open = -1
	}
	return m
}

func (p *played) expiredRead(e ReadExpired) *ExpiredRead {
	m := &ExpiredRead{Read: e.Read, Run: e.Run}
	for _, c := range p.sorted() {
		switch {
		case !c.Open() || c.DueAt == nil || c.Attempt != "" || c.ExpiresAt == nil:
		case !c.Expired(p.now):
			if m.Next == nil || c.ExpiresAt.Before(*m.Next) {
				m.Next = c.ExpiresAt
			}
		default:
			m.Rows = append(m.Rows, c)
		}
	}
	return m
}

// times draws what a request says about when its person may be called.
func (p *played) times() (t contact.Times) {
	draw := func(what string) *time.Time {
		d := rapid.IntRange(0, 12).Draw(p.rt, what)
		if d > 6 {
			return nil
		}
		at := p.now.Add(time.Duration(1+d) * time.Second)
		return &at
	}
	t = contact.Times{NotBefore: draw("not before"), ExpiresAt: draw("expires")}
	if len(t.Check(p.now)) > 0 {
		return contact.Times{}
	}
	return t
}

func (p *played) add(e AddContacts) {
	m := &RowsAdded{Read: e.Read, Request: e.Request, Command: e.Command, Epoch: e.Insert.Epoch, Lifting: e.Lifting,
		Event: e.Insert.Event}
	for _, x := range e.Insert.Contacts {
		if list := p.byNumber(x.Number); len(list) > 0 {
			m.Report.Duplicates++
			if list[0].State == contact.Excluded {
				m.Again = append(m.Again, list[0])
			}
			continue
		}
		c := p.row(string(x.ID))
		c.Number, c.Run, c.Position = x.Number, e.Insert.Run, int64(len(p.rows)+1)
		p.rows[c.ID] = c
		m.Report.Added++
	}
	m.Event.Data.Count = m.Report.Added
	p.tell(m)
}

// store makes a write's contacts durable.
func (p *played) store(w *journal.Write) {
	for _, c := range w.Contacts {
		if old, ok := p.rows[c.ID]; !ok || c.Version >= old.Version {
			p.rows[c.ID] = c
		}
	}
	if w.Bulk != nil {
		ev := w.Bulk.Event
		n := 0
		for id, c := range p.rows {
			if c.Open() && c.Attempt == "" && !slices.Contains(w.Bulk.Except, id) {
				c.State, c.DueAt = w.Bulk.To, nil
				p.rows[id] = c
				n++
			}
		}
		ev.Data.Moves = []journal.Move{{Count: n}}
		p.bulks[ev.Seq] = ev
	}
	if w.Retune != nil {
		p.bulks[w.Retune.Event.Seq] = w.Retune.Event
	}
}

// writes handles the run's own writes.
func (p *played) writes(e Write) {
	var err error
	for _, c := range e.Write.Contacts {
		if e.Write.Fresh && len(p.byNumber(c.Number)) > 0 {
			err = journal.ErrContactExists
		}
	}
	if err == nil {
		p.store(e.Write)
	} else if e.Revoke {
		p.tell(&WriteRefused{e.Write, err})
	}
	if e.Then != nil {
		p.tell(&Written{e.Then, err})
	}
}

// step completes one pending action; false when there is none.
func (p *played) step() bool {
	var list []func()
	if len(p.writer) > 0 {
		list = append(list, func() {
			f := p.writer[0]
			p.writer = p.writer[1:]
			f()
		})
	}
	for i := range p.answers {
		list = append(list, func() {
			f := p.answers[i]
			p.answers = slices.Delete(p.answers, i, i+1)
			f()
		})
	}
	for _, id := range p.up() {
		a := p.actors[id]
		if len(a.inbox) > 0 {
			list = append(list, a.hear)
		}
		if len(a.outbox) > 0 {
			list = append(list, a.say)
		}
		if a.playing() {
			list = append(list, a.play)
		}
	}
	if len(list) == 0 {
		return false
	}
	n := 0
	if len(list) > 1 && !p.calm {
		n = rapid.IntRange(0, len(list)-1).Draw(p.rt, "next")
	}
	list[n]()
	return true
}

func (p *played) up() (list []engine.ContactID) {
	for id := range p.actors {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// rest lets everything finish: the campaign is paused, so that nothing new begins.
func (p *played) rest() {
	if p.s.M.C.State == campaign.Running {
		p.ask("pause", act(campaign.ActionPause))
	}
	p.calm = true
	for range 200 {
		for n := 0; p.step(); n++ {
			if n == 20_000 {
				p.rt.Fatal("it never ends")
			}
		}
		if len(p.actors) == 0 && len(p.s.Pending) == 0 && len(p.open) == 0 && len(p.s.Reads) == 0 {
			break
		}
		p.pass2(time.Second)
	}
}

// pass2 lets time pass.
func (p *played) pass2(d time.Duration) {
	p.pass(d)
	p.serve()
}
