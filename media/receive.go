package media

import (
	"math"
	"net/netip"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/codec"
	"dialler/media/conceal"
	"dialler/media/datagram"
	"dialler/media/srtp"
)

// report handles an RTCP packet of this call: a sign of life. It changes b. from is where it came
// from when it has a port of its own.
func (c *call) report(b []byte, from netip.AddrPort, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.secure != nil {
		var err error
		if b, err = c.secure.OpenReport(b); err != nil {
			c.e.unauthentic(err)
			return
		}
	}
	c.lastSign, c.reporter = now, from
	c.far.take(b, c.ssrc, &c.heard, uint32(ntpTime(time.Now())>>16), now) //nolint:gosec // the middle of it
}

// receive handles an RTP packet of this call; pkt is scratch space, and b is changed. Relayed
// packets are added to the batch. It returns false when the packet is not RTP, or sealed with
// another key than the call's.
func (c *call) receive(
	b []byte,
	pkt *rtp.Packet,
	from netip.AddrPort,
	moved bool,
	w *datagram.Writer,
	now int64,
) (genuine bool) {
	c.mu.Lock()
	if c.closed || !c.answered {
		c.mu.Unlock()
		return false
	}
	var err error
	if c.secure != nil {
		if b, err = c.secure.Open(b); err != nil {
			c.e.unauthentic(err)
			c.mu.Unlock()
			return false
		}
	}
	if err = pkt.Unmarshal(b); err != nil {
		c.e.counters.malformed.Add(1)
		c.mu.Unlock()
		return false
	}
	if c.other != nil && !c.relay(pkt, w, now) {
		c.mu.Unlock()
		return true
	}
	if moved {
		c.dest = from
	}
	c.clock, c.lastSign = now, now
	if c.heard.known && c.heard.ssrc != pkt.SSRC {
		c.anotherSource()
	}
	c.heard.count(pkt.SSRC, pkt.SequenceNumber)
	if c.ans.Codecs[pkt.PayloadType] != codec.None {
		c.measure(pkt.Timestamp, now)
	}
	// Every packet goes through the reorder buffer, whatever it carries: comfort noise (RFC 3389)
	// and unknown types are not losses.
	c.in.Put(now, pkt.SequenceNumber, pkt.Timestamp, pkt.PayloadType, pkt.Payload, c.deliver)
	c.unlock()
	return true
}

// measure updates the interarrival jitter (RFC 3550 appendix A.8).
func (c *call) measure(ts uint32, now int64) {
	arrival := now / (int64(time.Second) / clockRate)
	transit := arrival - int64(ts)
	if c.transitSet {
		d := math.Abs(float64(int32(transit - c.lastTransit))) //nolint:gosec // wraps with the timestamp
		if d < clockRate {                                     // a restart is not jitter
			c.jitter += (d - c.jitter) / 16
		}
	}
	c.lastTransit, c.transitSet = transit, true
}

// deliver receives packets in order; mu is held.
func (c *call) deliver(ts uint32, pt uint8, payload []byte) {
	if c.absent = true; c.ans.Event(pt) {
		if digit, ok := c.events.packet(ts, payload); ok && !c.toldOf(digit) {
			c.pressed(digit)
		}
		return
	}
	law := c.ans.Codecs[pt&0x7F]
	if law == codec.None || len(payload) == 0 {
		return
	}
	c.conceal(ts)
	if law == codec.G722 { // a byte is as long as in G.711
		payload, law = c.wide().Decode(payload), codec.Ulaw
	}
	c.absent = false
	c.tsKnown, c.nextTS = true, ts+uint32(len(payload)) //nolint:gosec // a datagram
	c.lastAudio, c.audioTick = c.clock, c.ticks
	if law != c.partLaw {
		c.partBytes, c.partLaw = 0, law
	}
	c.past.Join(payload, law)
	for len(payload) > 0 {
		if c.partBytes == 0 && len(payload) >= codec.FrameBytes {
			c.past.Keep(payload[:codec.FrameBytes], law)
			c.frame(payload[:codec.FrameBytes], law)
			payload = payload[codec.FrameBytes:]
			continue
		}
		n := copy(c.part[c.partBytes:], payload)
		payload = payload[n:]
		if c.partBytes += n; c.partBytes == codec.FrameBytes {
			c.partBytes = 0
			c.past.Keep(c.part[:], law)
			c.frame(c.part[:], law)
		}
	}
}

// anotherSource prepares for another stream, with its own sequence numbers and timestamps.
func (c *call) anotherSource() {
	c.in.Flush(c.deliver)
	c.in.Restarted()
	c.events = dtmf{}
	c.resync, c.transitSet = true, false
}

// conceal fills a gap in the timestamps: after a loss with concealment for 60 ms, then with
// silence.
func (c *call) conceal(ts uint32) {
	lost := c.in.Lost != c.lostBefore
	c.lostBefore = c.in.Lost
	gap := int32(ts - c.nextTS) //nolint:gosec // RFC 1982 arithmetic
	missing, filled, waited := int(gap)/codec.FrameBytes, c.filled, c.waited
	c.filled, c.waited = 0, 0
	if c.resync {
		c.resync = false
		return
	}
	if !c.tsKnown || gap <= 0 || int(gap) > 60*clockRate {
		return
	}
	made := 0
	for filled+waited == 0 && lost && made < min(missing, conceal.Frames) {
		var frame [codec.FrameBytes]byte
		if !c.past.Lose(frame[:]) {
			break
		}
		c.frame(frame[:], codec.Ulaw)
		made++
	}
	if c.touches != nil && missing-made > 1 {
		c.touches.Pause()
	}
	for range min(missing-filled, concealCap) - made {
		c.quiet()
	}
	for range min(missing-waited, concealCap) - made {
		c.still()
	}
}

// silence is a frame of silence in μ-law.
func silence() (frame [codec.FrameBytes]byte) {
	for i := range frame {
		frame[i] = codec.UlawSilence
	}
	return frame
}

// quiet gives the bot and the recording a frame of silence in place of audio. Before the callee is
// heard for the first time there is no stream that could have a gap.
func (c *call) quiet() {
	frame := silence()
	c.hand(frame[:], codec.Ulaw, true)
}

// still gives the classifier a frame of silence.
func (c *call) still() {
	if c.det != nil {
		frame := silence()
		c.classify(frame[:], codec.Ulaw)
	}
}

// wait makes the classifier hear the time that passes without audio; mu is held.
func (c *call) wait(now int64) {
	if c.det == nil || now-c.lastAudio <= lateAfter || c.ticks-c.audioTick < lateTicks {
		return
	}
	for due := c.without(now); c.waited < due; c.waited++ {
		c.still()
	}
}

// fill makes bot and recording hear the time that passes without audio; mu is held. In the middle
// of a word audio is rather late than left out.
func (c *call) fill(now int64) {
	if now-c.lastAudio <= fillAfter {
		return
	}
	speaking := c.hush < pauseAfter && !c.absent && !c.dtx
	if speaking && (now-c.lastAudio <= fillAfter+lateAfter || c.ticks-c.audioTick < lateTicks) {
		return
	}
	for due := min(c.without(now+int64(frameTime)-1), c.ticks-c.audioTick); c.filled < due; c.filled++ {
		c.quiet()
	}
}

// without is the number of frames without audio.
func (c *call) without(now int64) int {
	return max(0, int((now-c.lastAudio-fillAfter)/int64(frameTime)))
}

// frame handles 20 ms of the callee's audio; mu is held and b may be changed.
func (c *call) frame(b []byte, law codec.Codec) {
	if c.det != nil {
		c.classify(b, law)
	}
	if c.touches != nil {
		c.touched(b, law)
	}
	c.hand(b, law, false)
}

// hand passes 20 ms to the bot and the recording. A fill, and what is quiet after other quiet
// frames, may be left out to be on time.
func (c *call) hand(b []byte, law codec.Codec, fill bool) {
	if (c.link == nil && c.tape == nil) || !c.tsKnown {
		return
	}
	if law == codec.Alaw {
		codec.Transcode(b, &codec.AlawToUlaw)
	}
	if c.hush++; !fill && !quiet(b) {
		c.hush = 0
	}
	spare := fill || c.hush > spareAfter
	if c.link != nil && !(c.ahead() && spare) {
		c.botTime += int64(frameTime)
		c.link.WriteFrame(b)
	}
	switch {
	case c.tape == nil:
	case c.callee == nil:
		c.tape.Callee(b, spare)
	case c.other != nil:
		c.tape.Far(b)
	}
}

// ahead says whether the bot has heard more than there was time for.
func (c *call) ahead() bool {
	if c.botTime < c.clock-fillAfter-lateAfter-int64(frameTime) { // its first frame, or the first after a loss without end
		c.botTime = c.clock
	}
	return c.botTime-c.clock > aheadCap
}

const (
	// quietBelow is the amplitude below which a line is quiet: −40 dBFS.
	quietBelow = 328
	// quietStep is the distance of the samples by which it is judged: more than one in each pitch
	// period.
	quietStep = 10
)

// quiet says whether a frame of μ-law has no speech.
func quiet(ulaw []byte) bool {
	for i := 0; i < len(ulaw); i += quietStep {
		if v := codec.UlawToPCM[ulaw[i]]; v >= quietBelow || v <= -quietBelow {
			return false
		}
	}
	return true
}

// linear decodes 20 ms of G.711.
func linear(b []byte, law codec.Codec) (pcm [codec.FrameBytes]int16) {
	table := &codec.UlawToPCM
	if law == codec.Alaw {
		table = &codec.AlawToPCM
	}
	for i, v := range b {
		pcm[i] = table[v]
	}
	return pcm
}

func (c *call) classify(b []byte, law codec.Codec) {
	pcm := linear(b, law)
	c.det.Ours(c.ours())
	d, ok := c.det.Feed(pcm[:])
	if c.judged {
		if c.leaving != nil {
			c.await()
			return
		}
		if d, ok = c.det.Revised(); !ok {
			if c.heardFor++; c.heardFor >= int(max(c.listen.Revise, leaveSoon)/frameTime) {
				c.det = nil
			}
			return
		}
	}
	if !ok {
		c.heardFor++
		return
	}
	c.judge(d)
}

// judge reports a decision. The detector keeps listening where the verdict may be revised, or a
// message is to be left on a machine.
func (c *call) judge(d amd.Decision) {
	now := time.Now()
	ev := engine.MediaEvent{
		Kind: engine.MediaVerdict, At: now, Verdict: d.Verdict, Confidence: d.Confidence,
		AMDTook: now.Sub(c.answeredAt), Features: d.Features.Map(),
	}
	if d.GreetingEnd > 0 {
		ev.GreetingEnd = now.Add(d.GreetingEnd - d.At)
	}
	c.judged = true
	if on := d.Verdict.Live() && c.listen.Revise > 0 || d.Verdict == engine.VerdictMachine &&
		c.listen.Voicemail != ""; !on {
		c.det = nil
	}
	c.emit(ev)
}

// unauthentic counts a packet that was dropped for err.
func (e *Engine) unauthentic(err error) {
	if srtp.Forged(err) {
		e.counters.srtpForged.Add(1)
		return
	}
	e.counters.srtpReplayed.Add(1)
}
