package sipstack

import (
	"bytes"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// rungs are the ladder of a leg in the form in which it is kept until the leg
// is gone, half a minute after its end: small.
type rungs struct {
	list  []rung
	peers []netip.AddrPort
	texts []string // reasons and notes, each once
}

// rung is one message: 24 bytes.
type rung struct {
	at      time.Duration // of the stack's clock
	cseq    uint32
	code    uint16
	method  uint8 // place in methods
	peer    uint8 // place in rungs.peers
	reason  uint8 // place in rungs.texts from 1; 0: the standard phrase
	note    uint8 // the same; 0: none
	repeats uint8
	sent    bool
}

// text gives a reason or a note its place. There are at most two of a rung,
// which a byte can count.
func (l *leg) text(t string) uint8 {
	if t == "" {
		return 0
	}
	k := l.rungs()
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

// rungs is the leg's ladder, begun when there was none.
func (l *leg) rungs() *rungs {
	if l.ladder == nil {
		l.ladder = &rungs{}
	}
	return l.ladder
}

// of is the text at a place.
func (k *rungs) of(place uint8) string {
	if place == 0 {
		return ""
	}
	return k.texts[place-1]
}

// maxPeers bounds the addresses that are told apart in one ladder.
const maxPeers = 16

// Longest texts of a rung, in bytes.
const (
	maxPhrase = 60
	maxNote   = 120
)

// sentMessage notes a message of ours. The leg is locked.
func (l *leg) sentMessage(b []byte, to netip.AddrPort) {
	r := rung{at: l.s.clock.Now(), peer: l.peer(to), sent: true}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if status, ok := bytes.CutPrefix(line, []byte("SIP/2.0 ")); ok {
		code, phrase, _ := bytes.Cut(status, []byte(" "))
		n, _ := strconv.Atoi(string(code))
		r.code = uint16(n) //nolint:gosec // a status code of ours
		if string(phrase) != message.StandardPhrase(n) {
			r.reason = l.text(string(phrase))
		}
	}
	r.cseq, r.method = cseqOf(rest)
	if !bytes.HasSuffix(b, []byte("\r\n\r\n")) {
		r.note = l.text("SDP")
	}
	l.note(r)
}

// write sends a message of the leg and notes it. The leg is locked.
func (l *leg) write(to transport.Target, b []byte) error {
	err := l.s.net.Write(to, b)
	if err == nil {
		l.sentMessage(b, to.Addr)
	}
	return err
}

// respond answers a request of the far side in the leg's dialog. The leg is
// locked.
func (l *leg) respond(r *sip.Request, src transport.Target, code int, phrase, headers string, sdp []byte) (data []byte, to transport.Target) {
	data, to = l.s.respond(r, src, code, phrase, headers, sdp)
	line := rung{at: l.s.clock.Now(), peer: l.peer(src.Addr), sent: true, code: uint16(code), cseq: r.CSeq().SeqNo, method: methodOf(r.Method)} //nolint:gosec // a status code of ours
	if phrase != message.StandardPhrase(code) {
		line.reason = l.text(phrase)
	}
	if len(sdp) > 0 {
		line.note = l.text("SDP")
	}
	l.note(line)
	return data, to
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

// methods are those that a rung can name; the first stands for all others.
var methods = [...]sip.RequestMethod{"other", sip.INVITE, sip.ACK, sip.CANCEL, sip.BYE, sip.OPTIONS, sip.INFO, sip.UPDATE,
	sip.PRACK, sip.REFER, sip.NOTIFY, sip.REGISTER, sip.MESSAGE, sip.SUBSCRIBE}

func methodOf(m sip.RequestMethod) uint8 {
	for i, known := range methods {
		if m == known {
			return uint8(i)
		}
	}
	return 0
}

// peer gives an address its place in the ladder. Beyond the bound all are one.
func (l *leg) peer(a netip.AddrPort) uint8 {
	k := l.rungs()
	for i, have := range k.peers {
		if have == a {
			return uint8(i)
		}
	}
	if len(k.peers) < maxPeers {
		k.peers = append(k.peers, a)
	}
	return uint8(len(k.peers) - 1) //nolint:gosec // bounded
}

// received notes a message of the far side. The leg is locked.
func (l *leg) received(m sip.Message, from netip.AddrPort) {
	r := rung{at: l.s.clock.Now(), peer: l.peer(from)}
	if c := m.CSeq(); c != nil {
		r.cseq, r.method = c.SeqNo, methodOf(c.MethodName)
	}
	if resp, ok := m.(*sip.Response); ok {
		r.code = uint16(resp.StatusCode) //nolint:gosec // 100…699: checked when it was matched
		if resp.Reason != message.StandardPhrase(resp.StatusCode) {
			r.reason = l.text(message.Truncate(resp.Reason, maxPhrase))
		}
	}
	r.note = l.text(noteOf(m))
	l.note(r)
}

// noteOf says what a message held that explains it.
func noteOf(m sip.Message) string {
	sdp := len(m.Body()) > 0
	var parts []string
	for _, h := range message.HeadersOf(m) {
		name := h.Name()
		title := noted(name)
		switch {
		case title == "":
		case title == "challenge":
			parts = append(parts, title)
		case title == "Content-Type":
			if ct, _, _ := strings.Cut(strings.ToLower(h.Value()), ";"); sdp && ct != "application/sdp" {
				sdp = false
				parts = append(parts, "body "+message.Clean(message.Truncate(ct, 40)))
			}
		default:
			parts = append(parts, title+": "+message.Clean(message.Truncate(h.Value(), 60)))
		}
	}
	switch {
	case sdp && len(parts) == 0:
		return "SDP"
	case sdp:
		parts = append([]string{"SDP"}, parts...)
	case len(parts) == 0:
		return ""
	}
	return message.Truncate(strings.Join(parts, ", "), maxNote)
}

// noted gives the title of a header that goes into a note, "" for others. The
// length is asked first: this runs for every header of every message.
func noted(name string) string {
	for _, title := range notedByLength[min(len(name), len(notedByLength)-1)] {
		if strings.EqualFold(name, title) {
			if strings.HasSuffix(title, "uthenticate") {
				return "challenge"
			}
			if title == "c" {
				return "Content-Type"
			}
			return title
		}
	}
	return ""
}

// notedByLength are the headers that explain something, by the length of their
// names; the last one is for all that are longer.
var notedByLength = func() (t [20][]string) {
	for _, n := range [...]string{"c", "Content-Type", "Reason", "Retry-After", "Warning", "Require", "Unsupported", "Session-Expires", "Min-SE",
		"Min-Expires", "WWW-Authenticate", "Proxy-Authenticate"} {
		t[len(n)] = append(t[len(n)], n)
	}
	return t
}()

// note appends a rung; a repeated message counts on the one it repeats.
func (l *leg) note(r rung) {
	k := l.rungs()
	for i := len(k.list) - 1; i >= 0 && i >= len(k.list)-4; i-- {
		have := &k.list[i]
		if have.sent == r.sent && have.code == r.code && have.method == r.method && have.cseq == r.cseq && have.note == r.note {
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
		k.list = make([]rung, 0, 7) // a call without surprises
	}
	k.list = append(k.list, r)
}

// messages writes the ladder out.
func (l *leg) messages() []engine.SIPMessage {
	k := l.rungs()
	out := make([]engine.SIPMessage, len(k.list))
	for i, r := range k.list {
		m := engine.SIPMessage{At: l.s.clock.At(r.at).UTC(), Leg: l.id, Sent: r.sent, Method: string(methods[r.method]), Code: int(r.code),
			Reason: k.of(r.reason), CSeq: r.cseq, Note: k.of(r.note), Repeats: int(r.repeats)}
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

// Ladder lists the messages of an attempt's legs that are still known here, in
// the order in which they crossed the socket.
func (s *Stack) Ladder(a engine.AttemptID) []engine.SIPMessage {
	var out []engine.SIPMessage
	for _, l := range s.ofAttempt(a) {
		l.mu.Lock()
		out = append(out, l.messages()...)
		l.mu.Unlock()
	}
	return out
}
