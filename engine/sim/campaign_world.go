package sim

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
	"dialler/engine/tally"
	"dialler/engine/trunk"
)

// happening is something that will happen in the world.
type happening struct {
	at   time.Duration
	seq  uint64
	life int // of the process to which it happens, 0: to the world
	f    func()
}

// happenings is a heap of them.
type happenings struct {
	s   []happening
	seq uint64
}

func (q *happenings) less(a, b *happening) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (q *happenings) push(h happening) {
	q.seq++
	h.seq = q.seq
	q.s = append(q.s, h)
	for i := len(q.s) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.less(&q.s[i], &q.s[up]) {
			break
		}
		q.s[i], q.s[up] = q.s[up], q.s[i]
		i = up
	}
}

func (q *happenings) pop() happening {
	top := q.s[0]
	n := len(q.s) - 1
	q.s[0] = q.s[n]
	q.s[n] = happening{}
	q.s = q.s[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && q.less(&q.s[c+1], &q.s[c]) {
			c++
		}
		if !q.less(&q.s[c], &q.s[i]) {
			return top
		}
		q.s[i], q.s[c] = q.s[c], q.s[i]
		i = c
	}
}

// office is a whole installation in one world: what is durable, the process
// that runs, the network with its people, and the bots.
type office struct {
	in     Installation
	seed   uint64
	now    time.Duration // monotonic
	offset time.Duration // of the wall clock, by steps
	queue  happenings
	events int

	// What a crash leaves.
	plans     []*dossier
	holds     map[engine.PhoneNumber]hold
	blocked   map[engine.PhoneNumber]bool // the suppression list
	abandoned map[engine.PhoneNumber]time.Time
	calls     map[engine.PhoneNumber][]time.Duration // dials of our numbers in the last day, of those with caps

	// The process. Life is 0 while it is down.
	life, lives int
	runs        []*desk
	fleet       *fleet.Fleet
	trunks      []*trunk.Trunk
	slots       []*numberpool.Slot
	cands       []numberpool.Candidate
	writes      []*write
	committing  bool
	attempts    uint64 // begun so far
	draws       uint64 // of trunks

	// The world around it.
	wires    map[engine.LegID]*wire
	byNumber map[engine.PhoneNumber]*wire
	seats    int
	dbAway   int // faults that keep it away
	commit   time.Duration
	down     []int // by trunk: faults that keep it from answering
	refuses  []int // … that refuse connections
	carrier  [][]time.Duration
	stepped  time.Duration // when the clock was last stepped
	crashes  int
	halted   bool
	spent    bool

	check checker
}

// dossier is what is durable of one campaign.
type dossier struct {
	i        int
	plan     *CampaignPlan
	c        campaign.Campaign
	book     book
	open     int // contacts that are not final
	live     map[engine.AttemptID]*attempt.Attempt
	kept     map[engine.AttemptID]*attempt.Attempt // the ended ones
	reports  map[engine.AttemptID]int              // results on their way
	answers  []liveAnswer
	fold     tally.Runs
	excluded exclusion.Book
	learnt   *pacing.State
	previous []row // of the run that a restart was prepared from
	dials    int
	clock    dialClock
}

// liveAnswer is one that counts for the abandon cap.
type liveAnswer struct {
	at        int64
	abandoned bool
}

type hold struct {
	attempt engine.AttemptID
	until   time.Duration // 0: as long as it lives
}

func newOffice(in Installation, seed uint64) *office {
	w := &office{in: in, seed: seed, holds: map[engine.PhoneNumber]hold{}, blocked: map[engine.PhoneNumber]bool{},
		abandoned: map[engine.PhoneNumber]time.Time{}, calls: map[engine.PhoneNumber][]time.Duration{},
		wires: map[engine.LegID]*wire{}, byNumber: map[engine.PhoneNumber]*wire{}, seats: in.Seats, commit: in.Commit,
		down: make([]int, len(in.Trunks)), refuses: make([]int, len(in.Trunks)), carrier: make([][]time.Duration, len(in.Trunks)), stepped: -1}
	w.check.w = w
	for i := range in.Campaigns {
		w.create(i)
	}
	w.boot()
	for i := range in.Campaigns {
		w.plan(i)
	}
	w.planFaults()
	return w
}

// create makes a draft with its list.
func (w *office) create(i int) {
	p := &w.in.Campaigns[i]
	id := engine.CampaignID(fmt.Sprintf("cmp_%d", i+1))
	d := &dossier{i: i, plan: p, live: map[engine.AttemptID]*attempt.Attempt{}, kept: map[engine.AttemptID]*attempt.Attempt{},
		reports: map[engine.AttemptID]int{}, fold: tally.Runs{}, excluded: exclusion.NewBook(nil)}
	d.c = campaign.Campaign{ID: id, Settings: p.Settings.WithDefaults(), State: campaign.Draft, Version: 1, Run: 1, CreatedAt: w.wall(), CreatedBy: engine.System}
	d.book = book{id: id, created: w.wall(), prefixes: w.in.Prefixes, first: p.First, others: map[int32]int{}, added: map[int]int32{}, attempts: map[int32]engine.AttemptID{}}
	w.plans = append(w.plans, d)
	d.clock.leftAtClose = -1
	if w.in.Course {
		d.clock.course = &course{width: courseLeast}
	}
	used, more := 0, 0
	if p.Contacts > 0 {
		used, more = p.Used/p.Contacts, p.Used%p.Contacts
	}
	w.addRows(d, p.Contacts-more, nil, used)
	w.addRows(d, more, nil, used+1)
}

// addRows adds contacts to the durable list, who have used so many attempts: the
// next ones, or those of the given places.
func (w *office) addRows(d *dossier, n int, places []int, used int) {
	if n+len(places) == 0 && used > 0 {
		return
	}
	b := &d.book
	at := w.wall()
	c := contact.Contact{Source: "csv", Run: d.c.Run, State: contact.Pending, Max: d.c.Settings.MaxAttempts,
		DueAt: &at, DueClass: contact.DueFirst, DuePass: 1, UpdatedAt: at, Version: 1}
	if used > 0 {
		c.State, c.Used, c.DueClass, c.DuePass = contact.Unanswered, used, contact.DueRetry, used+1
	}
	b.rows = slices.Grow(b.rows, n+len(places))
	add := func() {
		b.rows = append(b.rows, row{})
		b.set(int32(len(b.rows)-1), &c) //nolint:gosec // bounded by the plan
	}
	b.listed += n // the list comes first
	for range n {
		add()
	}
	for _, p := range places {
		i := int32(len(b.rows)) //nolint:gosec // bounded by the plan
		b.others[i], b.added[p] = p, i
		add()
	}
	d.open += n + len(places)
	after := c.Facts()
	d.fold.Apply(&journal.Event{Campaign: d.c.ID, Run: d.c.Run, At: at, Type: journal.ContactsAdded,
		Data: journal.Data{After: &after, Count: n + len(places)}})
}

// mono is the time by the monotonic clock, wall that of the wall clock.
func (w *office) mono() time.Time { return w.in.Start.Add(w.now) }
func (w *office) wall() time.Time { return w.in.Start.Add(w.now + w.offset) }

// after lets something happen to the process; a crash forgets it.
func (w *office) after(d time.Duration, f func()) {
	w.queue.push(happening{at: w.now + max(d, 0), life: w.life, f: f})
}

// later lets something happen in the world.
func (w *office) later(d time.Duration, f func()) {
	w.queue.push(happening{at: w.now + max(d, 0), f: f})
}

// play lets everything happen.
func (w *office) play() {
	for len(w.queue.s) > 0 && w.check.broken == nil {
		h := w.queue.pop()
		if h.at >= w.in.Length {
			w.now = w.in.Length
			return
		}
		if h.life != 0 && h.life != w.life {
			continue
		}
		if w.enough() {
			return
		}
		w.now = h.at
		w.events++
		h.f()
		if w.life != 0 {
			for _, r := range w.runs {
				r.pump()
			}
			w.check.step()
		}
	}
	if w.check.broken == nil {
		w.check.end()
	}
}

// enough says whether the world ends before its Length.
func (w *office) enough() bool {
	w.spent = w.in.EventsMost > 0 && w.events >= w.in.EventsMost
	w.halted = w.in.Halt != nil && w.events%haltEvery == 0 && w.in.Halt()
	return w.spent || w.halted
}

// result is what it came to.
func (w *office) result() CampaignsResult {
	res := CampaignsResult{Seed: w.seed, Ended: w.now, Crashes: w.crashes, Events: w.events, Halted: w.halted, Spent: w.spent, Broken: w.check.broken}
	for i, d := range w.plans {
		c := &d.c
		r := CampaignResult{ID: c.ID, State: c.State, CompletionReason: c.CompletionReason, FailureReason: c.FailureReason,
			Run: c.Run, Counters: d.fold.Counters(c.Run), Dials: d.dials}
		d.clock.pass(w, i)
		r.Dialling, r.Busy, r.Workers = d.clock.dialling, d.clock.busy, d.clock.workers
		r.Open, r.LeftAtClose = d.open, d.clock.leftAtClose
		r.Counts = pacing.Counts{Live: r.Counters.LiveAnswers, Abandoned: r.Counters.LiveAnswers - r.Counters.ConnectedCalls}
		r.Ended = w.now
		if c.StartedAt != nil {
			r.Started = c.StartedAt.Sub(w.in.Start)
		}
		if c.CompletedAt != nil {
			r.Ended = c.CompletedAt.Sub(w.in.Start)
		}
		r.Course = d.clock.course.moments(r.Ended)
		if w.life != 0 {
			r.Constraint = w.runs[i].last.Constraint
		}
		res.Campaigns = append(res.Campaigns, r)
	}
	return res
}

// dialClock sums up how long a campaign dialled and its workers worked.
type dialClock struct {
	at                      time.Duration
	open                    bool
	seats, used             int
	dialling, busy, workers time.Duration
	leftAtClose             int     // contacts, when the window closed first; -1
	course                  *course // nil when none is kept
}

// pass counts the time since it was last asked with what held in it.
func (c *dialClock) pass(w *office, i int) {
	d := w.now - c.at
	was := c.open
	if was {
		c.dialling += d
		c.workers += time.Duration(max(c.seats, c.used)) * d
		c.busy += time.Duration(c.used) * d
	}
	c.course.pass(c, w.now, w.plans[i])
	c.at, c.open, c.seats, c.used = w.now, false, 0, 0
	if w.life == 0 {
		return
	}
	r := w.runs[i]
	c.open = r.m.C.State == campaign.Running && r.windowIs
	c.seats, c.used = r.seatCap(), r.busy
	if was && !c.open && c.leftAtClose < 0 && (r.m.C.State == campaign.Running || r.m.C.CompletionReason == campaign.ReasonWindowEnded) {
		c.leftAtClose = w.plans[i].open
	}
	c.course.stands(w.plans[i], &r.books.Run.Counts)
}
