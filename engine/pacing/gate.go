package pacing

import "time"

// How far beyond the allowed number the forecast searches for the number of lines that it would
// like: in lines per worker, with a minimum for small campaigns.
const (
	reachTimes = 16
	reachLeast = 100
	linesMost  = 1 << 20 // no campaign has more
	// linesEach is how many lines per worker are dialled at most, however few answer: a trunk that
	// loses its calls must not be called even more.
	linesEach = 40
)

// overdial sets how many lines may be dialled beyond those that have a free worker of their own: as
// many as the gate allows and the forecast finds worth their risk. It does not search beyond what
// anything else allows (others).
func (m *Model) overdial(in *Input, w *Explanation, covered, others int) {
	c := float64(w.CapPPM) / million
	surplus := float64(w.surplus) / million
	m.at = situation{mode: in.Mode, workers: float64(w.Workers), cap: c, surplus: surplus,
		live: float64(w.Live), left: in.Left.Seconds(), dials: float64(in.DialsLeft)}
	if in.Mode != Strict && in.Mode != Hybrid || c == 0 || w.Workers == 0 {
		m.at.mode = Progressive
		return
	}
	q := question{mode: in.Mode, workers: w.Workers, busy: in.Busy, ringing: in.Ringing, waiting: in.Waiting,
		others: others, surplus: w.surplus}
	if in.Mode == Hybrid {
		q.seconds, q.dials = int(in.Left/time.Second), in.DialsLeft
	}
	if q == m.last.question && !m.news {
		m.last.answer(w)
		return
	}
	defer func() { m.last, m.news = reply{q, w.Overdial, w.Forecast, w.Risk, w.Theta}, false }()
	floor := max(covered, 0) // at least one line for every free worker
	ask := m.asked != m.now
	if !ask && others < floor {
		w.Overdial = floor - covered
		return
	}
	m.meet(in)
	g := gate{m: m, w: w, credit: surplus / (1 - c), doubt: m.lines.doubt(), theta: m.theta(),
		lines: in.Ringing + in.Waiting, workers: float64(w.Workers - in.Waiting - max(in.Busy-m.talk.known, 0))}
	room := g.strict()
	if in.Mode == Hybrid {
		room = max(g.hybrid(), covered)
		if g.credit < 0 {
			g.theta = min(g.theta, spendSlow*c)
		}
	}
	room = min(room, max(linesEach*w.Workers-g.lines, covered))
	most := min(room-1, others) + 1
	reach := most
	if ask {
		reach = max(most, floor+reachTimes*w.Workers+reachLeast)
	}
	k := first(floor, reach, g.worth)
	if ask {
		m.require(g.needs(in.Mode, k))
	}
	forecast := k < most
	if k = min(k, most); in.Mode == Hybrid && k > floor && !g.safe(k-1) {
		k, forecast = first(floor, k, g.safe), false
	}
	w.Overdial = k - covered
	if forecast {
		w.Forecast, w.Risk, w.Theta = true, m.f.risk(k, g.workers, g.doubt), g.theta
	}
}

// question is what an answer depends on besides the model's state.
type question struct {
	mode                                    Mode
	workers, busy, ringing, waiting, others int
	surplus                                 int64
	seconds, dials                          int // left, of hybrid
}

// reply is the last answer: most messages of a campaign change nothing that it
// depends on.
type reply struct {
	question    question
	overdial    int
	forecast    bool
	risk, theta float64
}

func (r *reply) answer(w *Explanation) {
	w.Overdial, w.Forecast, w.Risk, w.Theta = r.overdial, r.forecast, r.risk, r.theta
}

// meet aligns the model's counts with the campaign's.
func (m *Model) meet(in *Input) {
	if missed := m.talk.known - in.Busy; missed > 0 {
		m.talk.forget(missed, m.now)
		m.tabled = false
	}
	m.prepare(in.Ringing - m.lines.known)
}

// gate decides how many lines to add.
type gate struct {
	m       *Model
	w       *Explanation
	lines   int     // r + w
	workers float64 // without a call, running or waiting, that the forecast does not know
	credit  float64 // B of the strictest ledger; negative over the cap
	doubt   float64
	theta   float64
}

// strict is how many lines may be added so that r + w ≤ f + ⌊B⌋.
func (g *gate) strict() int { return g.w.Free + g.w.Credit - g.lines }

// hybrid is how many lines may be added so that, even if far more people answered than expected,
// the abandons would be made up for by the close: four times as many as a rare surprise, and the
// recent peak as a case that will recur.
func (g *gate) hybrid() int {
	return min(g.bears(jumpTimes, g.m.f.lines, futureShare), g.bears(g.m.relapse(), g.m.f.notice, futureKnown))
}

// bears is how many lines may be added so that, if lines younger than an age answered times as
// often, the abandons would be repaid by a share of the future.
func (g *gate) bears(times float64, younger int, share float64) int {
	room := float64(g.w.Free-g.w.Waiting) + g.credit + share*g.m.at.cap*g.m.future() - g.stressed(times, younger)
	return int(min(max(room/g.stress(times), -1), linesMost))
}

// stress is the probability in that case that a new line is answered; stressed is how many of the
// ringing lines would be.
func (g *gate) stress(times float64) float64 { return max(min(1, times*g.m.f.ever[0]), 1e-6) }

func (g *gate) stressed(times float64, younger int) float64 {
	return g.m.f.stressed(&g.m.lines, g.m.now, g.m.strangers, times, younger)
}

// worth says that one more line after k is worth its risk.
func (g *gate) worth(k int) bool { return g.m.f.risk(k, g.workers, g.doubt) <= g.theta }

// safe says that with one more line after k the workers wanted stay within workers and credit, with
// statistical certainty. With some credit a line with hardly any risk is safe too; over the cap
// only such a line is, since what it brings repays more than it costs.
func (g *gate) safe(k int) bool {
	if g.credit >= 0 && g.m.f.peak(k+1, hybridSigmas, g.doubt) <= g.workers+g.credit+0.5 {
		return true
	}
	return (g.credit < 0 || g.credit >= reserveFixed) && g.m.f.risk(k, g.workers, g.doubt) <= spendSlow*g.m.at.cap
}

// needs is the credit with which the gate would allow k more lines.
func (g *gate) needs(mode Mode, k int) float64 {
	if mode == Strict {
		return float64(g.lines + k - g.w.Free)
	}
	need := g.m.f.peak(k, hybridSigmas, g.doubt) - g.workers - 0.5
	for _, j := range [...]struct {
		times   float64
		younger int
		share   float64
	}{{jumpTimes, g.m.f.lines, futureShare}, {g.m.relapse(), g.m.f.notice, futureKnown}} {
		need = max(need, g.stressed(j.times, j.younger)+float64(k)*g.stress(j.times)-float64(
			g.w.Free-g.w.Waiting)-j.share*g.m.at.cap*g.m.future())
	}
	return need
}

// first returns the first number from lo on for which ok does not hold, at most hi; ok holds up to
// some number and for none after it.
func first(lo, hi int, ok func(int) bool) int {
	if lo >= hi || !ok(lo) {
		return min(lo, hi)
	}
	good, step := lo, 1
	bad := lo + step
	for bad < hi && ok(bad) {
		good, step = bad, 2*step
		bad = good + step
	}
	bad = min(bad, hi)
	for good+1 < bad {
		if mid := good + (bad-good)/2; ok(mid) {
			good = mid
		} else {
			bad = mid
		}
	}
	return bad
}

func (q *question) Parts() []any {
	return []any{&q.mode, &q.workers, &q.busy, &q.ringing, &q.waiting, &q.others, &q.surplus, &q.seconds, &q.dials}
}

func (r *reply) Parts() []any {
	return []any{&r.question, &r.overdial, &r.forecast, &r.risk, &r.theta}
}
