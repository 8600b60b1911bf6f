package pacing

import "math"

// The controller. Theta, the risk that one more line may carry, is moved so
// that abandons come to the cap: an error of the model changes which lines are
// thought risky, not how many calls are abandoned in the end.
const (
	thetaGain  = 0.03
	thetaStart = 2.0 // times the cap
	thetaLeast = 1e-6
	thetaMost  = 0.9
	// A surplus of credit over what the gates ask for is spent, and a lack of
	// it made good, over this many live answers, or over a share of those so far.
	spendLeast = 300
	spendShare = 0.5
	spendSlow  = 0.1 // least and most of the cap that is aimed at
	spendFast  = 2.0

	strictMargin = 1.2 // of the required credit
	reserveFixed = 3   // calls

	requiredOver = 300.0 // s, time constant of the required credit
)

// Of the hybrid gate.
const (
	// hybridSigmas: the workers wanted, so many standard deviations above their
	// mean, must not exceed workers and credit.
	hybridSigmas = 6
	// jumpTimes: lines are counted as if this many times as many people were
	// about to answer, and as if as many as lately did, and some more.
	jumpTimes = 4
	peakTimes = 1.3
	// futureShare: of the live answers that progressive dialling would still
	// bring until the close, so many are counted on for a surprise, and futureKnown
	// for what has happened before; none of the last futureEnd seconds.
	futureShare = 0.75
	futureKnown = 0.02
	futureEnd   = 120
	// noticedShare: once so many of the answers of a line would have come, a jump
	// of their number is known.
	noticedShare = 0.5
)

// theta is the risk that one more line may carry now.
func (m *Model) theta() float64 {
	if m.state.Theta == 0 {
		return min(thetaStart*m.at.cap, thetaMost)
	}
	return m.state.Theta
}

// control moves theta after each live answer. A share of `aim` abandoned leaves
// it where it is.
func (m *Model) control(abandoned bool) {
	c := m.at.cap
	if c <= 0 || m.at.mode == Progressive {
		return
	}
	over := max(spendLeast, spendShare*m.at.live)
	aim := min(max(c+(m.at.surplus-m.reserve())/over, spendSlow*c), spendFast*c)
	if abandoned {
		aim--
	}
	m.state.Theta = min(max(m.theta()*math.Exp(thetaGain*aim), thetaLeast), thetaMost)
}

// reserve is the credit that is kept for the gates: without it they, and not
// the forecast, would bound the lines.
func (m *Model) reserve() float64 {
	if m.at.mode == Strict {
		return strictMargin*m.state.Required + reserveFixed
	}
	return m.state.Required + reserveFixed
}

// require notes how much credit the gates would need for the lines that the
// forecast wants.
func (m *Model) require(credit float64) {
	seconds := tickMost.Seconds()
	if m.asked >= 0 {
		seconds = min(float64(m.now-m.asked)*binLength.Seconds(), seconds)
	}
	m.asked = m.now
	m.state.Required += min(seconds/requiredOver, 1) * (max(credit, 0) - m.state.Required)
}

// person is the share of live ones among answers.
func (m *Model) person() float64 {
	return (m.state.Persons + 2) / (m.state.Persons + m.state.Machines + 3)
}

// future is how many live answers may be counted on until the close even if
// every dial held a worker from now on: they would earn the credit that repays
// an abandon of today.
func (m *Model) future() float64 {
	if m.f.answer <= 0 {
		return 0
	}
	each := m.f.lineTime/m.f.answer + m.talk.mean // s from one answer of a worker to its next
	answers := m.at.workers / each * max(0, m.at.left-futureEnd)
	return m.person() * min(answers, m.at.dials*m.f.answer)
}

// relapse is how many times more people would answer if it were as many as
// lately, and some more.
func (m *Model) relapse() float64 {
	return peakTimes * max(m.state.Peak, m.f.answer) / max(m.f.answer, 1e-9)
}
