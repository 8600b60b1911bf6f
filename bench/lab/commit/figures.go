package commit

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Figures are the results of a run.
type Figures struct {
	PostgreSQL  string      `json:"postgresql"`
	Fsync       string      `json:"fsync"`
	Synchronous string      `json:"synchronous_commit"`
	Seconds     float64     `json:"seconds_a_row"`
	Writer      []WriterRow `json:"writer,omitempty"`
	Copy        []BatchRow  `json:"copy,omitempty"`
	Spool       []BatchRow  `json:"spool,omitempty"`
	// Digests are the medians of loads that were offered without and with digests of rows.
	Digests []DigestsRow `json:"digests,omitempty"`
}

// Row is the common part of every row.
type Row struct {
	Events    int         `json:"events"`
	PerSecond float64     `json:"events_per_second"`
	Commit    Percentiles `json:"commit"`
	ClientUS  float64     `json:"client_us_per_event"`
	ServerUS  float64     `json:"server_us_per_event"`
}

// WriterRow is one load offered to the writers.
type WriterRow struct {
	Offered int `json:"offered_per_second"` // 0: as much as is accepted
	Row
	Group   float64     `json:"writes_per_commit"`
	Durable Percentiles `json:"durable"`
	WAL     float64     `json:"wal_bytes_per_event"`
}

// DigestsRow is a load without or with digests of rows.
type DigestsRow struct {
	Digests bool `json:"digests"`
	WriterRow
}

// median has the median of each figure.
func median(rows []WriterRow) WriterRow {
	of := func(f func(*WriterRow) *float64) float64 {
		var list []float64
		for i := range rows {
			list = append(list, *f(&rows[i]))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	m := rows[0]
	for _, f := range []func(*WriterRow) *float64{
		func(r *WriterRow) *float64 { return &r.PerSecond }, func(r *WriterRow) *float64 { return &r.Group },
		func(r *WriterRow) *float64 { return &r.ClientUS }, func(r *WriterRow) *float64 { return &r.ServerUS },
		func(r *WriterRow) *float64 { return &r.Commit.P50 }, func(r *WriterRow) *float64 { return &r.Commit.P99 },
		func(r *WriterRow) *float64 { return &r.Durable.P50 }, func(r *WriterRow) *float64 { return &r.Durable.P99 },
		func(r *WriterRow) *float64 { return &r.WAL },
	} {
		*f(&m) = of(f)
	}
	return m
}

// BatchRow is one size of batches.
type BatchRow struct {
	Batch int `json:"batch"`
	Row
}

// Percentiles are percentiles of durations in ms.
type Percentiles struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

func percentiles(d []time.Duration) Percentiles {
	if len(d) == 0 {
		return Percentiles{}
	}
	slices.Sort(d)
	at := func(p float64) float64 {
		return float64(d[min(len(d)-1, int(p*float64(len(d))))]) / float64(time.Millisecond)
	}
	return Percentiles{P50: at(0.5), P99: at(0.99)}
}

// Print writes the table, in Markdown.
func (f *Figures) Print(w io.Writer) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	p("PostgreSQL %s, fsync %s, synchronous_commit %s; %.0f s a row.\n", f.PostgreSQL, f.Fsync, f.Synchronous, f.Seconds)
	if len(f.Digests) > 0 {
		f.printDigests(p)
		return
	}
	p("| | offered events/s | events/s | events a commit | commit p50 / p99, ms | durable p50 / p99, ms | " +
		"client µs/event | server µs/event |")
	p("|---|---|---|---|---|---|---|---|")
	for _, r := range f.Writer {
		offered := fmt.Sprint(r.Offered)
		if r.Offered == 0 {
			offered = "all it takes"
		}
		p("| writer | %s | %.0f | %.0f | %.1f / %.1f | %.1f / %.1f | %.0f | %.0f |", offered, r.PerSecond, r.Group,
			r.Commit.P50, r.Commit.P99, r.Durable.P50, r.Durable.P99, r.ClientUS, r.ServerUS)
	}
	for _, r := range f.Copy {
		p("| COPY | all it takes | %.0f | %d | %.1f / %.1f | | %.1f | %.1f |", r.PerSecond, r.Batch, r.Commit.P50,
			r.Commit.P99, r.ClientUS, r.ServerUS)
	}
	for _, r := range f.Spool {
		p("| spool | all it takes | %.0f | %d | %.1f / %.1f | | %.0f | |", r.PerSecond, r.Batch, r.Commit.P50, r.Commit.P99,
			r.ClientUS)
	}
}

func (f *Figures) printDigests(p func(format string, args ...any)) {
	p("| digests | offered events/s | events/s | events a commit | commit p50 / p99, ms | durable p50 / p99, ms | " +
		"client µs/event | server µs/event | WAL bytes/event |")
	p("|---|---|---|---|---|---|---|---|---|")
	for _, r := range f.Digests {
		p("| %v | %d | %.0f | %.1f | %.2f / %.2f | %.2f / %.2f | %.1f | %.1f | %.0f |", r.Digests, r.Offered, r.PerSecond,
			r.Group, r.Commit.P50, r.Commit.P99, r.Durable.P50, r.Durable.P99, r.ClientUS, r.ServerUS, r.WAL)
	}
}
