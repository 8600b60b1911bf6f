package carrier

import (
	"testing"
	"time"
)

func TestAnInviteIsStampedWhenItLeavesAndNotWhenItIsRead(t *testing.T) {
	c := start(t, Config{Profile: []Behaviour{{Kind: NoAnswer}}})
	u := newUAC(t, c)
	var row Call
	var sent, free time.Time
	for try := 1; try <= 20; try++ { // the kernel starts a moment after the request
		for i := range c.shards { // no reader proceeds while they are locked
			c.shards[i].mu.Lock()
		}
		first, second := u.leg(number), u.leg(number)
		first.invite()
		second.invite()
		sent = time.Now()
		<-time.After(20 * time.Millisecond) // a carrier that reads late
		free = time.Now()
		for i := range c.shards {
			c.shards[i].mu.Unlock()
		}
		until(t, c, "both are read", func(l Ledger) bool { return len(l.Calls()) == 2*try })
		row = second.row()
		if !row.LeftAt.IsZero() && !row.LeftAt.After(sent) && !row.InviteAt.Before(free) {
			return
		}
	}
	t.Errorf("sent before %v, read after %v: left at %v, read at %v", sent, free, row.LeftAt, row.InviteAt)
}
