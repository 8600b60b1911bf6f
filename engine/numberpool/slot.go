package numberpool

import (
	"math/bits"
	"time"

	"dialler/engine"
	"dialler/engine/lease"
)

// State of a number, as stored and shown.
type State string

const (
	Active      State = "active"
	Resting     State = "resting"     // after use; becomes active by itself
	Quarantined State = "quarantined" // by strikes or by an operator, until an operator ends it
	Retired     State = "retired"
)

// States lists every state.
var States = []State{Active, Resting, Quarantined, Retired}

// A number is quarantined when strikeCap of the last strikeWindow ended calls refused its caller
// ID.
const (
	strikeCap    = 5
	strikeWindow = 20
)

// Memory is how far back dials matter to a slot: the rolling day and the bucket
// that has just left it.
const Memory = 24*time.Hour + 10*time.Minute

// Slot is the only owner of a number's right to call. It is used by one actor and is not safe for
// concurrent use.
type Slot struct {
	number  engine.PhoneNumber
	caps    engine.NumberSettings
	state   State // Active, Quarantined or Retired; Resting follows from restUntil
	leases  lease.Book[engine.AttemptID]
	taken   map[engine.AttemptID]time.Time // when each lease was first granted
	hour    rolling
	day     rolling
	restEnd time.Time
	usedAt  time.Time

	// strikes are the last ended calls, newest in bit 0; answers likewise, in its first word.
	strikes    uint64
	answers    history
	endedCount int
}

// NewSlot returns the slot of a configured number, without history. Replay adds earlier dials.
func NewSlot(s engine.NumberSettings) *Slot {
	slot := &Slot{number: s.Number, hour: newRolling(time.Minute, 60), day: newRolling(10*time.Minute, 144)}
	slot.taken = make(map[engine.AttemptID]time.Time)
	slot.Configure(s)
	return slot
}

// Configure applies edited caps and the state set by the operator. Ending a quarantine clears the
// strikes that led to it.
func (s *Slot) Configure(c engine.NumberSettings) {
	s.caps = c
	next := State(c.State)
	switch next {
	case Quarantined, Retired:
	case Active, Resting:
		next = Active
	default:
		next = Active
	}
	if s.state == Quarantined && next == Active {
		s.strikes = 0
	}
	s.state = next
}

// Replay adds a dial of an earlier process to a new slot.
func (s *Slot) Replay(at time.Time) {
	s.hour.add(at, 1)
	s.day.add(at, 1)
	if at.After(s.usedAt) {
		s.usedAt = at
	}
}

// Cap names the cap that refused a number slot.
type Cap string

const (
	CapNone       Cap = ""
	CapState      Cap = "state"      // quarantined or retired
	CapRest       Cap = "rest"       // resting after use
	CapConcurrent Cap = "concurrent" //
	CapHour       Cap = "hour"       //
	CapDay        Cap = "day"        //
	CapAway       Cap = "away"       // the node that counts does not answer
)

// Refusal says which cap refused and when asking again makes sense; NextAt is zero when that
// depends on others (a call that ends, an operator).
type Refusal struct {
	Cap    Cap
	NextAt time.Time
}

// Check says whether a lease would be granted now.
func (s *Slot) Check(now time.Time) (Refusal, bool) {
	if s.state != Active {
		return Refusal{Cap: CapState}, false
	}
	if s.caps.DayCap > 0 && s.day.sum(now) >= s.caps.DayCap {
		return Refusal{CapDay, s.day.below(now, s.caps.DayCap)}, false
	}
	if s.caps.HourCap > 0 && s.hour.sum(now) >= s.caps.HourCap {
		return Refusal{CapHour, s.hour.below(now, s.caps.HourCap)}, false
	}
	if s.caps.ConcurrentCap > 0 && s.leases.Held() >= s.caps.ConcurrentCap {
		return Refusal{Cap: CapConcurrent}, false
	}
	if now.Before(s.restEnd) {
		return Refusal{CapRest, s.restEnd}, false
	}
	return Refusal{}, true
}

// Acquire leases the number to an attempt for ttl. Another request for the same attempt renews its
// lease and counts no second dial.
func (s *Slot) Acquire(now time.Time, a engine.AttemptID, ttl time.Duration) (Refusal, bool) {
	if s.leases.Renew(now, a, ttl) {
		return Refusal{}, true
	}
	if r, ok := s.Check(now); !ok {
		return r, false
	}
	s.leases.Take(now, a, ttl)
	s.taken[a] = now
	s.hour.add(now, 1)
	s.day.add(now, 1)
	s.usedAt = now
	return Refusal{}, true
}

// Renew extends the lease of a continuing attempt; ok is false when it has none any more.
func (s *Slot) Renew(now time.Time, a engine.AttemptID, ttl time.Duration) (ok bool) {
	return s.leases.Renew(now, a, ttl)
}

// End says how a call from the number ended.
type End struct {
	NotDialled bool // certainly no INVITE left: the dial does not count
	Strike     bool // the caller ID was refused (403, 606, 608 and the like)
	Answered   bool
}

// Release ends an attempt's lease; quarantined is true when its strike caused a quarantine. The end
// counts even if the lease has already expired.
func (s *Slot) Release(now time.Time, a engine.AttemptID, end End) (quarantined bool) {
	at, had := s.taken[a]
	s.leases.Release(a)
	delete(s.taken, a)
	if end.NotDialled {
		if had {
			s.hour.add(at, -1)
			s.day.add(at, -1)
		}
		return false
	}
	s.note(now, end)
	if end.Strike && s.state == Active && s.Strikes() >= strikeCap {
		s.state = Quarantined
		return true
	}
	return false
}

// note records how a call ended.
func (s *Slot) note(at time.Time, end End) {
	if rest := time.Duration(s.caps.RestSec) * time.Second; rest > 0 {
		s.restEnd = at.Add(rest)
	}
	s.endedCount++
	s.strikes <<= 1
	if end.Strike {
		s.strikes |= 1
	}
	s.answers.push(end.Answered)
}

// Recall adds the end of an earlier process's call to a new slot, the oldest first, CallsKept at
// most. It never quarantines: an earlier quarantine is stored.
func (s *Slot) Recall(at time.Time, end End) { s.note(at, end) }

// Expire ends the expired leases, whose attempts are lost, and returns these attempts.
func (s *Slot) Expire(now time.Time) []engine.AttemptID {
	gone := s.leases.Expire(now)
	for _, a := range gone {
		delete(s.taken, a)
	}
	return gone
}

// Attempts lists the attempts that hold the number.
func (s *Slot) Attempts() []engine.AttemptID { return s.leases.Holders() }

// Forget ends the lease of an attempt whose end is unknown.
func (s *Slot) Forget(a engine.AttemptID) {
	s.leases.Release(a)
	delete(s.taken, a)
}

// Adopt counts an attempt that already uses the number: its dial is among those added by Replay.
func (s *Slot) Adopt(now time.Time, a engine.AttemptID, ttl time.Duration) {
	if s.leases.Take(now, a, ttl) {
		s.taken[a] = now
	}
}

// Has says whether an attempt holds the number.
func (s *Slot) Has(a engine.AttemptID) bool { return s.leases.Has(a) }

// Held is the number of live leases.
func (s *Slot) Held() int { return s.leases.Held() }

// Strikes counts the refusals of the caller ID among the last twenty ended
// calls.
func (s *Slot) Strikes() int { return bits.OnesCount64(s.strikes & (1<<strikeWindow - 1)) }

// State is the number's current state.
func (s *Slot) State(now time.Time) State {
	if s.state == Active && now.Before(s.restEnd) {
		return Resting
	}
	return s.state
}

// Status is the state of a number's slot, for people.
type Status struct {
	State     State      `json:"-"`
	InUse     int        `json:"in_use"`     // calls that hold it now
	HourDials int        `json:"hour_dials"` // of the last 60 minutes
	DayDials  int        `json:"day_dials"`  // of the last 24 hours
	Strikes   int        `json:"strikes"`    // refusals of the caller ID among the last 20 calls
	Answered  int        `json:"answered"`   // of the last ended calls …
	Ended     int        `json:"ended"`      // … this many of which are considered, 64 at most
	Alarm     Alarm      `json:"answer_alarm"`
	UsedAt    *time.Time `json:"used_at"`
	RestsTill *time.Time `json:"rests_until"`
	Refuses   Cap        `json:"-"` // what refuses the next dial, CapNone if nothing does
}

// Status returns the slot's status.
func (s *Slot) Status(now time.Time) Status {
	t := Status{State: s.State(now), InUse: s.Held(), HourDials: s.hour.sum(now), DayDials: s.day.sum(now),
		Strikes: s.Strikes()}
	t.Answered, t.Ended = s.AnswerRate()
	t.Alarm = s.Alarm()
	refusal, _ := s.Check(now)
	t.Refuses = refusal.Cap
	if at := s.usedAt; !at.IsZero() {
		t.UsedAt = &at
	}
	if at := s.restEnd; now.Before(at) {
		t.RestsTill = &at
	}
	return t
}

// Settings are the configured caps, with the current stored state.
func (s *Slot) Settings() engine.NumberSettings {
	c := s.caps
	c.State = string(s.state)
	return c
}
