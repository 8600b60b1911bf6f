package number

import (
	"strings"

	"github.com/nyaruka/phonenumbers"

	"dialler/engine"
)

// Format is how a carrier expects a number in the user part of a SIP URI.
type Format string

const (
	E164       Format = "e164"         // with the plus
	E164NoPlus Format = "e164_no_plus" // the same digits without it
	// International begins with 00, whatever a country's own prefix is.
	International Format = "international"
	// National is the form dialled within the country: its own numbers with their trunk prefix (0
	// in most of Europe, none in North America), others after the prefix for calls abroad (00, or
	// 011 in North America).
	National Format = "national"
)

// Written formats a number: digits, and a plus for E164. country (ISO 3166) is for National; with
// an unknown number or country the result is as for E164. "" is E164.
func Written(p engine.PhoneNumber, f Format, country string) string {
	switch f {
	case E164NoPlus:
		return strings.TrimPrefix(p.E164(), "+")
	case International:
		return "00" + strings.TrimPrefix(p.E164(), "+")
	case National:
		return national(p, country)
	case E164:
	}
	return p.E164()
}

func national(p engine.PhoneNumber, country string) string {
	n, err := phonenumbers.Parse(p.E164(), unknownRegion)
	code := phonenumbers.GetCountryCodeForRegion(country)
	if err != nil || code == 0 {
		return p.E164()
	}
	if int(n.GetCountryCode()) == code {
		return digits(phonenumbers.Format(n, phonenumbers.NATIONAL))
	}
	abroad := digits(phonenumbers.FormatOutOfCountryCallingNumber(n, country))
	whole := strings.TrimPrefix(p.E164(), "+")
	if prefix, ok := strings.CutSuffix(abroad, whole); ok && prefix != "" && len(prefix) <= maxPrefix {
		return abroad
	}
	return Written(p, International, "") // the country has several prefixes: use the common one
}

// maxPrefix is the length of the longest prefix for calls abroad (Australia).
const maxPrefix = 4

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}
