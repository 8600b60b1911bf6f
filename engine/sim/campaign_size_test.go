package sim

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"dialler/engine/campaign"
)

// large is a campaign of many contacts on a thousand workers.
func large(contacts int) Installation {
	in := plain(contacts)
	in.Large = true
	in.Campaigns[0].Settings.Concurrency = 1000
	return in
}

// measured plays the world for a given time, and returns the maximum memory in use.
func (w *campaignWorld) measured(length, every time.Duration) (peak uint64) {
	w.in.Length = length
	var sample func()
	sample = func() {
		var m runtime.MemStats
		runtime.GC() // unreachable memory does not count as in use
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
		w.later(every, sample)
	}
	w.later(0, sample)
	w.play()
	return peak
}

func TestACampaignOfAHundredThousandContactsFitsInto150MiB(t *testing.T) {
	runtime.GC()
	w := newCampaignWorld(large(100_000).WithDefaults(), 1)
	peak := w.measured(4*time.Minute, 20*time.Second)
	if w.check.broken != nil {
		t.Fatal(w.check.broken)
	}
	c := w.result().Campaigns[0]
	if c.Counters.Total != 100_000 || c.Dials < 5000 {
		t.Fatalf("%+v", c)
	}
	t.Logf("%d MiB, %d dials", peak>>20, c.Dials)
	if peak > 150<<20 {
		t.Errorf("%d MiB at the peak", peak>>20)
	}
}

// BenchmarkCampaign plays whole campaigns: contacts per second of this machine's time.
func BenchmarkCampaign(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				in := large(n)
				in.Campaigns[0].Settings.MaxAttempts = 1
				if r := RunCampaigns(in, 1); r.Broken != nil || r.Campaigns[0].State != campaign.Completed {
					b.Fatal(r.Broken, r.Campaigns[0].State)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "contacts/s")
		})
	}
}
