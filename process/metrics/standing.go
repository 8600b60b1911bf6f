package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine"
	"dialler/engine/trunk"
)

// standingPatience bounds how long a scrape waits for the owners of its figures.
const standingPatience = time.Second

// trunksShown limits the values of the label trunk.
const trunksShown = 200

// standingMetrics expose the state of the dialler and its trunks at the time of the scrape.
type standingMetrics struct {
	of     Sources
	check  *prometheus.Desc
	warns  *prometheus.Desc
	health *prometheus.Desc
	share  *prometheus.Desc
	legs   *prometheus.Desc
	offset *prometheus.Desc
	wall   time.Time
	boot   engine.BootTime
}

func newStandingMetrics(p Sources) *standingMetrics {
	return &standingMetrics{
		of: p,
		check: prometheus.NewDesc(
			"dialler_check_ok",
			"1 for each check of /readyz that passes, 0 for one that does not.",
			[]string{"check"},
			nil,
		),
		warns: prometheus.NewDesc(
			"dialler_check_warning",
			"1 for each check of /readyz that passes with a warning, 0 for one without.",
			[]string{"check"},
			nil,
		),
		health: prometheus.NewDesc(
			"dialler_trunk_health",
			"1 for the state of a trunk: up, unproven, down, broken, held, trying, off.",
			[]string{"trunk", "health"},
			nil,
		),
		share: prometheus.NewDesc(
			"dialler_trunk_cps_share",
			"What throttling by the carrier has left of the trunk's calls per second, 0 to 1.",
			[]string{"trunk"},
			nil,
		),
		legs: prometheus.NewDesc("dialler_trunk_legs", "Live legs of a trunk.", []string{"trunk"}, nil),
		offset: prometheus.NewDesc(
			"dialler_clock_offset_seconds",
			"How far the wall clock was stepped since the start: its advance minus that of the boot-time clock.",
			nil,
			nil,
		),
		wall: p.Clock.Now().Round(0), // without its monotonic reading, which clock steps do not change
		boot: p.Clock.Boot(),
	}
}

// Describe implements prometheus.Collector.
func (m *standingMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.check, m.warns, m.health, m.share, m.legs, m.offset} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Sources that do not answer in time are left out.
func (m *standingMetrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	way := m.of.Clock.Now().Round(0).Sub(m.wall)
	gauge(m.offset, (way - time.Duration(m.of.Clock.Boot()-m.boot)).Seconds())

	ctx, cancel := context.WithTimeout(context.Background(), standingPatience)
	defer cancel()
	for _, c := range m.of.Checks(ctx) {
		ok, warns := 0.0, 0.0
		if c.OK {
			ok = 1
		}
		if c.Warning != "" {
			warns = 1
		}
		gauge(m.check, ok, c.Name)
		gauge(m.warns, warns, c.Name)
	}
	trunks, err := m.of.Tree.TrunkStatuses(ctx)
	if err != nil {
		return
	}
	shown := 0
	for id, s := range trunks {
		if shown++; shown > trunksShown {
			return
		}
		for _, h := range trunk.Healths {
			is := 0.0
			if s.Health == h {
				is = 1
			}
			gauge(m.health, is, string(id), string(h))
		}
		gauge(m.share, s.Share, string(id))
		gauge(m.legs, float64(s.Legs), string(id))
	}
}
