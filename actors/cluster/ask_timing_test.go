package cluster

import (
	"context"
	"syscall"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/ownership"
)

// BenchmarkAsk asks the owner on another node over TCP, both sequentially and concurrently. It
// reports time and CPU of both sides together.
func BenchmarkAsk(b *testing.B) {
	nodes := start(b, newDatabase(), 2, nil)
	if _, err := nodes[0].Claim(b.Context(), campaign(1)); err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 300)
	nodes[0].Handle("echo", func(_ context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte, error) {
		return body, nil
	})
	ask := func() {
		if _, err := nodes[1].Ask(b.Context(), campaign(1), "echo", body); err != nil {
			b.Error(err)
		}
	}
	measured := func(b *testing.B, f func()) {
		var before, after syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		f()
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "µs-CPU/op")
	}
	b.Run("one", func(b *testing.B) {
		measured(b, func() {
			for b.Loop() {
				ask()
			}
		})
	})
	b.Run("many", func(b *testing.B) {
		b.SetParallelism(32)
		measured(b, func() {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					ask()
				}
			})
		})
	})
}
