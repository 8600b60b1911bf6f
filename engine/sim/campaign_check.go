package sim

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/trunk"
)

// checker watches the world and says when an invariant of a dialler does not hold. It
// judges by what happens on the network, what is durable, and what was answered.
type checker struct {
	w           *campaignWorld
	broken      *Broken
	runs        []*watched
	trace       []string
	sent        map[engine.TrunkID][]time.Duration   // INVITEs within the last second
	listed      map[engine.PhoneNumber]bool          // on the suppression list, and everybody confirmed
	abandonedAt map[engine.PhoneNumber]time.Duration // durable
	acked       map[engine.LegID]bool
	numbers     map[engine.PhoneNumber][]lent
	answers     map[string]int // requests by what they were about and how they were answered
}

// watched is what is known of one campaign.
type watched struct {
	excluded map[engine.PhoneNumber]bool // confirmed to whoever asked
	added    map[engine.PhoneNumber]int  // grows when somebody begins to add the number on purpose, and when that ends
	underWay map[engine.PhoneNumber]int  // such additions
	ledgers  [3]judged
	counted  map[engine.AttemptID]bool // in the ledgers
	// Lines that the strict gate would not have placed: workers were withdrawn, or their owner was lost.
	debt     int
	attached map[engine.AttemptID]bool // calls with a bot
	granted  int                       // seats, by the fleet
	before   int                       // … that were granted until cutAt
	cutAt    time.Duration
	begun    map[engine.AttemptID]time.Duration
	ends     map[engine.AttemptID]int
	consumed map[engine.PhoneNumber]consumed
	most     consumed       // Max Attempts that held at any time of the run
	state    campaign.State // durable
	since    time.Duration
	paused   time.Duration // when a pause was confirmed, -1: it is not paused
	asked    int           // starts and resumes that are not answered
	edited   time.Duration // when the settings last changed: lines of before keep their seats
	wrote    time.Duration // the last durable write
}

// consumed attempts of a contact in a run, since it was added on purpose last.
type consumed struct{ run, n int }

// lent is one of our numbers in the hands of an attempt.
type lent struct {
	id      engine.AttemptID
	at      time.Duration
	dialled bool
}

// judged is a ledger of the abandons that nothing excuses.
type judged struct {
	since string
	pacing.Counts
}

const (
	traceMost = 60
	// auditEvery is how often is looked at what nobody may notice.
	auditEvery = 20 * time.Second
	// overdueAfter is how long what is owed may take while nothing is wrong.
	overdueAfter = 90 * time.Second
	// seatedFor is how long a line may ring that holds a seat.
	seatedFor = time.Minute
)

func (k *checker) begin(w *campaignWorld) {
	*k = checker{w: w, sent: map[engine.TrunkID][]time.Duration{}, listed: map[engine.PhoneNumber]bool{},
		abandonedAt: map[engine.PhoneNumber]time.Duration{}, acked: map[engine.LegID]bool{}, answers: map[string]int{},
		numbers: map[engine.PhoneNumber][]lent{}}
	for range w.in.Campaigns {
		k.runs = append(k.runs, &watched{excluded: map[engine.PhoneNumber]bool{}, added: map[engine.PhoneNumber]int{},
			underWay: map[engine.PhoneNumber]int{}, counted: map[engine.AttemptID]bool{}, attached: map[engine.AttemptID]bool{},
			begun: map[engine.AttemptID]time.Duration{}, ends: map[engine.AttemptID]int{},
			consumed: map[engine.PhoneNumber]consumed{}, state: campaign.Draft, paused: -1, cutAt: -time.Hour})
	}
	k.auditLater()
}

func (k *checker) broke(c *campaignRecord, format string, args ...any) {
	if k.broken != nil {
		return
	}
	k.broken = &Broken{Seed: k.w.seed, At: k.w.now, What: fmt.Sprintf(format, args...), Trace: slices.Clone(k.trace)}
	if c != nil {
		k.broken.Campaign = c.id
	}
}

// note keeps what happened last, for the report of a broken invariant.
func (k *checker) note(c *campaignRecord, format string, args ...any) {
	if k.w.in.Large {
		return
	}
	if len(k.trace) >= traceMost {
		k.trace = k.trace[1:]
	}
	k.trace = append(k.trace, fmt.Sprintf("%s %s ", k.w.now, c.id)+fmt.Sprintf(format, args...))
}

// quiet: nothing that takes its time has gone wrong of late.
func (k *checker) quiet(c *campaignRecord) bool {
	return k.w.process != nil && k.w.dbAway == 0 && !k.w.process.dbDown && k.w.commit <= time.Second &&
		k.w.now-c.disturbed > overdueAfter
}

// --- leases ------------------------------------------------------------------------------

func (k *checker) channels(t *trunk.Trunk) {
	if s := t.Settings(); t.Held() > s.ChannelCap {
		k.broke(nil, "%s has %d channels in use, its cap is %d", s.ID, t.Held(), s.ChannelCap)
	}
}

// lent: one of our numbers was granted. A dial counts from then on, also when its
// INVITE leaves much later.
func (k *checker) lent(n engine.PhoneNumber, id engine.AttemptID) {
	k.numbers[n] = append(slices.DeleteFunc(k.numbers[n], func(l lent) bool { return k.w.now-l.at >= 24*time.Hour }),
		lent{id: id, at: k.w.now})
}

// number: an INVITE leaves from one of our numbers.
func (k *checker) number(s *engine.NumberSettings, id engine.AttemptID) {
	list := k.numbers[s.Number]
	i := slices.IndexFunc(list, func(l lent) bool { return l.id == id })
	list[max(i, 0)].dialled = true
	for i := max(i, 0); i < len(list); i++ { // those lent later may have dialled before
		hour, day := 0, 0
		for _, l := range list[:i+1] {
			if l.dialled && list[i].at-l.at < time.Hour {
				hour++
			}
			if l.dialled && list[i].at-l.at < 24*time.Hour {
				day++
			}
		}
		if s.DayCap > 0 && day > s.DayCap || s.HourCap > 0 && hour > s.HourCap {
			k.broke(nil, "%s was dialled from %d times in an hour and %d in a day", s.Number, hour, day)
		}
	}
}

// granted: the fleet's word on a campaign's seats. When some are withdrawn, what the
// strict gate had placed by the old figure is not its doing.
func (k *checker) granted(c *campaignRecord, n int) {
	t := k.runs[c.i]
	if n < t.granted {
		if k.w.now-t.cutAt > seatedFor {
			t.before = 0
		}
		t.before, t.cutAt = max(t.before, t.granted), k.w.now
		flying, waiting := k.lines(c)
		t.debt = max(t.debt, flying+waiting-(n-len(t.attached))-k.credit(c))
	}
	t.granted = n
	if f := k.w.process.fleet; f.Granted() > f.Seats() {
		k.broke(nil, "%d seats granted of %d", f.Granted(), f.Seats())
	}
}

// lines counts a campaign's calls that are not answered, and the answered ones that
// have no bot.
func (k *checker) lines(c *campaignRecord) (flying, waiting int) {
	r := k.w.runner(c)
	if r == nil {
		return 0, 0
	}
	for _, a := range r.contacts {
		switch at := &a.core.Call.Machine.A; {
		case !a.core.Call.Live() || at.Ending != nil:
		case at.AnsweredAt == nil:
			flying++
		case !k.runs[c.i].attached[at.ID]:
			waiting++
		}
	}
	if r.state.Round != nil {
		flying += len(r.state.Round.Candidates)
	}
	return flying, waiting
}

// credit is how many abandons the ledgers bear.
func (k *checker) credit(c *campaignRecord) int {
	s, t := &k.w.row(c).Settings, k.runs[c.i]
	if s.PacingMode == campaign.PacingProgressive {
		return 0
	}
	n := t.ledgers[0].Credit(s.AbandonCapPPM, 0)
	for i := range t.ledgers {
		n = min(n, t.ledgers[i].Credit(s.AbandonCapPPM, 0))
	}
	return n
}

// lost: those who knew of the campaign's lines are gone.
func (k *checker) lost(c *campaignRecord) {
	flying, waiting := k.lines(c)
	k.runs[c.i].debt = max(k.runs[c.i].debt, flying+waiting)
}

// processGone: what only the process knew is over.
func (k *checker) processGone() {
	for _, t := range k.runs {
		clear(t.attached)
		t.granted, t.before, t.cutAt = 0, 0, -time.Hour
		for id := range t.begun {
			if _, ok := k.w.stored(id); !ok && t.ends[id] == 0 {
				delete(t.begun, id) // its intent was never durable
			}
		}
	}
}

// attach: a call gets its bot.
func (k *checker) attach(c *campaignRecord, id engine.AttemptID) {
	t := k.runs[c.i]
	t.attached[id] = true
	if n := len(t.attached); n > t.granted && (k.w.now-t.cutAt > seatedFor || n > t.before) {
		k.broke(c, "%d calls have a bot, %d seats are granted", n, t.granted)
	}
	if most := k.w.row(c).Settings.Concurrency; len(t.attached) > most && t.begun[id] > t.edited && k.quiet(c) {
		k.broke(c, "%d calls have a bot, concurrency %d", len(t.attached), most)
	}
}

// --- abandons ----------------------------------------------------------------------------

// live: a live answer was served, or abandoned with a cause.
func (k *checker) live(c *campaignRecord, id engine.AttemptID, cause engine.AbandonCause) {
	t, row := k.runs[c.i], k.w.row(c)
	if t.counted[id] {
		return
	}
	t.counted[id] = true
	if cause != "" {
		k.note(c, "abandoned: %s, attempt %s", cause, id.Short())
		if cause != engine.AbandonNoSeat { // a bot, or a process, was lost
			return
		}
		if t.debt > 0 {
			t.debt--
			return
		}
	}
	s, wall := &row.Settings, k.w.wall()
	since := [3]string{fmt.Sprint(row.Run), campaign.DayStart(row, wall).Round(0).String(),
		campaign.PeriodStart(row, wall).Round(0).String()}
	limit := s.AbandonCapPPM
	if s.PacingMode == campaign.PacingProgressive {
		limit = 0
	}
	for i := range t.ledgers {
		l := &t.ledgers[i]
		if l.since != since[i] {
			*l = judged{since: since[i]}
		}
		l.Live++
		if cause != "" {
			l.Abandoned++
		}
		if s.PacingMode != campaign.PacingHybrid && !l.Within(limit, 0) {
			k.broke(c, "%d abandoned of %d live answers since %s: over the cap of %d ppm", l.Abandoned, l.Live, l.since, limit)
		}
	}
}

// --- dials -------------------------------------------------------------------------------

// invite: the INVITE of an attempt's nth leg leaves.
func (k *checker) invite(x *leg, n int) {
	c, t, now := x.of, k.runs[x.of.i], k.w.now
	k.note(c, "invite to %s, leg %s", x.to.E164(), x.id)
	if t.debt > 0 {
		if flying, waiting := k.lines(c); flying+waiting <= t.granted-len(t.attached) {
			t.debt = 0
		}
	}
	if y := k.w.byNumber[x.to]; y != nil {
		k.broke(c, "two calls to %s: %s and %s", x.to, y.id, x.id)
	}
	if t.excluded[x.to] {
		k.broke(c, "%s is excluded and is dialled", x.to)
	}
	if k.listed[x.to] {
		k.broke(c, "%s is suppressed and is dialled", x.to)
	}
	id := k.w.in.Trunks[x.trunk].Settings.ID
	k.sent[id] = append(within(time.Second, k.sent[id], now), now)
	if most := k.w.process.trunk(id).Settings().CPSCap; len(k.sent[id]) > most {
		k.broke(c, "%d INVITEs left through %s within a second, its cap is %d", len(k.sent[id]), id, most)
	}
	at, ok := k.w.stored(x.attempt)
	if !ok || !slices.ContainsFunc(at.Legs, func(l attempt.Leg) bool { return l.ID == x.id }) {
		k.broke(c, "an INVITE left before its intent was durable")
		return
	}
	row := k.w.row(c)
	reserved := at.ReservedAt.Sub(k.w.in.Start) - k.w.offset
	steady := k.w.stepped < 0 || reserved-time.Second > k.w.stepped
	if n == 1 && steady {
		wall := k.w.wall()
		if win := row.Settings.Window; !win.For(k.w.process.Zones(x.to)).Open(wall) {
			k.broke(c, "%s is dialled outside the window, at %s", x.to, wall)
		}
		if end := row.WindowEndsAt; end != nil && !wall.Before(*end) {
			k.broke(c, "dialled after the single-day window")
		}
		if t.paused >= 0 && reserved > t.paused {
			k.broke(c, "reserved for at %s, though the pause was confirmed at %s", reserved, t.paused)
		}
	}
	if t.state != campaign.Running && t.state != campaign.Paused && now-t.since > time.Second {
		k.broke(c, "an INVITE left while %s", t.state)
	}
	if most := t.most.n + 1; t.consumed[x.to].run == at.Run && t.consumed[x.to].n >= most && n == 1 {
		k.broke(c, "contact %s has used %d attempts and is dialled", at.Contact, t.consumed[x.to].n)
	}
	if k.w.in.Large {
		return
	}
	open, _ := k.w.store.OpenAttempts(background)
	for i := range open {
		if open[i].Contact == at.Contact && open[i].ID != at.ID {
			k.broke(c, "two attempts of contact %s live", at.Contact)
		}
	}
}

// confirmed: the ACK leaves.
func (k *checker) confirmed(c *campaignRecord, id engine.LegID) {
	if k.acked[id] || k.w.in.Large {
		return
	}
	k.acked[id] = true
	of, _, _ := id.Attempt()
	at, _ := k.w.stored(of)
	if !slices.ContainsFunc(at.Legs, func(l attempt.Leg) bool { return l.ID == id && l.Dialog != nil }) {
		k.broke(c, "an ACK left before its answer was durable: leg %s", id)
	}
}

// --- what becomes durable ------------------------------------------------------------------

func (k *checker) durable(w *journal.Write) {
	c := k.w.byID[w.Campaign]
	if c == nil {
		return
	}
	t := k.runs[c.i]
	t.wrote = k.w.now
	if row := w.CampaignRow; row != nil {
		if row.State != t.state {
			k.note(c, "%s, was %s %s", row.State, t.state, row.CompletionReason)
			if t.state == campaign.Draft && row.State == campaign.Running {
				t.ledgers[0] = judged{}
			}
			t.state, t.since = row.State, k.w.now
		}
		if t.most.run != row.Run {
			t.most = consumed{run: row.Run}
		}
		t.most.n = max(t.most.n, row.Settings.MaxAttempts)
	}
	for i := range w.Attempts {
		k.attempt(c, t, &w.Attempts[i], w.Intent != nil)
	}
}

func (k *checker) attempt(c *campaignRecord, t *watched, a *attempt.Attempt, intent bool) {
	if intent && !k.w.in.Large {
		t.begun[a.ID] = k.w.now
		if before, ok := k.abandonedAt[a.To]; ok && k.w.now-before < pacing.SeatedAfterAbandon {
			k.note(c, "reserved for %s again, abandoned at %s", a.To.E164(), before)
		}
	}
	ending := a.Outcome
	if a.Live() && a.Ending != nil {
		ending = a.Ending.Outcome
	}
	switch {
	case ending == engine.OutcomeAbandoned:
		cause := a.Cause
		if a.Ending != nil {
			cause = a.Ending.Cause
		}
		if before, ok := k.abandonedAt[a.To]; ok && !t.counted[a.ID] && cause == engine.AbandonNoSeat && t.debt == 0 &&
			k.w.in.Start.Add(before).Before(a.ReservedAt.Add(-k.w.offset)) &&
			a.ReservedAt.Sub(k.w.in.Start.Add(before)) < pacing.SeatedAfterAbandon-time.Hour {
			k.broke(c, "%s was abandoned at %s and again without a seat, attempt %s", a.To, before, a.ID)
		}
		k.live(c, a.ID, cause)
		k.abandonedAt[a.To] = k.w.now
	case a.ServedAt != nil && (a.RevisableUntil == nil || !a.Live()):
		k.live(c, a.ID, "")
	case a.ServedAt != nil:
		id := a.ID
		k.w.later(a.RevisableUntil.Sub(k.w.wall()), func() {
			if at, ok := k.w.stored(id); ok && at.ServedAt != nil {
				k.live(c, id, "")
			}
		})
	}
	if a.Live() || k.w.in.Large || t.ends[a.ID] > 0 { // the last: its result, or one of its legs
		return
	}
	k.note(c, "attempt %s of %s ended %s %s consumed %v", a.ID.Short(), a.To.E164(), a.Outcome, a.Cause, a.Consumed)
	t.ends[a.ID]++
	if a.Outcome == "" {
		k.broke(c, "attempt %s ended without an outcome", a.ID)
	}
	if a.Consumed {
		n := t.consumed[a.To]
		if n.run != a.Run {
			n = consumed{run: a.Run}
		}
		n.n++
		t.consumed[a.To] = n
		if t.most.run == a.Run && n.n > t.most.n+1 {
			k.broke(c, "attempt %d of contact %s, of %d and a callback", n.n, a.Contact, t.most.n)
		}
	}
}
