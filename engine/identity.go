package engine

import "unicode/utf8"

// IdentityVariable is the variable of a contact or dialout that carries the value of an Identity
// header (RFC 8224): a signature of the caller ID that was made elsewhere. It is copied unchanged
// into the INVITE, and goes to no bot and into no log.
const IdentityVariable = "sip_identity"

// IdentityCap is the longest Identity header value, in bytes.
const IdentityCap = 4096

// ValidIdentity says whether a value may be used in an Identity header: one line of text that is
// not too long. The signature itself is left to its verifiers.
func ValidIdentity(s string) bool {
	for _, c := range s {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(s) <= IdentityCap && utf8.ValidString(s)
}

// IdentityHeaders are the headers required by a call's variables.
func IdentityHeaders(variables map[string]string) []SIPHeader {
	v := variables[IdentityVariable]
	if v == "" || !ValidIdentity(v) {
		return nil
	}
	return []SIPHeader{{Name: "Identity", Value: v}}
}
