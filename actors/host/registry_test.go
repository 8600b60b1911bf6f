package host

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

type nothing struct{}

func (nothing) Receive(actor.Context) {}

// live returns the size of the live heap in bytes.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestActorsThatAreGoneLeaveNoRoomBehind(t *testing.T) {
	s := newActorSystem()
	defer s.Shutdown()
	props := actor.PropsFromProducer(func() actor.Actor { return nothing{} })
	come := func(from, n int) {
		for i := range n {
			pid, err := s.Root.SpawnNamed(props, fmt.Sprintf("contact-%d", from+i))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Root.StopFuture(pid).Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	come(0, 1000)
	before := live()
	const n = 20_000
	come(1000, n)
	if grown := live() - before; grown > 50*n {
		t.Errorf("%d actors left %d bytes", n, grown)
	}
	if _, ok := s.ProcessRegistry.GetLocal("eventstream"); !ok {
		t.Error("the system's own processes are not found any more")
	}
}
