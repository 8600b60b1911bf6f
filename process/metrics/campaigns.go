package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	campaignactor "dialler/actors/campaign"
	"dialler/engine"
)

// campaignMetrics exposes what running campaigns publish, at most 200 of them, so that the label
// campaign_id stays bounded.
type campaignMetrics struct {
	figures  func() []campaignactor.Figures
	lines    *prometheus.Desc
	seats    *prometheus.Desc
	contacts *prometheus.Desc
	pending  *prometheus.Desc
	left     *prometheus.Desc
	rate     *prometheus.Desc
	most     *prometheus.Desc
	due      *prometheus.Desc
	binding  *prometheus.Desc
}

func newCampaignMetrics(figures func() []campaignactor.Figures) *campaignMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("dialler_campaign_"+name, help, append([]string{"campaign_id"}, labels...), nil)
	}
	return &campaignMetrics{
		figures:  figures,
		lines:    desc("lines", "Calls of a running campaign, by phase.", "phase"),
		seats:    desc("seats", "Seats that a running campaign may use."),
		contacts: desc("contacts", "Contacts of a running campaign, by status.", "status"),
		pending:  desc("pending_contacts", "Contacts of a running campaign that were not attempted yet."),
		left:     desc("retries_left", "Attempts that the open contacts of a running campaign still have."),
		rate: desc("abandon_ratio", "Share of live answers that were abandoned, by the period for which the cap is kept.",
			"period"), most: desc("abandon_cap_ratio", "The most that abandon_ratio may be."),
		due: desc(
			"due_contacts",
			"Contacts of a running campaign that could be dialled now, among those in its look-ahead.",
		),
		binding: desc("constraint", "1 for what keeps a running campaign from dialling more at this moment.", "constraint"),
	}
}

// Describe implements prometheus.Collector.
func (m *campaignMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.lines, m.seats, m.contacts, m.pending, m.left, m.rate, m.most, m.due,
		m.binding} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *campaignMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, f := range m.figures() {
		id := string(f.Campaign)
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{id}, labels...)...)
		}
		gauge(m.lines, float64(f.Dialling), "dialling")
		gauge(m.lines, float64(f.Ringing), "ringing")
		gauge(m.lines, float64(f.Waiting), "waiting")
		gauge(m.lines, float64(f.InProgress), "in_progress")
		gauge(m.seats, float64(f.Seats))
		for s, n := range f.Contacts {
			gauge(m.contacts, float64(n), string(s))
		}
		gauge(m.pending, float64(f.Pending))
		gauge(m.left, float64(f.RetriesLeft))
		for p, v := range f.AbandonRates {
			gauge(m.rate, v, string(p))
		}
		gauge(m.most, f.AbandonCap)
		gauge(m.due, float64(f.Due))
		if f.Constraint != engine.ConstraintNone {
			gauge(m.binding, 1, string(f.Constraint))
		}
	}
}
