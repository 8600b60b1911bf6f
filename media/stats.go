package media

import (
	"net/netip"
	"time"

	"dialler/engine"
	"dialler/media/demux"
)

// Stats is the state and the counters of the engine. Counters count since New.
type Stats struct {
	Sockets  int `json:"sockets"`
	Calls    int `json:"calls"`    // open media paths
	Answered int `json:"answered"` // of them answered
	Bots     int `json:"bots"`     // established bot sockets

	PacketsReceived uint64 `json:"packets_received"`
	PacketsSent     uint64 `json:"packets_sent"`
	PacketsLost     uint64 `json:"packets_lost"`
	PacketsLate     uint64 `json:"packets_late"`
	RTCPReceived    uint64 `json:"rtcp_received"`
	RTCPSent        uint64 `json:"rtcp_sent"`
	SendErrors      uint64 `json:"send_errors"`
	ReadErrors      uint64 `json:"read_errors"`
	Malformed       uint64 `json:"malformed"`
	DropUnknown     uint64 `json:"drop_unknown"`   // packets of no call, early media among them
	DropElsewhere   uint64 `json:"drop_elsewhere"` // from the host of a call that accepts only its SDP's address
	DropAmbiguous   uint64 `json:"drop_ambiguous"` // may belong to more than one call
	DropStale       uint64 `json:"drop_stale"`     // of ended calls
	DropProbation   uint64 `json:"drop_probation"` // of a source not proven yet
	SRTPForged      uint64 `json:"srtp_forged"`    // SRTP and SRTCP packets without a valid tag
	SRTPReplayed    uint64 `json:"srtp_replayed"`  // SRTP and SRTCP packets received before, or too old to tell
	Latched         uint64 `json:"latched"`        // calls heard from another address than their SDP's
	Crowded         uint64 `json:"crowded"`        // calls that share a port with an unheard one, for want of ports
	Collisions      uint64 `json:"collisions"`     // answers that named the address of another live call
	TicksSkipped    uint64 `json:"ticks_skipped"`  // 20 ms steps lost to a stalled process
	PortsReplaced   uint64 `json:"ports_replaced"` // RTP and RTCP ports that broke and were bound again

	BotsConnected        uint64 `json:"bots_connected"`
	BotsFailed           uint64 `json:"bots_failed"`
	BotRetries           uint64 `json:"bot_retries"`
	BotsClosed           uint64 `json:"bots_closed"`
	SlowBots             uint64 `json:"slow_bots"`
	BotFramesReceived    uint64 `json:"bot_frames_received"`
	BotFramesSent        uint64 `json:"bot_frames_sent"`
	BotFramesMalformed   uint64 `json:"bot_frames_malformed"`
	BotFramesUnknown     uint64 `json:"bot_frames_unknown"`
	BotFramesOversized   uint64 `json:"bot_frames_oversized"`
	PlayoutOverflowBytes uint64 `json:"playout_overflow_bytes"`
	MarksDropped         uint64 `json:"marks_dropped"`
}

// Stats takes a reading. It visits every open call.
func (e *Engine) Stats() Stats {
	c := &e.counters
	b := e.bots.Stats()
	s := Stats{
		Sockets: len(e.ports()), Bots: int(b.Open.Load()),
		PacketsReceived: c.received.Load(), PacketsSent: c.sent.Load(), PacketsLost: c.lost.Load(),
		PacketsLate:  c.late.Load(),
		RTCPReceived: c.rtcp.Load(), RTCPSent: c.rtcpSent.Load(), SendErrors: c.sendErrors.Load(),
		ReadErrors: c.readErrors.Load(), Malformed: c.malformed.Load(),
		DropUnknown: c.dropped[demux.DropUnknown].Load(), DropElsewhere: c.dropped[demux.DropElsewhere].Load(),
		DropAmbiguous: c.dropped[demux.DropAmbiguous].Load(),
		DropStale:     c.dropped[demux.DropStale].Load(), DropProbation: c.dropped[demux.DropProbation].Load(),
		SRTPForged: c.srtpForged.Load(), SRTPReplayed: c.srtpReplayed.Load(),
		Latched: c.latched.Load(), Crowded: c.crowded.Load(), Collisions: c.collisions.Load(),
		TicksSkipped: c.ticksSkipped.Load(), PortsReplaced: c.replaced.Load(),
		BotsConnected: b.Connected.Load(), BotsFailed: b.Failed.Load(), BotRetries: b.Retries.Load(),
		BotsClosed: b.Closed.Load(), SlowBots: b.SlowBots.Load(),
		BotFramesReceived: b.FramesReceived.Load(), BotFramesSent: b.FramesSent.Load(),
		BotFramesMalformed: b.Malformed.Load(), BotFramesUnknown: b.Unknown.Load(), BotFramesOversized: b.Oversized.Load(),
		PlayoutOverflowBytes: b.OverflowBytes.Load(), MarksDropped: b.MarksDropped.Load(),
	}
	for _, c := range e.snapshot() {
		c.mu.Lock()
		s.Calls++
		if c.answered {
			s.Answered++
		}
		s.PacketsReceived += c.in.Received
		s.PacketsLost += c.in.Lost
		s.PacketsLate += c.in.Late
		c.mu.Unlock()
	}
	return s
}

// Stream describes one open media path.
type Stream struct {
	Attempt  engine.AttemptID
	OpenedAt time.Time
	Answered bool
	Owned    bool             // somebody listens to its events
	Session  engine.SessionID // of the bot that is attached or connecting
	BotUp    bool
	Local    netip.AddrPort // as offered
	Remote   netip.AddrPort // where audio goes; invalid before the answer
	Codec    string
	Events   int // so far
}

// Streams lists the open media paths, in no order.
func (e *Engine) Streams() []Stream {
	all := e.snapshot()
	out := make([]Stream, 0, len(all))
	for _, c := range all {
		c.mu.Lock()
		host, _ := netip.ParseAddr(c.described.host)
		s := Stream{
			Attempt: c.id, OpenedAt: c.openedAt, Answered: c.answered, Owned: c.sink != nil,
			Local: netip.AddrPortFrom(
				host,
				c.sock.port,
			), Remote: c.dest, Codec: c.ans.Send.String(), Events: len(c.history),
		}
		if c.link != nil {
			s.Session, s.BotUp = c.link.Session(), c.link.Up()
		}
		c.mu.Unlock()
		out = append(out, s)
	}
	return out
}

func (e *Engine) snapshot() []*call {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([]*call, 0, len(e.calls))
	for _, c := range e.calls {
		out = append(out, c)
	}
	return out
}
