package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
	"dialler/engine/sim"
)

// Question asks how one campaign would proceed: its current list, ledgers and pacing, dialled with
// these settings from Start on.
type Question struct {
	Settings campaign.Settings
	Start    time.Time
	Seats    int // of the bot
	CPS      int // new calls per second, over all trunks
	Channels int // simultaneous legs, over all trunks
	Standing campaign.Position
	People   callee.People
	Numbers  []engine.NumberSettings // caps of outbound numbers; any others are uncapped
	Cadences []cadence.Named
	// Calendars are those that the campaign names.
	Calendars []calendar.Named
	Seed      uint64 // of the first play; the other seeds are derived from it
	Plays     int    // PlaysUsual when 0
}

// Use sets the resources: seats of the campaign's bot, the active trunks together, caps of the
// numbers, cadences, and calendars; those of countries are left out. A draft may be asked about before
// any exist.
func (q *Question) Use(bots []engine.Bot, trunks []engine.TrunkSettings, numbers []engine.NumberSettings,
	cadences []cadence.Named, calendars []calendar.Named) {
	q.Seats = q.Settings.Concurrency
	for i := range bots {
		if bots[i].ID == q.Settings.Bot && bots[i].Seats > 0 {
			q.Seats = bots[i].Seats
		}
	}
	for i := range trunks {
		if t := &trunks[i]; t.Active {
			q.CPS, q.Channels = q.CPS+cmp.Or(t.CPSCap, cpsUsual), q.Channels+cmp.Or(t.ChannelCap, channelsUsual)
		}
	}
	if q.CPS == 0 {
		q.CPS, q.Channels = cpsUsual, channelsUsual
	}
	q.Numbers, q.Cadences = numbers, cadences
	q.Calendars = slices.Clone(calendars)
	for i := range q.Calendars {
		q.Calendars[i].Hours.Countries = nil // who is played has a made-up number
	}
	q.Narrow()
}

// Narrow puts the window within the calendars that the settings name; to be called when either was
// changed.
func (q *Question) Narrow() {
	q.Settings.Window = calendar.Narrow(q.Settings.Window, q.Settings.Calendars, q.Calendars)
}

// Meet sets the people called: as measured, or as assumed if the measurement is too small.
func (q *Question) Meet(measured *callee.People) {
	q.People = callee.Known(measured, q.Settings.AMD != engine.AMDOff)
}

// Defaults for a trunk without caps.
const (
	cpsUsual      = 10
	channelsUsual = 100
)

// ListOf is the position of a list of contacts that have used the given number of attempts in
// total, evenly spread.
func ListOf(contacts, used int, at time.Time) campaign.Position {
	each, more := used/max(contacts, 1), used%max(contacts, 1)
	x := campaign.Position{At: at, Created: at}
	for _, a := range []campaign.Ahead{{Used: each, Count: contacts - more}, {Used: each + 1, Count: more}} {
		if a.Count > 0 {
			x.Ahead = append(x.Ahead, a)
		}
	}
	return x
}

// Limits of a question. They bound the work and are the same on every machine, so
// that the same question has the same answer.
const (
	// PlayedMost is how many contacts are played; of a longer list, the first ones.
	PlayedMost = 100_000
	// Horizon is how far ahead a play goes.
	Horizon = 14 * 24 * time.Hour
	// EventsMost is the maximum number of events of a play.
	EventsMost = 500_000
	// PlaysUsual is how often a question is played, each time with another seed. After eventsAll
	// events in total, no more than playsLeast plays are made.
	PlaysUsual = 20
	playsLeast = 5
	eventsAll  = 2_000_000
)

// commitMost limits the assumed duration of a write. With longer ones the brake would slow down the
// play's dials, although the measured durations already include its effect.
const commitMost = pacing.CommitBound / 2

// Band is the range of a figure over the plays: one in ten was below Low, one in ten above High.
type Band struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// enoughPlays is the number of values from which the band consists of their quantiles.
const enoughPlays = 15

// BandOf returns the band of some values. With few values, it is as wide as their deviation lets
// the next one differ (Student's distribution).
func BandOf(values []float64) Band {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	if n == 0 {
		return Band{}
	}
	at := func(q float64) float64 {
		x := q * float64(n-1)
		i := int(x)
		return values[i] + (x-float64(i))*(values[min(i+1, n-1)]-values[i])
	}
	b := Band{at(0.1), at(0.5), at(0.9)}
	if n > 1 && n < enoughPlays {
		mean, free := 0.0, float64(n-1)
		for _, v := range values {
			mean += v / float64(n)
		}
		squares := 0.0
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		// t(0.9) by its expansion in 1/free; accurate to 0.3 % from 3 on.
		off := 1.2816 * (1 + 0.62/free + 0.65/(free*free)) * math.Sqrt(squares/free*(1+1/float64(n)))
		b.Low, b.High = max(b.Median-off, min(values[0], 0)), b.Median+off
	}
	return Band{decimals(b.Low, 1), decimals(b.Median, 1), decimals(b.High, 1)}
}

// Holds says whether the value lies within the band.
func (b Band) Holds(v float64) bool { return v >= b.Low && v <= b.High }

// Forecast combines all plays of a question.
type Forecast struct {
	Plays       int  `json:"plays"`
	DurationSec Band `json:"duration_s"`
	Dials       Band `json:"dials"`
	Connected   Band `json:"connected"`
	Abandoned   Band `json:"abandoned"`
}

// How an Answer ended.
const (
	EndedListDone = "list_done"    // every contact is final
	EndedWindow   = "window_ended" // of a single-day campaign
	EndedHorizon  = "horizon"      // not finished after Horizon
	EndedBudget   = "budget"       // not finished after EventsMost, or PlayedMost
)

// Answer is the result of a play. Shares are in per cent.
type Answer struct {
	Ended string `json:"ended"`
	// DurationSec is from the start to the end; for an unfinished list, to where the play stopped.
	DurationSec float64 `json:"duration_s"`
	DiallingSec float64 `json:"dialling_s"` // the part of it within the window
	// ListSec is the dialling time for the whole list: extrapolated from the final contacts if it
	// is unfinished, nil if none is final.
	ListSec         *float64 `json:"list_dialling_s"`
	ConnectsPerHour float64  `json:"connects_per_h"`
	BusyPct         float64  `json:"busy_pct"`
	AbandonPct      *float64 `json:"abandon_pct"` // nil without live answers
	Dials           int      `json:"dials"`
	Connected       int      `json:"connected"`
	Abandoned       int      `json:"abandoned"`
	Machines        int      `json:"machines"`
	Contacts        int      `json:"contacts"`
	ContactsPlayed  int      `json:"contacts_played"`
	ContactsLeft    int      `json:"contacts_left"`
	// LeftAtClose is how many contacts were left when the window first closed; nil if it did not.
	LeftAtClose *int              `json:"contacts_left_at_close"`
	Constraint  engine.Constraint `json:"constraint"` // of the last decision before the end of the list or of the play
}

// beyond is the factor from the played part to the whole list, when the play ran out of budget.
func (a *Answer) beyond() float64 {
	if done := a.Contacts - a.ContactsLeft; a.Ended == EndedBudget && done > 0 {
		return float64(a.Contacts) / float64(done)
	}
	return 1
}

// Series is the course of a play: columns of equal length, with an entry for each piece of time.
type Series struct {
	At         []float64  `json:"at_s"`     // end of the piece, since the start
	BusyPct    []*float64 `json:"busy_pct"` // nil outside the window
	DialsPerS  []float64  `json:"dials_per_s"`
	Connected  []int      `json:"connected"`     // so far
	AbandonPct []*float64 `json:"abandon_pct"`   // so far
	Left       []int      `json:"contacts_left"` //
}

// placeholder stands for the number pool of a draft that has none yet.
const placeholder engine.PhoneNumber = "+493012345678"

// Told is the answer to a question: the forecast of all plays, and the course of the play with the
// median duration.
type Told struct {
	Forecast Forecast `json:"forecast"`
	Summary  Answer   `json:"summary"`
	Series   Series   `json:"series"`
}

// Ask plays the question. halt may end it early: ok is then false.
func Ask(q *Question, halt func() bool) (t Told, ok bool) {
	contacts, _ := q.Standing.Contacts()
	played := min(contacts, PlayedMost)
	var answers []Answer
	var courses []Series
	events := 0
	for i := range cmp.Or(q.Plays, PlaysUsual) {
		if i >= playsLeast && events >= eventsAll {
			break
		}
		seed := callee.Mix(q.Seed + uint64(i)<<32) //nolint:gosec // a count
		in := q.installation(played, seed)
		in.Halt = halt
		c := newCourse(played)
		in.Watch = c.watch
		r := sim.RunCampaigns(in, seed)
		if r.Halted {
			return t, false
		}
		events += r.Events
		answers = append(answers, q.answer(&r, &r.Campaigns[0], played))
		courses = append(courses, seriesOf(c.moments(r.Campaigns[0].Ended), contacts-played))
	}
	band := func(of func(*Answer) float64) Band {
		var values []float64
		for i := range answers {
			values = append(values, of(&answers[i])*answers[i].beyond())
		}
		return BandOf(values)
	}
	t.Forecast = Forecast{Plays: len(answers),
		DurationSec: band(func(a *Answer) float64 { return a.DurationSec }),
		Dials:       band(func(a *Answer) float64 { return float64(a.Dials) }),
		Connected:   band(func(a *Answer) float64 { return float64(a.Connected) }),
		Abandoned:   band(func(a *Answer) float64 { return float64(a.Abandoned) })}
	order := make([]int, len(answers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(answers[i].DurationSec, answers[k].DurationSec) })
	shown := order[(len(order)-1)/2]
	t.Summary, t.Series = answers[shown], courses[shown]
	return t, true
}

func (q *Question) installation(played int, seed uint64) sim.Installation {
	s := q.Settings
	s.Bot, s.AlwaysOn, s.ConfigURL, s.Window.ContactZone = "bot", false, "", false
	s.BestHour = false // people are measured without their habits
	if len(s.Numbers) == 0 {
		s.Numbers = []engine.PhoneNumber{placeholder}
	}
	caps := make(map[engine.PhoneNumber]engine.NumberSettings, len(q.Numbers))
	for _, n := range q.Numbers {
		caps[n.Number] = n
	}
	numbers := make([]engine.NumberSettings, len(s.Numbers))
	for i, n := range s.Numbers {
		numbers[i] = caps[n]
		numbers[i].Number, numbers[i].State = n, "active"
	}
	standing := q.Standing
	standing.Ahead = slices.Clone(standing.Ahead)
	for i := range standing.Ahead {
		a := &standing.Ahead[i]
		a.Used = min(a.Used, s.MaxAttempts-1) // each has an attempt left
		a.Due = max(a.Due-q.Start.Sub(standing.At), 0)
	}
	plan := sim.CampaignPlan{Settings: s, Contacts: played, Standing: &standing}
	if !standing.Begun {
		plan.Acts = []sim.PlannedAct{{Action: campaign.ActionStart}}
	}
	people := q.People.Resampled(seed)
	trunk := engine.TrunkSettings{ID: "trunk-1", CPSCap: max(q.CPS, 1), ChannelCap: max(q.Channels, 1), Active: true}
	// Half of the dials were placed sooner: the others waited for their turn at the trunk.
	commit := max(min(people.Placing.At(0.5), commitMost), 0)
	return sim.Installation{
		Commit: commit, Start: q.Start, Length: Horizon, Measured: &people, Bot: callee.Bot{Fails: people.Failed.Rate()},
		Seats: max(q.Seats, 1), Large: true, EventsMost: EventsMost, Unjudged: true,
		Trunks: []sim.TrunkPlan{{Settings: trunk}}, Numbers: numbers, Campaigns: []sim.CampaignPlan{plan},
		Cadences: q.Cadences, Calendars: q.Calendars,
	}
}

func (q *Question) answer(r *sim.CampaignsResult, c *sim.CampaignResult, played int) Answer {
	contacts, _ := q.Standing.Contacts()
	beyond := contacts - played
	a := Answer{
		DurationSec: math.Round((c.Ended - c.Started).Seconds()), DiallingSec: math.Round(c.Dialling.Seconds()),
		ConnectsPerHour: decimals(c.ConnectsPerHour(), 1), BusyPct: decimals(100*c.Utilisation(), 1), Dials: c.Dials,
		Connected: c.Counters.ConnectedCalls, Abandoned: c.Counts.Abandoned, Machines: c.Counters.MachineDetected,
		Contacts: contacts, ContactsPlayed: played, ContactsLeft: c.Open + beyond, Constraint: c.Constraint,
	}
	a.AbandonPct = abandonPct(&c.Counts)
	if c.LeftAtClose >= 0 {
		n := c.LeftAtClose + beyond
		a.LeftAtClose = &n
	}
	switch {
	case c.CompletionReason == campaign.ReasonWindowEnded:
		a.Ended = EndedWindow
		if a.LeftAtClose != nil { // closed contacts are final, but were not dialled
			a.ContactsLeft = *a.LeftAtClose
		}
	case c.State == campaign.Completed && beyond == 0:
		a.Ended = EndedListDone
	case c.State == campaign.Completed || r.Spent:
		a.Ended = EndedBudget
	default:
		a.Ended = EndedHorizon
	}
	if done := contacts - a.ContactsLeft; done > 0 {
		all := math.Round(c.Dialling.Seconds() * float64(contacts) / float64(done))
		a.ListSec = &all
	}
	return a
}

func seriesOf(list []moment, beyond int) Series {
	n := len(list)
	s := Series{At: make([]float64, n), BusyPct: make([]*float64, n), DialsPerS: make([]float64, n),
		Connected: make([]int, n), AbandonPct: make([]*float64, n), Left: make([]int, n)}
	dials := 0
	for i := range list {
		p := &list[i]
		s.At[i] = decimals(p.Until.Seconds(), 1)
		if p.Workers > 0 {
			v := decimals(100*float64(p.Busy)/float64(p.Workers), 1)
			s.BusyPct[i] = &v
		}
		if d := (p.Until - p.From).Seconds(); d > 0 {
			s.DialsPerS[i] = decimals(float64(p.Dials-dials)/d, 3)
		}
		dials = p.Dials
		s.Connected[i] = p.Counts.Live - p.Counts.Abandoned
		s.AbandonPct[i] = abandonPct(&p.Counts)
		s.Left[i] = p.Left + beyond
	}
	return s
}

// abandonPct is the abandon rate; nil without live answers.
func abandonPct(c *pacing.Counts) *float64 {
	rate, ok := c.Rate()
	if !ok {
		return nil
	}
	rate = decimals(100*rate, 2)
	return &rate
}

func decimals(v float64, n int) float64 {
	f := math.Pow10(n)
	return math.Round(v*f) / f
}
