package engine

import "time"

// TrunkLife says whether a trunk's far side is there.
type TrunkLife string

const (
	// TrunkUnproven means that it has given no sign of life since it was configured, or that only
	// calls can tell and there were none lately.
	TrunkUnproven TrunkLife = "unproven"
	TrunkAlive    TrunkLife = "alive"
	// TrunkLost means that it used to answer OPTIONS and has stopped, that nothing can be sent to it,
	// or that it does not register us.
	TrunkLost TrunkLife = "lost"
)

// TrunkHealth is what a trunk's signs of life say.
type TrunkHealth struct {
	Trunk  TrunkID
	Life   TrunkLife
	At     time.Time // when it was last asked, with a result; zero if never
	Reason string    // status line of the last answer to OPTIONS or REGISTER, or why there was none
}

// TrunkAnswer is the result of the last OPTIONS.
type TrunkAnswer string

const (
	TrunkNotAsked TrunkAnswer = ""         // none was sent, or the first one is still open
	TrunkAnswers  TrunkAnswer = "answers"  // with a response that is a sign of life
	TrunkDeclines TrunkAnswer = "declines" // with none, or one that says that it is out of service
	TrunkUnsent   TrunkAnswer = "unsent"   // they could not be sent: no such name, connection refused
)

// TrunkSigns are what is known of a trunk's far side. Times are read from one monotonic clock; 0
// means never.
type TrunkSigns struct {
	Options TrunkAnswer
	// Trusted says that it answered OPTIONS earlier, so that their silence means something: a
	// carrier that never answers them may be in perfect order.
	Trusted               bool
	Registers, Registered bool
	// CalledAt is the last response or request of one of its calls, Talks that one of them goes on
	// since its answer: a call whose audio stops is ended within 30 s.
	CalledAt time.Duration
	Talks    bool
	// SilentAt is when the INVITE left that had no response although nothing else was heard since; 0 when there is none.
	// What calls met before counts no longer then: they may all be dead.
	SilentAt time.Duration
	// Now is when they are judged, Within how long a call's sign counts against declined OPTIONS.
	Now, Within time.Duration
}

// Life judges the signs. What calls met counts as much as OPTIONS; without a registration that it
// needs a trunk is lost whatever else it answers.
func (s *TrunkSigns) Life() TrunkLife {
	unasked := s.Options == TrunkNotAsked
	called := s.CalledAt > s.SilentAt && (unasked || s.Now-s.CalledAt <= s.Within)
	talks := s.Talks && s.SilentAt == 0
	switch {
	case s.Registers && !s.Registered:
		return TrunkLost
	case s.Options == TrunkAnswers, called, talks:
		return TrunkAlive
	case s.Options == TrunkUnsent, s.Options == TrunkDeclines && s.Trusted:
		return TrunkLost
	case s.Registered:
		return TrunkAlive
	}
	return TrunkUnproven
}

// SignOfLife says whether a response with that status shows that the far side is there: 408, 500,
// 503 and 504 are what a proxy says of a server behind it that is not.
func SignOfLife(status int) bool {
	switch status {
	case 408, 500, 503, 504:
		return false
	}
	return status >= 100
}
