package media

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
