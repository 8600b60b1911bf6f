package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
)

// bootClock is the boot-time clock of a test.
type bootClock struct{ from time.Time }

func (c bootClock) Now() time.Time        { return time.Now() }
func (c bootClock) Boot() engine.BootTime { return engine.BootTime(time.Since(c.from)) }

func TestARunFeelsForHowLongItsMessagesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deps{clock: bootClock{time.Now().Add(-time.Hour)}, system: newSystem()}
		defer d.system.Shutdown()
		d.root = d.system.Root
		d.writers = make([]*actor.PID, 1)
		d.late.open(1)
		var came []*pulse
		r := &run{d: d}
		r.self = d.root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if m, ok := ctx.Message().(*pulse); ok {
				came = append(came, m)
			}
		}))
		pulses := func(want int) {
			t.Helper()
			synctest.Wait()
			if len(came) != want {
				t.Fatalf("%d pulses, want %d", len(came), want)
			}
		}
		late := func(want time.Duration) {
			t.Helper()
			if got := r.late().Mailbox; got != want {
				t.Fatalf("%v late, want %v", got, want)
			}
		}
		late(0)
		r.beat()
		pulses(1)
		time.Sleep(700 * time.Millisecond) // virtual
		late(700 * time.Millisecond)
		r.beat()
		pulses(1) // one is under way
		r.felt(came[0])
		late(700 * time.Millisecond)
		r.beat()
		pulses(2)
		r.felt(came[1])
		late(0)
		r.beat()
		pulses(2)              // it is too early for another
		time.Sleep(pulseEvery) // virtual
		r.beat()
		pulses(3)
	})
}
