package media

import (
	"sync/atomic"
	"testing"
	"time"

	"dialler/engine"
)

// leased is a node whose only lease ends on the test's command.
type leased struct {
	began time.Time
	until atomic.Int64
	kept  atomic.Bool
}

func (f *leased) Boot() engine.BootTime                               { return engine.BootTime(time.Since(f.began)) }
func (f *leased) Lease() engine.NodeLease                             { return f }
func (f *leased) Until() engine.BootTime                              { return engine.BootTime(f.until.Load()) }
func (f *leased) Gap() (since engine.BootTime, without time.Duration) { return 0, 0 }
func (f *leased) Kept(engine.AttemptID) bool                          { return f.kept.Load() }
func (f *leased) endedBefore(d time.Duration)                         { f.until.Store(int64(f.Boot().Add(-d))) }

func newLeased() *leased {
	f := &leased{began: time.Now()}
	f.until.Store(int64(time.Hour))
	return f
}

// No bot is attached after the end of the lease, even if the command was given before.
func TestNoBotIsAttachedBehindTheEndOfTheLease(t *testing.T) {
	f, b, r := newLeased(), newBot(t), record(t)
	e := start(t, func(c *Config) { c.Fence = f })
	if _, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, r.sink); err != nil {
		t.Fatal(err)
	}
	f.endedBefore(0)
	e.AttachBot(attach(attempt(1), b.url()))
	if ev := r.next(engine.MediaBotFailed); ev.Error != "lease lost" {
		t.Errorf("%+v", ev)
	}
}

// Audio flows as long as a node has the call: half a minute after the end of the lease, and longer
// when another node has it.
func TestNoAudioLeavesOnceNobodyHasTheCall(t *testing.T) {
	f, p := newLeased(), newPhone(t, 7)
	e := start(t, func(c *Config) { c.Fence = f })
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	e.PlayMessage(attempt(1))
	p.hear()
	f.endedBefore(engine.LimboFor - 10*time.Second)
	p.hear()
	f.kept.Store(true)
	f.endedBefore(engine.LimboFor)
	sent := e.Stats().PacketsSent
	for e.Stats().PacketsSent < sent+8 {
		p.hear()
	}
	f.kept.Store(false)
	over := time.Now().Add(200 * time.Millisecond)
	sent = e.Stats().PacketsSent
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(over) {
		<-tick.C
	}
	if n := e.Stats().PacketsSent - sent; n > 2 { // those already on their way
		t.Errorf("%d packets left", n)
	}
}
