package process

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/http"
	"dialler/persistence/spool"
)

// writers is how many group commits may run at the same time, each with a lane
// of the spool.
const writers = 4

// spoolCap bounds --spool-size, MiB.
const spoolCap = 64 << 10

// openSpool opens where what live calls produce waits while the database is away.
func (p *Process) openSpool(name string, owner []byte) error {
	size := p.flags.SpoolSize
	switch {
	case size == 0:
		return nil
	case size < 0 || size > spoolCap:
		return fmt.Errorf("--spool-size must be 0 to %d MiB; got %d", spoolCap, size)
	}
	dir := p.flags.SpoolDir
	if dir == "" {
		data, err := DataDir(p.flags.DataDir, name)
		if err != nil {
			return err
		}
		dir = filepath.Join(data, "spool")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if p.spool, err = spool.Open(spool.Config{Dir: dir, Size: int64(size) << 20, Lanes: writers, Owner: owner, Log: p.log}); err != nil {
		return fmt.Errorf("%w (--spool-size 0 does without: live calls then wait for a database that is away)", err)
	}
	p.closing = append(p.closing, func() { _ = p.spool.Close() })
	return nil
}

// spoolCheck is the spool's line of /readyz.
func spoolCheck(s spool.Stats) http.Check {
	c := http.Check{Name: "spool", OK: true}
	waiting := fmt.Sprintf("%d writes of live calls wait on disk for the database since %s, %.1f of %d MiB",
		s.Records, s.Oldest.UTC().Format(time.RFC3339), float64(s.Bytes)/(1<<20), s.Size>>20)
	switch {
	case s.Broken:
		c.OK, c.Detail = false, "the disk of the spool takes no writes; live calls wait for the database"
	case s.Full:
		c.OK, c.Detail = false, waiting+": there is no room for more, and live calls wait for the database"
	case s.Records > 0:
		c.Detail = waiting
	}
	return c
}

// registerSpoolMetrics puts the spool's figures at /metrics.
func registerSpoolMetrics(reg prometheus.Registerer, p *Process) error {
	if p.spool == nil {
		return nil
	}
	figure := func(name, help string, f func(spool.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return f(p.spool.Stats()) })
	}
	count := func(name, help string, f func(spool.Stats) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return f(p.spool.Stats()) })
	}
	truth := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	for _, c := range []prometheus.Collector{
		figure("dialler_spool_writes", "Writes of live calls that wait on disk for the database.", func(s spool.Stats) float64 { return float64(s.Records) }),
		figure("dialler_spool_bytes", "Their size.", func(s spool.Stats) float64 { return float64(s.Bytes) }),
		figure("dialler_spool_size_bytes", "How much may wait.", func(s spool.Stats) float64 { return float64(s.Size) }),
		figure("dialler_spool_oldest_seconds", "How long the oldest of them has waited; 0 when none waits.", func(s spool.Stats) float64 {
			if s.Oldest.IsZero() {
				return 0
			}
			return max(0, time.Since(s.Oldest).Seconds())
		}),
		figure("dialler_spool_full", "1 while there is no room for another write.", func(s spool.Stats) float64 { return truth(s.Full) }),
		figure("dialler_spool_broken", "1 while the disk takes no writes.", func(s spool.Stats) float64 { return truth(s.Broken) }),
		count("dialler_spool_taken_total", "Writes that were spooled.", func(s spool.Stats) float64 { return float64(s.Taken) }),
		count("dialler_spool_replayed_total", "Spooled writes that were written to the database, those of an earlier life among them.", func(s spool.Stats) float64 { return float64(s.Replayed) }),
		count("dialler_spool_refused_total", "Spooled writes that the database refused, of dialler_spool_replayed_total.", func(s spool.Stats) float64 { return float64(s.Rejected) }),
	} {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	return nil
}
