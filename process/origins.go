package process

import (
	"math/bits"
	"sync"

	"dialler/engine"
	"dialler/http/telephony"
)

// originsCap is how many answered calls of a trunk are judged.
const originsCap = 20

// origins keeps, by trunk, whether the RTP of its last answered calls came from elsewhere than their
// SDP says. It knows the calls whose owners were here, since the start.
type origins struct {
	mu     sync.Mutex
	trunks map[engine.TrunkID]origin
}

// origin has a bit for each of a trunk's last calls.
type origin struct {
	calls              int
	elsewhere, unheard uint32
}

// heard notes a call that is over.
func (o *origins) heard(id engine.TrunkID, q *engine.MediaQuality) {
	if q.Codec == "" || id == "" { // not answered, or of no trunk
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.trunks == nil {
		o.trunks = map[engine.TrunkID]origin{}
	}
	next := func(list uint32, is bool) uint32 {
		list = list << 1 & (1<<originsCap - 1)
		if is {
			list |= 1
		}
		return list
	}
	t, elsewhere := o.trunks[id], q.FromElsewhere()
	o.trunks[id] = origin{
		calls: min(t.calls+1, originsCap), elsewhere: next(t.elsewhere, elsewhere),
		unheard: next(t.unheard, elsewhere && q.PacketsReceived == 0),
	}
}

// of sums a trunk up; nil means that its calls send from where their SDP says.
func (o *origins) of(id engine.TrunkID) *telephony.RTPElsewhere {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.trunks[id]
	if t.elsewhere == 0 {
		return nil
	}
	return &telephony.RTPElsewhere{Of: t.calls, Calls: bits.OnesCount32(t.elsewhere), Unheard: bits.OnesCount32(t.unheard)}
}
