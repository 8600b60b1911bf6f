package number

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"dialler/engine"
	"dialler/engine/window"
)

// Type says what a number is used for.
type Type string

const (
	Fixed         Type = "fixed"
	Mobile        Type = "mobile"
	FixedOrMobile Type = "fixed_or_mobile" // the numbering plan does not distinguish them
	TollFree      Type = "toll_free"
	SharedCost    Type = "shared_cost"
	VoIP          Type = "voip"
	Other         Type = "other"   // personal, pager, company-wide, voicemail
	Unknown       Type = "unknown" // possible, but not known to be assigned

	// Never dialled.
	Premium   Type = "premium"
	Emergency Type = "emergency"
	Short     Type = "short"
)

// Facts are what can be derived from a number.
type Facts struct {
	Region      string // ISO 3166 of the country, "001" for global services, "" if unknown
	CountryCode int    // for example 49
	Type        Type
	Zones       []string // IANA zones in which the number may be at home, nil if unknown
	CountryKey  string   // for example "+49"
	AreaKey     string   // country and area, for example "+4930"; only the country if there is no area
}

// Describe returns the facts of a number; ok is false if it is not a number.
func Describe(p engine.PhoneNumber) (f Facts, ok bool) {
	n := accepted(p)
	if n == nil {
		return Facts{}, false
	}
	country := int(n.GetCountryCode())
	f = Facts{Region: region(n), CountryCode: country, Type: kind(n), Zones: zones(p)}
	f.CountryKey = "+" + strconv.Itoa(country)
	f.AreaKey = f.CountryKey + area(n)
	return f, true
}

// Region is the ISO 3166 code of the number's country, "001" for a global service, "" if it is not
// a number. Where countries share a code, numbers that are not known to be assigned count as the
// main country's.
func Region(p engine.PhoneNumber) string {
	n := accepted(p)
	if n == nil {
		return ""
	}
	return region(n)
}

// Callee is a number with the facts that decide whether it may be dialled: its Region and Kind.
type Callee struct {
	Number engine.PhoneNumber
	Region string // "" if it is not a number
	Use    Type   // Unknown then
}

// CalleeOf parses a number once for both facts.
func CalleeOf(p engine.PhoneNumber) Callee {
	n := accepted(p)
	if n == nil {
		return Callee{Number: p, Use: Unknown}
	}
	return Callee{Number: p, Region: region(n), Use: kind(n)}
}

// CountryCode is the international calling code, 0 if it is not a number.
func CountryCode(p engine.PhoneNumber) int {
	n := accepted(p)
	if n == nil {
		return 0
	}
	return int(n.GetCountryCode())
}

// Zones are the IANA zones in which the number may be at home: one for a city, all of the country's
// for a mobile or toll-free number; nil if unknown.
func Zones(p engine.PhoneNumber) []string { return zones(p) }

// HomeOf is where the number is at home: its Zones and its Region.
func HomeOf(p engine.PhoneNumber) window.Home {
	return window.Home{Zones: zones(p), Country: Region(p)}
}

// Kind says what the number is used for.
func Kind(p engine.PhoneNumber) Type {
	n := accepted(p)
	if n == nil {
		return Unknown
	}
	return kind(n)
}

// AreaKey is the common prefix of numbers of the same country and area: "+4930" for Berlin, "+1212"
// for Manhattan, "+49" for a number without an area.
func AreaKey(p engine.PhoneNumber) string {
	key, _ := Home(p)
	return key
}

// Home returns AreaKey and Region at once, for choosing a caller ID.
func Home(p engine.PhoneNumber) (areaKey, country string) {
	n := accepted(p)
	if n == nil {
		return "", ""
	}
	return "+" + strconv.Itoa(int(n.GetCountryCode())) + area(n), region(n)
}

// accepted is what the library reads from a number that Parse has accepted, nil if it is none. Such a
// number is its country code and its national number, so that the library, which expects whatever
// people write, need not be asked: half the time of all facts.
func accepted(p engine.PhoneNumber) *phonenumbers.PhoneNumber {
	s := p.E164()
	if !strict(s) {
		n, err := phonenumbers.Parse(s, unknownRegion)
		if err != nil {
			return nil
		}
		return n
	}
	country := int32(0)
	for i := 1; i <= countryDigits; i++ {
		country = 10*country + int32(s[i]-'0')
		if phonenumbers.GetRegionCodesForCountryCode(int(country)) == nil {
			continue
		}
		national := s[i+1:]
		digits, _ := strconv.ParseUint(national, 10, 64) // digits, at most 14
		n := &phonenumbers.PhoneNumber{CountryCode: &country, NationalNumber: &digits}
		if zeros := len(national) - len(strings.TrimLeft(national[:len(national)-1], "0")) - 1; zeros > 0 {
			n.ItalianLeadingZero = new(true)
			if zeros > 1 {
				n.NumberOfLeadingZeros = new(int32(zeros)) //nolint:gosec // at most 13
			}
		}
		return n
	}
	return nil
}

// countryDigits is the length of the longest country codes; none begins with another.
const countryDigits = 3

// SupportedRegion says whether a country has numbers at all, to check configured allow-lists.
func SupportedRegion(region string) bool { return phonenumbers.GetSupportedRegions()[region] }

func region(n *phonenumbers.PhoneNumber) string {
	if r := phonenumbers.GetRegionCodeForNumber(n); r != "" {
		return r
	}
	if r := phonenumbers.GetRegionCodeForCountryCode(int(n.GetCountryCode())); r != unknownRegion {
		return r
	}
	return ""
}

func zones(p engine.PhoneNumber) []string {
	if !strict(p.E164()) {
		return nil
	}
	z, err := phonenumbers.GetTimezonesForPrefix(p.E164())
	if err != nil || len(z) == 0 || slices.Contains(z, phonenumbers.UNKNOWN_TIMEZONE) {
		return nil
	}
	return slices.Clone(z) // a copy, to protect the library's own table
}

// nanp is the country code of the North American Numbering Plan, where the first three digits are
// the area, even for unassigned numbers.
const nanp = 1

func area(n *phonenumbers.PhoneNumber) string {
	national := phonenumbers.GetNationalSignificantNumber(n)
	length := phonenumbers.GetLengthOfGeographicalAreaCode(n)
	if n.GetCountryCode() == nanp {
		length = 3
	}
	if length <= 0 || length > len(national) {
		return ""
	}
	return national[:length]
}

func kind(n *phonenumbers.PhoneNumber) Type {
	if emergencyOfArea(n) {
		return Emergency
	}
	switch phonenumbers.GetNumberType(n) {
	case phonenumbers.FIXED_LINE:
		return Fixed
	case phonenumbers.MOBILE:
		return Mobile
	case phonenumbers.FIXED_LINE_OR_MOBILE:
		return FixedOrMobile
	case phonenumbers.TOLL_FREE:
		return TollFree
	case phonenumbers.SHARED_COST:
		return SharedCost
	case phonenumbers.VOIP:
		return VoIP
	case phonenumbers.PERSONAL_NUMBER, phonenumbers.PAGER, phonenumbers.UAN, phonenumbers.VOICEMAIL:
		return Other
	case phonenumbers.PREMIUM_RATE:
		return Premium
	case phonenumbers.UNKNOWN:
		return unassigned(n)
	}
	return unassigned(n)
}

// emergencyOfArea says whether a number is an emergency number behind an area code, which reaches the
// control centre of that area in some countries: +4930110 is the police of Berlin.
func emergencyOfArea(n *phonenumbers.PhoneNumber) bool {
	national := phonenumbers.GetNationalSignificantNumber(n)
	if len(national) > 8 { // the longest area codes have five digits
		return false
	}
	a := area(n)
	return a != "" && phonenumbers.IsEmergencyNumber(national[len(a):], region(n))
}

// unassigned classifies a number that is in no list of assigned ones by its prefix.
func unassigned(n *phonenumbers.PhoneNumber) Type {
	national := phonenumbers.GetNationalSignificantNumber(n)
	r := region(n)
	// A complete number never begins like an emergency number, or it could not be dialled in its
	// own country; an assigned number is not checked.
	if phonenumbers.ConnectsToEmergencyNumber(national, r) {
		return Emergency
	}
	if phonenumbers.IsValidShortNumberForRegion(n, r) {
		return Short
	}
	if premiumBeginning(n.GetCountryCode(), national) {
		return Premium
	}
	return Unknown
}

// premiumBeginning says whether a number of another length with the same prefix would be premium
// rate: carriers may accept, and bill, more lengths than the numbering plan lists.
func premiumBeginning(country int32, national string) bool {
	for length := 5; length <= 12; length++ {
		s := national
		if len(s) > length {
			s = s[:length]
		}
		for _, pad := range []string{"0", "1", "5"} {
			v := s + strings.Repeat(pad, length-len(s))
			u, err := strconv.ParseUint(v, 10, 64)
			if err != nil || v[0] == '0' {
				break // numbers with a leading zero are never premium rate
			}
			if phonenumbers.GetNumberType(&phonenumbers.PhoneNumber{CountryCode: &country,
				NationalNumber: &u}) == phonenumbers.PREMIUM_RATE {
				return true
			}
			if len(s) == length {
				break
			}
		}
	}
	return false
}
