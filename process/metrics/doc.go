// Package metrics puts the figures of a running dialler at /metrics. It reads what its
// sources count; label sets are closed.
package metrics
