package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/pacing"
)

// t0 is a Monday morning.
var t0 = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// process stands in for the process that a world's run asks.
type process struct {
	draining, away, fenced, noTrunk bool
	commit, bot                     time.Duration
	seat                            map[engine.PhoneNumber]bool
	owned                           map[engine.AttemptID]bool
}

func (p *process) Draining() bool                                   { return p.draining }
func (p *process) DatabaseAway() bool                               { return p.away }
func (p *process) TrunksDown() bool                                 { return p.noTrunk }
func (p *process) Fenced() bool                                     { return p.fenced }
func (p *process) CommitLate() time.Duration                        { return p.commit }
func (p *process) BotLate(engine.BotID) time.Duration               { return p.bot }
func (p *process) NeedsSeat(n engine.PhoneNumber, _ time.Time) bool { return p.seat[n] }
func (p *process) Carrier(engine.TrunkID) engine.Incarnation        { return 0 }
func (p *process) Owned(a engine.AttemptID) bool                    { return p.owned[a] }

// tester is what a world needs from a test, rapid's included.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

// alarm is a timer that was armed.
type alarm struct {
	Arm
	at time.Time
}

// owed is a pending confirmation of the writer.
type owed struct {
	ticket int64
	then   *Continuation // of a write; nil for a fence
}

// world drives one run without actors, on its own clock. It does nothing by itself: the test
// answers questions, grants leases, makes writes durable, plays the contacts and advances time.
type world struct {
	t       tester
	s       *State
	now     time.Time
	boot    engine.BootTime
	proc    *process
	out     []Effect // since the test last looked
	asked   int
	replies map[engine.Request][]Reply
	alarms  []alarm
	owed    []owed
	given   int  // inputs
	deaf    bool // the run's messages to itself are lost
	onApply func(Input, []Effect)
}

// empty is a world whose run has not been started.
func empty(t tester) *world {
	cfg := Config{Tick: 500 * time.Millisecond, Reconcile: 30 * time.Second, SendBy: 10 * time.Second, LookAhead: 100}
	return &world{t: t, s: New("cmp", cfg), now: t0, boot: engine.BootTime(time.Hour),
		proc:    &process{seat: map[engine.PhoneNumber]bool{}, owned: map[engine.AttemptID]bool{}},
		replies: map[engine.Request][]Reply{}}
}

// stored is a running campaign as stored in the database, with ten workers and a window that is
// always open.
func stored(w *world) *Loaded {
	s := campaign.Defaults()
	s.Name, s.Bot, s.Concurrency, s.Numbers = "test", "bot", 10, []engine.PhoneNumber{"+4930100"}
	start := w.now.Add(-time.Hour)
	midnight := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	return &Loaded{Life: w.s.Life, Contacts: 1, Bots: []engine.Bot{{ID: "bot", Active: true, Seats: 100}},
		Ledgers: Ledgers{Books: pacing.NewBooks(w.now, midnight, start)},
		Campaign: campaign.Campaign{ID: "cmp", Settings: s, State: campaign.Running, Version: 1, Run: 1,
			EverRun: true, Epoch: 7,
			CreatedAt: start, StartedAt: &start, RunningSince: &start}}
}

// loading starts the run up to the question which contacts have an actor.
func loading(t tester, change ...func(*Loaded)) *world {
	w := empty(t)
	w.load(change...)
	return w
}

func (w *world) load(change ...func(*Loaded)) {
	w.do(&Started{Seed: [32]byte{1}})
	w.durable()
	l := stored(w)
	for _, c := range change {
		c(l)
	}
	w.do(l)
}

// ready is a loaded run without contact actors.
func ready(t tester, change ...func(*Loaded)) *world {
	w := loading(t, change...)
	w.do(&RosterCalled{Life: w.s.Life})
	return w
}

func set(f func(*campaign.Settings)) func(*Loaded) {
	return func(l *Loaded) { f(&l.Campaign.Settings) }
}

func in(s campaign.State) func(*Loaded) {
	return func(l *Loaded) {
		l.Campaign.State = s
		if s == campaign.Draft {
			l.Campaign.EverRun, l.Campaign.StartedAt, l.Campaign.RunningSince = false, nil, nil
		}
	}
}

// do gives the run an event without a request.
func (w *world) do(event any) { w.apply(event, "") }

// ask gives the run an event with a request.
func (w *world) ask(event any) engine.Request {
	w.asked++
	from := engine.Request(fmt.Sprint("request-", w.asked))
	w.apply(event, from)
	return from
}

func (w *world) apply(event any, from engine.Request) {
	w.t.Helper()
	w.given++
	in := Input{Now: w.now, Boot: w.boot, From: from, Event: event, Process: w.proc}
	twin := in
	if w.onApply != nil {
		twin.Event = deep(event)
	}
	effects, err := w.s.Apply(in, nil)
	if err != nil {
		w.t.Fatalf("%T: %v", event, err)
	}
	if w.onApply != nil {
		w.onApply(twin, effects)
	}
	var pulse *Pulse
	for _, e := range effects {
		if p, ok := e.(SendPulse); ok && !w.deaf {
			pulse = &Pulse{p.At}
			continue
		}
		w.note(e)
	}
	if pulse != nil {
		w.apply(pulse, "")
	}
}

func (w *world) note(e Effect) {
	w.out = append(w.out, e)
	switch e := e.(type) {
	case Reply:
		w.replies[e.Request] = append(w.replies[e.Request], e)
	case Arm:
		if e.Timer.Single() {
			w.silence(e.Timer)
		}
		w.alarms = append(w.alarms, alarm{e, w.now.Add(e.After)})
	case Disarm:
		w.silence(e.Timer)
	case Fence:
		w.owed = append(w.owed, owed{ticket: e.Ticket})
	case Write:
		if e.Then != nil {
			w.owed = append(w.owed, owed{then: e.Then})
		}
	}
}

func (w *world) silence(t Timer) {
	w.alarms = slices.DeleteFunc(w.alarms, func(a alarm) bool { return a.Timer == t })
}

// pass advances time and fires timers in order.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for {
		first := -1
		for i := range w.alarms {
			if a := &w.alarms[i]; !a.at.After(end) && (first < 0 || a.at.Before(w.alarms[first].at)) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		a := w.alarms[first]
		w.alarms = slices.Delete(w.alarms, first, first+1)
		if a.at.After(w.now) {
			w.goTo(a.at)
		}
		w.do(&TimerFired{a.Timer, a.Epoch, a.Owed})
	}
	w.goTo(end)
}

func (w *world) goTo(t time.Time) {
	w.boot = w.boot.Add(t.Sub(w.now))
	w.now = t
}

// durable makes all writes durable, including those that follow.
func (w *world) durable() {
	w.t.Helper()
	for len(w.owed) > 0 {
		w.confirm(nil)
	}
}

// confirm makes everything up to the next confirmation durable, and sends that confirmation.
func (w *world) confirm(err error) {
	w.t.Helper()
	o := w.owed[0]
	w.owed = w.owed[1:]
	if o.then == nil {
		w.do(&Durable{o.ticket})
	} else {
		w.do(&Written{o.then, err})
	}
}

// sent takes the effects of a type that the test has not seen yet.
func sent[T any](w *world) (list []T) {
	rest := w.out[:0:0]
	for _, e := range w.out {
		if x, ok := e.(T); ok {
			list = append(list, x)
		} else {
			rest = append(rest, e)
		}
	}
	w.out = rest
	return list
}

// one takes the only effect of a type.
func one[T any](w *world) (x T) {
	w.t.Helper()
	list := sent[T](w)
	if len(list) != 1 {
		w.t.Fatalf("%d of %T, want one: %v", len(list), x, list)
		return x
	}
	return list[0]
}

// none checks that there is no effect of a type.
func none[T any](w *world) {
	w.t.Helper()
	if list := sent[T](w); len(list) > 0 {
		w.t.Fatalf("%d of %T, want none: %+v", len(list), list[0], list)
	}
}

// told takes the commands of a type that a contact was given, when its actor was started or later.
func told[T any](w *world, id engine.ContactID) (list []T) {
	for i, e := range w.out {
		switch e := e.(type) {
		case Tell:
			if x, ok := e.Command.(T); ok && e.Contact == id {
				list = append(list, x)
				w.out[i] = nil
			}
		case Spawn:
			if e.Row.ID == id {
				rest := e.First[:0:0]
				for _, c := range e.First {
					if x, ok := c.(T); ok {
						list = append(list, x)
					} else {
						rest = append(rest, c)
					}
				}
				e.First = rest
				w.out[i] = e
			}
		}
	}
	w.out = slices.DeleteFunc(w.out, func(e Effect) bool { return e == nil })
	return list
}

// forget drops the effects so far.
func (w *world) forget() { w.out = nil }

// answer is the only reply to a request.
func (w *world) answer(r engine.Request) Reply {
	w.t.Helper()
	if n := len(w.replies[r]); n != 1 {
		w.t.Fatalf("%d replies to %s, want one: %v", n, r, w.replies[r])
		return Reply{}
	}
	return w.replies[r][0]
}

// refused checks that the reply is an error with that code.
func (w *world) refused(r engine.Request, code string) {
	w.t.Helper()
	if a := w.answer(r); a.Err == nil || engine.ErrorCode(a.Err) != code {
		w.t.Fatalf("%s was answered %+v, %v; want %s", r, a.Value, a.Err, code)
	}
}

// granted checks that the reply is no error, and returns its value.
func granted[T any](w *world, r engine.Request) (value T) {
	w.t.Helper()
	a := w.answer(r)
	if a.Err != nil {
		w.t.Fatalf("%s was refused: %v", r, a.Err)
	}
	if a.Value == nil {
		return value
	}
	return a.Value.(T)
}

// waits checks that there is no reply yet.
func (w *world) waits(r engine.Request) {
	w.t.Helper()
	if list := w.replies[r]; len(list) > 0 {
		w.t.Fatalf("%s was answered: %+v", r, list)
	}
}

// eq checks that two values print alike.
func eq(w *world, what string, got, want any) {
	w.t.Helper()
	g, x := shown(got), shown(want)
	if g != x {
		w.t.Fatalf("%s: %s, want %s", what, g, x)
	}
}

// shown is a value as the test prints it: phone numbers in clear.
func shown(v any) string {
	switch v := v.(type) {
	case engine.PhoneNumber:
		return string(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = shown(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%+v", v)
}

// --- contacts ------------------------------------------------------------------

// row is a contact that is due now.
func (w *world) row(id string) contact.Contact {
	due := w.now
	return contact.Contact{ID: engine.ContactID(id), Campaign: "cmp", Number: phone(id), Run: 1, State: contact.Pending,
		Max: 3, DueAt: &due, DueClass: contact.DueFirst, DuePass: 1, Version: 1}
}

// rows are n of those.
func (w *world) rows(n int) (list []contact.Contact) {
	for i := range n {
		c := w.row(fmt.Sprintf("c%d", i+1))
		c.Position = int64(i + 1)
		list = append(list, c)
	}
	return list
}

// phone is the number of a contact: c7 has +49151000007.
func phone(id string) engine.PhoneNumber {
	return engine.PhoneNumber(fmt.Sprintf("+49151%06s", strings.TrimLeft(id, "c")))
}

// due answers the question for due contacts; more is how many others of the run are open.
func (w *world) due(rows []contact.Contact, more int) {
	w.t.Helper()
	if !w.s.Reading {
		w.t.Fatalf("nobody asks for due contacts")
	}
	w.do(&DueRead{Rows: rows, Open: len(rows) + more})
}

// seats answers the last demand.
func (w *world) seats(n int) {
	w.t.Helper()
	w.do(&SeatsAllotted{Bot: "bot", Seats: n, Target: n, N: w.s.Demands})
}

// trunks answers the reservation: n of its legs get a trunk.
func (w *world) trunks(n int, why engine.Constraint) {
	w.t.Helper()
	r := one[ReserveTrunks](w)
	m := &TrunksReserved{Round: r.Round, Legs: r.Legs, Constraint: why}
	for i := range r.Legs {
		t := engine.TrunkID("")
		if i < n {
			t = "trunk"
		}
		m.Trunks, m.Media, m.Validity = append(m.Trunks, t), append(m.Media, nil), append(m.Validity, call.Validity{})
	}
	w.do(m)
}

// numbers answers the question for caller IDs: n attempts get one.
func (w *world) numbers(n int, why engine.Constraint) {
	w.t.Helper()
	r := one[ReserveNumbers](w)
	m := &NumbersReserved{Round: r.Round}
	for i, x := range r.Want {
		g := NumberGrant{Attempt: x.Attempt, Constraint: why}
		if i < n {
			g.From = "+4930100"
		}
		m.Got = append(m.Got, g)
	}
	w.do(m)
}

// round grants everything that is requested.
func (w *world) round() {
	w.t.Helper()
	w.trunks(1000, "")
	w.numbers(1000, "")
}

// dialling is a run with n contacts, each of which is being dialled.
func dialling(t tester, n int, change ...func(*Loaded)) *world {
	t.Helper()
	w := ready(t, change...)
	w.due(w.rows(n), 0)
	w.seats(w.s.Asked)
	for len(w.s.Lines) < n {
		w.round()
	}
	for i := range n {
		w.do(&call.Up{Contact: engine.ContactID(fmt.Sprintf("c%d", i+1))})
	}
	w.forget()
	return w
}

// moved reports the contact's line in a phase.
func (w *world) moved(id engine.ContactID, p attempt.Phase, change ...func(*call.LineMoved)) {
	w.t.Helper()
	m := &call.LineMoved{Contact: id, Attempt: w.s.Lines[id].Attempt, Phase: p, At: w.now}
	for _, c := range change {
		c(m)
	}
	w.do(m)
}

// rests brings a contact to rest with the given row.
func (w *world) rests(c contact.Contact) {
	w.t.Helper()
	w.do(&call.Idle{Contact: c.ID})
	w.do(&call.Stopped{Row: c})
}

// final is a contact that is no longer dialled.
func (w *world) final(id string) contact.Contact {
	c := w.row(id)
	c.State, c.DueAt, c.Version = contact.Completed, nil, 9
	return c
}

// later is a contact that becomes due after some time.
func (w *world) later(id string, after time.Duration) contact.Contact {
	c := w.row(id)
	due := w.now.Add(after)
	c.DueAt, c.DueClass, c.Used = &due, contact.DueRetry, 1
	return c
}
