package media

import (
	"sync/atomic"

	"dialler/media/demux"
)

// counters count since New.
type counters struct {
	sent, sendErrors, readErrors      atomic.Uint64
	received, lost, late              atomic.Uint64 // of ended calls
	malformed, rtcp, rtcpSent         atomic.Uint64
	srtpForged, srtpReplayed          atomic.Uint64
	latched, collisions, ticksSkipped atomic.Uint64
	replaced, crowded                 atomic.Uint64
	dropped                           [demux.RouteKinds]atomic.Uint64
}
