package media

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/sdp"
)

// relayGap is the time without relayed packets after which silence takes their place until the
// other side resumes.
const relayGap = 60 * ms

var (
	errNoCall   = errors.New("media: no such call")
	errNoPeer   = errors.New("media: no such far leg")
	errUnheard  = errors.New("media: the call is not answered")
	errCrowded  = errors.New("media: too many far legs on one call")
	errLeftover = errors.New("media: the call is over")
)

// peersCap bounds the far legs of a call that are open at the same time.
const peersCap = 8

// passage maps packets of one path to the other: their sequence numbers and timestamps continue
// those sent there before.
type passage struct {
	on     bool
	last   int64 // when a packet was last relayed
	ssrc   uint32
	base   uint16 // the first sequence number used; older ones are too late
	seqOff uint16
	tsOff  uint32
}

// OpenPeer reserves a second path of a call, for the far leg to which the callee is to be
// connected, and returns its SDP offer according to the profile of the leg's trunk. The same leg
// again gets the same offer.
func (e *Engine) OpenPeer(a engine.AttemptID, leg engine.LegID, profile engine.MediaProfile) (offer []byte, err error) {
	c := e.call(a)
	if c == nil {
		return nil, errNoCall
	}
	sock, err := e.beside(c, profile)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	p := c.peers[leg]
	switch {
	case c.closed:
		err = errLeftover
	case p == nil && len(c.peers) >= peersCap:
		err = errCrowded
	case p == nil:
		p = &call{
			e: e, id: a, callee: c, leg: leg, begun: c.begun, amd: engine.AMDOff, sock: sock, openedAt: time.Now(),
			described: describe(*sock.pool.host.Load(), sock.port),
			ssrc:      rand.Uint32(), seq: uint16(rand.Uint32()) >> 1,
			ts: rand.Uint32(), //nolint:gosec // RFC 3550 §5.1: random, not secret
		}
		p.peer.Owner, p.peer.Alone = p, sock.pool.latches(profile)
		if c.peers == nil {
			c.peers = map[engine.LegID]*call{}
		}
		c.peers[leg] = p
		defer p.sock.open(p, e.now())
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	keys := p.offer(profile)
	return p.described.appendOffer(make([]byte, 0, 288), keys, profile), nil
}

// JoinPeer applies the SDP answer of a far leg and connects the callee to it, in place of any
// other: packets are relayed between the two unchanged. An error says why the answer cannot be
// used; nothing has changed then.
func (e *Engine) JoinPeer(a engine.AttemptID, leg engine.LegID, text []byte) error {
	c := e.call(a)
	if c == nil {
		return errNoCall
	}
	ans, err := sdp.Parse(text)
	if err != nil {
		return err
	}
	c.mu.Lock()
	p, answered := c.peers[leg], c.answered
	c.mu.Unlock()
	switch {
	case p == nil:
		return errNoPeer
	case !answered:
		return errUnheard
	}
	if err := p.sock.fits(&ans); err != nil {
		return err
	}
	p.mu.Lock()
	err = p.protect(&ans, !p.answered)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	c.mu.Lock()
	tape, there := c.tape, c.peers[leg] == p
	if there {
		c.other, c.firstAudio = p, false
	}
	c.mu.Unlock()
	if !there {
		return errNoPeer
	}
	p.answer(text, time.Now())
	p.mu.Lock()
	p.other, p.tape = c, tape
	p.mu.Unlock()
	return nil
}

// peerSilent reports that a joined far leg has stopped sending.
func (c *call) peerSilent(leg engine.LegID) {
	c.mu.Lock()
	if p := c.peers[leg]; p != nil && c.other == p {
		c.emit(engine.MediaEvent{Kind: engine.MediaPeerSilent, Session: engine.SessionID(leg)})
	}
	c.unlock()
}

// ClosePeer ends the path of a far leg.
func (e *Engine) ClosePeer(a engine.AttemptID, leg engine.LegID) {
	c := e.call(a)
	if c == nil {
		return
	}
	c.mu.Lock()
	p := c.peers[leg]
	delete(c.peers, leg)
	if c.other == p {
		c.other = nil
	}
	c.mu.Unlock()
	if p != nil {
		p.close(e.now())
	}
}

// takePeers empties the list of far legs, for the end of the call; mu is held.
func (c *call) takePeers() []*call {
	list := make([]*call, 0, len(c.peers))
	for _, p := range c.peers {
		list = append(list, p)
	}
	c.peers, c.other = nil, nil
	return list
}

// relay forwards a packet to the other side before anything else is done with it, so that nothing
// delays it. mu is held, and released meanwhile; open says whether the call is still open
// afterwards.
func (c *call) relay(pkt *rtp.Packet, w *datagram.Writer, now int64) (open bool) {
	o := c.other
	law, event := c.ans.Codecs[pkt.PayloadType&0x7F], c.ans.Event(pkt.PayloadType)
	if event {
		law = codec.None
	}
	payload := pkt.Payload
	if len(pkt.Payload) == 0 || (law == codec.None && !event) {
		return true
	}
	if event && int(payload[0]) < len(digits) && c.touches.again(digits[payload[0]], now) {
		return true
	}
	if law == codec.G722 { // in order or not: a late packet is not worth waiting for
		if c.wbOut == nil {
			c.wbOut = codec.NewWideband()
		}
		payload, law = c.wbOut.Decode(payload), codec.Ulaw
	}
	c.mu.Unlock()
	o.mu.Lock()
	across := o.sock != c.sock // of another family: it cannot leave with the batch
	if across {
		c.sock.flush(w)
	}
	o.pass(c, pkt, payload, law, w, now)
	if across {
		o.sock.flush(w)
	}
	o.unlock()
	c.mu.Lock()
	return !c.closed
}

// beside returns the socket for a far leg: the call's own, or one of another family. There packets
// are relayed one by one, not in batches.
func (e *Engine) beside(c *call, profile engine.MediaProfile) (*socket, error) {
	p, err := e.poolFor(profile)
	if err != nil || p == c.sock.pool {
		return c.sock, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.choose(p, p.latches(profile)), nil
}

// pass sends the other side's audio to this one; mu is held. law is codec.None for a
// telephone-event.
func (c *call) pass(from *call, pkt *rtp.Packet, payload []byte, law codec.Codec, w *datagram.Writer, now int64) {
	if c.closed || c.hungUp || !c.answered || c.playing || c.keys.queue != "" || !c.ans.HeListens || c.other != from {
		return
	}
	pt := c.ans.SendPT
	if law == codec.None {
		if c.ans.Events < 0 {
			return // the far side does not accept telephone-event
		}
		pt = uint8(c.ans.Events) //nolint:gosec // a payload type
	}
	slot := w.Slot()
	if len(payload) > relayedCap {
		return
	}
	p := &c.out
	begins := !p.on || p.ssrc != pkt.SSRC
	if begins {
		*p = passage{on: true, ssrc: pkt.SSRC, base: c.seq, seqOff: c.seq - pkt.SequenceNumber, tsOff: c.ts - pkt.Timestamp}
	}
	seq, ts := pkt.SequenceNumber+p.seqOff, pkt.Timestamp+p.tsOff
	if int16(seq-p.base) < 0 { //nolint:gosec // RFC 1982 arithmetic
		return // older than the silence that replaced it
	}
	p.last = now
	if int16(seq-c.seq) >= 0 { //nolint:gosec // RFC 1982 arithmetic
		c.seq = seq + 1
	}
	next := ts
	if law != codec.None {
		next += uint32(len(payload)) //nolint:gosec // a datagram
	}
	if int32(next-c.ts) > 0 { //nolint:gosec // RFC 1982 arithmetic
		c.ts = next
	}
	h := rtp.Header{Version: 2, Marker: pkt.Marker || begins, PayloadType: pt, SequenceNumber: seq, Timestamp: ts,
		SSRC: c.ssrc}
	_, _ = h.MarshalTo(slot[:rtpHeaderBytes]) // cannot fail: the slot is large enough
	n := copy(slot[rtpHeaderBytes:], payload)
	if law != codec.None && law != c.ans.Send {
		c.recode(slot[rtpHeaderBytes:rtpHeaderBytes+n], law)
	}
	n += rtpHeaderBytes
	if c.secure != nil {
		if n = c.secure.Seal(slot[:], n); n == 0 {
			return
		}
	}
	w.Commit(c.dest, n)
	c.sent++
	c.octets += uint64(len(payload))
	if c.callee == nil && !c.firstAudio && law != codec.None {
		c.firstAudio = true
		c.emit(engine.MediaEvent{Kind: engine.MediaBotFirstAudio, Session: engine.SessionID(from.leg)})
	}
}

// recode transcodes audio to the far side's codec, in place.
func (c *call) recode(b []byte, law codec.Codec) {
	if law == codec.Alaw {
		codec.Transcode(b, &codec.AlawToUlaw)
	}
	switch c.ans.Send {
	case codec.Alaw:
		codec.Transcode(b, &codec.UlawToAlaw)
	case codec.G722:
		c.wide().Encode(b)
	case codec.Ulaw, codec.None:
	}
}

// passing says at a tick whether the other side's packets are being relayed, in which case nothing
// else is sent; mu is held. When they stop, the timestamps continue without a gap.
func (c *call) passing(now int64) bool {
	if !c.out.on {
		return false
	}
	gap := now - c.out.last
	if gap <= relayGap && c.other != nil && !c.playing && c.keys.queue == "" {
		return true
	}
	c.out.on = false
	c.ts += uint32(gap/int64(frameTime)) * codec.FrameBytes //nolint:gosec // a few frames
	c.talking = false
	return false
}
