package flight

import (
	"encoding/binary"
	"time"

	"dialler/engine"
)

// question is a question of the run to the process, as it stands in a frame. A bool that is true is
// the next number.
type question byte

// Questions. Before and after the answers stand an end, or a crash of the run.
const (
	answersEnd             = 0
	askedDraining question = 2 * (iota + 1)
	askedDatabaseAway
	askedFenced
	askedTrunksDown
	askedNeedsSeat
	askedOwned
	askedCommitLate
	askedBotLate
	askedCarrier
	answersCrash = 255
)

var questionNames = map[question]string{
	askedDraining: "Draining", askedDatabaseAway: "DatabaseAway", askedFenced: "Fenced", askedTrunksDown: "TrunksDown",
	askedNeedsSeat: "NeedsSeat", askedOwned: "Owned", askedCommitLate: "CommitLate", askedBotLate: "BotLate",
	askedCarrier: "Carrier",
}

// heard is a recorder in the place of the process whose answers it records.
type heard Recorder

func (h *heard) yes(q question, is bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is {
		q++
	}
	if h.passed {
		h.frames = append(h.frames, byte(q))
	}
	return is
}

func (h *heard) number(q question, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.passed {
		h.frames = binary.AppendVarint(append(h.frames, byte(q)), n)
	}
}

func (h *heard) Draining() bool     { return h.yes(askedDraining, h.process.Draining()) }
func (h *heard) DatabaseAway() bool { return h.yes(askedDatabaseAway, h.process.DatabaseAway()) }
func (h *heard) Fenced() bool       { return h.yes(askedFenced, h.process.Fenced()) }
func (h *heard) TrunksDown() bool   { return h.yes(askedTrunksDown, h.process.TrunksDown()) }
func (h *heard) NeedsSeat(n engine.PhoneNumber, now time.Time) bool {
	return h.yes(askedNeedsSeat, h.process.NeedsSeat(n, now))
}
func (h *heard) Owned(id engine.AttemptID) bool { return h.yes(askedOwned, h.process.Owned(id)) }
func (h *heard) CommitLate() time.Duration {
	late := h.process.CommitLate()
	h.number(askedCommitLate, int64(late))
	return late
}
func (h *heard) BotLate(id engine.BotID) time.Duration {
	late := h.process.BotLate(id)
	h.number(askedBotLate, int64(late))
	return late
}
func (h *heard) Carrier(t engine.TrunkID) engine.Incarnation {
	n := h.process.Carrier(t)
	h.number(askedCarrier, int64(n))
	return n
}

// said answers a run as a recording says.
type said struct {
	in    *frameReader
	wrong string // what was asked is not what was asked before
}

// next is the recorded answer to a question, 0 if another one was asked; next+1 stands for yes.
func (s *said) next(q question) (yes bool, n int64) {
	if s.wrong != "" {
		return false, 0
	}
	got := question(s.in.peek())
	if got == answersCrash { // the process crashed at it
		return false, 0
	}
	of := got
	if q < askedCommitLate {
		of = got &^ 1
	}
	if of != q {
		s.wrong = "the process is asked " + questionNames[q] + ", " + instead(got)
		return false, 0
	}
	s.in.take()
	if q >= askedCommitLate {
		n = s.in.r.Int()
	}
	return got != of, n
}

// instead says what was asked instead.
func instead(got question) string {
	if name := questionNames[got&^1]; name != "" {
		return "which was asked " + name
	}
	return "which was asked nothing more"
}

func (s *said) yes(q question) bool {
	is, _ := s.next(q)
	return is
}

func (s *said) number(q question) int64 {
	_, n := s.next(q)
	return n
}

func (s *said) Draining() bool                               { return s.yes(askedDraining) }
func (s *said) DatabaseAway() bool                           { return s.yes(askedDatabaseAway) }
func (s *said) Fenced() bool                                 { return s.yes(askedFenced) }
func (s *said) TrunksDown() bool                             { return s.yes(askedTrunksDown) }
func (s *said) NeedsSeat(engine.PhoneNumber, time.Time) bool { return s.yes(askedNeedsSeat) }
func (s *said) Owned(engine.AttemptID) bool                  { return s.yes(askedOwned) }
func (s *said) CommitLate() time.Duration                    { return time.Duration(s.number(askedCommitLate)) }
func (s *said) BotLate(engine.BotID) time.Duration           { return time.Duration(s.number(askedBotLate)) }
func (s *said) Carrier(engine.TrunkID) engine.Incarnation {
	return engine.Incarnation(s.number(askedCarrier)) //nolint:gosec // as it was recorded
}
