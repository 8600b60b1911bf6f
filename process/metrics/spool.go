package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/persistence/spool"
)

// Spool returns the spool's metrics.
func Spool(stats func() spool.Stats) []prometheus.Collector {
	figure := func(name, help string, f func(spool.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return f(stats()) })
	}
	count := func(name, help string, f func(spool.Stats) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return f(stats()) })
	}
	truth := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	return []prometheus.Collector{
		figure(
			"dialler_spool_writes",
			"Writes of live calls that wait on disk for the database.",
			func(s spool.Stats) float64 { return float64(s.Records) },
		),
		figure("dialler_spool_bytes", "Their size.", func(s spool.Stats) float64 { return float64(s.Bytes) }),
		figure("dialler_spool_size_bytes", "How much the spool may hold.",
			func(s spool.Stats) float64 { return float64(s.Size) }),
		figure(
			"dialler_spool_oldest_seconds",
			"How long the oldest spooled write has waited; 0 when none waits.",
			func(s spool.Stats) float64 {
				if s.Oldest.IsZero() {
					return 0
				}
				return max(0, time.Since(s.Oldest).Seconds())
			},
		),
		figure(
			"dialler_spool_full",
			"1 while there is no room for another write.",
			func(s spool.Stats) float64 { return truth(s.Full) },
		),
		figure(
			"dialler_spool_broken",
			"1 while the disk takes no writes.",
			func(s spool.Stats) float64 { return truth(s.Broken) },
		),
		count(
			"dialler_spool_taken_total",
			"Writes that were spooled.",
			func(s spool.Stats) float64 { return float64(s.Taken) },
		),
		count(
			"dialler_spool_replayed_total",
			"Spooled writes that were written to the database, including those of an earlier process.",
			func(s spool.Stats) float64 { return float64(s.Replayed) },
		),
		count(
			"dialler_spool_refused_total",
			"Spooled writes that the database refused, included in dialler_spool_replayed_total.",
			func(s spool.Stats) float64 { return float64(s.Rejected) },
		),
	}
}
