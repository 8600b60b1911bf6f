package trial

import (
	"math"
	"slices"
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing"
)

// For the abandon rate over half an hour: windows with fewer live answers are not meaningful.
const (
	window      = 30 * time.Minute
	windowLeast = 20
)

// SeriesBins is the number of pieces of a run's course.
const SeriesBins = 240

// Result is the result of a run.
type Result struct {
	Policy   Policy
	Seed     uint64
	Counts   pacing.Counts
	Dials    int
	Length   time.Duration
	Workers  time.Duration // Σ over workers
	Busy     time.Duration // of Workers, in calls, machines included
	Talk     time.Duration // of Workers, in calls with persons
	Windows  []float64     // abandon rates over half an hour
	OverEnd  bool          // over the cap at the end …
	OverEver bool          // … at any moment
	Excess   float64       // the maximum number of calls over it
	Course   []Course
	// Listed is the run up to the end of its list, if it has one: the last talks say more about who
	// talks long than about pacing.
	Listed Stretch
}

// Stretch is the beginning of a run.
type Stretch struct {
	Length        time.Duration
	Workers, Busy time.Duration
	Connects      int
}

// Course is one piece of a run's course.
type Course struct {
	Until   time.Duration
	Busy    float64       // share of the workers' time
	Dials   float64       // a second
	Counts  pacing.Counts // so far
	workers time.Duration
	busy    time.Duration
}

// Connects are the persons served.
func (r *Result) Connects() int { return r.Counts.Live - r.Counts.Abandoned }

// meter measures a run.
type meter struct {
	sc     *callee.Scenario
	r      Result
	before pacing.Counts // at the beginning of the present window
	close  time.Duration // of the window
	width  time.Duration // of a piece of the course
	dials  int           // in the present piece
}

func newMeter(sc *callee.Scenario) meter {
	width := sc.Length / SeriesBins
	m := meter{sc: sc, close: window, width: width}
	m.r.Course = append(make([]Course, 0, SeriesBins), Course{Until: width})
	m.r.Windows = make([]float64, 0, sc.Length/window)
	return m
}

// pass advances time without any event.
func (m *meter) pass(from, to time.Duration, s *standing) {
	for from < to {
		p := &m.r.Course[len(m.r.Course)-1]
		until := min(to, p.Until)
		d := until - from
		busy, workers := time.Duration(s.busy)*d, time.Duration(s.workers)*d
		m.r.Busy, m.r.Workers = m.r.Busy+busy, m.r.Workers+workers
		m.r.Talk += time.Duration(s.persons) * d
		p.busy, p.workers = p.busy+busy, p.workers+workers
		p.Counts = s.counts
		from = until
		if from == p.Until && len(m.r.Course) < SeriesBins {
			m.closePiece(p)
			next := p.Until + m.width
			if len(m.r.Course)+1 == SeriesBins {
				next = m.sc.Length
			}
			m.r.Course = append(m.r.Course, Course{Until: next, Counts: s.counts})
		}
	}
	for m.close <= to {
		l := s.counts.Live - m.before.Live
		if l >= windowLeast {
			m.r.Windows = append(m.r.Windows, float64(s.counts.Abandoned-m.before.Abandoned)/float64(l))
		}
		m.before = s.counts
		m.close += window
	}
}

func (m *meter) closePiece(p *Course) {
	if p.workers > 0 {
		p.Busy = float64(p.busy) / float64(p.workers)
	}
	p.Dials = float64(m.dials) / m.width.Seconds()
	m.dials = 0
}

func (m *meter) listEnded(now time.Duration) {
	m.r.Listed = Stretch{Length: now, Workers: m.r.Workers, Busy: m.r.Busy, Connects: m.r.Connects()}
}

func (m *meter) dialled() {
	m.r.Dials++
	m.dials++
}

// machine notes an answer that was not a person.
func (m *meter) machine(c pacing.Counts) { m.r.Counts = c }

// live notes a live answer, served or abandoned.
func (m *meter) live(c pacing.Counts) {
	m.r.Counts = c
	if !c.Within(m.sc.CapPPM(), 0) {
		m.r.OverEver = true
		m.r.Excess = max(m.r.Excess, float64(c.Abandoned)-float64(m.sc.CapPPM())/1e6*float64(c.Live))
	}
}

func (m *meter) result(p Policy, seed uint64) Result {
	last := &m.r.Course[len(m.r.Course)-1]
	last.Counts = m.r.Counts
	m.closePiece(last)
	m.r.Policy, m.r.Seed = p, seed
	m.r.OverEnd = !m.r.Counts.Within(m.sc.CapPPM(), 0)
	return m.r
}

// Summary is the result of a policy over several seeds.
type Summary struct {
	Policy      Policy
	Ratio       float64 // for the policy of that name
	Runs        int
	Busy        float64 // share of the workers' time
	Connects    float64 // an hour
	Clairvoyant float64 // connects as a share of the bound; Least and Most are of single runs
	Least, Most float64
	Abandon     float64 // mean of the runs' rates
	P95, Max    float64 // of the rates over half an hour, all runs together
	OverEnd     int     // runs over the cap at the end …
	OverEver    int     // … at any moment
	Excess      float64 // the maximum number of calls over it
	DialsEach   float64 // dials per connect
}

// Summarise combines the runs of one policy; it needs at least one.
func Summarise(sc *callee.Scenario, runs []Result) Summary {
	s := Summary{Policy: runs[0].Policy, Runs: len(runs), Least: math.Inf(1)}
	n := float64(len(runs))
	var windows []float64
	var dials, connects int
	for i := range runs {
		r := &runs[i]
		if r.Workers > 0 {
			s.Busy += float64(r.Busy) / float64(r.Workers) / n
		}
		c := float64(r.Connects())
		s.Connects += c / r.Length.Hours() / n
		if bound := clairvoyant(sc, r.Length); bound > 0 {
			s.Clairvoyant += c / bound / n
			s.Least, s.Most = min(s.Least, c/bound), max(s.Most, c/bound)
		}
		if rate, ok := r.Counts.Rate(); ok {
			s.Abandon += rate / n
		}
		windows = append(windows, r.Windows...)
		if r.OverEnd {
			s.OverEnd++
		}
		if r.OverEver {
			s.OverEver++
		}
		s.Excess = max(s.Excess, r.Excess)
		dials, connects = dials+r.Dials, connects+r.Connects()
	}
	if connects > 0 {
		s.DialsEach = float64(dials) / float64(connects)
	}
	if s.Least > s.Most {
		s.Least = 0
	}
	slices.Sort(windows)
	if k := len(windows); k > 0 {
		s.Max = windows[k-1]
		s.P95 = windows[min(int(math.Ceil(0.95*float64(k)))-1, k-1)]
	}
	return s
}

// clairvoyant is how many persons could be served with complete knowledge: each worker begins with
// the first answer and takes the next one the instant it is free. Nobody is abandoned. A run with a
// list may end before the scenario does.
func clairvoyant(s *callee.Scenario, length time.Duration) float64 {
	machines := s.Machines / (1 - s.Machines) * s.Hold.Seconds()
	var sum float64
	for t := s.RingMean; t < length; t += time.Second {
		dt := min(time.Second, length-t).Seconds()
		sum += dt * float64(s.WorkersAt(t)) / (s.TalkMean.Seconds()*s.TalkFactor.At(t) + machines)
	}
	return sum
}

// Bound is the summary of the policy Clairvoyant.
func Bound(sc *callee.Scenario) Summary {
	s := Summary{Policy: Clairvoyant, Runs: 1, Connects: clairvoyant(sc, sc.Length) / sc.Length.Hours()}
	if s.Connects > 0 {
		s.Busy = 1 - sc.RingMean.Seconds()/sc.Length.Seconds()
		s.Clairvoyant, s.Least, s.Most = 1, 1, 1
	}
	return s
}
