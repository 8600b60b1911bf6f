package media

import (
	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/touchtone"
)

// digits are the events 0–15 of RFC 4733 §3.2.
const digits = "0123456789*#ABCD"

// dtmf finds digits in telephone-event packets (RFC 4733 §2.5). An event is
// sent in many packets with one RTP timestamp and its end three times: a digit
// is reported with the first packet of a timestamp that arrives.
type dtmf struct {
	seen  bool
	ts    uint32
	event byte
	ended bool
	until uint32 // ts + duration of the newest packet
}

// packet returns the digit that a packet begins; ok is false for repetitions, other events and
// malformed packets.
func (d *dtmf) packet(ts uint32, payload []byte) (digit byte, ok bool) {
	if len(payload) < 4 || int(payload[0]) >= len(digits) {
		return 0, false
	}
	event, end := payload[0], payload[1]&0x80 != 0
	until := ts + uint32(payload[2])<<8 + uint32(payload[3])
	if d.seen {
		if age := int32(ts - d.ts); age <= 0 { //nolint:gosec // RFC 1982 arithmetic
			if age == 0 && event == d.event {
				d.ended = d.ended || end
				d.until = until
			}
			return 0, false
		}
		// A tone longer than the duration field continues in a new segment that begins where the
		// last one ended (§2.5.1.3).
		if !d.ended && event == d.event && ts == d.until {
			d.ts, d.ended, d.until = ts, end, until
			return 0, false
		}
	}
	*d = dtmf{seen: true, ts: ts, event: event, ended: end, until: until}
	return digits[event], true
}

// bothWithin is how long after a key's tone the far side may tell of the same key in another way.
const bothWithin = 2000 * ms

// touches finds keys by their tones, where the far side agreed on no other way.
type touches struct {
	touchtone.Detector
	last byte
	at   int64 // when last was heard
	over bool  // a key came in another way: so will the others
}

// listenForTouches follows the answer: tones are keys unless telephone-event was agreed, or the
// trunk uses INFO; mu is held.
func (c *call) listenForTouches() {
	switch {
	case c.callee != nil || c.byINFO || c.ans.Events >= 0:
		c.touches = nil
	case c.touches == nil:
		c.touches = new(touches)
	}
}

// touched hears 20 ms of the callee; mu is held.
func (c *call) touched(b []byte, law codec.Codec) {
	pcm := linear(b, law)
	key, ok := c.touches.Feed(&pcm)
	if !ok || c.touches.over {
		return
	}
	c.touches.last, c.touches.at = key, c.clock
	c.pressed(key)
	if o := c.other; o != nil {
		go o.press(key) // outside this lock; where it cannot be sent, the audio has its tone
	}
}

// again says whether a key that comes in another way is the one whose tone was heard.
func (t *touches) again(key byte, now int64) bool {
	return t != nil && t.last == key && now-t.at < bothWithin
}

// toldOf hears of a key that came in another way than by its tone. again says that its tone was heard
// too; mu is held.
func (c *call) toldOf(key byte) (again bool) {
	if c.touches != nil {
		c.touches.over = true
	}
	return c.touches.again(key, c.e.now())
}

// pressed passes a key of the callee to the bot and the owner of the call; mu is held.
func (c *call) pressed(key byte) {
	c.emit(engine.MediaEvent{Kind: engine.MediaDigit, Digit: key})
	if c.link != nil {
		c.link.WriteDigit(key)
	}
}

// press sends this side a key of the other one. It returns the leg when the key has to go by INFO.
func (c *call) press(key byte) (by engine.LegID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed || !c.answered || len(c.keys.queue) >= keysCap:
	case c.byINFO || c.ans.Events < 0:
		return c.leg
	default:
		c.keys.queue += string(rune(key))
	}
	return ""
}
