package leg

import "sync/atomic"

type Counters struct {
	Invites, NotSent, Retransmissions, Acks, Cancels, Byes, RemoteByes atomic.Uint64
	Strays, Unmatched, Duplicates                                      atomic.Uint64
	Live                                                               atomic.Int64
	ByStatus                                                           [700]atomic.Uint64
	Pracks, Refreshes, Redirects                                       atomic.Uint64
}
