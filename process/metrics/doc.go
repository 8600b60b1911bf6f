// Package metrics exposes the metrics of a running dialler at /metrics. It reads its sources'
// counters; label sets are closed.
package metrics
