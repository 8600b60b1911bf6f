package media

import (
	"bytes"
	"errors"
	"hash/fnv"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/sdp"
)

// maxSections bounds the m= lines of an offer.
const maxSections = 16

// Reoffer answers an offer of the far side that changes the call: hold,
// another address, other codecs (RFC 3264 §8). The audio follows at once. An
// error says why the offer cannot be accepted; nothing has changed then. A
// call without an answer yet is only answered for: Answer starts it.
func (e *Engine) Reoffer(a engine.AttemptID, leg engine.LegID, offer []byte) (text []byte, err error) {
	c := e.path(a, leg)
	if c == nil {
		return nil, errNoCall
	}
	ans, err := sdp.Parse(offer)
	if errors.Is(err, sdp.ErrRefused) {
		return c.switchedOff(offer)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errLeftover
	}
	if err := c.protectAgain(&ans); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	text = c.appendAnswer(make([]byte, 0, 384), offer, &ans)
	answered := c.answered
	if answered {
		c.move(&ans)
	}
	c.mu.Unlock()
	if answered {
		c.sock.answer(c, &ans)
	}
	return text, nil
}

// Reanswer takes the far side's answer to an offer of ours after the first.
func (e *Engine) Reanswer(a engine.AttemptID, leg engine.LegID, text []byte) {
	if c := e.path(a, leg); c != nil {
		c.mu.Lock()
		answered := c.answered
		c.mu.Unlock()
		if answered {
			c.answer(text, time.Now())
		}
	}
}

// Offer gives the first offer of a leg once more, for a far side that asks
// for one (RFC 3261 §14.2).
func (e *Engine) Offer(a engine.AttemptID, leg engine.LegID, first []byte) ([]byte, error) {
	c := e.path(a, leg)
	if c == nil {
		return nil, errNoCall
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errLeftover
	}
	_, rest, _ := bytes.Cut(first, []byte("s=-\r\n"))
	if c.written.sum == 0 { // nothing but the first offer was sent yet
		c.written.sum, c.written.version = sumOf(rest), 1
	}
	return c.appendBody(make([]byte, 0, len(first)+8), rest), nil
}

// protectAgain takes the keys of an offer; mu is held. Its tags are its own.
func (c *call) protectAgain(a *sdp.Answer) error {
	if c.secure != nil && a.Secure {
		return c.secure.Answered(a.Crypto, false)
	}
	return c.protect(a)
}

// switchedOff answers an offer with port 0: the far side wants no audio for
// now, the call goes on.
func (c *call) switchedOff(offer []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errLeftover
	}
	c.hold()
	return c.appendAnswer(make([]byte, 0, 256), offer, nil), nil
}

// section is an m= line of an offer.
type section struct {
	kind, protocol, formats string
}

func sectionsOf(text []byte) []section {
	var out []section
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r \t"), []byte("m="))
		if !ok || len(out) == maxSections {
			continue
		}
		kind, rest := sdp.Word(value)
		_, rest = sdp.Word(rest)
		protocol, formats := sdp.Word(rest)
		out = append(out, section{string(kind), string(protocol), string(formats)})
	}
	return out
}

// appendAnswer writes the answer to an offer: as many m= lines, the first
// audio as ours with what both sides can do under the offer's payload types,
// the others refused with port 0 (RFC 3264 §6); all of them without a.
func (c *call) appendAnswer(b, offer []byte, a *sdp.Answer) []byte {
	body := append([]byte("c=IN IP4 "), c.e.cfg.Host...)
	body = append(body, "\r\nt=0 0\r\n"...)
	taken := a == nil
	for _, s := range sectionsOf(offer) {
		if s.kind != "audio" || taken {
			body = append(body, "m="+s.kind+" 0 "+s.protocol+" "+s.formats+"\r\n"...)
			continue
		}
		taken = true
		body = append(body, "m=audio "...)
		body = strconv.AppendUint(body, uint64(c.sock.port), 10)
		body = append(body, " "+s.protocol...)
		body = c.appendFormats(body, []byte(s.formats), a)
	}
	return c.appendBody(b, body)
}

// appendFormats writes the payload types of our m= line and what they are.
func (c *call) appendFormats(b, formats []byte, a *sdp.Answer) []byte {
	var lines []byte
	for len(formats) > 0 {
		var f []byte
		f, formats = sdp.Word(formats)
		pt, ok := sdp.Number(f, 127)
		name := ""
		switch {
		case !ok:
		case a.Codecs[pt] != codec.None:
			name = a.Codecs[pt].String() + "/8000"
		case int16(pt) == a.Events: //nolint:gosec // at most 127
			name = "telephone-event/8000\r\na=fmtp:" + strconv.Itoa(pt) + " 0-15"
		}
		if name != "" {
			b = append(append(b, ' '), f...)
			lines = append(lines, "a=rtpmap:"+strconv.Itoa(pt)+" "+name+"\r\n"...)
		}
	}
	b = append(b, "\r\n"...)
	b = append(b, lines...)
	if a.Mux {
		b = append(b, "a=rtcp-mux\r\n"...)
	}
	b = append(b, "a=ptime:20\r\na="...)
	b = append(b, mirrored(a)...)
	b = append(b, "\r\n"...)
	if c.secure != nil {
		b = c.secure.AppendChosen(b)
	}
	return b
}

// mirrored is our direction for the far side's (RFC 3264 §6.1).
func mirrored(a *sdp.Answer) string {
	switch {
	case a.HeSends && a.HeListens:
		return "sendrecv"
	case a.HeSends:
		return "recvonly"
	case a.HeListens:
		return "sendonly"
	case a.Remote.Addr().IsUnspecified(): // it may still send, music for example
		return "recvonly"
	}
	return "inactive"
}

// appendBody writes an SDP of ours with the version that it gets.
func (c *call) appendBody(b, rest []byte) []byte {
	w := &c.written
	if sum := sumOf(rest); sum != w.sum {
		w.sum = sum
		w.version = max(w.version, 1) + 1
	}
	b = append(b, "v=0\r\no=- "...)
	b = strconv.AppendUint(b, c.sdp, 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, w.version, 10)
	b = append(b, " IN IP4 "...)
	b = append(b, c.e.cfg.Host...)
	b = append(b, "\r\ns=-\r\n"...)
	return append(b, rest...)
}

func sumOf(rest []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(rest)
	return max(h.Sum64(), 1)
}
