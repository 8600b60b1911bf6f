package sharedcaps

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkALegOfAnotherNode measures what the counts of one leg cost both nodes together, without
// the transport: one question for a channel and one for a number, both returned. frames/leg times
// the cost of a frame (package cluster) comes on top.
func BenchmarkALegOfAnotherNode(b *testing.B) {
	c := &cluster{begun: time.Now(), owner: map[ownership.Identity]ownership.Owner{}, rng: rand.New(rand.NewPCG(1, 7)),
		open: map[string]engine.Incarnation{}}
	for i := range 2 {
		n := &node{c: c, as: engine.Incarnation(i + 1), cap: 1 << 30, book: map[string]struct{}{},
			until: time.Now().Add(time.Hour)}
		n.begin()
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		n.k.Start(n, n.links, c, n)
	}
	defer c.close()
	keeper, other := c.nodes[0], c.nodes[1]
	ask := func(n *node, of ownership.Identity, leg string) (err error) {
		done := make(chan struct{})
		n.k.Ask(of, []byte(leg), []byte(leg), func(_ []byte, _ engine.BootTime, e error) {
			err = e
			close(done)
		})
		<-done
		return err
	}
	numbers := quota.Shard("+4930231250")
	for _, of := range []ownership.Identity{theTrunk, numbers} {
		if err := ask(keeper, of, "first"); err != nil {
			b.Fatal(err)
		}
	}
	var legs, failed atomic.Int64
	before, frames := cpu(), keeper.links.Stats().Frames.Load()+other.links.Stats().Frames.Load()
	b.SetParallelism(64)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			leg := fmt.Sprintf("01a2003a08894d3348e2c536d9a2%05d-1", legs.Add(1))
			for _, of := range []ownership.Identity{theTrunk, numbers} {
				if ask(other, of, leg) != nil {
					failed.Add(1)
				}
				other.k.Owe(of, []byte(leg))
			}
		}
	})
	b.StopTimer()
	if n := failed.Load(); n > int64(b.N)/10 {
		b.Errorf("%d of %d questions were not answered", n, 2*b.N)
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/leg")
	b.ReportMetric(
		float64(keeper.links.Stats().Frames.Load()+other.links.Stats().Frames.Load()-frames)/float64(b.N),
		"frames/leg",
	)
}
