package media

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pion/srtp/v3"
)

// Master key and salt of AES_CM_128 (RFC 4568 §6.2.1), as they stand in SDP.
const (
	masterKeyBytes  = 16
	masterSaltBytes = 14
)

// master is a master key with its salt. It prints as nothing, so that no log
// and no error can show one.
type master [masterKeyBytes + masterSaltBytes]byte

// Format implements fmt.Formatter.
func (master) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[key]") }

// cryptoSuites are what we offer, best first; the tag of a=crypto is the place
// in this list, from 1.
var cryptoSuites = [...]struct {
	name    string
	profile srtp.ProtectionProfile
}{
	{"AES_CM_128_HMAC_SHA1_80", srtp.ProtectionProfileAes128CmHmacSha1_80},
	{"AES_CM_128_HMAC_SHA1_32", srtp.ProtectionProfileAes128CmHmacSha1_32},
}

// crypto is one a=crypto of the far side that we can use.
type crypto struct {
	tag   int
	suite int // in cryptoSuites
	key   master
	// mki is the master key identifier that follows each packet (RFC 3711
	// §3.1); empty without.
	mki string
}

// cryptoLineCap bounds how many a=crypto lines of one description are looked at.
const cryptoLineCap = 16

var (
	errInsecure = errors.New("the SDP answer is not RTP/SAVP; the trunk's media settings require SRTP")
	errCrypto   = errors.New("the SDP answer has no a=crypto that was offered (AES_CM_128_HMAC_SHA1_80 or _32 with an inline key)")
)

// appendCrypto writes the a=crypto lines of an offer.
func appendCrypto(b []byte, keys *[len(cryptoSuites)]master) []byte {
	for i := range cryptoSuites {
		b = append(b, "a=crypto:"...)
		b = strconv.AppendInt(b, int64(i+1), 10)
		b = append(append(append(b, ' '), cryptoSuites[i].name...), " inline:"...)
		b = base64.StdEncoding.AppendEncode(b, keys[i][:])
		b = append(b, "\r\n"...)
	}
	return b
}

// parseCrypto reads the value of a=crypto (RFC 4568 §9.1); false when it is not
// one that we can use: another suite, several keys, or a session parameter that
// changes the protection (§6.3.7: what is not understood is not accepted).
func parseCrypto(value []byte) (crypto, bool) {
	var c crypto
	tag, rest := word(value)
	suite, rest := word(rest)
	params, rest := word(rest)
	n, ok := number(tag, 99999)
	if !ok {
		return c, false
	}
	c.tag, c.suite = n, -1
	for i := range cryptoSuites {
		if string(suite) == cryptoSuites[i].name {
			c.suite = i
		}
	}
	if c.suite < 0 {
		return c, false
	}
	for len(rest) > 0 {
		var p []byte
		p, rest = word(rest)
		// The window size is advice (§6.3.6), a dash marks what may be ignored.
		if !bytes.HasPrefix(p, []byte("WSH=")) && p[0] != '-' {
			return c, false
		}
	}
	inline, ok := bytes.CutPrefix(params, []byte("inline:"))
	if !ok || bytes.IndexByte(params, ';') >= 0 {
		return c, false
	}
	text, more, _ := bytes.Cut(inline, []byte{'|'})
	if base64.StdEncoding.DecodedLen(len(text)) > len(c.key)+2 {
		return c, false
	}
	var key [len(c.key) + 2]byte
	if n, err := base64.StdEncoding.Decode(key[:], text); err != nil || n != len(c.key) {
		return c, false
	}
	copy(c.key[:], key[:])
	for len(more) > 0 {
		var p []byte
		p, more, _ = bytes.Cut(more, []byte{'|'})
		id, length, isMKI := bytes.Cut(p, []byte{':'})
		if !isMKI {
			continue // a lifetime: theirs to keep
		}
		if c.mki, ok = mkiOf(id, length); !ok {
			return c, false
		}
	}
	return c, true
}

// mkiOf gives the octets of an MKI: a number in so many bytes, big endian.
func mkiOf(id, length []byte) (string, bool) {
	n, err := strconv.ParseUint(string(id), 10, 64)
	size, ok := number(length, 128)
	if err != nil || !ok || size == 0 {
		return "", false
	}
	b := make([]byte, size)
	for i := size - 1; i >= 0; i-- {
		b[i] = byte(n) //nolint:gosec // the last byte of it
		n >>= 8
	}
	return string(b), n == 0
}
