package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/frequency"
	"dialler/engine/journal"
	"dialler/engine/promise"
	"dialler/engine/trunk"
	"dialler/engine/window"
)

// checker tells the promise judge what happens on the network, what becomes durable and what is
// answered, and checks that everything comes to an end.
type checker struct {
	w       *campaignWorld
	judge   *promise.Judge
	broken  *Broken
	runs    []*watched
	trace   []string
	facts   []promise.Timed
	answers map[string]int // requests by topic and answer
	crossed crossed
	callsIn map[engine.AttemptID]time.Duration // calls back that live, since when

	dialled map[engine.PhoneNumber][]*leg // first legs, where calls or days of a number are limited

	steppedAt   time.Duration // when the wall clock was last stepped
	calendarsAt time.Duration // when calendars were last edited
}

// crossed counts the intents refused because the number was held: of dials, and of calls that came in.
type crossed struct{ dials, callsIn int }

// watched is what is known about one campaign.
type watched struct {
	attached map[engine.AttemptID]bool // calls with a bot
	granted  int                       // seats granted by the fleet
	before   int                       // the larger grant before cutAt
	cutAt    time.Duration
	asked    int            // starts and resumes not yet answered
	state    campaign.State // durable
	run      int            // likewise
	since    time.Duration
	wrote    time.Duration // the last durable write

	expired     engine.ContactID // still waits at the last audit
	expiredSeen time.Duration    // the first time that an audit saw it
}

const (
	traceMost = 60
	// auditEvery is the interval of the audits.
	auditEvery = 20 * time.Second
	// overdueAfter is how long an outstanding action may take while there is no fault.
	overdueAfter = 90 * time.Second
	// seatedFor is how long a line that holds a seat may ring.
	seatedFor = time.Minute
)

func (k *checker) begin(w *campaignWorld) {
	*k = checker{w: w, answers: map[string]int{}, callsIn: map[engine.AttemptID]time.Duration{}}
	k.judge = promise.NewJudge(func(b promise.Broken) { k.broke(w.byID[b.Campaign], "%s", b.What) })
	for i := range w.in.Trunks {
		s := trunk.New(w.in.Trunks[i].Settings).Settings()
		k.hear(promise.TrunkCaps{Trunk: s.ID, CPS: s.CPSCap, Channels: s.ChannelCap})
	}
	for _, s := range w.in.Numbers {
		k.hear(promise.NumberCaps{NumberSettings: s})
	}
	k.hear(promise.BotSeats{Seats: w.seats})
	for i := range w.in.Campaigns {
		k.hear(promise.Granted{Campaign: campaignID(i)})
		k.runs = append(k.runs, &watched{attached: map[engine.AttemptID]bool{}, state: campaign.Draft, cutAt: -time.Hour})
	}
	k.hear(promise.Granted{}) // to the calls that come in
	k.auditLater()
}

func (k *checker) hear(f promise.Fact) { k.judge.Hear(k.w.mono(), f) }

func (k *checker) broke(c *campaignRecord, format string, args ...any) {
	if k.broken != nil {
		return
	}
	k.broken = &Broken{Seed: k.w.seed, At: k.w.now, What: fmt.Sprintf(format, args...), Trace: slices.Clone(k.trace)}
	if c != nil {
		k.broken.Campaign = c.id
	}
}

// note records recent events for the report of a broken promise.
func (k *checker) note(c *campaignRecord, format string, args ...any) {
	if k.w.in.Large {
		return
	}
	if len(k.trace) >= traceMost {
		k.trace = k.trace[1:]
	}
	of := engine.CampaignID("")
	if c != nil {
		of = c.id
	}
	k.trace = append(k.trace, fmt.Sprintf("%s %s ", k.w.now, of)+fmt.Sprintf(format, args...))
}

// quiet says that no fault that causes delays happened recently, to a campaign or, with nil, to any.
func (k *checker) quiet(c *campaignRecord) bool {
	if c == nil {
		return !slices.ContainsFunc(k.w.campaigns, func(c *campaignRecord) bool { return !k.quiet(c) })
	}
	return k.w.process != nil && k.w.dbAway == 0 && !k.w.process.dbDown && k.w.commit <= time.Second &&
		k.w.now-c.disturbed > overdueAfter
}

// --- seats -------------------------------------------------------------------------------

// granted notes the fleet's answer about a campaign's seats.
func (k *checker) granted(c *campaignRecord, n int) {
	t := k.runs[c.i]
	if n < t.granted {
		if k.w.now-t.cutAt > seatedFor {
			t.before = 0
		}
		t.before, t.cutAt = max(t.before, t.granted), k.w.now
	}
	t.granted = n
	k.hear(promise.Granted{Campaign: c.id, Seats: n})
}

// grantedTo is granted for any holder of seats.
func (k *checker) grantedTo(h fleet.Holder, n int) {
	if c := k.w.byID[engine.CampaignID(h)]; c != nil {
		k.granted(c, n)
		return
	}
	k.hear(promise.Granted{Seats: n})
}

// socket notes that a socket is opened ahead of its call.
func (k *checker) socket(c *campaignRecord) {
	t := k.runs[c.i]
	if n := k.w.process.socketsOf(c) + len(t.attached); n > t.granted && n > t.before && k.quiet(c) {
		k.broke(c, "%d sockets are opened or in use, %d seats are granted", n, t.granted)
	}
}

// lost handles the loss of a process, with everything that it knew about the campaign's lines, or
// of all bots. What that takes from lines in flight is the only exception to the cap (SEMANTICS
// §6).
func (k *checker) lost(c *campaignRecord) {
	r := k.w.runner(c)
	if r == nil {
		return
	}
	for _, a := range r.contacts {
		at := &a.core.Call.Machine.A
		abandoned := at.Ending != nil && at.Ending.Outcome == engine.OutcomeAbandoned
		if kept, _ := k.w.stored(at.ID); kept.Live() && kept.ServedAt == nil && !abandoned {
			k.hear(promise.Excused{Attempt: at.ID})
		}
	}
}

// processGone drops what only the process knew.
func (k *checker) processGone() {
	for _, t := range k.runs {
		clear(t.attached)
		t.granted = 0
	}
	k.hear(promise.OwnersGone{})
}

// attach notes that a call gets its bot.
func (k *checker) attach(c *campaignRecord, id engine.AttemptID) {
	of := engine.CampaignID("")
	if c != nil {
		k.runs[c.i].attached[id] = true
		of = c.id
	}
	k.hear(promise.BotOn{Campaign: of, Attempt: id, Conversation: string(id)})
}

func (k *checker) detach(c *campaignRecord, id engine.AttemptID) {
	if c != nil {
		delete(k.runs[c.i].attached, id)
	}
	k.hear(promise.BotOff{Conversation: string(id)})
}

// --- dials and what becomes durable --------------------------------------------------------

// invite notes that an INVITE leaves.
func (k *checker) invite(r *runner, x *leg) {
	c := x.of
	k.note(c, "invite to %s, leg %s", x.to.E164(), x.id)
	id := k.w.in.Trunks[x.trunk].Settings.ID
	if epoch := r.state.M.C.Epoch; epoch > 0 { // otherwise its run is loading and has no epoch yet
		k.hear(promise.Acted{Identity: string(c.id), Epoch: epoch, By: r.name})
	}
	k.atItsNumber(c, x)
	k.inTime(c, x)
	home := r.p.Home(x.to)
	k.onDay(c, x, home)
	k.withinCalendars(c, x, home)
	k.withinLimits(c, x)
	k.callsUs(c, x)
	k.placed(x)
	k.hear(promise.Invited{Campaign: c.id, Leg: x.id, Trunk: id, From: x.from, To: x.to, Home: home})
	k.hear(promise.Arrived{Leg: x.id, Trunk: id, From: x.from, To: x.to})
}

// numbersOf are all numbers at which adding people on purpose may have somebody called: theirs, and those
// of the contacts that they turn out to be.
func (k *checker) numbersOf(c *campaignRecord, list ...campaign.NewContact) (numbers []engine.PhoneNumber) {
	for i := range list {
		numbers = append(numbers, list[i].Number)
		numbers = slices.AppendSeq(numbers, list[i].Alternates.Numbers())
		rows, _ := k.w.store.ContactsByNumber(background, c.id, list[i].Number)
		for r := range rows {
			numbers = slices.AppendSeq(numbers, rows[r].Numbers())
		}
	}
	return numbers
}

// atItsNumber checks that a person is called at one of his or her numbers, at none that must not be called
// any more, and not after asking so.
func (k *checker) atItsNumber(c *campaignRecord, x *leg) {
	row, ok := k.calls(x)
	if !ok || row.Alternates == "" && row.Number == x.to { // of a person's only number the list tells
		return
	}
	switch place := row.PlaceOf(x.to); {
	case place >= 0 && row.Choice.Out(place):
		k.broke(c, "%s is called, which is invalid or suppressed", x.to.E164())
	case row.Choice.Stopped():
		k.broke(c, "%s is called, though the person asked not to be", x.to.E164())
	}
	if at, asked := c.asked[row.ID]; asked && k.w.now-at >= timesSettle {
		k.broke(c, "%s is called, though the person asked at %s not to be", x.to.E164(), at)
	}
}

// callsUs checks that nobody is rung at another number while they talk to us. What is told of that may be late
// after a fault.
func (k *checker) callsUs(c *campaignRecord, x *leg) {
	row, ok := k.calls(x)
	if !ok || !k.quiet(c) {
		return
	}
	for id, since := range k.callsIn {
		back, _ := k.w.stored(id)
		if of, _ := k.w.stored(back.Returns); of.Contact == row.ID && back.Live() && k.w.now-since >= timesSettle {
			k.broke(c, "%s is called, though the person has been calling us since %s", x.to.E164(), since)
		}
	}
}

// heard checks that each contact has heard what was said in calls back.
func (k *checker) heard() {
	untold, _ := k.w.store.CallsBackUntold(background, time.Time{}, 1)
	for i := range untold {
		of, _ := k.w.stored(untold[i].Returns)
		k.broke(k.w.byID[of.Campaign], "the contact has not heard of call back %s", untold[i].ID)
	}
}

// asks notes who asked in a call not to be called again, whatever the contact's row makes of it. Who says so in
// a call back (c is nil) is known once that is over and the contact may have heard of it.
func (k *checker) asks(c *campaignRecord, a *attempt.Attempt) {
	of, hears := a.Contact, time.Duration(0)
	if c == nil {
		before, _ := k.w.stored(a.Returns)
		if c, of, hears = k.w.byID[before.Campaign], before.Contact, hearsWithin; c == nil || a.Live() {
			return
		}
	}
	said := a.Result != nil && a.Result.DoNotCall && a.WasConnected() && a.RevisedFrom == ""
	if !said && (a.Ending == nil || !a.Ending.OptedOut) {
		return
	}
	row, ok, _ := k.w.store.ContactByID(background, of)
	if _, before := c.asked[row.ID]; !ok || before {
		return
	}
	if c.asked == nil {
		c.asked = map[engine.ContactID]time.Duration{}
	}
	c.asked[row.ID] = k.w.now + hears
}

// hearsWithin is how long a contact may take to hear of a call back, crashes and outages included.
const hearsWithin = 3 * time.Minute

// calls is the contact that a leg calls.
func (k *checker) calls(x *leg) (row contact.Contact, ok bool) {
	at, ok := k.w.stored(x.attempt)
	if !ok {
		return row, false
	}
	row, ok, _ = k.w.store.ContactByID(background, at.Contact)
	return row, ok
}

// timesSettle is how long an INVITE may leave by what was known before: an intent is valid for sendBy,
// whatever becomes of the wall clock or of the contact's times.
const timesSettle = sendBy + 10*time.Second

// retimed notes that somebody's times may have changed.
func (k *checker) retimed(c *campaignRecord, n engine.PhoneNumber) {
	if c.told == nil {
		c.told = map[engine.PhoneNumber]time.Duration{}
	}
	c.told[n] = k.w.now
}

// inTime checks that nobody is called before not_before, or from expires_at on.
func (k *checker) inTime(c *campaignRecord, x *leg) {
	row, ok := k.calls(x)
	told, is := c.told[row.Number]
	if is && k.w.now-told < timesSettle || k.steppedAt > 0 && k.w.now-k.steppedAt < timesSettle {
		return
	}
	if wall := k.w.wall(); ok && (row.NotYet(wall) || row.Expired(wall)) {
		k.broke(c, "%s is called at %s; it may be from %v until %v", x.to.E164(), wall, row.NotBefore, row.ExpiresAt)
	}
}

// onDay checks that nobody is redialled on a calling day that has the most attempts already.
func (k *checker) onDay(c *campaignRecord, x *leg, home window.Home) {
	s := &k.w.row(c).Settings
	table := cadence.Find(k.w.in.Cadences, s.Cadence).Table()
	if table == nil || table.PerDay == 0 || k.steppedAt > 0 {
		return
	}
	row, ok := k.calls(x)
	if !ok || row.DueClass != contact.DueRetry {
		return
	}
	since := c.restarted
	for number := range row.Numbers() {
		since = max(since, c.given[number])
	}
	hours := s.Window.For(home)
	day, n := hours.CallingDay(k.w.wall()), 0
	for number := range row.Numbers() {
		for _, y := range k.dialled[number] {
			at, _ := k.w.stored(y.attempt)
			if at.Contact == row.ID && y.attempt != x.attempt && at.Consumed && y.placedAt > since &&
				hours.CallingDay(k.w.wall().Add(y.placedAt-k.w.now)) == day {
				n++
			}
		}
	}
	if n >= table.PerDay {
		k.broke(c, "%s is redialled on %s, after %d attempts on that day", x.to.E164(), day, n)
	}
}

// placed notes the first leg of an attempt.
func (k *checker) placed(x *leg) {
	x.placedAt = k.w.now
	if _, n, _ := x.id.Attempt(); n != 1 || k.w.in.Large || len(k.w.in.CalleeLimits)+len(k.w.in.Cadences) == 0 {
		return
	}
	if k.dialled == nil {
		k.dialled = map[engine.PhoneNumber][]*leg{}
	}
	k.dialled[x.to] = append(k.dialled[x.to], x)
}

// given notes that somebody may be given fresh attempts.
func (k *checker) given(c *campaignRecord, n engine.PhoneNumber) {
	if c.given == nil {
		c.given = map[engine.PhoneNumber]time.Duration{}
	}
	c.given[n] = k.w.now
}

// withinLimits checks that nobody is called more often than allowed, by what the network has seen.
func (k *checker) withinLimits(c *campaignRecord, x *leg) {
	limits := k.w.in.CalleeLimits
	if len(limits) == 0 || k.steppedAt > 0 { // periods are of the wall clock
		return
	}
	for _, l := range limits {
		n := 0
		for _, y := range k.dialled[x.to] {
			at, _ := k.w.stored(y.attempt)
			when := y.overAt
			counts := false
			switch l.What {
			case frequency.Attempts:
				counts, when = at.Consumed || at.Live(), y.placedAt
			case frequency.Conversations:
				counts = y.over && at.WasConnected()
			case frequency.Abandons:
				counts = y.over && at.Outcome == engine.OutcomeAbandoned
			}
			if counts && y.attempt != x.attempt && k.w.now-when < l.Period-timesSettle {
				n++
			}
		}
		if n >= l.Most {
			k.broke(c, "%s is called after %d %s within %s", x.to.E164(), n, l.What, l.Period)
		}
	}
}

func (k *checker) durable(w *journal.Write) {
	c := k.w.byID[w.Campaign]
	if c == nil {
		k.durableIn(w)
		return
	}
	k.runs[c.i].wrote = k.w.now
	if w.CampaignRow != nil {
		k.stands(c, w.CampaignRow)
	}
	for i := range w.Attempts {
		k.attempt(c, &w.Attempts[i], w.Intent != nil)
		k.asks(c, &w.Attempts[i])
		k.w.hours.learn(&w.Attempts[i])
	}
}

// refused notes why the store refused a write.
func (k *checker) refused(w *journal.Write, why error) {
	switch {
	case w.Intent == nil || !errors.Is(why, journal.ErrNumberHeld):
	case w.Intent.Incoming:
		k.crossed.callsIn++
	default:
		k.crossed.dials++
	}
}

// durableIn is durable for a call that came in.
func (k *checker) durableIn(w *journal.Write) {
	for i := range w.Attempts {
		a := &w.Attempts[i]
		k.attempt(nil, a, w.Intent != nil)
		k.asks(nil, a)
		if _, known := k.callsIn[a.ID]; !known && a.Live() && a.Returns != "" {
			k.callsIn[a.ID] = k.w.now
		} else if !a.Live() {
			delete(k.callsIn, a.ID)
		}
		if x := k.w.legs[a.ID.Leg(1)]; x != nil && a.Live() && !x.stored {
			x.stored = true
			k.note(nil, "call %s of %s is stored", a.ID.Short(), a.To.E164())
			k.hear(promise.CameIn{Leg: x.id, To: a.To})
		}
	}
}

func (k *checker) stands(c *campaignRecord, row *campaign.Campaign) {
	k.hear(promise.Stands{Row: row})
	t := k.runs[c.i]
	if row.Run != t.run {
		t.run, c.restarted = row.Run, k.w.now
	}
	if row.State != t.state {
		k.note(c, "%s, was %s %s", row.State, t.state, row.CompletionReason)
		t.state, t.since = row.State, k.w.now
	}
}

// attempt reports the contents of a row. In a large campaign a row is forgotten when the attempt
// ends.
func (k *checker) attempt(c *campaignRecord, a *attempt.Attempt, intent bool) {
	k.facts = promise.Of(k.facts[:0], a)
	for _, f := range k.facts {
		if _, begun := f.Fact.(promise.Begun); !begun || intent || !k.w.in.Large {
			k.hear(f.Fact)
		}
	}
	switch id := a.ID; {
	case !a.Live():
		k.note(c, "attempt %s of %s ended %s %s consumed %v", id.Short(), a.To.E164(), a.Outcome, a.Cause, a.Consumed)
		if k.w.in.Large {
			k.hear(promise.Forgotten{Attempt: id})
		}
	case a.ServedAt != nil && a.RevisableUntil != nil:
		k.w.later(a.RevisableUntil.Sub(k.w.wall()), func() {
			if at, ok := k.w.stored(id); ok && at.ServedAt != nil {
				k.hear(promise.LiveAnswer{Attempt: id})
			}
		})
	}
}

// --- requests ----------------------------------------------------------------------------

// adding notes that numbers are being added on purpose; the returned function ends that.
func (k *checker) adding(c *campaignRecord, numbers ...engine.PhoneNumber) (done func(any, error)) {
	for _, n := range numbers {
		k.given(c, n)
		k.hear(promise.Adding{Campaign: c.id, Number: n})
	}
	return func(any, error) {
		for _, n := range numbers {
			k.given(c, n)
			k.hear(promise.Added{Campaign: c.id, Number: n})
		}
	}
}

// excluding notes that an exclusion is requested; the returned function takes the answer.
func (k *checker) excluding(c *campaignRecord, n engine.PhoneNumber, match map[string]string) func(any, error) {
	concerned := func() (list []engine.PhoneNumber) {
		if n != "" {
			return []engine.PhoneNumber{n}
		}
		rows, _ := k.w.store.ContactsMatching(background, c.id, match)
		for i := range rows {
			if same, _ := k.w.store.ContactsByNumber(background, c.id, rows[i].Number); len(same) == 1 {
				list = append(list, rows[i].Number)
			}
		}
		return list
	}
	asked, then := k.w.mono(), concerned()
	return func(_ any, err error) {
		for _, no := range concerned() {
			if err == nil && slices.Contains(then, no) {
				k.hear(promise.Excluded{Campaign: c.id, Number: no, Asked: asked})
			}
		}
	}
}

// answer counts an answer.
func (k *checker) answer(what string, err error) {
	if err != nil {
		what += " " + engine.ErrorCode(err)
	}
	k.answers[what]++
}

// acting notes that an action is requested; the returned function takes the answer. A campaign may
// dial from the moment of the request.
func (k *checker) acting(c *campaignRecord, a campaign.Action) func(any, error) {
	t, starts := k.runs[c.i], a == campaign.ActionStart || a == campaign.ActionResume
	if starts {
		t.asked++
		k.hear(promise.Starting{Campaign: c.id})
	}
	return func(_ any, err error) {
		k.note(c, "%s: %v", a, err)
		switch {
		case starts:
			t.asked--
			k.hear(promise.Started{Campaign: c.id})
		case a == campaign.ActionPause && err == nil:
			k.hear(promise.Paused{Campaign: c.id})
		}
	}
}

// triggered checks that contact, intent and reply commit together.
func (k *checker) triggered(c *campaignRecord, cmd campaign.Trigger, v any, err error) {
	if err != nil {
		k.note(c, "trigger of %s: %v", cmd.Number.E164(), err)
		_, ok, _ := k.w.store.FindReply(background, cmd.Idempotency)
		if engine.ErrorCode(err) == "idempotency_in_progress" && !ok {
			k.broke(c, "a trigger is said to be answered, and no reply is stored")
		}
		return
	}
	r, _ := v.(campaign.TriggerReply)
	k.note(c, "trigger of %s: %s %s", cmd.Number.E164(), r.Status, r.Reason)
	if _, ok, _ := k.w.store.ContactByID(background, r.ContactID); !ok {
		k.broke(c, "a trigger was answered, and its contact is not stored")
	}
	if _, ok := k.w.stored(r.AttemptID); r.Status == "dialled" && !ok && !k.w.in.Large {
		k.broke(c, "a trigger was answered dialled, and its attempt is not stored")
	}
	if _, ok, _ := k.w.store.FindReply(background, cmd.Idempotency); cmd.Idempotency.Present() && !ok {
		k.broke(c, "a trigger with an Idempotency-Key was answered, and its reply is not stored")
	}
}
