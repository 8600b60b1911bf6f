package media

import (
	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
)

// tick runs every 20 ms of an answered call; it may add two datagrams to the batch.
func (c *call) tick(w *datagram.Writer, now int64) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.clock = now
	if c.hungUp {
		if !c.bade {
			c.bade = true
			c.reportDue(now, true)
		}
		c.mu.Unlock()
		return
	}
	if now >= c.nextReport && c.nextReport > 0 {
		if c.reportDue(now, false); c.closed {
			c.mu.Unlock()
			return
		}
	}
	if c.in.Holding() {
		c.in.Expire(now, c.deliver)
	}
	c.fill(now)
	c.wait(now)
	if !c.silent && !c.dtx && now-c.lastSign > c.patience() {
		c.silent = true
		if c.callee != nil {
			go c.callee.peerSilent(c.leg) // outside this lock
		}
		c.emit(engine.MediaEvent{Kind: engine.MediaSilent, OnHold: c.onHold()})
	}
	if c.passing(now) {
		c.ticked(now)
		c.unlock()
		return
	}
	slot := w.Slot()
	c.holding = false
	if n, ok := c.key(slot); ok {
		c.pack.drop()
		c.post(w, slot, n)
	} else if c.ans.PTime != 0 {
		c.packed(w)
	} else if c.next(slot[rtpHeaderBytes:sendBytes]) && c.ans.HeListens {
		c.head(slot, c.ts)
		c.post(w, slot, sendBytes)
	} else if !c.holding {
		c.talking = false
	}
	if c.holding {
		c.behind += codec.FrameBytes
	} else {
		c.ts += codec.FrameBytes
	}
	c.ticked(now)
	c.unlock()
}

// wide returns the call's G.722 codec; mu is held.
func (c *call) wide() *codec.Wideband {
	if c.wb == nil {
		c.wb = codec.NewWideband()
	}
	return c.wb
}

func (c *call) ticked(now int64) {
	c.ticks++
	if c.tape != nil && c.callee == nil {
		c.tape.Tick(now)
	}
}

// next writes the next frame for the callee to hear; false means nothing is to be sent. holding is
// set when the bot's audio is late: its timestamps wait for it, so that the far side hears it without
// a hole, and make up for that in the next pause.
func (c *call) next(dst []byte) bool {
	n := 0
	if l := c.leaving; l != nil && l.atOnce {
		c.begin(l.message)
	}
	switch {
	case c.playing:
		n = copy(dst, c.message[min(c.played, len(c.message)):])
		if c.played += len(dst); c.played > len(c.message)+afterMessage {
			c.playing = false
			c.emit(engine.MediaEvent{Kind: engine.MediaPlayed})
		}
	case c.link != nil:
		if n, c.holding = c.link.ReadFrame(dst); n > 0 && c.det != nil && audible(dst[:n]) {
			c.oursTick = c.ticks
		}
		if n > 0 && !c.firstAudio {
			c.firstAudio = true
			c.emit(engine.MediaEvent{Kind: engine.MediaBotFirstAudio, Session: c.link.Session()})
		}
	}
	if c.holding {
		return false
	}
	if n == 0 && c.behind > 0 && (c.pack == nil || c.pack.n == 0) {
		c.ts += c.behind
		c.behind, c.talking = 0, false
	}
	if n == 0 && c.mute() {
		return false
	}
	copy(dst[n:], silent[n:])
	// A far leg's audio is recorded on arrival; padding its pauses with silence would overwrite
	// audio that arrived early.
	if c.tape != nil && c.callee == nil && c.ans.HeListens && (c.other == nil || c.playing) {
		c.tape.Bot(dst)
	}
	switch c.ans.Send {
	case codec.Alaw:
		codec.Transcode(dst, &codec.UlawToAlaw)
	case codec.G722:
		c.wide().Encode(dst)
	case codec.Ulaw, codec.None:
	}
	return true
}

// silent is a frame of silence.
var silent = silence()

const (
	// audibleFrom is the amplitude above which our audio may be heard or echoed: −30 dBFS. Bots
	// send silence, and speech models add breathing noise.
	audibleFrom = 1000
	// echoTicks is how long after our audio an echo may arrive: 500 ms.
	echoTicks = 25
)

// audible says whether μ-law holds more than silence.
func audible(ulaw []byte) bool {
	for _, b := range ulaw {
		if v := codec.UlawToPCM[b]; v >= audibleFrom || v <= -audibleFrom {
			return true
		}
	}
	return false
}

// ours says whether our side, or its echo, may be audible. The audio of a bot called by SIP is
// relayed without being examined.
func (c *call) ours() bool {
	return c.other != nil || c.oursTick > 0 && c.ticks-c.oursTick < echoTicks
}

// Silence sent to a callee who has not been heard yet, in ticks.
const (
	openingFirst = 2   // at the start,
	openingEvery = 250 // then one packet every 5 s
)

// mute says whether silence is left out of the stream. Before the callee has sent anything, silence
// only opens the path and keeps it open through NAT (RFC 6263 §4); once the callee was heard, the
// stream has no gaps.
func (c *call) mute() bool {
	return !c.tsKnown && c.ticks >= openingFirst && c.ticks%openingEvery != 0
}

// head writes the RTP header (RFC 3550 §5.1) before the frame. The marker bit says that sound
// begins after a pause (RFC 3551 §4.1).
func (c *call) head(b *[datagram.SendCap]byte, ts uint32) {
	h := rtp.Header{
		Version: 2, Marker: !c.talking, PayloadType: c.ans.SendPT,
		SequenceNumber: c.seq, Timestamp: ts, SSRC: c.ssrc,
	}
	_, _ = h.MarshalTo(b[:rtpHeaderBytes]) // cannot fail: the buffer is large enough
	c.seq++
	c.talking = true
}

// post adds the n bytes of an RTP packet in the slot to the batch, encrypted if the call is.
func (c *call) post(w *datagram.Writer, b *[datagram.SendCap]byte, n int) {
	octets := n - rtpHeaderBytes
	if c.secure != nil {
		if n = c.secure.Seal(b[:], n); n == 0 {
			return
		}
	}
	w.Commit(c.dest, n)
	c.sent++
	c.octets += uint64(octets) //nolint:gosec // not negative
}

// pack collects 20 ms frames for packets of another length.
type pack struct {
	n   int
	ts  uint32 // of the first byte
	buf [packetMost + codec.FrameBytes]byte
}

// packetMost is the longest packet of our own audio: 60 ms.
const packetMost = 3 * codec.FrameBytes

func (p *pack) drop() {
	if p != nil {
		p.n = 0
	}
}

// packed sends, at a tick, the collected audio that makes whole packets of the length that the far
// side asks for; mu is held.
func (c *call) packed(w *datagram.Writer) {
	if c.pack == nil {
		c.pack = new(pack)
	}
	p := c.pack
	if !c.next(p.buf[p.n:p.n+codec.FrameBytes]) || !c.ans.HeListens {
		if !c.holding {
			p.drop()
			c.talking = false
		}
		return
	}
	if p.n == 0 {
		p.ts = c.ts
	}
	p.n += codec.FrameBytes
	for size := c.ans.PTime * codec.FrameBytes / 20; p.n >= size; {
		slot := w.Slot()
		c.head(slot, p.ts)
		copy(slot[rtpHeaderBytes:], p.buf[:size])
		c.post(w, slot, rtpHeaderBytes+size)
		copy(p.buf[:], p.buf[size:p.n])
		p.n -= size
		p.ts += uint32(size) //nolint:gosec // at most 480
	}
}
