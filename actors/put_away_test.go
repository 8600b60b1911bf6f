package actors

import (
	"fmt"
	"runtime"
	"testing"

	"dialler/engine"
	"dialler/engine/contact"
)

func TestACampaignThatHasEndedLeavesTheRoomOfItsContacts(t *testing.T) {
	newOne := func() *run { return newRun(&deps{}, new(lives), "cmp", nil, nil) }
	small := newOne()
	empty := live()
	r := newOne()
	const n = 20_000
	for i := range n {
		id, no := engine.ContactID(fmt.Sprintf("contact-%d", i)), engine.PhoneNumber(fmt.Sprintf("+4915112%06d", i))
		r.queue.Push(contact.Contact{ID: id, Number: no, Position: int64(i)})
		r.newLine(id, no)
		r.touched[id] = struct{}{}
	}
	full := live() - empty
	for i := range n {
		id := engine.ContactID(fmt.Sprintf("contact-%d", i))
		if _, ok := r.queue.Take(id); !ok {
			t.Fatalf("%s is not there", id)
		}
		r.removeLine(r.lines[id])
	}
	r.putAway()
	if left := live() - empty; left > full/50 {
		t.Errorf("%d bytes are left of %d", left, full)
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(small)
}
