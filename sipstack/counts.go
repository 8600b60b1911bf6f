package sipstack

import "sync/atomic"

type counters struct {
	invites, notSent, retransmissions, acks, cancels, byes, remoteByes atomic.Uint64
	strays, unmatched, duplicates                                      atomic.Uint64
	live                                                               atomic.Int64
	byStatus                                                           [700]atomic.Uint64
	pracks, refreshes, redirects                                       atomic.Uint64
}
