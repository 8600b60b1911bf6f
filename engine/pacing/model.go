package pacing

import (
	"math"
	"time"
)

// maxRing is the longest ring timeout that a model supports, in seconds.
const maxRing = 240

const (
	tableEvery = 2 * time.Second
	// tickMost is the longest gap between two ticks that a model counts: it did not see what
	// happened in a longer one.
	tickMost = 5 * time.Second
	// kindHalfLife is how long a person or machine counts in their shares, and a level of answers
	// as one that may recur; s.
	kindHalfLife = 7200.0
)

// State is everything that a Model has learnt, for storage. Current lines and calls are not part of
// it.
type State struct {
	// Theta is the risk that one more line may carry; 0 means not yet known.
	Theta   float64     `json:"theta"`
	Answers AnswerStats `json:"answers"`
	Talk    TalkStats   `json:"talk"`
	// Persons and Machines say how many of the answers are live.
	Persons  float64 `json:"persons"`
	Machines float64 `json:"machines"`
	// Peak is the highest recent answer probability.
	Peak float64 `json:"peak"`
	// Required is how much credit the gates have needed recently.
	Required float64 `json:"required"`
}

// Model is the predictive side of one campaign's pacing. It is told what happens to lines and
// calls, learns how they behave, and says how many more lines are worth their risk. It is used by
// one actor and is not safe for concurrent use; nothing in it allocates after its creation.
//
// It forecasts for the moment by which an answered call must have a worker, so it has to know how
// long a call may wait.
type Model struct {
	state State // except Answers and Talk, which lines and talk hold
	base  time.Time
	ring  time.Duration
	wait  int // half-seconds

	lines lines
	talk  talk
	f     forecast

	now       int64         // bin of the last tick, or of a later dial or call
	ticked    time.Duration // since base
	estimated time.Duration
	tabled    bool  // the tables of f match the estimates
	counted   bool  // f.rings is current
	asked     int64 // bin in which the required credit was last computed
	strangers int   // lines that only the campaign knows

	at   situation
	last reply
	news bool // something has changed since the last reply
}

// situation is the subject of the last decision: the controller uses it until the next.
type situation struct {
	mode    Mode
	workers float64
	cap     float64
	surplus float64 // c·L − A of the strictest ledger
	live    float64 // L of the strictest ledger
	left    float64 // s until the window or the day closes
	dials   float64 // left in the list
}

// NewModel returns a model for lines that may ring for ring and answered calls that may wait for
// wait. state is what an earlier model has learnt, nil for nothing; it is copied.
func NewModel(now time.Time, ring, wait time.Duration, state *State) *Model {
	m := &Model{base: now, ring: min(max(ring, time.Second), maxRing*time.Second), wait: int(wait / binLength), asked: -1}
	if state != nil {
		m.state = *state
	}
	m.lines, m.talk = newLines(m.state.Answers, m.ring), newTalk(m.state.Talk)
	m.state.Answers, m.state.Talk = AnswerStats{}, TalkStats{}
	m.f = newForecast(m.lines.seconds)
	m.estimate()
	return m
}

// State is a copy of what the model has learnt.
func (m *Model) State() State {
	s := m.state
	s.Answers, s.Talk = m.lines.st, m.talk.st
	n := m.lines.seconds
	s.Answers.Exposure, s.Answers.Answers, s.Answers.Failures =
		resize(s.Answers.Exposure, n), resize(s.Answers.Answers, n), resize(s.Answers.Failures, n)
	return s
}

// Ring is the ring timeout that the model was made for.
func (m *Model) Ring() time.Duration { return m.ring }

// bin is the bin of an instant. Times before the model began have negative ones, which are older
// than anything that is counted.
func (m *Model) bin(t time.Time) int64 { return int64(math.Floor(t.Sub(m.base).Seconds() * 2)) }

// Dialled notes that a line was placed.
func (m *Model) Dialled(now time.Time) {
	b := m.present(now)
	m.lines.advance(b)
	m.lines.add(b, 1)
	m.counted, m.news = false, true
}

// present is the bin of an event now. Ticks are irregular: a line younger than the last tick must
// not be overlooked until the next, or others would be dialled in its place, again and again.
func (m *Model) present(now time.Time) int64 {
	b := m.bin(now)
	m.now = max(m.now, b)
	return b
}

// Answered notes that a line of the given age wants a worker. With sequential classification that
// is when it ends with a live verdict.
func (m *Model) Answered(now time.Time, age time.Duration) {
	m.lines.add(m.bin(now.Add(-age)), -1)
	m.lines.answered(age)
	m.counted, m.news = false, true
}

// Failed notes that the line ended without wanting a worker.
func (m *Model) Failed(now time.Time, age time.Duration) {
	m.lines.add(m.bin(now.Add(-age)), -1)
	m.lines.failed(age, m.ring)
	m.counted, m.news = false, true
}

// Seated notes that an answered call holds a worker from now on.
func (m *Model) Seated(now time.Time) {
	m.news = true
	b := m.present(now)
	m.talk.advance(b)
	if m.talk.add(b, 1) {
		m.f.addCalls(&m.talk, 0, 1, m.wait)
	}
}

// Ended notes that a call, of a person or a machine, gave back the worker that it held.
func (m *Model) Ended(now time.Time, held time.Duration) {
	m.news = true
	b := m.bin(now.Add(-held))
	if m.talk.add(b, -1) {
		m.f.addCalls(&m.talk, int(max(m.now-b, 0)), -1, m.wait)
	}
	m.talk.ended(held)
}

// Served notes that a live answer has its worker and can no longer turn out to be a machine.
func (m *Model) Served() { m.live(false) }

// Abandoned notes that a live answer found no worker in time.
func (m *Model) Abandoned() { m.live(true) }

// Machine notes that an answer was not a person.
func (m *Model) Machine() { m.state.Machines++ }

func (m *Model) live(abandoned bool) {
	m.state.Persons++
	m.news = true
	m.control(abandoned)
}

// Tick advances time; call it twice a second.
func (m *Model) Tick(now time.Time) {
	d := now.Sub(m.base)
	if d <= m.ticked {
		return
	}
	dt := min(d-m.ticked, tickMost).Seconds()
	m.ticked = d
	m.present(now)
	m.lines.advance(m.now)
	m.talk.advance(m.now)
	m.lines.observe(m.now, dt)
	m.talk.observe(m.now, dt)
	fade := math.Exp2(-dt / kindHalfLife)
	m.state.Persons *= fade
	m.state.Machines *= fade
	m.state.Peak *= fade
	m.counted, m.news = false, true
	if d-m.estimated >= tableEvery {
		m.estimated = d
		m.estimate()
	} else if m.tabled {
		m.f.countCalls(&m.talk, m.now, m.wait)
	}
}

func (m *Model) estimate() {
	m.lines.estimate()
	m.tabled = false
}

// prepare updates tables and counts, which only a decision needs.
func (m *Model) prepare(strangers int) {
	if !m.tabled {
		m.talk.estimate()
		m.f.tabulate(&m.lines, &m.talk, m.wait)
		m.f.countCalls(&m.talk, m.now, m.wait)
		m.tabled, m.counted = true, false
		if o := m.lines.st.Observed; o > peakLeast {
			// A lower bound of the answer probability, so that the peak is not a matter of luck.
			m.state.Peak = max(m.state.Peak, m.f.answer*(o-math.Sqrt(o))/(o+levelPrior))
		}
	}
	if !m.counted || strangers != m.strangers {
		m.f.countLines(&m.lines, m.now, strangers)
		m.counted, m.strangers = true, strangers
	}
}

// peakLeast is how many answers a level must be based on to count as a peak.
const peakLeast = 4.0

// Parts implements snapshot.Parts, as do the methods below for the parts of a Model.
func (m *Model) Parts() []any {
	return []any{&m.state, &m.base, &m.ring, &m.wait, &m.lines, &m.talk, &m.f, &m.now, &m.ticked, &m.estimated,
		&m.tabled, &m.counted, &m.asked, &m.strangers, &m.at, &m.last, &m.news}
}

func (s *situation) Parts() []any {
	return []any{&s.mode, &s.workers, &s.cap, &s.surplus, &s.live, &s.left, &s.dials}
}
