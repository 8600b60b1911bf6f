package pacing

import "math"

// The controller. Theta, the risk that one more line may carry, is adjusted so that abandons meet
// the cap: an error of the model changes which lines are considered risky, not how many calls are
// abandoned in the end.
const (
	thetaGain  = 0.03
	thetaStart = 2.0 // times the cap
	thetaLeast = 1e-6
	thetaMost  = 0.9
	// Credit beyond what the gates ask for is spent, and missing credit made up, over spendLeast
	// live answers, or over spendShare of those so far.
	spendLeast = 300
	spendShare = 0.5
	spendSlow  = 0.1 // minimum and maximum target, as a multiple of the cap
	spendFast  = 2.0

	strictMargin = 1.2 // multiple of the required credit
	reserveFixed = 3   // calls

	requiredOver = 300.0 // s, time constant of the required credit
)

// Constants of the hybrid gate.
const (
	// hybridSigmas is how many standard deviations above their mean the workers wanted must stay
	// within workers and credit.
	hybridSigmas = 6
	// jumpTimes is the first of two scenarios for lines: jumpTimes as many people answer as
	// expected; or as many as at the recent peak, times peakTimes.
	jumpTimes = 4
	peakTimes = 1.3
	// futureShare is the part of the live answers that progressive dialling would still bring until
	// the close that may repay a surprise, and futureKnown the part for what has happened before;
	// the last futureEnd seconds do not count.
	futureShare = 0.75
	futureKnown = 0.02
	futureEnd   = 120
	// noticedShare is the part of a line's answers by which a jump in their number is noticed.
	noticedShare = 0.5
)

// theta is the risk that one more line may carry now.
func (m *Model) theta() float64 {
	if m.state.Theta == 0 {
		return min(thetaStart*m.at.cap, thetaMost)
	}
	return m.state.Theta
}

// control adjusts theta after each live answer. An abandoned share of `aim` leaves it unchanged.
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

// reserve is the credit kept for the gates: otherwise they, and not the forecast, would limit the
// lines.
func (m *Model) reserve() float64 {
	if m.at.mode == Strict {
		return strictMargin*m.state.Required + reserveFixed
	}
	return m.state.Required + reserveFixed
}

// require records how much credit the gates would need for the lines that the forecast wants.
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

// future is how many live answers can be expected until the close even if every dial held a worker
// from now on: they would earn the credit that repays an abandon now.
func (m *Model) future() float64 {
	if m.f.answer <= 0 {
		return 0
	}
	each := m.f.lineTime/m.f.answer + m.talk.mean // s from one answer of a worker to its next
	answers := m.at.workers / each * max(0, m.at.left-futureEnd)
	return m.person() * min(answers, m.at.dials*m.f.answer)
}

// relapse is how many times more people would answer at the recent peak rate, times peakTimes.
func (m *Model) relapse() float64 {
	return peakTimes * max(m.state.Peak, m.f.answer) / max(m.f.answer, 1e-9)
}
