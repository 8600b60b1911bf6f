package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	corecall "dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	phone "dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
	"dialler/engine/tally"
	"dialler/engine/trunk"
	win "dialler/engine/window"
)

// Times of the process, as the shipped one has them.
const (
	leaseTTL   = 30 * time.Second
	channelTTL = 4 * time.Hour
	sendWithin = 10 * time.Second
	ringGrace  = 35 * time.Second
	seatsIdle  = 5 * time.Second
	holdLeast  = 10 * time.Millisecond
	holdUsual  = 250 * time.Millisecond
	keepEvery  = 30 * time.Second
	asideMost  = 512 // contacts that are passed over in one turn
)

// desk is a campaign while the process runs: what its run actor knows.
type desk struct {
	w      *office
	d      *dossier
	m      campaign.Machine
	tally  *tally.Tally
	rules  corecall.Rules
	agenda *agenda

	lines    map[int32]*contactLine
	waiting  []*contactLine
	busy     int
	held     int
	ringing  int // lines placed and neither answered nor over
	engaged  int // lines with a live attempt
	seats    int
	asked    int
	fewer    time.Duration // since when fewer seats would do, 0: they would not
	books    pacing.Books
	model    *pacing.Model
	learnt   *pacing.State
	keptAt   time.Duration
	ledgers  []pacing.Ledger
	last     pacing.Decision
	lack     engine.Constraint
	lackTill time.Duration
	resting  bool // contacts are being reset or restored

	windowIs    bool
	windowEnds  time.Time
	windowUntil time.Time
	windowFrom  time.Time
	tickAt      time.Duration // the next tick, 0: none
	renewed     time.Duration
	zones       map[string][]string
	exhausted   bool
}

// boot starts the process from what is durable.
func (w *office) boot() {
	w.lives++
	w.life = w.lives
	w.committing, w.writes = false, nil
	w.fleet = fleet.New("bot", w.seats, 0)
	w.trunks, w.slots, w.cands = nil, nil, nil
	for i := range w.in.Trunks {
		w.trunks = append(w.trunks, trunk.Resumed(w.in.Trunks[i].Settings, w.mono()))
	}
	for _, s := range w.in.Numbers {
		slot := numberpool.NewSlot(s)
		for _, at := range w.calls[s.Number] {
			slot.Replay(w.in.Start.Add(at))
		}
		w.slots = append(w.slots, slot)
		w.cands = append(w.cands, numberpool.Candidate{AreaKey: phone.AreaKey(s.Number), CountryKey: phone.Region(s.Number)})
	}
	w.runs = nil
	for _, d := range w.plans {
		w.runs = append(w.runs, w.load(d))
	}
	for _, r := range w.runs {
		r.recover()
	}
	for i := range w.in.Trunks {
		w.options(i)
	}
}

// load brings a campaign up.
func (w *office) load(d *dossier) *desk {
	d.c.Epoch++
	r := &desk{w: w, d: d, tally: tally.From(d.fold.Counters(d.c.Run)), lines: map[int32]*contactLine{}, zones: map[string][]string{}}
	r.m.C = d.c
	r.restore()
	r.rules = corecall.RulesOf(r.m.C)
	r.fill()
	return r
}

// restore counts what the cap is about.
func (r *desk) restore() {
	c, now := &r.m.C, r.w.wall()
	r.learnt = r.d.learnt
	r.books, _ = campaign.Books(c, now, func(since time.Time) (n pacing.Counts, err error) {
		n.Live, n.Abandoned = r.d.ledger(since)
		return n, nil
	})
}

// fill makes the agenda of what is stored.
func (r *desk) fill() {
	var overdue time.Duration
	if r.m.C.Settings.AlwaysOn {
		overdue = r.rules.Policy.RetryDelay
	}
	r.agenda = newAgenda(&r.d.book, overdue)
	r.agenda.ready.s = make([]place, 0, len(r.d.book.rows))
	r.agenda.due(r.w.wall())
	for i := range int32(len(r.d.book.rows)) { //nolint:gosec // bounded by the plan
		r.agenda.note(i)
	}
}

// recover closes the attempts of an earlier process life.
func (r *desk) recover() {
	var lost []*attempt.Attempt
	for _, a := range r.d.live {
		lost = append(lost, a)
	}
	slices.SortFunc(lost, func(a, b *attempt.Attempt) int { return cmp.Compare(a.ID, b.ID) })
	for _, a := range lost {
		l := r.line(placeIn(a.Contact))
		c := &phoneCall{l: l, w: r.w, r: r, m: attempt.Machine{A: *a, Config: r.rules.Attempt}, chance: r.chanceOf(l)}
		c.m.Config.MustConsume = l.m.C.Unconsumed >= contact.MaxUnconsumed
		c.last, c.acked = l.step, l.step
		l.call = c
		l.watching = c.recoverLegs()
		if a.State == attempt.Ended {
			l.rest()
			continue
		}
		l.attempt, l.phase = a.ID, attempt.PhaseReleased
		r.engaged++
		c.apply(attempt.Event{Kind: attempt.OwnerLost, At: r.w.mono()})
	}
}

func (r *desk) zonesOf(n engine.PhoneNumber) []string {
	p := string(n[:len(n)-7])
	z, ok := r.zones[p]
	if !ok {
		z = phone.Zones(n)
		r.zones[p] = z
	}
	return z
}

func (r *desk) policyFor(n engine.PhoneNumber) contact.Policy { return r.rules.PolicyFor(n, r.zonesOf) }

func (r *desk) windowOf(n engine.PhoneNumber) win.Window {
	s := r.m.C.Settings.Window
	if s.ContactZone {
		s = s.For(r.zonesOf(n))
	}
	return s
}

// callableFor is how long an INVITE to the number may take to leave.
func (r *desk) callableFor(n engine.PhoneNumber) time.Duration {
	most, now := sendWithin, r.w.wall()
	if end := r.m.C.WindowEndsAt; end != nil {
		most = min(most, end.Sub(now))
	}
	return r.windowOf(n).OpenFor(now, most)
}

func (r *desk) windowOpen() bool {
	now := r.w.wall()
	if r.m.C.Settings.Window.ContactZone {
		r.windowEnds = time.Time{}
		_, r.windowIs = r.agenda.head(now, true)
		return r.windowIs
	}
	if now.Before(r.windowUntil) && !now.Before(r.windowFrom) {
		return r.windowIs
	}
	s := &r.m.C.Settings.Window
	r.windowIs = s.Open(now)
	r.windowEnds, _ = s.Closes(now)
	r.windowFrom, r.windowUntil = now, now.Add(time.Second)
	return r.windowIs
}

// pump dials what the pace allows. It is called after everything that happens.
func (r *desk) pump() {
	r.d.clock.pass(r.w, r.d.i)
	r.agenda.due(r.w.wall())
	r.grantSeats()
	if r.m.C.State == campaign.Running && !r.resting {
		r.askSeats()
		r.dialNext()
		r.maybeExhausted()
	} else if r.m.C.State != campaign.Paused && r.asked > 0 && r.engaged == 0 {
		r.wantSeats(0)
	}
	r.tickOn()
}

func (r *desk) decide() pacing.Decision {
	s := &r.m.C.Settings
	now := r.w.wall()
	ring := time.Duration(s.RingTimeoutSec) * time.Second
	r.ledgers = r.books.Active(now, ring+10*time.Second, r.ledgers[:0])
	if s.AMD == engine.AMDSequential {
		ring += attempt.ScreenLimit
	}
	if r.model == nil {
		r.model = pacing.NewModel(r.w.mono(), ring, attempt.BridgeBudget, r.learnt)
	}
	due, aside := r.agenda.counts()
	in := pacing.Input{
		Mode: pacing.Mode(s.PacingMode), Paused: r.m.C.State != campaign.Running, DatabaseAway: r.w.dbAway > 0, OutsideWindow: !r.windowOpen(),
		Concurrency: s.Concurrency, Seats: r.seats, Busy: r.busy, Ringing: r.flying(), Waiting: len(r.waiting),
		CapPPM: s.AbandonCapPPM, PhiPPM: s.FalsePositivePPM, Ledgers: r.ledgers, LineCap: s.MaxLines, TrunkTokens: pacing.Unlimited, NumberSlots: pacing.Unlimited,
		Held: r.held, DueContacts: due, SeatedOnly: aside, Model: r.model, DialsLeft: r.tally.C.RetriesLeft,
	}
	in.Left = r.left(now)
	if r.d.open > 0 {
		in.LaterContacts = r.d.open
	}
	if r.lack != engine.ConstraintNone {
		switch {
		case r.w.now >= r.lackTill:
			r.lack = engine.ConstraintNone
		case r.lack == engine.ConstraintNumberPool:
			in.NumberSlots = 0
		default:
			in.TrunkTokens, in.TrunkConstraint = 0, r.lack
		}
	}
	r.last = pacing.Decide(&in)
	return r.last
}

func (r *desk) left(now time.Time) time.Duration {
	end := r.windowEnds
	if day := r.books.Day.Until; end.IsZero() || day.Before(end) {
		end = day
	}
	return max(end.Sub(now), 0)
}

// flying counts r of the gate: a line with a seat held counts as busy instead.
func (r *desk) flying() int { return r.ringing - r.held }

func (r *desk) seatCap() int { return min(r.m.C.Settings.Concurrency, r.seats) }

func (r *desk) dialNext() {
	dec := r.decide()
	seats, passed := dec.Seated, 0
	for n := 0; n < dec.Dials && passed < asideMost; {
		h, ok := r.agenda.head(r.w.wall(), seats > 0)
		if !ok {
			return
		}
		p := r.agenda.take(h)
		passed++
		if r.lines[p.i] != nil {
			continue // noted again when it comes to rest
		}
		no := r.d.book.number(p.i)
		within := r.callableFor(no)
		needs := pacing.NeedsSeat(r.w.abandoned[no], r.w.mono())
		reason, excluded := r.d.excluded.Reason(no, nil)
		switch held, ok := r.w.holds[no]; {
		case excluded:
			l := r.line(p.i)
			l.exclude(reason, nil)
			l.rest()
		case ok && (held.until == 0 || r.w.now < held.until):
			i := p.i
			r.w.after(time.Second, func() { r.agenda.note(i) })
		case within <= 0:
			l := r.line(p.i)
			l.deferDial()
			l.rest()
		case needs && seats <= 0:
			r.agenda.back(&r.agenda.aside, p)
		default:
			if !r.reserve(p, no, within, needs) {
				r.agenda.back(&r.agenda.ready, p)
				return
			}
			if needs {
				seats--
			}
			n++
		}
	}
}

// --- time ----------------------------------------------------------------------

// tickOn makes sure that somebody looks again in time: twice a second while
// something goes on, else when something becomes due.
func (r *desk) tickOn() {
	now := r.w.wall()
	at := time.Duration(math.MaxInt64)
	running := r.m.C.State == campaign.Running && !r.resting
	if r.engaged > 0 || r.asked > 0 {
		at = r.w.now + tick
	} else if running {
		if _, ok := r.agenda.head(now, true); ok {
			switch {
			case r.windowOpen() && r.lack != engine.ConstraintNone && r.lackTill > r.w.now+tick:
				at = r.lackTill
			case r.windowOpen():
				at = r.w.now + tick
			default:
				if open, ok := r.m.C.Settings.Window.NextOpening(now); ok {
					at = r.w.now + max(open.Sub(now), tick)
				}
			}
		}
		if due, ok := r.agenda.next(); ok {
			at = min(at, r.w.now+max(due.Sub(now), 0))
		}
	}
	if h := r.agenda.results.s; len(h) > 0 {
		at = min(at, r.w.now+max(time.Unix(0, h[0].key).Sub(now), tick))
	}
	if end := r.m.C.WindowEndsAt; end != nil && (running || r.m.C.State == campaign.Paused) {
		at = min(at, r.w.now+max(end.Sub(now), 0))
	}
	if at == math.MaxInt64 || r.tickAt > 0 && r.tickAt <= at {
		return
	}
	r.tickAt = at
	r.w.after(at-r.w.now, func() {
		if r.tickAt == at {
			r.tickAt = 0
			r.tick()
		}
	})
}

func (r *desk) tick() {
	w, c := r.w, &r.m.C
	now := w.wall()
	if r.model != nil {
		r.model.Tick(w.mono())
		if w.now-r.keptAt >= keepEvery && w.dbAway == 0 {
			r.keptAt = w.now
			s := r.model.State()
			r.d.learnt = &s
		}
	}
	if c.WindowEndsAt != nil && !now.Before(*c.WindowEndsAt) && (c.State == campaign.Running || c.State == campaign.Paused) {
		r.take(campaign.Event{Kind: campaign.WindowEnded, At: now})
	}
	if r.books.Roll(now, campaign.NextMidnight(c, now)) {
		w.check.cut(r)
	}
	if r.asked > 0 && w.now-r.renewed >= 2*time.Second {
		r.renewed = w.now
		since := r.fewer
		r.demand(0)
		r.fewer = since
	}
	for _, h := range w.fleet.Expire(w.mono()) {
		w.tell(fleet.Grant{Holder: h})
	}
	r.overdueResults(now)
}

// overdueResults ends the wait for results that did not come.
func (r *desk) overdueResults(now time.Time) {
	h := &r.agenda.results
	for len(h.s) > 0 && h.s[0].key <= now.UnixNano() {
		p := h.pop()
		if b := r.d.book.rows[p.i]; b.version != p.version || r.lines[p.i] != nil {
			continue // changed, or it will be noted again when it comes to rest
		}
		l := r.line(p.i)
		l.resultTimeout()
		l.rest()
	}
}

// maybeExhausted completes the run when no contact will ever be due again.
func (r *desk) maybeExhausted() {
	if r.d.open > 0 || len(r.lines) > 0 || r.m.C.Settings.AlwaysOn || len(r.w.writes) > 0 {
		return
	}
	r.take(campaign.Event{Kind: campaign.Exhausted, At: r.w.wall(), Reason: campaign.Complete(r.tally.C, r.exhausted)})
}

// sequence folds a write's events and stamps them.
func (r *desk) sequence(x *write) {
	x.d = r.d
	for i := range x.events {
		e := &x.events[i]
		r.m.C.Seq++
		e.Campaign, e.Seq = r.d.c.ID, r.m.C.Seq
		if e.Run == 0 {
			e.Run = r.m.C.Run
		}
		if e.Run == r.m.C.Run {
			r.tally.Apply(e)
		}
		if f := e.Data.After; f != nil && f.State == contact.Failed && e.Type == journal.AttemptEnded {
			r.exhausted = r.exhausted || f.Used >= f.Max
		}
	}
}

func (r *desk) write(x *write) {
	r.sequence(x)
	r.w.submit(x)
}
