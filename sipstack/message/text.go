package message

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"dialler/engine"
)

// allow lists the methods that the far side may send us (RFC 3261 §20.5).
const allow = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, PRACK, REFER"

const AllowLine = "Allow: " + allow + "\r\n"

// DeriveTag derives the From tag from a Call-ID.
func DeriveTag(callID string) string { return Derive("tag", callID, 8) }

// DeriveUser derives the user part of our Contact.
func DeriveUser(callID string) string { return Derive("contact", callID, 6) }

// DeriveBranch derives the branch of a request (RFC 3261 §8.1.1.7). A CANCEL, and the ACK of a
// final response other than 2xx, use that of their INVITE.
func DeriveBranch(callID string, cseq uint32, method string) string {
	var b [96]byte
	in := append(b[:0], method...)
	in = append(in, '.')
	in = strconv.AppendUint(in, uint64(cseq), 10)
	in = append(in, '.')
	in = append(in, callID...)
	sum := sha256.Sum256(in)
	out := make([]byte, 7+20)
	copy(out, "z9hG4bK")
	hex.Encode(out[7:], sum[:10])
	return string(out)
}

func Derive(what, callID string, n int) string {
	var b [96]byte
	in := append(b[:0], what...)
	in = append(in, '.')
	in = append(in, callID...)
	sum := sha256.Sum256(in)
	return hex.EncodeToString(sum[:n])
}

// AppendStart writes the request line, Via and Max-Forwards.
func AppendStart(b []byte, method, uri string, over Transport, sentBy, branch string) []byte {
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, uri...)
	b = append(b, " SIP/2.0\r\nVia: SIP/2.0/"...)
	b = append(b, over.via()...)
	b = append(b, ' ')
	b = append(b, sentBy...)
	b = append(b, ";rport;branch="...)
	b = append(b, branch...)
	return append(b, "\r\nMax-Forwards: 70\r\n"...)
}

func AppendCallID(b []byte, callID string, cseq uint32, method string) []byte {
	b = append(b, "Call-ID: "...)
	b = append(b, callID...)
	b = append(b, "\r\nCSeq: "...)
	b = strconv.AppendUint(b, uint64(cseq), 10)
	b = append(b, ' ')
	b = append(b, method...)
	return append(b, "\r\n"...)
}

// AppendBody writes the last headers and the body.
func AppendBody(b, sdp []byte) []byte {
	if len(sdp) > 0 {
		b = append(b, "Content-Type: application/sdp\r\n"...)
	}
	return AppendContent(b, sdp)
}

// AppendContent writes Content-Length and a body whose Content-Type is already written.
func AppendContent(b, body []byte) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}

// AppendHeader writes a header with a value from outside; whatever the value contains, it stays one
// header.
func AppendHeader(b []byte, name, value string) []byte {
	if name = cleanName(name); name == "" {
		return b
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, Clean(value)...)
	return append(b, "\r\n"...)
}

// quotable makes text safe to put between quotes.
var quotable = strings.NewReplacer(`"`, "'", `\`, "/")

// AppendReason writes a Reason header (RFC 3326).
func AppendReason(b []byte, c engine.HangUpCause) []byte {
	if c.Q850 < 1 || c.Q850 > 127 {
		c.Q850 = 16
	}
	b = append(b, "Reason: Q.850;cause="...)
	b = strconv.AppendInt(b, int64(c.Q850), 10)
	if text := quotable.Replace(Clean(c.Text)); text != "" {
		b = append(b, `;text="`...)
		b = append(b, text...)
		b = append(b, '"')
	}
	return append(b, "\r\n"...)
}

// Clean removes whatever would end a header line or is not text.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

func cleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || r == ':' {
			return -1
		}
		return r
	}, s)
}

// Truncate keeps the first n bytes.
func Truncate(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
