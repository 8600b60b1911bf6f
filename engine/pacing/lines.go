package pacing

import (
	"math"
	"time"
)

// binLength tells lines apart by their dial, and calls by their start: it is
// how often a model is ticked.
const binLength = 500 * time.Millisecond

// What is believed of a line before anything was seen: about half of all lines
// answer. That is more than most do, so that a campaign begins with care.
const (
	priorExposure = 8.0   // s, for each second of age
	priorAnswer   = 0.025 // answers a second
	priorFailure  = 0.005 // failures a second
	levelPrior    = 10.0  // answers
	trustExposure = 80.0  // s at an age, with which half of its hazard is known
)

// How long an observation counts, as half-lives in seconds.
const (
	shapeHalfLife = 1800.0 // how answers spread over the age of a line
	levelHalfLife = 90.0   // how many lines answer at present
	alarmHalfLife = 12.0   // the same, for noticing that it has changed at once
	alarmSigmas   = 3.0
)

// ringSlop: a line that ends so shortly before the ring timeout was ended by
// it, which says nothing of its failure hazard.
const ringSlop = 600 * time.Millisecond

// AnswerStats is what was seen of lines; slices are indexed by the age of the
// line in whole seconds. Old observations fade.
type AnswerStats struct {
	Exposure []float64 `json:"exposure"` // seconds that lines spent at that age
	Answers  []float64 `json:"answers"`
	Failures []float64 `json:"failures"`
	// Observed and Expected answers of the last minutes and of the last
	// seconds: their ratio is the present level of the answer hazard.
	Observed       float64 `json:"observed"`
	Expected       float64 `json:"expected"`
	ObservedLately float64 `json:"observed_lately"`
	ExpectedLately float64 `json:"expected_lately"`
}

// lines are the lines that ring now, and what is known of their answers.
// Hazards are answers and failures per second of exposure, not shares of ended
// lines: in a cold start with many lines quick failures come before the
// answers, and a share would be wrong for as long as lines ring.
type lines struct {
	st      AnswerStats
	seconds int     // how long a line may ring
	bins    []int32 // lines by the bin of their dial
	first   int64   // the oldest bin
	known   int     // lines in bins

	answer, failure []float64 // hazards a second
	trust           []float64 // share of the answer hazard that was seen, not believed before
	level           float64   // factor of the answer hazard now
	seen            float64   // answers that the shape rests on
}

func newLines(st AnswerStats, ring time.Duration) lines {
	n := max(int((ring+time.Second-1)/time.Second), 1)
	st.Exposure, st.Answers, st.Failures = resize(st.Exposure, n), resize(st.Answers, n), resize(st.Failures, n)
	return lines{st: st, seconds: n, bins: make([]int32, 2*n+16), answer: make([]float64, n), failure: make([]float64, n), trust: make([]float64, n)}
}

// resize gives a copy of n elements, so that no state is shared.
func resize(s []float64, n int) []float64 {
	r := make([]float64, n)
	copy(r, s)
	return r
}

// at is the count of a bin.
func (l *lines) at(bin int64) *int32 { return &l.bins[bin%int64(len(l.bins))] }

// oldest is the oldest bin whose lines may still be answered at the bin now.
func (l *lines) oldest(now int64) int64 { return max(l.first, now-2*int64(l.seconds)+1) }

// age of the lines of a bin, in whole seconds.
func (l *lines) age(now, bin int64) int { return min(int(now-bin)/2, l.seconds-1) }

// advance makes room for lines dialled now; lines that are too old to be
// answered are forgotten.
func (l *lines) advance(now int64) {
	n := int64(len(l.bins))
	if now-l.first >= 2*n {
		clear(l.bins)
		l.known, l.first = 0, now-n+1
		return
	}
	for l.first+n <= now {
		c := l.at(l.first)
		l.known -= int(*c)
		*c = 0
		l.first++
	}
}

// add counts a line that was dialled in the bin, or takes it away; a line that
// the model never heard of, or has forgotten, changes nothing.
func (l *lines) add(bin int64, n int32) {
	if bin < l.first || bin >= l.first+int64(len(l.bins)) {
		return
	}
	if c := l.at(bin); *c+n >= 0 {
		*c += n
		l.known += int(n)
	}
}

// answered notes an answer. It speaks for the level only as far as its age was
// seen before: at a start the shape is wrong, not the level, and what the first
// seconds lack must not be taken off those that nobody has seen.
func (l *lines) answered(age time.Duration) {
	a := l.second(age)
	l.st.Answers[a]++
	l.st.Observed += l.trust[a]
	l.st.ObservedLately += l.trust[a]
}

func (l *lines) failed(age, ring time.Duration) {
	if age < ring-ringSlop {
		l.st.Failures[l.second(age)]++
	}
}

func (l *lines) second(age time.Duration) int {
	return min(max(int(age/time.Second), 0), l.seconds-1)
}

// observe lets dt seconds pass.
func (l *lines) observe(now int64, dt float64) {
	st := &l.st
	fade := math.Exp2(-dt / shapeHalfLife)
	for a := range st.Exposure {
		st.Exposure[a] *= fade
		st.Answers[a] *= fade
		st.Failures[a] *= fade
	}
	expected := 0.0
	for b := l.oldest(now); b <= now; b++ {
		if n := float64(*l.at(b)); n > 0 {
			a := l.age(now, b)
			st.Exposure[a] += n * dt
			expected += n * l.answer[a] * l.trust[a] * dt
		}
	}
	fade = math.Exp2(-dt / levelHalfLife)
	st.Observed, st.Expected = st.Observed*fade, st.Expected*fade+expected
	fade = math.Exp2(-dt / alarmHalfLife)
	st.ObservedLately, st.ExpectedLately = st.ObservedLately*fade, st.ExpectedLately*fade+expected
}

// estimate works hazards and level out anew.
func (l *lines) estimate() {
	st := &l.st
	l.seen = 0
	for a := range l.answer {
		l.seen += st.Answers[a]
		// Smoothed over the neighbours.
		var x, f, e float64
		for b := max(a-1, 0); b <= min(a+1, l.seconds-1); b++ {
			x += st.Answers[b] + priorExposure*priorAnswer
			f += st.Failures[b] + priorExposure*priorFailure
			e += st.Exposure[b] + priorExposure
		}
		l.answer[a], l.failure[a] = x/e, f/e
		l.trust[a] = st.Exposure[a] / (st.Exposure[a] + trustExposure)
	}
	// A level that the last seconds contradict is not averaged away: it has
	// changed (a list of another quality, a trunk that came back).
	before := l.ratio()
	off := st.ObservedLately - before*st.ExpectedLately
	if alarm := alarmSigmas * math.Sqrt(before*st.ExpectedLately+1); off > alarm || off < -alarm {
		st.Observed, st.Expected = st.ObservedLately, st.ExpectedLately
	}
	l.level = l.ratio()
}

func (l *lines) ratio() float64 { return (l.st.Observed + levelPrior) / (l.st.Expected + levelPrior) }

// doubt is the relative variance of how many lines will answer: of the level,
// and of the shape while little was seen.
func (l *lines) doubt() float64 { return 1/(l.st.Expected+levelPrior) + 1/(l.seen+4) }

// next gives what becomes of a line of the age a in its next second.
func (l *lines) next(a int) (answer, end float64) {
	la, lf := l.answer[a]*l.level, l.failure[a]
	end = -math.Expm1(-(la + lf))
	return end * la / (la + lf), end
}

func (l *lines) Parts() []any {
	return []any{&l.st, &l.seconds, &l.bins, &l.first, &l.known, &l.answer, &l.failure, &l.trust, &l.level, &l.seen}
}
