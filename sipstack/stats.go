package sipstack

// Stats is a snapshot of the counters since the stack started.
type Stats struct {
	InvitesSent     uint64         // first transmissions, answers to challenges included
	LegsNotSent     uint64         // legs that ended with LegNotSent
	Responses       map[int]uint64 // responses to our INVITEs by status code, repeated ones included
	Retransmissions uint64         // requests repeated by a timer
	Acks            uint64         // ACKs written, repeated ones included
	Cancels         uint64         // CANCEL transactions
	Byes            uint64         // BYE transactions of ours
	Offered         uint64         // calls that trunks brought and that were reported
	Pracks          uint64         // PRACK transactions, answers to challenges not counted
	Refreshes       uint64         // session refreshes of ours
	Redirects       uint64         // 3xx that were followed
	RemoteByes      uint64         // BYEs of the far side that ended a leg
	StrayAnswers    uint64         // unwanted 2xx: forks and late ones, each ended with ACK and BYE
	Unmatched       uint64         // responses and in-dialog requests of no known leg
	Malformed       uint64         // datagrams that are not SIP
	Strangers       uint64         // requests from addresses of no trunk; dropped
	Floods          uint64         // requests outside dialogs beyond one address's rate; dropped
	Duplicates      uint64         // PlaceLeg and RecoverLeg of a known leg
	WriteErrors     uint64         // failed writes of any message
	RefusedConns    uint64         // connections of far sides beyond the limit
	LiveLegs        int            // legs without a final event
	RecoveredLegs   int            // live legs that another process placed, which are being ended here
	KnownLegs       int            // legs with state here, ended ones included
}

// Stats returns a snapshot; its figures are not taken at one instant.
func (s *Stack) Stats() Stats {
	c, n, k := &s.Table.Count, &s.net.Counts, &s.Set.Counts
	st := Stats{
		InvitesSent:     c.Invites.Load(),
		LegsNotSent:     c.NotSent.Load(),
		Responses:       map[int]uint64{},
		Retransmissions: c.Retransmissions.Load() + k.Retransmissions.Load(),
		Acks:            c.Acks.Load(),
		Cancels:         c.Cancels.Load(),
		Byes:            c.Byes.Load(),
		Offered:         c.Offered.Load(),
		Pracks:          c.Pracks.Load(),
		Refreshes:       c.Refreshes.Load(),
		Redirects:       c.Redirects.Load(),
		RemoteByes:      c.RemoteByes.Load(),
		StrayAnswers:    c.Strays.Load(),
		Unmatched:       c.Unmatched.Load(),
		Malformed:       n.Malformed.Load(),
		Strangers:       n.Strangers.Load(),
		Floods:          k.Floods.Load(),
		Duplicates:      c.Duplicates.Load(),
		WriteErrors:     n.WriteErrors.Load(),
		RefusedConns:    n.RefusedConns.Load(),
		LiveLegs:        int(c.Live.Load()),
		RecoveredLegs:   int(c.Recovered.Load()),
		KnownLegs:       s.Known(),
	}
	for code := range c.ByStatus {
		if n := c.ByStatus[code].Load(); n > 0 {
			st.Responses[code] = n
		}
	}
	return st
}

// Addr is the host:port that the first listener is bound to.
func (s *Stack) Addr() string { return s.net.Addr() }

// ListenerAddr is the host:port at which a listener serves a transport; empty
// when it does not.
func (s *Stack) ListenerAddr(name string, t Transport) string { return s.net.ListenerAddr(name, t) }

// OpenConnections counts the open TCP and TLS connections, ours and those of far sides.
func (s *Stack) OpenConnections() int { return s.net.OpenConnections() }
