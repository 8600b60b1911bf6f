package srtp

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"dialler/media/sdp"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/srtp/v3"
)

const (
	// headerBytes is the length of an RTP header without optional fields.
	headerBytes = 12
	// TrailCap is the most bytes by which SRTP lengthens a packet of ours: the tag of GCM. We use no
	// MKI.
	TrailCap = 16
	// replayWindow is how many packets back a repetition is recognised; RFC 3711 §3.3.2 requires at
	// least 64.
	replayWindow = 128
)

// Session is the SRTP of a call (RFC 3711) with keys from SDP (RFC 4568). The
// call's lock guards it.
type Session struct {
	offered sdp.Keys // ours
	// out are the contexts of our keys, made when the far side first chose the
	// suite and then kept: a second one with the same key would use its key
	// stream again.
	out  [len(sdp.Suites)]*srtp.Context
	send *srtp.Context // one of out; nil before the answer
	used window        // the packet numbers that were sealed

	chosen  sdp.Crypto // the far side's key
	receive *srtp.Context
	// After changing its key, the far side either continues the roll-over counter (RFC 3711 §3.3.1)
	// or resets it; its first packet shows which.
	rolled map[uint32]uint32 // until then: the roll-over counter by SSRC
	ssrcs  []uint32          // SSRCs heard, for the next key change

	header rtp.Header // scratch
	report rtcp.Header
}

// New creates the keys of an offer.
func New() *Session {
	k := &Session{}
	for i := range k.offered {
		_, _ = rand.Read(k.offered[i][:]) // never fails
	}
	return k
}

// Own returns the keys of our offer; nil without SRTP.
func (k *Session) Own() *sdp.Keys {
	if k == nil {
		return nil
	}
	return &k.offered
}

// Suite names the suite in use; empty before the answer.
func (k *Session) Suite() string {
	if k.send == nil {
		return ""
	}
	return sdp.Suites[k.chosen.Suite].Name
}

// AppendChosen writes the a=crypto line of an answer: the tag and suite of the far side's line,
// with our key.
func (k *Session) AppendChosen(b []byte) []byte {
	return sdp.AppendCrypto(b, k.chosen.Tag, k.chosen.Suite, &k.offered[k.chosen.Suite])
}

// ssrcCap bounds how many sources of one call are remembered.
const ssrcCap = 16

// Answered applies the far side's a=crypto lines. first means they answer our offer, so the tag
// must be one of ours.
func (k *Session) Answered(lines []sdp.Crypto, first bool) error {
	for _, c := range lines {
		if first && c.Tag != c.Suite+1 {
			continue
		}
		if k.receive == nil || c.Suite != k.chosen.Suite || c.Key != k.chosen.Key || c.MKI != k.chosen.MKI {
			receive, err := newContext(c.Key, c.Suite, c.MKI)
			if err != nil {
				return fmt.Errorf("SRTP: %w", err)
			}
			k.rekey(receive)
		}
		k.chosen = c // a new offer may give the same key another tag
		if k.out[c.Suite] == nil {
			out, err := newContext(k.offered[c.Suite], c.Suite, "")
			if err != nil {
				return fmt.Errorf("SRTP: %w", err)
			}
			k.out[c.Suite] = out
		}
		k.send = k.out[c.Suite]
		return nil
	}
	return sdp.ErrCrypto
}

func newContext(m sdp.Master, suite int, mki string) (*srtp.Context, error) {
	opts := []srtp.ContextOption{srtp.SRTPReplayProtection(replayWindow), srtp.SRTCPReplayProtection(replayWindow)}
	if mki != "" {
		opts = append(opts, srtp.MasterKeyIndicator([]byte(mki)))
	}
	s := &sdp.Suites[suite]
	key, salt := s.Split(&m)
	return srtp.CreateContext(key, salt, s.Profile, opts...)
}

func (k *Session) rekey(receive *srtp.Context) {
	k.rolled = nil
	for _, ssrc := range k.ssrcs {
		if roc, ok := k.receive.ROC(ssrc); ok && roc > 0 {
			if k.rolled == nil {
				k.rolled = map[uint32]uint32{}
			}
			k.rolled[ssrc] = roc
			receive.SetROC(ssrc, roc)
		}
	}
	k.receive = receive
}

// Open verifies and decrypts an SRTP packet in place and returns the RTP packet.
func (k *Session) Open(b []byte) ([]byte, error) {
	if k.receive == nil || len(b) < headerBytes {
		return nil, srtp.ErrFailedToVerifyAuthTag
	}
	ssrc := binary.BigEndian.Uint32(b[8:])
	roc, either := k.rolled[ssrc]
	var again []byte
	if either {
		again = bytes.Clone(b) // GCM overwrites what it cannot open
	}
	plain, err := k.receive.DecryptRTP(b, b, &k.header)
	if err != nil && either {
		k.receive.SetROC(ssrc, 0)
		if plain, err = k.receive.DecryptRTP(again, again, &k.header); err != nil {
			k.receive.SetROC(ssrc, roc)
		}
	}
	if err != nil {
		return nil, err
	}
	if k.rolled != nil {
		delete(k.rolled, ssrc)
	}
	k.heard(ssrc)
	return plain, nil
}

func (k *Session) heard(ssrc uint32) {
	for _, s := range k.ssrcs {
		if s == ssrc {
			return
		}
	}
	if len(k.ssrcs) < ssrcCap {
		k.ssrcs = append(k.ssrcs, ssrc)
	}
}

// srtcpLeast is the length of the shortest SRTCP packet (RFC 3711 §3.4): header, index, and the
// shortest tag, which is 80 bits long in every suite of HMAC.
const srtcpLeast = 8 + 4 + 10

// OpenReport verifies and decrypts an SRTCP packet in place.
func (k *Session) OpenReport(b []byte) ([]byte, error) {
	if k.receive == nil || len(b) < srtcpLeast {
		return nil, srtp.ErrFailedToVerifyAuthTag
	}
	return k.receive.DecryptRTCP(b, b, &k.report)
}

// Seal encrypts the n bytes of an RTP packet in place and returns the length of the SRTP packet; b
// must have TrailCap bytes to spare. 0 means the packet must not be sent: there is no key yet, or
// its number was used, as when a relayed packet comes twice.
func (k *Session) Seal(b []byte, n int) int {
	if k.send == nil || !k.used.take(binary.BigEndian.Uint16(b[2:])) {
		return 0
	}
	out, err := k.send.EncryptRTP(b[:n], b[:n], &k.header)
	if err != nil || len(out) > len(b) {
		return 0
	}
	return len(out)
}

// SealReport returns the SRTCP packet of a report; nil means it must not be sent.
func (k *Session) SealReport(b []byte) []byte {
	if k.send == nil {
		return nil
	}
	out, err := k.send.EncryptRTCP(nil, b, &k.report)
	if err != nil {
		return nil
	}
	return out
}

// Forged says whether a packet was refused because no key of the far side sealed it. Otherwise it
// was too short or a replay, for which pion has no error of its own.
func Forged(err error) bool {
	return errors.Is(err, srtp.ErrFailedToVerifyAuthTag) || errors.Is(err, srtp.ErrMKINotFound)
}

// window knows the numbers of the last packets: bit n of seen is that of newest - n.
type window struct {
	begun  bool
	newest uint16
	seen   uint64
}

// take says whether a number is new, which it then is no more.
func (w *window) take(seq uint16) bool {
	step := int16(seq - w.newest) //nolint:gosec // RFC 1982 arithmetic
	switch {
	case !w.begun || step > 0:
		w.seen = w.seen<<min(uint16(step), 64) | 1 //nolint:gosec // above 0, or nothing is seen yet
		w.begun, w.newest = true, seq
		return true
	case step <= -64 || w.seen>>-step&1 == 1:
		return false
	}
	w.seen |= 1 << -step
	return true
}
