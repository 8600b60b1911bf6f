package promise

import (
	"fmt"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Judge hears what happens and reports the broken promises.
type Judge struct {
	// Excuses are causes for which an abandon does not count: losses of the dialler.
	Excuses []engine.AbandonCause
	// Watched says that legs of lost attempts may still be watched at the End.
	Watched bool
	// Peak has the maximum values.
	Peak Peak

	told      func(Broken)
	at        time.Time     // time of the last fact, by a clock that is never stepped
	offset    time.Duration // of the wall clock
	stepped   time.Time     // when the wall clock was last stepped, zero means never
	attempts  map[engine.AttemptID]*dial
	campaigns map[engine.CampaignID]*course
	people    map[person]*standing
	spent     map[engine.ContactID]*usedBy
	renewals  int // how often somebody was given fresh attempts
	calls     oneCall
	rates     rates
	rooms     rooms
	abandons  abandons
	owners    owners
	listed    map[engine.PhoneNumber]bool
}

// Peak has maximum values: calls and calls per second of a trunk, conversations with the bot, and
// the share of abandons among live answers at any moment, 0 to 1.
type Peak struct {
	Channels, CPS, Seats int
	Abandons             float64
}

// Broken is a broken promise; Campaign is empty if it belongs to none.
type Broken struct {
	At       time.Time
	Campaign engine.CampaignID
	What     string
}

// dial is what is known about an attempt.
type dial struct {
	Begun
	at       time.Time // … durable
	reserved time.Time
	legs     int // durable ones, numbered from 1
	over     map[engine.LegID]bool
	answered map[engine.LegID]bool
	acked    map[engine.LegID]bool
	counted  bool // as a live answer
	ended    bool
	lost     bool
	excused  bool
}

// course is what is known about a campaign.
type course struct {
	row      campaign.Campaign
	ledgers  [3]ledger
	live     map[engine.ContactID]engine.AttemptID
	most     used      // highest Max Attempts during the run
	rests    time.Time // since when it is neither running nor paused, zero if it is
	paused   time.Time // when a pause was confirmed, zero if it is not paused
	starting int       // starts and resumes not yet answered
	edited   time.Time // when its concurrency last changed
}

// person is a number in a campaign.
type person struct {
	campaign engine.CampaignID
	number   engine.PhoneNumber
}

// standing is the state of a person in a campaign.
type standing struct {
	excluded bool
	adding   int       // additions in progress
	added    time.Time // when the last one began or ended
	renewed  int       // the judge's renewals when whoever has it was last given fresh attempts
}

// NewJudge returns a judge that has heard nothing. It calls told for each broken promise.
func NewJudge(told func(Broken)) *Judge {
	return &Judge{told: told, attempts: map[engine.AttemptID]*dial{}, campaigns: map[engine.CampaignID]*course{},
		people: map[person]*standing{}, spent: map[engine.ContactID]*usedBy{}, listed: map[engine.PhoneNumber]bool{},
		rooms: rooms{}}
}

func (j *Judge) broke(c engine.CampaignID, format string, args ...any) {
	j.told(Broken{At: j.at, Campaign: c, What: fmt.Sprintf(format, args...)})
}

func (j *Judge) wall() time.Time { return j.at.Add(j.offset) }

func (j *Judge) course(id engine.CampaignID) *course {
	c := j.campaigns[id]
	if c == nil {
		c = &course{live: map[engine.ContactID]engine.AttemptID{}}
		j.campaigns[id] = c
	}
	return c
}

func (j *Judge) person(c engine.CampaignID, n engine.PhoneNumber) *standing {
	k := person{c, n}
	p := j.people[k]
	if p == nil {
		p = &standing{}
		j.people[k] = p
	}
	return p
}

// Hear takes a fact. Facts come in chronological order, by a clock that is never stepped.
func (j *Judge) Hear(at time.Time, f Fact) {
	j.at = at
	switch f := f.(type) {
	case Stands:
		j.stands(f.Row)
	case TrunkCaps:
		j.rates.trunk(f)
		if f.Channels > 0 {
			j.rooms.limit(at, channels, string(f.Trunk), f.Channels)
		}
	case NumberCaps:
		j.rates.number(f.NumberSettings)
		if f.ConcurrentCap > 0 {
			j.rooms.limit(at, calls, string(f.Number), f.ConcurrentCap)
		}
	case BotSeats:
		j.rooms.limit(at, seats, "", f.Seats)
	case ClockStepped:
		j.offset, j.stepped = j.offset+f.By, at

	case Begun:
		j.began(f)
	case LegStored:
		j.legStored(f)
	case LiveAnswer:
		j.liveAnswer(f)
	case Ended:
		j.ended(f)
	case Forgotten:
		delete(j.attempts, f.Attempt)

	case Invited:
		j.keptOut(f)
		j.callsPerSecond(f)
		j.callsPerDay(f)
		if d := j.intentFirst(f); d != nil {
			j.attemptsLeft(d, f)
			j.reservedBeforeThePause(d, f)
			j.withinTheWindow(d, f)
		}
		j.whileRunning(f)
	case Arrived:
		j.oneCallANumber(f.Leg, f.To)
		j.channelsAndCalls(f)
	case CameIn:
		if f.To != "" {
			j.oneCallANumber(f.Leg, f.To)
		}
	case Over:
		j.calls.end(f.Leg)
		j.rooms.leave(channels, string(f.Leg))
		j.rooms.leave(calls, string(f.Leg))
	case Acknowledged:
		j.answerFirst(f)
	case Acted:
		j.acted(f)

	case Excluded:
		j.excluded(f)
	case Suppressed:
		j.listed[f.Number] = true
	case Adding:
		j.adding(f.Campaign, f.Number, 1)
	case Added:
		j.adding(f.Campaign, f.Number, -1)
	case CalledFor:
		j.renewed(j.person(f.Campaign, f.Number))

	case Lent:
		j.rates.lend(at, f)
	case Granted:
		j.rooms.limit(at, granted, string(f.Campaign), f.Seats)
	case BotOn:
		j.conversation(f)
	case BotOff:
		j.rooms.leave(seats, f.Conversation)
		j.rooms.leave(granted, f.Conversation)
	case OwnersGone:
		j.rooms.empty()

	case Excused:
		if d := j.attempts[f.Attempt]; d != nil {
			d.excused = true
		}

	case Starting:
		c := j.course(f.Campaign)
		c.paused = time.Time{}
		c.starting++
	case Started:
		j.course(f.Campaign).starting--
	case Paused:
		if c := j.course(f.Campaign); c.starting == 0 {
			c.paused = at
		}
	}
}
