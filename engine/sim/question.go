package sim

import (
	"math"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
)

// Question asks what would become of one campaign: of its list as it is, dialled
// by these settings from Start on, with ledgers and a pacing that begin anew.
type Question struct {
	Settings campaign.Settings
	Start    time.Time
	Seats    int // of the bot
	CPS      int // new calls a second, of all trunks
	Channels int // simultaneous legs, of all trunks
	Contacts int // not final
	Used     int // attempts that they have used, together
	People   callee.People
	// PeopleRing is the ring timeout with which the people were measured.
	PeopleRing time.Duration
	Numbers    []engine.NumberSettings // caps of outbound numbers; of others there are none
	Seed       uint64
}

// Limits of a question. They bound the work and are the same on every machine, so
// that the same question has the same answer.
const (
	// PlayedMost is how many contacts are played; of a longer list the first ones.
	PlayedMost = 100_000
	// Horizon is how far ahead is played.
	Horizon = 14 * 24 * time.Hour
	// EventsMost is how much may happen.
	EventsMost = 500_000
)

// How an Answer ended.
const (
	EndedListDone = "list_done"    // every contact is final
	EndedWindow   = "window_ended" // of a single-day campaign
	EndedHorizon  = "horizon"      // it goes on after Horizon
	EndedBudget   = "budget"       // it goes on after EventsMost, or PlayedMost
)

// Answer is what became of it. Shares are per cent.
type Answer struct {
	Ended string `json:"ended"`
	// DurationSec is from the start to the end; of a list that is not done, to
	// where it was left.
	DurationSec float64 `json:"duration_s"`
	DiallingSec float64 `json:"dialling_s"` // of that within the window
	// ListSec is the time of dialling that the whole list takes: extrapolated by
	// the final contacts where it is not done, nil when none is final.
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
	// LeftAtClose is how many were left when the window closed first; nil when
	// it did not.
	LeftAtClose *int              `json:"contacts_left_at_close"`
	Constraint  engine.Constraint `json:"constraint"` // of the last decision before the end of the list or of the play
}

// Series is its course: columns of equal length, a row for each piece of time.
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

// Ask plays the question. Halt may end it before: then ok is false. The error
// names an invariant of the dialler that did not hold.
func Ask(q *Question, halt func() bool) (a Answer, s Series, ok bool, err error) {
	played := min(q.Contacts, PlayedMost)
	in := q.installation(played)
	in.Halt = halt
	if err := in.People.Validate(); err != nil {
		return a, s, false, err
	}
	r := RunCampaigns(in, q.Seed)
	if r.Broken != nil {
		return a, s, false, r.Broken
	}
	c := &r.Campaigns[0]
	a, s = q.answer(&r, c, played), seriesOf(c.Course, q.Contacts-played)
	return a, s, !r.Halted, nil
}

func (q *Question) installation(played int) Installation {
	s := q.Settings
	s.Bot, s.AlwaysOn, s.ConfigURL, s.Window.ContactZone, s.CallbackDetection = "bot", false, "", false, false
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
	used := 0
	if q.Contacts > 0 {
		// Each must have an attempt left.
		share := min(float64(q.Used)/float64(q.Contacts), float64(s.MaxAttempts-1))
		used = int(share * float64(played))
	}
	people := q.People.Scenario(q.PeopleRing)
	people.Timeout = time.Duration(s.RingTimeoutSec) * time.Second
	return Installation{
		Start: q.Start, Length: Horizon, People: people, Seats: max(q.Seats, 1), Large: true, EventsMost: EventsMost, Course: true,
		Trunks:    []TrunkPlan{{Settings: engine.TrunkSettings{ID: "trunk-1", CPSCap: max(q.CPS, 1), ChannelCap: max(q.Channels, 1), Active: true}}},
		Numbers:   numbers,
		Campaigns: []CampaignPlan{{Settings: s, Contacts: played, Used: used, Acts: []PlannedAct{{Action: campaign.ActionStart}}}},
	}
}

func (q *Question) answer(r *CampaignsResult, c *CampaignResult, played int) Answer {
	beyond := q.Contacts - played
	a := Answer{
		DurationSec: math.Round((c.Ended - c.Started).Seconds()), DiallingSec: math.Round(c.Dialling.Seconds()),
		ConnectsPerHour: decimals(c.ConnectsPerHour(), 1), BusyPct: decimals(100*c.Utilisation(), 1), Dials: c.Dials,
		Connected: c.Counters.ConnectedCalls, Abandoned: c.Counts.Abandoned, Machines: c.Counters.MachineDetected,
		Contacts: q.Contacts, ContactsPlayed: played, ContactsLeft: c.Open + beyond, Constraint: c.Constraint,
	}
	a.AbandonPct = abandonPct(&c.Counts)
	if c.LeftAtClose >= 0 {
		n := c.LeftAtClose + beyond
		a.LeftAtClose = &n
	}
	switch {
	case c.CompletionReason == campaign.ReasonWindowEnded:
		a.Ended = EndedWindow
		if a.LeftAtClose != nil { // what is closed is final, and was not dialled
			a.ContactsLeft = *a.LeftAtClose
		}
	case c.State == campaign.Completed && beyond == 0:
		a.Ended = EndedListDone
	case c.State == campaign.Completed || r.Spent:
		a.Ended = EndedBudget
	default:
		a.Ended = EndedHorizon
	}
	if done := q.Contacts - a.ContactsLeft; done > 0 {
		all := math.Round(c.Dialling.Seconds() * float64(q.Contacts) / float64(done))
		a.ListSec = &all
	}
	return a
}

func seriesOf(list []CampaignMoment, beyond int) Series {
	n := len(list)
	s := Series{At: make([]float64, n), BusyPct: make([]*float64, n), DialsPerS: make([]float64, n), Connected: make([]int, n),
		AbandonPct: make([]*float64, n), Left: make([]int, n)}
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

// abandonPct is the rate of abandons; nil without live answers.
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
