package media

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
)

// Keys sent to the callee (RFC 4733 §2.5.1), in ticks of 20 ms: a tone of 100 ms, whose end is sent
// three times, followed by a pause of the same length.
const (
	toneTicks = 5
	endTicks  = toneTicks + 2
	keyTicks  = 2 * toneTicks
	keyVolume = 10 // −10 dBm0
	// keysCap is the maximum number of queued keys.
	keysCap = 64
)

var errDigits = errors.New("media: digits are 0-9, *, #, A-D, at most 64 of them waiting")

// keys are waiting to be sent; the first of them is being sent when tick > 0.
type keys struct {
	queue string
	tick  int
	ts    uint32 // start of the current tone
}

// SendDigits sends keys (0-9, *, #, A-D) to the callee, one after another, in place of the bot's
// audio, which waits. bySIP means that none was sent and they have to go by INFO: the far side does
// not support telephone-event, or its trunk prefers INFO.
func (e *Engine) SendDigits(a engine.AttemptID, sent string) (bySIP bool, err error) {
	sent = strings.ToUpper(sent)
	c := e.call(a)
	if c == nil {
		return false, errNoCall
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case sent == "" || strings.Trim(sent, digits) != "" || len(sent)+len(c.keys.queue) > keysCap:
		return false, errDigits
	case c.closed:
		return false, errLeftover
	case !c.answered:
		return false, errUnheard
	case c.byINFO || c.ans.Events < 0:
		return true, nil
	}
	c.keys.queue += sent
	return false, nil
}

// key writes the event of this tick; it returns false when there is none to send. mu is held.
func (c *call) key(b *[datagram.SendCap]byte) (n int, ok bool) {
	k := &c.keys
	if k.queue == "" {
		return 0, false
	}
	if c.ans.Events < 0 || !c.ans.HeListens { // a later answer
		if !c.ans.HeListens && k.tick == 0 {
			return 0, false // keys wait during hold
		}
		*k = keys{}
		return 0, false
	}
	if k.tick == 0 {
		k.ts = c.ts
	}
	tick, key := k.tick, k.queue[0]
	if k.tick++; k.tick == keyTicks {
		k.queue, k.tick = k.queue[1:], 0
	}
	if tick >= endTicks {
		return 0, false // the pause: audio continues
	}
	h := rtp.Header{
		Version: 2, Marker: tick == 0, PayloadType: uint8(c.ans.Events), //nolint:gosec // a payload type
		SequenceNumber: c.seq, Timestamp: k.ts, SSRC: c.ssrc,
	}
	_, _ = h.MarshalTo(b[:rtpHeaderBytes]) // cannot fail: the buffer is large enough
	p := b[rtpHeaderBytes : rtpHeaderBytes+4]
	p[0], p[1] = byte(strings.IndexByte(digits, key)), keyVolume //nolint:gosec // one of sixteen
	if tick >= toneTicks-1 {
		p[1] |= 0x80
	}
	binary.BigEndian.PutUint16(p[2:], uint16(min(tick+1, toneTicks)*codec.FrameBytes)) //nolint:gosec // 800 at most
	c.seq++
	c.talking = false // audio after it starts afresh
	return rtpHeaderBytes + 4, true
}
