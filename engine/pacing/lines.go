package pacing

import (
	"math"
	"time"
)

// binLength groups lines by their dial, and calls by their start: it is the interval of a model's
// ticks.
const binLength = 500 * time.Millisecond

// The assumptions about a line before any observation: about half of all lines answer. That is more
// than most do, so that a campaign begins cautiously.
const (
	priorExposure = 8.0   // s, for each second of age
	priorAnswer   = 0.025 // answers a second
	priorFailure  = 0.005 // failures a second
	levelPrior    = 10.0  // answers
	trustExposure = 80.0  // s at an age after which half of its hazard is trusted
)

// How long an observation counts, as half-lives in seconds.
const (
	shapeHalfLife = 1800.0 // how answers spread over the age of a line
	levelHalfLife = 90.0   // how many lines currently answer
	alarmHalfLife = 12.0   // the same, for noticing a sudden change
	alarmSigmas   = 3.0
)

// ringSlop is how shortly before the ring timeout the end of a line counts as caused by it, which
// says nothing about its failure hazard.
const ringSlop = 600 * time.Millisecond

// AnswerStats are the observations of lines; slices are indexed by the age of the line in whole
// seconds. Old observations fade.
type AnswerStats struct {
	Exposure []float64 `json:"exposure"` // seconds that lines spent at that age
	Answers  []float64 `json:"answers"`
	Failures []float64 `json:"failures"`
	// Observed and Expected are the answers of the last minutes, and the other two those of the
	// last seconds: their ratio is the current level of the answer hazard.
	Observed       float64 `json:"observed"`
	Expected       float64 `json:"expected"`
	ObservedLately float64 `json:"observed_lately"`
	ExpectedLately float64 `json:"expected_lately"`
}

// lines are the ringing lines, and what is known about their answers. Hazards are answers and
// failures per second of exposure, not shares of ended lines: in a cold start with many lines quick
// failures come before the answers, and a share would be wrong for as long as lines ring.
type lines struct {
	st      AnswerStats
	seconds int     // how long a line may ring
	bins    []int32 // lines by the bin of their dial
	first   int64   // the oldest bin
	known   int     // lines in bins

	answer, failure []float64 // hazards a second
	trust           []float64 // observed rather than assumed share of the answer hazard
	level           float64   // current factor of the answer hazard
	seen            float64   // number of answers behind the shape
}

func newLines(st AnswerStats, ring time.Duration) lines {
	n := max(int((ring+time.Second-1)/time.Second), 1)
	st.Exposure, st.Answers, st.Failures = resize(st.Exposure, n), resize(st.Answers, n), resize(st.Failures, n)
	return lines{st: st, seconds: n, bins: make([]int32, 2*n+16), answer: make([]float64, n), failure: make([]float64, n),
		trust: make([]float64, n)}
}

// resize returns a copy of n elements, so that no state is shared.
func resize(s []float64, n int) []float64 {
	r := make([]float64, n)
	copy(r, s)
	return r
}

// at is the count of a bin.
func (l *lines) at(bin int64) *int32 { return &l.bins[bin%int64(len(l.bins))] }

// oldest is the oldest bin whose lines may still be answered at the bin now.
func (l *lines) oldest(now int64) int64 { return max(l.first, now-2*int64(l.seconds)+1) }

// age is the age of the lines of a bin, in whole seconds.
func (l *lines) age(now, bin int64) int { return min(int(now-bin)/2, l.seconds-1) }

// advance makes room for lines dialled now and forgets lines that are too old to be answered.
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

// add counts a line that was dialled in the bin, or removes it; a line that the model does not
// know, or has forgotten, changes nothing.
func (l *lines) add(bin int64, n int32) {
	if bin < l.first || bin >= l.first+int64(len(l.bins)) {
		return
	}
	if c := l.at(bin); *c+n >= 0 {
		*c += n
		l.known += int(n)
	}
}

// answered notes an answer. It affects the level only as far as its age has been observed: at the
// start the shape is wrong, not the level, and missing answers in the first seconds must not reduce
// the level for ages that nobody has observed.
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

// observe advances time by dt seconds.
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

// estimate recomputes hazards and level.
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
	// If the last seconds contradict a level it is replaced, not averaged: it has changed (a list
	// of another quality, a trunk that recovered).
	before := l.ratio()
	off := st.ObservedLately - before*st.ExpectedLately
	if alarm := alarmSigmas * math.Sqrt(before*st.ExpectedLately+1); off > alarm || off < -alarm {
		st.Observed, st.Expected = st.ObservedLately, st.ExpectedLately
	}
	l.level = l.ratio()
}

func (l *lines) ratio() float64 { return (l.st.Observed + levelPrior) / (l.st.Expected + levelPrior) }

// doubt is the relative variance of the number of lines that will answer: of the level, and of the
// shape while little was observed.
func (l *lines) doubt() float64 { return 1/(l.st.Expected+levelPrior) + 1/(l.seen+4) }

// next returns the probabilities for a line of age a in its next second.
func (l *lines) next(a int) (answer, end float64) {
	la, lf := l.answer[a]*l.level, l.failure[a]
	end = -math.Expm1(-(la + lf))
	return end * la / (la + lf), end
}

func (l *lines) Parts() []any {
	return []any{&l.st, &l.seconds, &l.bins, &l.first, &l.known, &l.answer, &l.failure, &l.trust, &l.level, &l.seen}
}
