package number

import (
	"slices"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"

	"dialler/engine"
)

func TestInterfacesTakeE164Only(t *testing.T) {
	f := func(in, code string) {
		t.Helper()
		got, err := Parse(in)
		if code == "" {
			if err != nil || got.E164() != in {
				t.Errorf("%s: %v, %v", in, got.E164(), err)
			}
			return
		}
		if engine.ErrorCode(err) != code || got != "" {
			t.Errorf("%s: %q, %v; want %s", in, got.E164(), err, code)
		}
		if digits := strings.TrimPrefix(in, "+"); len(digits) > 3 && strings.Contains(err.Error(), digits) {
			t.Errorf("the error shows the number: %v", err)
		}
	}
	f("+493023125000", "") // reserved for fiction
	f("+493023125999", "")
	f("+12125550100", "") // reserved for fiction
	f("+15550100123", "") // area 555
	f("+442079460123", "")
	f("+447700900123", "")
	f("+4915112345678", "") // mobile
	f("+390612345678", "")  // the zero is part of an Italian number
	f("+33155123456", "")   // begins like the French 15, but is a Paris number
	f("+61491570156", "")
	f("+5491123456789", "")
	f("+6834123", "")         // seven digits
	f("+492319876543210", "") // fifteen

	f("", "invalid_number")
	f("+", "invalid_number")
	f("493023125000", "invalid_number")
	f("00493023125000", "invalid_number")
	f("+49 3023125000", "invalid_number")
	f("+49-3023125000", "invalid_number")
	f("+49(30)23125000", "invalid_number")
	f(" +493023125000", "invalid_number")
	f("+493023125000\n", "invalid_number")
	f("+4930231250００", "invalid_number") // digits of another script
	f("+49302312500O", "invalid_number")
	f("+493023125000;ext=1", "invalid_number")
	f("+493023125000123456", "invalid_number")
	f("+0493023125000", "invalid_number")
	f("+490301234567", "invalid_number")  // with the trunk prefix
	f("+999123456789", "invalid_number")  // no such country
	f("+5215512345678", "invalid_number") // one digit too long
	f("+1212555010", "invalid_number")
	f("+4930", "invalid_number")
	f("+1911", "invalid_number")

	f("+19005551234", "premium_number")
	f("+449098790000", "premium_number")
	f("+33899123456", "premium_number")
	f("+4990012345", "premium_number")   // unassigned, begins like premium
	f("+979123456789", "premium_number") // international premium
	f("+19115551234", "emergency_number")
	f("+4911012345", "emergency_number")
	f("+4930110", "emergency_number") // of an area
	f("+4930112", "emergency_number")
	f("+4989110", "emergency_number")
	f("+49331110", "emergency_number")
	f("+4933203112", "emergency_number") // the longest area codes
	f("+49301121", "")
	f("+493011021234", "") // a subscriber's number
	f("+493311123456", "")
	f("+4915111012345", "")
}

func TestFilesAreReadLoosely(t *testing.T) {
	f := func(in, region, want string) {
		t.Helper()
		got, err := ParseLoose(in, region)
		if got.E164() != want || (err == nil) != (want != "") {
			t.Errorf("%q in %q: %q, %v; want %q", in, region, got.E164(), err, want)
		}
	}
	f("+49 30 23125-000", "", "+493023125000")
	f(" 0049 (30) 23125.000 ", "", "+493023125000")
	f("+49 (0)30 23125000", "", "+493023125000")
	f("+49 030 23125000", "", "+493023125000")
	f("030/23125000", "DE", "+493023125000")
	f("030/23125000", "de", "+493023125000")
	f("(212) 555-0100", "US", "+12125550100")
	f("+1 212 555 0100", "DE", "+12125550100")
	f("06 1234 5678", "IT", "+390612345678")
	f("030 23125000", "", "")
	f("110", "DE", "")
	f("911", "US", "")
	f("+1 900 555 1234", "", "")
	f("call me", "DE", "")
	f("+49 30 23125000 x12", "", "")
	f("", "", "")
	f("", "DE", "")
	f(strings.Repeat("1", 70), "DE", "")
	f("030 23125000", "XX", "")
}

// Nobody is called by a number that the file does not clearly say.
func TestDigitsAloneAreNeverTakenForAnotherPersonsNumber(t *testing.T) {
	f := func(in, region, want string) {
		t.Helper()
		got, err := ParseLoose(in, region)
		if got.E164() != want || (err == nil) != (want != "") {
			t.Errorf("%q in %q: %q, %v; want %q", in, region, got.E164(), err, want)
		}
	}
	for _, in := range []string{
		"4915123456789", "491701234567", "49 170 1234567", "(49) 151 23456789", // mobile, or in Leer
		"4917012345",                   // a mobile number cut short, or in Leer
		"4366412345678", "33612345678", // abroad, or in Germany
		"15123456789", // a mobile number whose 0 a spreadsheet took, or in Texas
	} {
		got, err := ParseLoose(in, "DE")
		if err != errEitherReading { //nolint:errorlint // it is never wrapped
			t.Errorf("%s: %q, %v", in, got.E164(), err)
		}
	}
	// One reading alone is a number.
	f("4930901820", "DE", "+4930901820")
	f("442079460123", "US", "+442079460123")
	f("14155550123", "US", "+14155550123")
	f("447911123456", "GB", "+447911123456")
	f("48512345678", "PL", "+48512345678")
	f("30901820", "DE", "+4930901820") // without its 0
	f("1701234567", "DE", "+491701234567")
	f("7911123456", "GB", "+447911123456")
	f("6641234567", "AT", "+436641234567")
	f("89123456789", "RU", "+79123456789")
	// As the country itself writes its numbers.
	f("5075550100", "US", "+15075550100") // +507 is Panama
	f("(479) 255-0100", "US", "+14792550100")
	f("3931234567", "IT", "+393931234567")
	f("512345678", "PL", "+48512345678")
	f("11912345678", "BR", "+5511912345678")
	f("13812345678", "CN", "+8613812345678")
	// A 0 or a plus says it all.
	f("04917012345", "DE", "+494917012345")
	f("015123456789", "DE", "+4915123456789")
	f("004915123456789", "DE", "+4915123456789")
	f("+4915123456789", "DE", "+4915123456789")
	f("4915123456789012", "DE", "")
	f("12345678901234567890", "DE", "")
}

func TestANumberSaysWhereItIsAtHome(t *testing.T) {
	f := func(n engine.PhoneNumber, region string, code int, kind Type, countryKey, areaKey string, zones ...string) {
		t.Helper()
		got, ok := Describe(n)
		if !ok || got.Region != region || got.CountryCode != code || got.Type != kind || got.CountryKey != countryKey ||
			got.AreaKey != areaKey {
			t.Errorf("%s: %+v, %v", n.E164(), got, ok)
		}
		for _, z := range zones {
			if !slices.Contains(got.Zones, z) {
				t.Errorf("%s: zones %v lack %s", n.E164(), got.Zones, z)
			}
		}
		if len(zones) == 1 && len(got.Zones) != 1 {
			t.Errorf("%s: zones %v", n.E164(), got.Zones)
		}
		if Region(n) != region || CountryCode(n) != code || Kind(n) != kind || AreaKey(n) != areaKey ||
			!slices.Equal(Zones(n), got.Zones) {
			t.Errorf("%s: single answers differ from %+v", n.E164(), got)
		}
	}
	f("+493023125000", "DE", 49, Fixed, "+49", "+4930", "Europe/Berlin")
	f("+4915112345678", "DE", 49, Mobile, "+49", "+49", "Europe/Berlin")
	f("+12125550100", "US", 1, FixedOrMobile, "+1", "+1212", "America/New_York")
	f("+13105550100", "US", 1, FixedOrMobile, "+1", "+1310", "America/Los_Angeles")
	f("+15550100123", "US", 1, Unknown, "+1", "+1555", "America/New_York", "America/Los_Angeles")
	f("+18005550100", "US", 1, TollFree, "+1", "+1800", "America/New_York", "America/Los_Angeles")
	f("+18765551234", "JM", 1, Mobile, "+1", "+1876", "America/Jamaica")
	f("+390612345678", "IT", 39, Fixed, "+39", "+3906", "Europe/Rome")
	f("+80012345678", "001", 800, TollFree, "+800", "+800")
	if f, ok := Describe("+80012345678"); !ok || f.Zones != nil {
		t.Errorf("a global number is at home in %v", f.Zones)
	}
}

func TestWhatIsNoNumberHasNoFacts(t *testing.T) {
	for _, n := range []engine.PhoneNumber{"", "x", "+", "+999123456789"} {
		if f, ok := Describe(n); ok {
			t.Errorf("%q: %+v", n.E164(), f)
		}
		if Region(n) != "" || CountryCode(n) != 0 || Zones(n) != nil || AreaKey(n) != "" || Kind(n) != Unknown {
			t.Errorf("%q has facts", n.E164())
		}
	}
}

func TestZonesBelongToTheCaller(t *testing.T) {
	Zones("+493023125000")[0] = "changed"
	if z := Zones("+493023125000"); z[0] != "Europe/Berlin" {
		t.Fatal("a caller can change the zones of a country")
	}
}

func TestCountriesOfAnAllowListAreKnown(t *testing.T) {
	if !SupportedRegion("DE") || SupportedRegion("XX") || SupportedRegion("") {
		t.Fatal("wrong countries")
	}
}

func TestACalleeIsReadOnceForAllThatIsAskedOfIt(t *testing.T) {
	for _, n := range []string{"+493023125000", "+4915112345678", "+15550100123", "+12125550123", "+80012345678",
		"+881612345678", "+43676123456"} {
		p, err := Parse(n)
		got, errAtOnce := ParseCallee(n)
		want := Callee{Number: p, Region: Region(p), Use: Kind(p)}
		if err != nil || errAtOnce != nil || got != want || CalleeOf(p) != want {
			t.Errorf("%s: %+v and %+v, want %+v; %v, %v", n, got, CalleeOf(p), want, err, errAtOnce)
		}
		f, _ := Describe(p)
		if area, country := Home(p); area != f.AreaKey || country != f.Region {
			t.Errorf("%s is at home in %s, %s; want %s, %s", n, area, country, f.AreaKey, f.Region)
		}
	}
	for _, n := range []string{"", "0151", "+4900", "+49900123456", "+49112"} {
		_, err := Parse(n)
		if c, errAtOnce := ParseCallee(n); c != (Callee{}) || err == nil || errAtOnce == nil ||
			err.Error() != errAtOnce.Error() {
			t.Errorf("%q: %+v, %v and %v", n, c, errAtOnce, err)
		}
	}
	if c := CalleeOf("x"); c != (Callee{Number: "x", Use: Unknown}) {
		t.Errorf("%+v", c)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"+493023125000", "+12125550100", "0049 30 23125000", "+1 900 555 1234", "110", "", "+",
		"+4930231250００"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := Parse(s); err == nil {
			if p.E164() != s || !strict(s) {
				t.Fatalf("%q was accepted as %q", s, p.E164())
			}
			switch Kind(p) {
			case Premium, Emergency, Short:
				t.Fatalf("%q is dialled", s)
			}
			alike(t, p)
			again, err := ParseLoose(s, "")
			if err != nil || again != p {
				t.Fatalf("%q is %q when read loosely: %v", s, again.E164(), err)
			}
		}
		for _, region := range []string{"", "DE", "US"} {
			if p, err := ParseLoose(s, region); err == nil {
				if again, err := Parse(p.E164()); err != nil || again != p {
					t.Fatalf("%q was read as %q, which Parse refuses: %v", s, p.E164(), err)
				}
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	f := func(name, n string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	f("assigned", "+493023125000")
	f("unassigned", "+15550100123")
}

func TestANumberOfAFileHasAtMost64Characters(t *testing.T) {
	cell := func(n int) string { return "+49" + strings.Repeat(" ", n-len("+493023125000")) + "3023125000" }
	if n, err := ParseLoose(cell(64), ""); err != nil || n != "+493023125000" {
		t.Error(err)
	}
	if _, err := ParseLoose(cell(65), ""); err == nil {
		t.Error("65 characters are a number")
	}
}

func TestThreeDigitsBehindPlusOneAreAnAreaAndTwoAreNone(t *testing.T) {
	for n, want := range map[engine.PhoneNumber]string{"+1212": "+1212", "+121": "+1"} {
		if got := AreaKey(n); got != want {
			t.Errorf("%s: %q, want %q", n.E164(), got, want)
		}
	}
}

// alike says whether the facts rest on what the library reads from the number.
func alike(t testing.TB, p engine.PhoneNumber) {
	t.Helper()
	want, err := phonenumbers.Parse(p.E164(), unknownRegion)
	if got := accepted(p); err != nil || got.String() != want.String() {
		t.Errorf("%s is %v, the library reads %v, %v", p.E164(), got, want, err)
	}
}

func TestAnAcceptedNumberIsWhatTheLibraryReads(t *testing.T) {
	seen := 0
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.FIXED_LINE, phonenumbers.MOBILE,
			phonenumbers.TOLL_FREE, phonenumbers.SHARED_COST, phonenumbers.VOIP, phonenumbers.UAN} {
			if n := phonenumbers.GetExampleNumberForType(region, kind); n != nil {
				if p, err := Parse(phonenumbers.Format(n, phonenumbers.E164)); err == nil {
					alike(t, p)
					seen++
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("%d examples", seen)
	}
	rapid.Check(t, func(r *rapid.T) {
		s := "+" + rapid.StringMatching("[1-9][0-9]{6,14}").Draw(r, "digits")
		if p, err := Parse(s); err == nil {
			alike(t, p)
		}
	})
	for _, p := range []engine.PhoneNumber{"+3906698200", "+390066982001", "+121", "+1212"} {
		alike(t, p)
	}
	for _, p := range []engine.PhoneNumber{"", "x", "+", "+999123456789"} {
		if n := accepted(p); n != nil {
			t.Errorf("%s is %v", p.E164(), n)
		}
	}
}

func BenchmarkCalleeOf(b *testing.B) {
	for name, n := range map[string]engine.PhoneNumber{"assigned": "+493023125000", "mobile": "+4915123456789",
		"unassigned": "+15550100123"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				CalleeOf(n)
			}
		})
	}
}

func TestTheCountryOfAFileIsThatOfOurNumbersOrOfTheZone(t *testing.T) {
	for _, c := range []struct {
		own  []engine.PhoneNumber
		zone string
		want string
	}{
		{[]engine.PhoneNumber{"+493012345601", "+4989123456"}, "America/New_York", "DE"},
		{[]engine.PhoneNumber{"+14165550123"}, "America/New_York", "CA"},
		{[]engine.PhoneNumber{"+493012345601", "+43720123456"}, "Europe/Vienna", "AT"}, // they differ
		{[]engine.PhoneNumber{"+80012345678"}, "Europe/Berlin", "DE"},                  // of no country
		{nil, "Europe/Berlin", "DE"},
		{nil, "Europe/London", "GB"},
		{nil, "Europe/Rome", "IT"},
		{nil, "Asia/Tokyo", "JP"},
		{nil, "Europe/Oslo", "NO"},
		{nil, "Europe/Zurich", "CH"},
		{nil, "Australia/Sydney", "AU"},
		{nil, "Asia/Seoul", ""}, // as far as numbers tell, of two countries
		{nil, "Europe/Paris", ""},
		{nil, "America/New_York", "US"},
		{nil, "UTC", ""},
		{nil, "", ""},
	} {
		for range 20 { // countries come in any order
			if got := EvidentCountry(c.own, c.zone); got != c.want {
				t.Fatalf("%v in %q: %q, want %q", c.own, c.zone, got, c.want)
			}
		}
	}
}
