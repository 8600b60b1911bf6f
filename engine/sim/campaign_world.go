package sim

import (
	"context"
	"fmt"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/memstore"
	"dialler/engine/pacing"
	"dialler/engine/run"
)

// campaignWorld is an installation and its environment: the durable state, the process that dials,
// the network with its people, bots, operators, and the faults.
type campaignWorld struct {
	in   Installation
	seed uint64
	schedule
	offset time.Duration // of the wall clock, by steps
	events int
	draws  uint64

	store     *memstore.Store
	campaigns []*campaignRecord
	byID      map[engine.CampaignID]*campaignRecord

	process *process // nil while it is down
	lives   int
	ups     int // runs started so far

	legs    map[engine.LegID]*leg
	calls   map[engine.PhoneNumber][]time.Duration // dials from our numbers with caps, during the last day
	carrier [][]time.Duration                      // by trunk: INVITEs of the last second
	seats   int
	dbAway  int // faults that make it unavailable
	commit  time.Duration
	botDown int // faults that make the bot unavailable
	// socketsOpened counts the sockets that were opened ahead of their calls.
	socketsOpened uint64
	down          []int // by trunk: faults that stop it from answering
	refuses       []int // … that refuse connections
	crashes       int
	halted        bool
	spent         bool

	requests int
	check    checker
	hours    hours

	// applied applies an input to a run; tests can replace it to examine the effects.
	applied func(*runner, run.Input) ([]run.Effect, error)
	// deaf says that contacts hear of no call back: a test wants to see the judge find it.
	deaf bool
	// persisted is told of each write of a call that came in; tests can replace it.
	persisted func(*journal.Write)
	callers   int // so far
}

func applied(r *runner, in run.Input) ([]run.Effect, error) { return r.state.Apply(in, r.effects[:0]) }

// campaignRecord is the world's data of one campaign.
type campaignRecord struct {
	i         int
	id        engine.CampaignID
	plan      *CampaignPlan
	added     int // contacts added after those of the list
	dials     int
	clock     dialClock
	disturbed time.Duration                        // until when requests may go unanswered
	told      map[engine.PhoneNumber]time.Duration // when somebody's times last changed
	given     map[engine.PhoneNumber]time.Duration // when somebody was last given fresh attempts, if so
	asked     map[engine.ContactID]time.Duration   // when somebody with several numbers asked not to be called
	restarted time.Duration
}

var background = context.Background()

// RunCampaigns plays an installation until every campaign has ended and nothing is left to
// happen, or for its Length. The first broken invariant ends it too.
func RunCampaigns(in Installation, seed uint64) CampaignsResult {
	w := newCampaignWorld(in.WithDefaults(), seed)
	w.play()
	return w.result()
}

// newCampaignWorld makes a world; arrange is done to it before anything happens.
func newCampaignWorld(in Installation, seed uint64, arrange ...func(*campaignWorld)) *campaignWorld {
	w := &campaignWorld{in: in, seed: seed, byID: map[engine.CampaignID]*campaignRecord{},
		legs: map[engine.LegID]*leg{}, calls: map[engine.PhoneNumber][]time.Duration{},
		carrier: make([][]time.Duration, len(in.Trunks)), seats: in.Seats, commit: in.Commit,
		down: make([]int, len(in.Trunks)), refuses: make([]int, len(in.Trunks)), applied: applied,
		persisted: func(*journal.Write) {}}
	w.store = memstore.New(memstore.Options{Now: w.wall, KeepEvents: !in.Large, KeepEnded: !in.Large,
		Numbers: in.Numbers, Cadences: in.Cadences, Calendars: in.Calendars,
		Hours:  func() besthour.Table { return w.hours.learned },
		Closed: func(a *attempt.Attempt) { w.check.attempt(w.byID[a.Campaign], a, false) },
		Bots: func() []engine.Bot {
			return []engine.Bot{{ID: botID, Name: "bot", Active: true, Seats: w.seats, Endpoints: []string{"ws://bot"}}}
		}})
	w.check.begin(w)
	for i := range in.Campaigns {
		w.create(i)
	}
	for _, f := range arrange {
		f(w)
	}
	w.boot()
	for _, c := range w.campaigns {
		for i := range c.plan.Acts {
			w.later(c.plan.Acts[i].At, func() { w.act(c, &c.plan.Acts[i]) })
		}
	}
	for _, f := range in.Faults {
		w.later(f.At, func() { w.fault(f) })
	}
	w.learns()
	return w
}

// campaignID is the identifier of the i-th campaign.
func campaignID(i int) engine.CampaignID { return engine.CampaignID(fmt.Sprintf("cmp_%d", i+1)) }

// numberOf is the n-th phone number of the world.
func numberOf(prefixes []string, n int) engine.PhoneNumber {
	return engine.PhoneNumber(fmt.Sprintf("%s%07d", prefixes[n%len(prefixes)], n))
}

// placeOf is the index of a number.
func placeOf(n engine.PhoneNumber) (place uint64) {
	for _, c := range n[max(len(n)-7, 0):] {
		place = place*10 + uint64(c-'0') //nolint:gosec // a digit
	}
	return place
}

// segments is how many values the variable "segment" has.
const segments = 10

// segmentOf are the variables of all contacts of one segment.
var segmentOf = func() (list [segments]map[string]string) {
	for i := range list {
		list[i] = map[string]string{"segment": fmt.Sprint(i + 1)}
	}
	return list
}()

func (w *campaignWorld) person(place int) campaign.NewContact {
	return campaign.NewContact{Number: numberOf(w.in.Prefixes, place), Alternates: w.othersOf(place),
		Variables: segmentOf[place%segments], Times: w.timesOf(place)}
}

// ownNumbers is from where on numbers are nobody's first.
const ownNumbers = 5_000_000

// othersOf are the numbers of a person beside the first, the same whenever he or she is added.
func (w *campaignWorld) othersOf(place int) contact.Alternates {
	if w.in.Several == 0 {
		return ""
	}
	c := callee.ChanceOf(w.seed^0x5e7e2a1, uint64(place)) //nolint:gosec // mixed anyway
	if c.At(1) >= w.in.Several {
		return ""
	}
	var list []contact.Alternate
	for i := range 1 + int(c.At(2)*(contact.NumbersCap-1)) {
		n := ownNumbers + place*contact.NumbersCap + i
		if c.At(uint64(3+i)) < 0.3 { //nolint:gosec // small
			n = place + 1 + i // a neighbour's first number
		}
		list = append(list, contact.Alternate{Number: numberOf(w.in.Prefixes, n)})
	}
	return contact.NewAlternates(list)
}

// timesOf are the times of a person, the same whenever he or she is added.
func (w *campaignWorld) timesOf(place int) (t contact.Times) {
	if w.in.Timed == 0 {
		return t
	}
	c := callee.ChanceOf(w.seed^0x717e5, uint64(place)) //nolint:gosec // mixed anyway
	if c.At(1) >= w.in.Timed {
		return t
	}
	from, length := time.Duration(c.At(2)*float64(5*time.Hour)), time.Duration(c.At(3)*float64(8*time.Hour))
	first, last := w.in.Start.Add(from), w.in.Start.Add(from+time.Minute+length)
	if p := int(c.At(4) * float64(contact.PriorityCap+1)); p != contact.DefaultPriority {
		t.Priority = &p
	}
	if c.At(5) < 0.6 {
		t.NotBefore = &first
	}
	if c.At(6) < 0.6 {
		t.ExpiresAt = &last
	}
	return t
}

// create stores a draft with its list.
func (w *campaignWorld) create(i int) {
	p := &w.in.Campaigns[i]
	c := &campaignRecord{i: i, id: campaignID(i), plan: p, disturbed: -1}
	c.clock.leftAtClose = -1
	w.campaigns, w.byID[c.id] = append(w.campaigns, c), c
	s, at := p.Settings.WithDefaults(), w.wall()
	s.Bot = botID
	row := campaign.Campaign{ID: c.id, Settings: s, State: campaign.Draft, Version: 1, Run: 1, CreatedAt: at,
		CreatedBy: engine.System}
	from := p.Standing
	if from == nil {
		from = &campaign.Position{Ahead: []campaign.Ahead{{Count: p.Contacts}}}
	}
	from.Place(&row, at)
	sample := contact.Contact{Campaign: c.id, Source: "csv", Run: 1, State: contact.Pending, Max: s.MaxAttempts,
		DueAt: &at, DueClass: contact.DueFirst, DuePass: 1, CreatedAt: at, UpdatedAt: at, Version: 1}
	var list []contact.Contact
	for of := range from.First(p.Contacts) {
		x, k := sample, len(list)
		if n := of.Used; n > 0 {
			x.State, x.Used, x.DueClass, x.DuePass = contact.Waiting, n, contact.DueRetry, n+1
		}
		if of.Due > 0 {
			due := at.Add(of.Due)
			x.DueAt = &due
		}
		x.ID, x.Position = engine.ContactID(fmt.Sprintf("%016x%016x", i+1, k)), int64(k)+1
		person := w.person(p.First + k)
		x.Number, x.Alternates, x.Variables = person.Number, person.Alternates, person.Variables
		x.Take(person.Times)
		if x.NotYet(*x.DueAt) {
			x.DueAt = x.NotBefore
		}
		list = append(list, x)
	}
	w.store.InsertList(&row, list, from)
	w.check.stands(c, &row)
}

// row is a stored campaign.
func (w *campaignWorld) row(c *campaignRecord) *campaign.Campaign {
	w.store.Lock()
	defer w.store.Unlock()
	return w.store.CampaignRow(c.id)
}

// open counts the contacts of a campaign's run that are not final.
func (w *campaignWorld) open(c *campaignRecord) int {
	_, n, _ := w.store.NextDue(background, c.id, w.row(c).Run)
	return n
}

// --- time ----------------------------------------------------------------------------

// mono is the time by the monotonic clock, wall by the wall clock, boot the reading of the
// boot-time clock.
func (w *campaignWorld) mono() time.Time { return w.in.Start.Add(w.now) }

func (w *campaignWorld) wall() time.Time {
	t := w.in.Start.Add(w.now + w.offset)
	if w.in.Clock != nil {
		return w.in.Clock(t, w.now)
	}
	return t
}

func (w *campaignWorld) bootTime() engine.BootTime { return engine.BootTime(time.Second + w.now) }

// onWall converts a time of the monotonic clock to the wall clock; zero stays zero.
func (w *campaignWorld) onWall(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(w.offset)
}

// draw returns the world's next random number.
func (w *campaignWorld) draw() uint64 {
	w.draws++
	return callee.Mix(callee.Mix(w.seed) + w.draws)
}

// delay draws a delay of up to most.
func (w *campaignWorld) delay(most time.Duration) time.Duration {
	return time.Duration(w.draw() % uint64(most)) //nolint:gosec // both are positive
}

// settles is how long a world continues once only recurring events are left: leases expire, and
// seats are given back.
const settles = 12 * time.Minute

// play processes all events.
func (w *campaignWorld) play() {
	quiet := time.Duration(-1) // since when only idle events are left
	for w.check.broken == nil || w.in.Unjudged {
		at, ok := w.queue.Next()
		if !ok {
			break
		}
		e := w.queue.Pop().What
		if !e.idle {
			w.busy--
		}
		if at >= w.in.Length {
			w.now = w.in.Length
			w.check.length()
			return
		}
		if e.life != 0 && (w.process == nil || e.life != w.process.life) {
			continue
		}
		w.idling = e.idle && w.busy == 0
		if !w.idling {
			quiet = -1
		} else if quiet < 0 {
			quiet = at
		} else if at-quiet > settles {
			break
		}
		w.now = at
		if e.to != nil {
			e.to.receive(e.event, "")
			continue
		}
		if w.enough() {
			return
		}
		w.events++
		e.f()
	}
	if w.check.broken == nil {
		_ = w.store.Maintain(background, w.wall()) // as it runs once an hour
		w.check.end()
		if quiet >= 0 {
			w.now = quiet
		}
	}
}

// enough says whether the world ends before its Length.
func (w *campaignWorld) enough() bool {
	w.spent = w.in.EventsMost > 0 && w.events >= w.in.EventsMost
	w.halted = w.in.Halt != nil && w.events%haltEvery == 0 && w.in.Halt()
	return w.spent || w.halted
}

// result is the result of the world.
func (w *campaignWorld) result() CampaignsResult {
	res := CampaignsResult{Seed: w.seed, Ended: w.now, Crashes: w.crashes, Events: w.events, Halted: w.halted,
		Spent: w.spent, Broken: w.check.broken}
	for _, c := range w.campaigns {
		row := w.row(c)
		counters, _ := w.store.Counters(background, c.id, row.Run)
		r := CampaignResult{ID: c.id, State: row.State, CompletionReason: row.CompletionReason,
			FailureReason: row.FailureReason, Run: row.Run, Counters: counters, Dials: c.dials, Open: w.open(c), Ended: w.now}
		c.clock.pass(w, c)
		r.Work, r.LeftAtClose = c.clock.done, c.clock.leftAtClose
		r.Counts = pacing.Counts{Live: counters.LiveAnswers, Abandoned: counters.LiveAnswers - counters.ConnectedCalls,
			CapacityLoss: counters.CapacityLoss}
		if row.StartedAt != nil {
			r.Started = row.StartedAt.Sub(w.in.Start)
		}
		if row.CompletedAt != nil {
			r.Ended = row.CompletedAt.Sub(w.in.Start)
		}
		if a := w.runner(c); a != nil {
			r.Constraint = a.state.Pace.Last.Constraint
		}
		res.Campaigns = append(res.Campaigns, r)
	}
	return res
}

// dialClock sums up how long a campaign dialled and its workers worked.
type dialClock struct {
	at          time.Duration
	pace        Pace
	done        Work
	leftAtClose int // number of contacts when the window first closed; -1 if it did not
}

// pass adds the time since the last call, with the state that held meanwhile.
func (k *dialClock) pass(w *campaignWorld, c *campaignRecord) {
	was, told := k.pace.Open, Stretch{From: k.at, Until: w.now, Pace: k.pace}
	k.done.Add(k.pace.Work(w.now - k.at))
	k.at, k.pace = w.now, Pace{}
	watched := w.in.Watch != nil && c.i == 0
	if r := w.runner(c); r != nil && r.state.Tally != nil {
		s := r.state
		zoned := s.M.C.Settings.Window.ContactZone
		k.pace.Open = s.M.C.State == campaign.Running && (s.WindowOpen && !zoned || zoned && s.Queue.Len()+len(s.Lines) > 0)
		k.pace.Seats, k.pace.Used = min(s.M.C.Settings.Concurrency, s.Seats), s.Busy
		if was && !k.pace.Open && k.leftAtClose < 0 && (s.M.C.State == campaign.Running ||
			s.M.C.CompletionReason == campaign.ReasonWindowEnded) {
			k.leftAtClose = w.open(c)
		}
		if watched {
			told.Progress = &Progress{Dials: c.dials, Counts: s.Pace.Books.Run.Counts, Left: w.open(c)}
		}
	}
	if watched {
		w.in.Watch(&told)
	}
}

// stored returns a durable attempt.
func (w *campaignWorld) stored(id engine.AttemptID) (attempt.Attempt, bool) {
	a, ok, _ := w.store.Attempt(background, id)
	return a, ok
}
