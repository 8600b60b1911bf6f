package sim

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
	"dialler/engine/tally"
	"dialler/engine/trunk"
)

// checker watches the world and says when an invariant of a dialler does not
// hold. What it judges by are facts of the network and of what is durable, kept
// by itself.
type checker struct {
	w      *office
	broken *Broken
	runs   []watched
	trace  []string
	tokens [][]time.Duration // grants of each trunk within the last second
	steps  int
}

// watched is what is known of one campaign.
type watched struct {
	excluded map[engine.PhoneNumber]bool // confirmed to whoever asked
	ledgers  [3]judged
	debt     int // lines that the strict gate would not have placed: workers were withdrawn
	begun    map[engine.AttemptID]time.Duration
	ends     map[engine.AttemptID]int
	consumed map[engine.ContactID]consumed
}

// consumed attempts of a contact in a run, since it was added on purpose last.
type consumed struct{ run, n int }

// judged is a ledger of the abandons that nothing excuses.
type judged struct {
	since string
	pacing.Counts
}

const traceMost = 40

func (k *checker) of(d *dossier) *watched {
	for len(k.runs) <= d.i {
		k.runs = append(k.runs, watched{excluded: map[engine.PhoneNumber]bool{}, begun: map[engine.AttemptID]time.Duration{}, ends: map[engine.AttemptID]int{},
			consumed: map[engine.ContactID]consumed{}})
	}
	return &k.runs[d.i]
}

func (k *checker) broke(d *dossier, format string, args ...any) {
	if k.broken != nil {
		return
	}
	k.broken = &Broken{Seed: k.w.seed, At: k.w.now, What: fmt.Sprintf(format, args...), Trace: slices.Clone(k.trace)}
	if d != nil {
		k.broken.Campaign = d.c.ID
	}
}

// note keeps what happened last, for the report of a broken invariant.
func (k *checker) note(d *dossier, format string, args ...any) {
	if k.w.in.Large {
		return
	}
	if len(k.trace) >= traceMost {
		k.trace = k.trace[1:]
	}
	k.trace = append(k.trace, fmt.Sprintf("%s %s ", k.w.now, d.c.ID)+fmt.Sprintf(format, args...))
}

// illegal: nothing in the world may confuse a machine.
func (k *checker) illegal(d *dossier, err error) { k.broke(d, "an event was refused: %v", err) }

func (k *checker) moved(r *desk, before campaign.State) {
	k.note(r.d, "%s, was %s %s", r.m.C.State, before, r.m.C.CompletionReason)
	t := k.of(r.d)
	if before == campaign.Draft && r.m.C.State == campaign.Running {
		t.ledgers[0] = judged{}
	}
}

// --- leases ------------------------------------------------------------------------

func (k *checker) granted(i int, t *trunk.Trunk) {
	s := t.Settings()
	if t.Held() > s.ChannelCap {
		k.broke(nil, "%s has %d channels in use, its cap is %d", s.ID, t.Held(), s.ChannelCap)
	}
	for len(k.tokens) <= i {
		k.tokens = append(k.tokens, nil)
	}
	list := k.tokens[i]
	for len(list) > 0 && k.w.now-list[0] >= time.Second {
		list = list[1:]
	}
	list = append(list, k.w.now)
	k.tokens[i] = list
	if len(list) > s.CPSCap {
		k.broke(nil, "%s granted %d legs within a second, its cap is %d", s.ID, len(list), s.CPSCap)
	}
}

// number: the dials of one of our numbers within a day, the newest last.
func (k *checker) number(s *engine.NumberSettings, dials []time.Duration, now time.Duration) {
	hour := 0
	for _, at := range dials {
		if now-at < time.Hour {
			hour++
		}
	}
	if s.DayCap > 0 && len(dials) > s.DayCap || s.HourCap > 0 && hour > s.HourCap {
		k.broke(nil, "%s was dialled from %d times in an hour and %d in a day", s.Number, hour, len(dials))
	}
}

func (k *checker) seated(r *desk) {
	if r.busy > r.seatCap() {
		k.broke(r.d, "%d seats in use, %d allotted, concurrency %d", r.busy, r.seats, r.m.C.Settings.Concurrency)
	}
}

// cut: workers were withdrawn, or a ledger began anew: what the strict gate had
// placed by the old figures is not its doing.
func (k *checker) cut(r *desk) {
	t := k.of(r.d)
	s := &r.m.C.Settings
	credit := 0
	for i, l := range r.books.Active(k.w.wall(), 0, nil) {
		if c := l.Credit(s.AbandonCapPPM, 0); i == 0 || c < credit {
			credit = c
		}
	}
	t.debt = max(t.debt, r.flying()+len(r.waiting)-(r.seatCap()-r.busy)-credit)
}

// live: a live answer was served or abandoned.
func (k *checker) live(r *desk, abandoned bool, cause engine.AbandonCause) {
	t, s := k.of(r.d), &r.m.C.Settings
	excused := false
	if abandoned {
		k.note(r.d, "abandoned: %s", cause)
		switch {
		case cause != engine.AbandonNoSeat: // a bot, or a process, was lost
			excused = true
		case t.debt > 0:
			t.debt--
			excused = true
		}
	}
	if excused {
		return
	}
	wall := k.w.wall()
	since := [3]string{fmt.Sprint(r.m.C.Run), campaign.DayStart(&r.m.C, wall).String(), campaign.PeriodStart(&r.m.C, wall).String()}
	for i := range t.ledgers {
		l := &t.ledgers[i]
		if l.since != since[i] {
			*l = judged{since: since[i]}
		}
		l.Live++
		if abandoned {
			l.Abandoned++
		}
		limit := s.AbandonCapPPM
		if s.PacingMode == campaign.PacingProgressive {
			limit = 0
		}
		if s.PacingMode != campaign.PacingHybrid && !l.Within(limit, 0) {
			k.broke(r.d, "%d abandoned of %d live answers since %s: over the cap of %d ppm", l.Abandoned, l.Live, l.since, limit)
		}
	}
}

// --- dials -------------------------------------------------------------------------

func (k *checker) reserved(r *desk, l *contactLine, id engine.AttemptID, to engine.PhoneNumber, seated bool) {
	t := k.of(r.d)
	if at, ok := k.w.abandoned[to]; ok && k.w.mono().Sub(at) < 72*time.Hour && !seated {
		k.broke(r.d, "%s was abandoned at %s and is dialled without a seat held", to, at)
	}
	c := &l.m.C
	if c.Used >= c.Max && !c.CallbackExtra || c.Used > c.Max {
		k.broke(r.d, "contact %d has used %d of %d attempts and is dialled", l.i, c.Used, c.Max)
	}
	if r.m.C.State != campaign.Running {
		k.broke(r.d, "dialled while %s", r.m.C.State)
	}
	if r.busy > r.seatCap() {
		k.broke(r.d, "a seat is held for a dial that nobody has: %d of %d", r.busy, r.seatCap())
	}
	t.begun[id] = k.w.now
	if s := &r.m.C.Settings; !seated && s.PacingMode != campaign.PacingHybrid {
		credit := 0
		for i, l := range r.books.Active(k.w.wall(), 0, nil) {
			if c := l.Credit(s.AbandonCapPPM, 0); i == 0 || c < credit {
				credit = c
			}
		}
		if s.PacingMode == campaign.PacingProgressive {
			credit = 0
		}
		if lines, free := r.flying()+1+len(r.waiting), r.seatCap()-r.busy; lines > free+credit {
			k.broke(r.d, "%d lines on %d free workers and a credit of %d", lines, free, credit)
		}
	}
}

// invite: an INVITE leaves.
func (k *checker) invite(c *phoneCall, x *wire) {
	d, t := c.r.d, k.of(c.r.d)
	k.note(d, "invite to %s, attempt %s, %s", x.to.E164(), x.attempt.Short(), x.id)
	if y := k.w.byNumber[x.to]; y != nil {
		k.broke(d, "two calls to %s: %s and %s", x.to, y.id, x.id)
	}
	if t.excluded[x.to] {
		k.broke(d, "%s is excluded and is dialled", x.to)
	}
	at := k.w.plans[d.i].live[x.attempt]
	if at == nil {
		k.broke(d, "an INVITE left before its intent was durable")
		return
	}
	stepped := k.w.stepped >= 0 && at.ReservedAt != nil && k.w.in.Start.Add(k.w.stepped).After(at.ReservedAt.Add(-time.Second))
	wall := k.w.wall()
	if !stepped && !c.r.windowOf(x.to).Open(wall) && len(c.m.A.Legs) == 1 {
		k.broke(d, "%s is dialled outside the window, at %s", x.to, wall)
	}
	if end := c.r.m.C.WindowEndsAt; !stepped && end != nil && !wall.Before(*end) && len(c.m.A.Legs) == 1 {
		k.broke(d, "dialled after the single-day window")
	}
	if s := c.r.m.C.State; s != campaign.Running && s != campaign.Paused {
		k.broke(d, "an INVITE left while %s", s)
	}
	for id, a := range d.live {
		if a.Contact == at.Contact && id != at.ID && a.State != attempt.Ended {
			k.broke(d, "two attempts of contact %s live", at.Contact)
		}
	}
}

// ended: an attempt that has ended became durable.
func (k *checker) ended(d *dossier, a, old *attempt.Attempt) {
	if old != nil && old.State == attempt.Ended {
		return // its result, or its leg
	}
	t := k.of(d)
	if k.w.in.Large {
		delete(t.begun, a.ID)
		return
	}
	k.note(d, "attempt %s of %s ended %s %s consumed %v", a.ID.Short(), a.To.E164(), a.Outcome, a.Cause, a.Consumed)
	if t.ends[a.ID]++; t.ends[a.ID] > 1 {
		k.broke(d, "attempt %s ended twice", a.ID)
	}
	if a.Consumed {
		c := t.consumed[a.Contact]
		if c.run != a.Run {
			c = consumed{run: a.Run}
		}
		c.n++
		t.consumed[a.Contact] = c
		if c.n > d.c.Settings.MaxAttempts+1 {
			k.broke(d, "attempt %d of contact %s, of %d and a callback", c.n, a.Contact, d.c.Settings.MaxAttempts)
		}
	}
	if a.Outcome == "" {
		k.broke(d, "attempt %s ended without an outcome", a.ID)
	}
}

func (k *checker) excluded(d *dossier, n engine.PhoneNumber) { k.of(d).excluded[n] = true }

// reopened: somebody added the contact on purpose.
func (k *checker) reopened(d *dossier, id engine.ContactID) { delete(k.of(d).consumed, id) }

func (k *checker) lifted(d *dossier, n engine.PhoneNumber) { delete(k.of(d).excluded, n) }

// crashed: what only the process knew is over.
func (k *checker) crashed() {
	for _, d := range k.w.plans {
		k.note(d, "the process is gone")
		k.of(d).debt = 0
		for id := range k.of(d).begun {
			if d.live[id] == nil && k.of(d).ends[id] == 0 {
				delete(k.of(d).begun, id) // its intent was never durable
			}
		}
	}
}

// --- all along, and at the end -------------------------------------------------------

// stepsLarge: of large campaigns not every step is looked at.
const stepsLarge = 10_000

func (k *checker) step() {
	if k.steps++; k.w.in.Large && k.steps%stepsLarge != 0 {
		return
	}
	total := 0
	for _, r := range k.w.runs {
		busy, held, ringing, engaged := 0, 0, 0, 0
		for _, l := range r.lines {
			if l.seated {
				busy++
			}
			if l.held {
				held++
			}
			if inFlight(l.phase) {
				ringing++
			}
			if l.phase != attempt.PhaseOver {
				engaged++
			}
		}
		if busy != r.busy || held != r.held || ringing != r.ringing || engaged != r.engaged {
			k.broke(r.d, "seats %d, held %d, ringing %d, engaged %d; the lines say %d, %d, %d, %d", r.busy, r.held, r.ringing, r.engaged, busy, held, ringing, engaged)
		}
		total += r.seats
		t := k.of(r.d)
		if t.debt > 0 {
			if r.flying()+len(r.waiting) <= r.seatCap()-r.busy {
				t.debt = 0
			}
		}
	}
	if f := k.w.fleet; f.Granted() > f.Seats() || total > f.Seats()+k.w.fleet.Granted() {
		k.broke(nil, "%d seats granted of %d, %d in use by campaigns", f.Granted(), f.Seats(), total)
	}
}

// end: nothing is left to happen.
func (k *checker) end() {
	w := k.w
	if w.life == 0 || len(w.writes) > 0 {
		return
	}
	if n := len(w.wires); n > 0 {
		k.broke(nil, "%d legs are left on the network", n)
	}
	for i, t := range w.trunks {
		if t.Held() != 0 {
			k.broke(nil, "%d channels of trunk %d are left", t.Held(), i)
		}
	}
	for i, s := range w.slots {
		if s.Held() != 0 {
			k.broke(nil, "%d slots of number %d are left", s.Held(), i)
		}
	}
	for n, h := range w.holds {
		if h.until == 0 {
			k.broke(nil, "the hold of %s is left", n)
		}
	}
	if n := w.fleet.Granted(); n != 0 {
		k.broke(nil, "%d seats are left", n)
	}
	for _, r := range w.runs {
		k.endOf(r)
	}
}

func (k *checker) endOf(r *desk) {
	d := r.d
	if n := len(r.lines); n > 0 {
		k.broke(d, "%d contacts are left at work", n)
	}
	if len(d.live) > 0 {
		k.broke(d, "%d attempts are left", len(d.live))
	}
	if d.c.State != r.m.C.State {
		k.broke(d, "stored as %s, is %s", d.c.State, r.m.C.State)
	}
	switch d.c.State {
	case campaign.Completed:
		if d.open > 0 {
			k.broke(d, "completed, and %d contacts are not final", d.open)
		}
	case campaign.Running:
		if !d.c.Settings.AlwaysOn {
			k.broke(d, "running, and nothing will happen any more; %s", r.last.Constraint)
		}
	case campaign.Draft, campaign.Paused, campaign.Failed:
	}
	stored := d.fold.Counters(d.c.Run)
	if diff := tally.Compare(stored, r.tally.Counters()); len(diff) > 0 {
		k.broke(d, "the history and the run count differently: %v", diff)
	}
	sum := 0
	for _, n := range stored.States {
		sum += n
	}
	if sum != stored.Total || stored.Total != len(d.book.rows) {
		k.broke(d, "total %d, sum of states %d, contacts %d", stored.Total, sum, len(d.book.rows))
	}
	if w := k.w; !w.in.Large {
		if diff := tally.Compare(stored, d.recount(d.c.Run)); len(diff) > 0 {
			k.broke(d, "the history and the rows count differently: %v", diff)
		}
		for id := range k.of(d).begun {
			if k.of(d).ends[id] != 1 {
				k.broke(d, "attempt %s ended %d times", id, k.of(d).ends[id])
			}
		}
	}
}
