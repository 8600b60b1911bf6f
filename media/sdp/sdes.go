package sdp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pion/srtp/v3"
)

// MasterCap is the length of the longest master key with its salt: that of AES_256_CM.
const MasterCap = 32 + 14

// Master is a master key with its salt, as many bytes of it as the suite needs. It prints as
// nothing, so that no log and no error can show one.
type Master [MasterCap]byte

// Format implements fmt.Formatter.
func (Master) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[key]") }

// Suite is a cipher with its authentication, and the bytes of its master key and salt.
type Suite struct {
	Name      string
	Profile   srtp.ProtectionProfile
	key, salt int
}

// Suites are the suites that we offer, best first (RFC 7714 §14.2, RFC 6188 §4, RFC 4568 §6.2);
// the tag of a=crypto is the position in this list, from 1.
var Suites = [...]Suite{
	{"AEAD_AES_256_GCM", srtp.ProtectionProfileAeadAes256Gcm, 32, 12},
	{"AEAD_AES_128_GCM", srtp.ProtectionProfileAeadAes128Gcm, 16, 12},
	{"AES_256_CM_HMAC_SHA1_80", srtp.ProtectionProfileAes256CmHmacSha1_80, 32, 14},
	{"AES_CM_128_HMAC_SHA1_80", srtp.ProtectionProfileAes128CmHmacSha1_80, 16, 14},
	{"AES_CM_128_HMAC_SHA1_32", srtp.ProtectionProfileAes128CmHmacSha1_32, 16, 14},
}

// Split returns the parts of a master key of the suite.
func (s *Suite) Split(m *Master) (key, salt []byte) { return m[:s.key], m[s.key : s.key+s.salt] }

// inline returns what stands in SDP.
func (s *Suite) inline(m *Master) []byte { return m[:s.key+s.salt] }

// Crypto is one a=crypto of the far side that we can use.
type Crypto struct {
	Tag   int
	Suite int // in Suites
	Key   Master
	// MKI is the master key identifier that follows each packet (RFC 3711 §3.1); empty if there is
	// none.
	MKI string
}

// cryptoLineCap bounds how many a=crypto lines of one description are read.
const cryptoLineCap = 16

var (
	ErrInsecure = errors.New("the SDP answer is not RTP/SAVP; the trunk's media settings require SRTP")
	ErrCrypto   = errors.New(
		"the SDP answer has no a=crypto that was offered (one of our suites, under its tag, with an inline key)",
	)
)

// Keys are the keys of an offer, one per suite.
type Keys [len(Suites)]Master

// appendKeys writes the a=crypto lines of an offer.
func appendKeys(b []byte, keys *Keys) []byte {
	for i := range Suites {
		b = AppendCrypto(b, i+1, i, &keys[i])
	}
	return b
}

// AppendCrypto writes one a=crypto line.
func AppendCrypto(b []byte, tag, suite int, key *Master) []byte {
	b = append(b, "a=crypto:"...)
	b = strconv.AppendInt(b, int64(tag), 10)
	b = append(append(append(b, ' '), Suites[suite].Name...), " inline:"...)
	b = base64.StdEncoding.AppendEncode(b, Suites[suite].inline(key))
	return append(b, "\r\n"...)
}

// ParseCrypto reads the value of a=crypto (RFC 4568 §9.1). It returns false for one that we cannot
// use: another suite, several keys, or a session parameter that changes the protection (§6.3.7:
// what is not understood is not accepted).
func ParseCrypto(value []byte) (Crypto, bool) {
	var c Crypto
	tag, rest := Word(value)
	suite, rest := Word(rest)
	params, rest := Word(rest)
	n, ok := Number(tag, 99999)
	if !ok {
		return c, false
	}
	c.Tag, c.Suite = n, -1
	for i := range Suites {
		if string(suite) == Suites[i].Name {
			c.Suite = i
		}
	}
	if c.Suite < 0 {
		return c, false
	}
	for len(rest) > 0 {
		var p []byte
		p, rest = Word(rest)
		// The window size is advisory (§6.3.6), and a dash marks a parameter that may be ignored.
		if !bytes.HasPrefix(p, []byte("WSH=")) && p[0] != '-' {
			return c, false
		}
	}
	inline, ok := bytes.CutPrefix(params, []byte("inline:"))
	if !ok || bytes.IndexByte(params, ';') >= 0 {
		return c, false
	}
	text, more, _ := bytes.Cut(inline, []byte{'|'})
	want := Suites[c.Suite].inline(&c.Key)
	if base64.StdEncoding.DecodedLen(len(text)) > len(want)+2 {
		return c, false
	}
	var key [MasterCap + 2]byte
	if n, err := base64.StdEncoding.Decode(key[:], text); err != nil || n != len(want) {
		return c, false
	}
	copy(want, key[:])
	for len(more) > 0 {
		var p []byte
		p, more, _ = bytes.Cut(more, []byte{'|'})
		id, length, isMKI := bytes.Cut(p, []byte{':'})
		if !isMKI {
			continue // a lifetime: theirs to observe
		}
		if c.MKI, ok = mkiOf(id, length); !ok {
			return c, false
		}
	}
	return c, true
}

// mkiOf returns the octets of an MKI: a big-endian number of the given length.
func mkiOf(id, length []byte) (string, bool) {
	n, err := strconv.ParseUint(string(id), 10, 64)
	size, ok := Number(length, 128)
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
