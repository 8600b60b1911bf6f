package run

import (
	"fmt"
	"runtime"
	"testing"

	"dialler/engine"
	"dialler/engine/contact"
)

func TestACampaignThatHasEndedLeavesTheRoomOfItsContacts(t *testing.T) {
	newOne := func() *State { return New("cmp", Config{}) }
	small := newOne()
	empty := live()
	r := newOne()
	const n = 20_000
	for i := range n {
		id, no := engine.ContactID(fmt.Sprintf("contact-%d", i)), engine.PhoneNumber(fmt.Sprintf("+4915112%06d", i))
		r.Queue.Push(contact.Contact{ID: id, Number: no, Position: int64(i)})
		r.newLine(id, no)
		r.LiveWhileReading[id] = struct{}{}
	}
	full := live() - empty
	for i := range n {
		id := engine.ContactID(fmt.Sprintf("contact-%d", i))
		if _, ok := r.Queue.Take(id); !ok {
			t.Fatalf("%s is not there", id)
		}
		r.removeLine(r.Lines[id])
	}
	r.putAway()
	if left := live() - empty; left > full/50 {
		t.Errorf("%d bytes are left of %d", left, full)
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(small)
}

// live is the size of the live heap in bytes.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
