package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"dialler/actors/dialout"
	"dialler/engine"
	"dialler/media"
)

// outcomeMetrics counts ended attempts by their outcome, one label for each of a
// closed set.
type outcomeMetrics struct {
	desc *prometheus.Desc
	of   func(engine.Outcome) int64
}

func newOutcomeMetrics(of func(engine.Outcome) int64) *outcomeMetrics {
	return &outcomeMetrics{of: of, desc: prometheus.NewDesc(
		"dialler_outcomes_total",
		"Attempts ended, by their outcome at that time; a later result makes connected_no_result completed, and is "+
			"counted in dialler_results_total.",
		[]string{"outcome"},
		nil,
	)}
}

// Describe implements prometheus.Collector.
func (m *outcomeMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

// Collect implements prometheus.Collector.
func (m *outcomeMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, o := range engine.Outcomes {
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(m.of(o)), string(o))
	}
}

// dropMetrics counts the RTP packets that no call received, by reason.
type dropMetrics struct {
	desc *prometheus.Desc
	of   func() media.Stats
}

func newDropMetrics(of func() media.Stats) *dropMetrics {
	return &dropMetrics{of: of, desc: prometheus.NewDesc(
		"dialler_rtp_packets_dropped_total",
		"RTP packets that no call heard: of no call (unknown), "+
			"from the host of a call that hears the address of its "+
			"SDP alone (elsewhere), of more than one (ambiguous), of one that ended (stale), "+
			"of a source that was not proven yet (probation).",
		[]string{"reason"},
		nil,
	)}
}

// Describe implements prometheus.Collector.
func (m *dropMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

// Collect implements prometheus.Collector.
func (m *dropMetrics) Collect(ch chan<- prometheus.Metric) {
	s := m.of()
	for _, d := range []struct {
		reason string
		n      uint64
	}{
		{"unknown", s.DropUnknown}, {"elsewhere", s.DropElsewhere}, {"ambiguous", s.DropAmbiguous},
		{"stale", s.DropStale}, {"probation", s.DropProbation},
	} {
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(d.n), d.reason)
	}
}

// dialoutMetrics counts what became of dialouts that waited for their time; a count is not shown
// while it is zero.
type dialoutMetrics struct {
	desc *prometheus.Desc
	of   *dialout.Stats
}

func newDialoutMetrics(of *dialout.Stats) *dialoutMetrics {
	return &dialoutMetrics{of: of, desc: prometheus.NewDesc(
		"dialler_scheduled_dialouts_total",
		"Dialouts with a not_before that were stored (scheduled), and those of them that were cancelled or expired before "+
			"they were dialled.",
		[]string{"what"},
		nil,
	)}
}

// Describe implements prometheus.Collector.
func (m *dialoutMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

// Collect implements prometheus.Collector.
func (m *dialoutMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, x := range []struct {
		what string
		n    int64
	}{
		{"scheduled", m.of.Scheduled.Load()}, {"cancelled", m.of.Cancelled.Load()}, {"expired", m.of.Expired.Load()},
	} {
		if x.n > 0 {
			ch <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(x.n), x.what)
		}
	}
}
