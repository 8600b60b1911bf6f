package number

import (
	"strings"

	"github.com/nyaruka/phonenumbers"

	"dialler/engine"
)

// E.164 allows 15 digits; no country has complete numbers with fewer than 7 digits, country code
// included.
const (
	minDigits = 7
	maxDigits = 15
)

// Parse parses a number in the form required of interfaces: E.164, a leading plus and digits only.
func Parse(s string) (engine.PhoneNumber, error) {
	_, _, err := parse(s)
	if err != nil {
		return "", err
	}
	return engine.PhoneNumber(s), nil
}

// ParseCallee is Parse and CalleeOf at once, because parsing is the slow part.
func ParseCallee(s string) (Callee, error) {
	n, use, err := parse(s)
	if err != nil {
		return Callee{}, err
	}
	return Callee{Number: engine.PhoneNumber(s), Region: region(n), Use: use}, nil
}

func parse(s string) (n *phonenumbers.PhoneNumber, use Type, err error) {
	if !strict(s) {
		return nil, "", invalid("numbers are written in E.164, a plus and 7 to 15 digits: +4915112345678")
	}
	if n, err = read(s); err != nil {
		return nil, "", err
	}
	if phonenumbers.Format(n, phonenumbers.E164) != s {
		return nil, "", invalid("the number is not in its international form: leave out the national trunk prefix")
	}
	use = kind(n)
	return n, use, dialable(use)
}

// ParseLoose parses a number as found in files: with spaces, dashes, dots, slashes, brackets, a
// leading 00 instead of the plus. A number without plus or 00 is taken as a national one of the
// default region (ISO 3166; "" means that there is none, and such a number is refused), or as an
// international one that lacks its plus where it can only be that. Where it may be either, nobody is
// called: it is refused.
func ParseLoose(s, defaultRegion string) (engine.PhoneNumber, error) {
	s = strings.TrimSpace(s)
	national, err := ParseNational(s, defaultRegion)
	if defaultRegion == "" || strings.HasPrefix(s, "+") || strings.HasPrefix(s, "0") {
		return national, err // it has one reading
	}
	international, err2 := ParseNational("+"+s, "")
	switch {
	case err2 != nil || national == international:
		return national, err
	case assigned(international) && !assigned(national):
		return international, nil
	case err != nil:
		return "", err
	case asWritten(s, national):
		return national, nil
	case assigned(national) && !assigned(international) && CountryCode(international) != CountryCode(national):
		return national, nil
	}
	return "", errEitherReading
}

var errEitherReading = invalid("the digits may begin with a country code, or not: write the plus in front of it " +
	"(+4915112345678), or the 0 in front of a number within the country (015112345678)")

// assigned says whether numbers like this one are in use, as far as is known.
func assigned(p engine.PhoneNumber) bool {
	n, err := phonenumbers.Parse(p.E164(), unknownRegion)
	return err == nil && phonenumbers.IsValidNumber(n)
}

// asWritten says whether s has the digits that the country itself writes for one of its numbers: without a
// prefix in North America, Italy or Poland, with a 0 in Germany.
func asWritten(s string, national engine.PhoneNumber) bool {
	n, err := phonenumbers.Parse(national.E164(), unknownRegion)
	return err == nil && digits(phonenumbers.Format(n, phonenumbers.NATIONAL)) == digits(s)
}

// ParseNational is ParseLoose for a guess at who called or was called: a number without plus or 00 is one of the
// region wherever it can be. It may be the wrong one, so it must not decide whom to call.
func ParseNational(s, region string) (engine.PhoneNumber, error) {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return "", invalid("the number is too long")
	}
	for _, r := range s {
		if (r < '0' || r > '9') && !strings.ContainsRune("+ -./()\u00a0\u2011\u2013", r) {
			return "", invalid("the number contains characters that are neither digits nor separators")
		}
	}
	if strings.HasPrefix(s, "00") {
		s = "+" + s[2:]
	}
	if !strings.HasPrefix(s, "+") && region == "" {
		return "", ErrNoCountry
	}
	if region == "" {
		region = unknownRegion
	}
	n, err := phonenumbers.Parse(s, strings.ToUpper(region))
	if err != nil {
		return "", invalid("the number cannot be read")
	}
	if !phonenumbers.IsPossibleNumber(n) {
		return "", invalid("no number of that country has this length")
	}
	// The same rules as for interfaces, which must accept stored numbers.
	e164 := phonenumbers.Format(n, phonenumbers.E164)
	if !strict(e164) {
		return "", invalid("no number of that country has this length")
	}
	return Parse(e164)
}

// ErrNoCountry means that a number is written as within its country, and no country is given.
var ErrNoCountry = invalid("the number has no country code: write it with a leading plus, as in +4915112345678")

const unknownRegion = "ZZ"

func strict(s string) bool {
	if len(s) < 1+minDigits || len(s) > 1+maxDigits || s[0] != '+' || s[1] == '0' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// read parses an international number with the library.
func read(e164 string) (*phonenumbers.PhoneNumber, error) {
	n, err := phonenumbers.Parse(e164, unknownRegion)
	if err != nil {
		return nil, invalid("the country code does not exist")
	}
	if !phonenumbers.IsPossibleNumber(n) {
		return nil, invalid("no number of that country has this length")
	}
	return n, nil
}

// dialable refuses numbers that must never be called.
func dialable(use Type) error {
	switch use {
	case Premium:
		return engine.Invalid("premium_number", "")
	case Emergency:
		return engine.Invalid("emergency_number", "")
	case Short:
		return engine.Invalid("short_number", "")
	case Fixed, Mobile, FixedOrMobile, TollFree, SharedCost, VoIP, Other, Unknown:
	}
	return nil
}

func invalid(detail string) error { return engine.Invalid("invalid_number", detail) }
