package process

import (
	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine"
)

// outcomeMetrics counts ended attempts by their outcome, one label for each of a
// closed set.
type outcomeMetrics struct {
	desc *prometheus.Desc
	of   func(engine.Outcome) int64
}

func newOutcomeMetrics(of func(engine.Outcome) int64) *outcomeMetrics {
	return &outcomeMetrics{of: of, desc: prometheus.NewDesc("dialler_outcomes_total",
		"Attempts ended, by what they had come to then; a result that comes later makes connected_no_result completed, and is counted in dialler_results_total.", []string{"outcome"}, nil)}
}

// Describe implements prometheus.Collector.
func (m *outcomeMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

// Collect implements prometheus.Collector.
func (m *outcomeMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, o := range engine.Outcomes {
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(m.of(o)), string(o))
	}
}
