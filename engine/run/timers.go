package run

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// later sends the run an event after a delay.
func (s *Turn) later(after time.Duration, event any) {
	s.arm(TimerAgain, after, Deferred{Event: event})
}

// owe is later for events that a request waits for, or that nothing would repeat: if the run
// crashes meanwhile, its next instance gets the event too.
func (s *Turn) owe(after time.Duration, event any, from engine.Request) {
	held := Deferred{event, from}
	s.Epochs++
	s.Later[s.Epochs] = held
	s.emit(Arm{Timer: TimerAgain, Epoch: s.Epochs, After: max(after, 0), Owed: &held})
}

func (s *Turn) arm(t Timer, after time.Duration, held Deferred) {
	s.Epochs++
	if t.Single() {
		delete(s.Later, s.Timers[t])
		s.Timers[t] = s.Epochs
	}
	s.Later[s.Epochs] = held
	s.emit(Arm{Timer: t, Epoch: s.Epochs, After: max(after, 0)})
}

func (s *Turn) disarm(t Timer) {
	if e, ok := s.Timers[t]; ok {
		delete(s.Timers, t)
		delete(s.Later, e)
		s.emit(Disarm{t})
	}
}

// fired returns the event of a timer; ok is false if the timer was stopped.
func (s *Turn) fired(e *TimerFired) (Deferred, bool) {
	held, ok := s.Later[e.Epoch]
	delete(s.Later, e.Epoch)
	if !ok && e.Owed != nil && e.Epoch < s.Life { // armed by an earlier instance
		return *e.Owed, true
	}
	if s.Timers[e.Timer] == e.Epoch {
		delete(s.Timers, e.Timer)
	}
	return held, ok
}

// newID is 32 hex digits: 48 bits of Unix milliseconds, so that identifiers sort by creation and
// index pages stay hot, and 80 bits derived from the seed.
func (s *Turn) newID() string {
	var of [40]byte
	copy(of[:], s.Seed[:])
	s.Draws++
	binary.BigEndian.PutUint64(of[32:], s.Draws)
	drawn := sha256.Sum256(of[:])
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(s.now.UnixMilli())<<16)
	copy(b[6:], drawn[:])
	return hex.EncodeToString(b[:])
}

func (s *Turn) newAttemptID() engine.AttemptID { return engine.AttemptID(s.newID()) }
func (s *Turn) newContactID() engine.ContactID { return engine.ContactID(s.newID()) }

func (s *Turn) needsSeat(n engine.PhoneNumber) bool { return s.proc.NeedsSeat(n, s.now) }

// Events that the run sends itself after a delay.
type (
	tick          struct{}
	woken         struct{}
	roundLate     struct{ N int }
	loadAgain     struct{}
	rosterLate    struct{}
	answersDue    struct{ N int } // N names the hand-over that armed the timer
	restLate      struct{}
	activationDue struct{ Import engine.ImportID }
	parkedLate    struct{}
	findAgain     struct{ Op int }
	readmitLater  struct{ List []campaign.NewContact }
	suppressAgain struct {
		Numbers []engine.PhoneNumber
		After   engine.ContactID
	}
	readBulkAgain struct{ Seq int64 }
	takeBackAgain struct{}
	prepareAgain  struct{ Effect campaign.Effect }
)
