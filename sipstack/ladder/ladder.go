package ladder

import (
	"bytes"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"

	"github.com/emiago/sipgo/sip"
)

// Ladder is the messages of a leg in a compact form, kept until the leg is gone, half a minute
// after its end. The zero value is empty.
type Ladder struct {
	list  []rung
	peers []netip.AddrPort
	texts []string // reasons and notes, each once
}

// rung is one message: 24 bytes.
type rung struct {
	at      time.Duration // by the stack's clock
	cseq    uint32
	code    uint16
	method  uint8 // place in methods
	peer    uint8 // place in Ladder.peers
	reason  uint8 // index into Ladder.texts from 1; 0 means the standard phrase
	note    uint8 // the same; 0 means none
	repeats uint8
	sent    bool
}

// text returns the index of a reason or a note. A rung has at most two, so a byte is enough.
func (k *Ladder) text(t string) uint8 {
	if t == "" {
		return 0
	}
	for i, have := range k.texts {
		if have == t {
			return uint8(i + 1)
		}
	}
	if len(k.texts) == math.MaxUint8 {
		return 0
	}
	k.texts = append(k.texts, strings.Clone(t))
	return uint8(len(k.texts)) //nolint:gosec // bounded
}

// of returns the text at an index.
func (k *Ladder) of(place uint8) string {
	if place == 0 {
		return ""
	}
	return k.texts[place-1]
}

// MaxPeers bounds the addresses distinguished in one ladder.
const MaxPeers = 16

// Maximum lengths of a rung's texts, in bytes.
const (
	maxPhrase = 60
	maxNote   = 120
)

// Sent records a message of ours.
func (k *Ladder) Sent(at time.Duration, b []byte, to netip.AddrPort) {
	r := rung{at: at, peer: k.peer(to), sent: true}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if status, ok := bytes.CutPrefix(line, []byte("SIP/2.0 ")); ok {
		code, phrase, _ := bytes.Cut(status, []byte(" "))
		n, _ := strconv.Atoi(string(code))
		r.code = uint16(n) //nolint:gosec // a status code of ours
		if string(phrase) != message.StandardPhrase(n) {
			r.reason = k.text(string(phrase))
		}
	}
	r.cseq, r.method = cseqOf(rest)
	if !bytes.HasSuffix(b, []byte("\r\n\r\n")) {
		r.note = k.text("SDP")
	}
	k.note(r)
}

// Answered records our response to a request of the far side.
func (k *Ladder) Answered(at time.Duration, r *sip.Request, from netip.AddrPort, code int, phrase string, sdp bool) {
	line := rung{at: at, peer: k.peer(from), sent: true, cseq: r.CSeq().SeqNo, method: methodOf(r.Method)}
	line.code = uint16(code) //nolint:gosec // a status code of ours
	if phrase != message.StandardPhrase(code) {
		line.reason = k.text(phrase)
	}
	if sdp {
		line.note = k.text("SDP")
	}
	k.note(line)
}

// cseqOf finds CSeq in a message that this package wrote.
func cseqOf(b []byte) (uint32, uint8) {
	_, after, ok := bytes.Cut(b, []byte("\r\nCSeq: "))
	if !ok {
		return 0, 0
	}
	line, _, _ := bytes.Cut(after, []byte("\r\n"))
	seq, method, _ := bytes.Cut(line, []byte(" "))
	n, _ := strconv.ParseUint(string(seq), 10, 32)
	return uint32(n), methodOf(sip.RequestMethod(method))
}

// methods are the methods that a rung can name; the first stands for all others.
var methods = [...]sip.RequestMethod{
	"other", sip.INVITE, sip.ACK, sip.CANCEL, sip.BYE, sip.OPTIONS, sip.INFO, sip.UPDATE, sip.PRACK, sip.REFER,
	sip.NOTIFY, sip.REGISTER, sip.MESSAGE, sip.SUBSCRIBE,
}

func methodOf(m sip.RequestMethod) uint8 {
	for i, known := range methods {
		if m == known {
			return uint8(i)
		}
	}
	return 0
}

// peer returns the index of an address in the ladder. Beyond the bound all share one.
func (k *Ladder) peer(a netip.AddrPort) uint8 {
	for i, have := range k.peers {
		if have == a {
			return uint8(i)
		}
	}
	if len(k.peers) < MaxPeers {
		k.peers = append(k.peers, a)
	}
	return uint8(len(k.peers) - 1) //nolint:gosec // bounded
}

// Received records a message of the far side.
func (k *Ladder) Received(at time.Duration, m sip.Message, from netip.AddrPort) {
	r := rung{at: at, peer: k.peer(from)}
	if c := m.CSeq(); c != nil {
		r.cseq, r.method = c.SeqNo, methodOf(c.MethodName)
	}
	if resp, ok := m.(*sip.Response); ok {
		r.code = uint16(resp.StatusCode) //nolint:gosec // 100…699: checked when it was matched
		if resp.Reason != message.StandardPhrase(resp.StatusCode) {
			r.reason = k.text(message.Truncate(resp.Reason, maxPhrase))
		}
	}
	r.note = k.text(noteOf(m))
	k.note(r)
}

// note appends a rung; a repeated message only increments the count of the original.
func (k *Ladder) note(r rung) {
	for i := len(k.list) - 1; i >= 0 && i >= len(k.list)-4; i-- {
		have := &k.list[i]
		if have.sent == r.sent && have.code == r.code && have.method == r.method && have.cseq == r.cseq &&
			have.note == r.note {
			if have.repeats < 255 {
				have.repeats++
			}
			return
		}
	}
	if len(k.list) == engine.LadderCap {
		k.list[len(k.list)-1] = r
		return
	}
	if k.list == nil {
		k.list = make([]rung, 0, 7) // an ordinary call
	}
	k.list = append(k.list, r)
}

// Messages expands the ladder.
func (k *Ladder) Messages(clock timing.Clock, leg engine.LegID) []engine.SIPMessage {
	out := make([]engine.SIPMessage, len(k.list))
	for i, r := range k.list {
		m := engine.SIPMessage{
			At: clock.At(r.at).UTC(), Leg: leg, Sent: r.sent, Method: string(methods[r.method]),
			Code: int(r.code), Reason: k.of(r.reason), CSeq: r.cseq, Note: k.of(r.note), Repeats: int(r.repeats),
		}
		if p := k.peers[r.peer]; p.IsValid() {
			m.Peer = p.String()
		}
		if m.Code != 0 && m.Reason == "" {
			m.Reason = message.StandardPhrase(m.Code)
		}
		out[i] = m
	}
	return out
}

// Size returns how much is kept.
func (k *Ladder) Size() (messages, peers, texts int) { return len(k.list), len(k.peers), len(k.texts) }
