package media

import (
	"net/netip"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/codec"
	"dialler/media/sdp"
	"dialler/media/srtp"
)

// earlyCap is how many frames before the answer are heard: 20 s. What comes after as much ringing is
// about the callee, who does not answer, and not about the number.
const earlyCap = 1000

// early hears what the far side sends before the answer: nothing but whether the network announces
// that the number cannot be reached.
type early struct {
	codecs [128]codec.Codec
	secure *srtp.Session // nil without SRTP
	ears   amd.Announcement
	ssrc   uint32
	seq    uint16
	frames int
	part   [codec.FrameBytes]byte
	bytes  int // in part
}

// HearEarly makes an unanswered call heard from the address that the SDP of a provisional response
// names: MediaIntercepted follows when the network announces that the number cannot be reached. With
// SRTP the packets are also counted, so that those after the answer can be opened if their numbers
// have wrapped (RFC 3711 §3.3.1).
func (e *Engine) HearEarly(a engine.AttemptID, text []byte) {
	c := e.call(a)
	if c == nil {
		return
	}
	ans, err := sdp.Parse(text)
	if err != nil || !ans.HeSends {
		return
	}
	c.mu.Lock()
	heard := !c.closed && !c.answered && c.protect(&ans, true) == nil
	if heard && c.early == nil {
		c.early = new(early)
	}
	if heard {
		c.early.codecs, c.early.secure = ans.Codecs, c.secure
	}
	c.mu.Unlock()
	if heard {
		c.sock.early(c, ans.Remote)
	}
}

// leaveEarly ends the listening: another trunk is tried.
func (c *call) leaveEarly() {
	c.mu.Lock()
	was := c.early != nil
	c.early = nil
	c.mu.Unlock()
	if was {
		c.sock.early(c, netip.AddrPort{})
	}
}

// hearEarly handles a packet from before the answer; pkt is scratch space.
func (c *call) hearEarly(b []byte, pkt *rtp.Packet) {
	c.mu.Lock()
	defer c.unlock()
	h := c.early
	if h == nil || c.closed || c.answered {
		return
	}
	if h.secure != nil {
		var err error
		if b, err = h.secure.Open(b); err != nil {
			c.e.unauthentic(err)
			return
		}
	}
	if pkt.Unmarshal(b) != nil {
		return
	}
	law := h.codecs[pkt.PayloadType&0x7F]
	step := int16(pkt.SequenceNumber - h.seq) //nolint:gosec // RFC 1982 arithmetic
	if law == codec.None || pkt.SSRC == h.ssrc && step <= 0 && h.frames > 0 {
		return
	}
	h.ssrc, h.seq = pkt.SSRC, pkt.SequenceNumber
	payload := pkt.Payload
	if law == codec.G722 {
		payload, law = c.wide().Decode(payload), codec.Ulaw
	}
	for len(payload) > 0 && h.frames < earlyCap {
		n := copy(h.part[h.bytes:], payload)
		payload = payload[n:]
		if h.bytes += n; h.bytes < codec.FrameBytes {
			return
		}
		h.bytes = 0
		h.frames++
		pcm := linear(h.part[:], law)
		if h.ears.Feed(pcm[:]) {
			h.frames = earlyCap // heard enough
			c.emit(engine.MediaEvent{Kind: engine.MediaIntercepted})
		}
	}
}
