package destination

import (
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/number"
)

const (
	berlin  = engine.PhoneNumber("+493023125000")
	vienna  = engine.PhoneNumber("+4312345678")
	newYork = engine.PhoneNumber("+12125550100")
	toronto = engine.PhoneNumber("+14165550100")
	premium = engine.PhoneNumber("+49900123456")
	iridium = engine.PhoneNumber("+881612345678")
)

func judge(t *testing.T, p Policy, to, from engine.PhoneNumber, ok bool) {
	t.Helper()
	err := p.Judge(to, from)
	if (err == nil) != ok {
		t.Errorf("%s from %q: %v", to.E164(), from.E164(), err)
	}
	if err != nil && (engine.ErrorCode(err) != NotAllowed || strings.Contains(err.Error(), to.E164()[3:])) {
		t.Errorf("%v", err)
	}
}

func TestOnlyCountriesOfTheListAreDialled(t *testing.T) {
	p := New([]string{" at", "DE", "de"}, []engine.PhoneNumber{newYork})
	if got := p.Countries(); len(got) != 2 || got[0] != "AT" || got[1] != "DE" {
		t.Errorf("%v", got)
	}
	judge(t, p, berlin, "", true)
	judge(t, p, vienna, "", true)
	judge(t, p, newYork, newYork, false)
}

func TestWithoutAListTheCountriesOfOurOwnNumbersAreAllowed(t *testing.T) {
	p := New(nil, []engine.PhoneNumber{berlin, toronto})
	judge(t, p, berlin, "", true)
	judge(t, p, toronto, "", true)
	judge(t, p, vienna, vienna, false)
	judge(t, p, newYork, "", false) // the same country code, another country
}

func TestNationalNumbersAreOfTheOnlyCountryThatIsCalled(t *testing.T) {
	for _, c := range []struct {
		list []string
		own  []engine.PhoneNumber
		want string
	}{
		{nil, nil, ""}, {nil, []engine.PhoneNumber{berlin, "+4915112345678"}, "DE"},
		{nil, []engine.PhoneNumber{berlin, vienna}, ""}, {[]string{"at"}, []engine.PhoneNumber{berlin}, "AT"},
		{[]string{"AT", "DE"}, nil, ""}, {[]string{"001"}, nil, ""},
	} {
		if got := New(c.list, c.own).Only(); got != c.want {
			t.Errorf("%v with %d numbers: %q, want %q", c.list, len(c.own), got, c.want)
		}
	}
}

func TestWithoutListAndNumbersTheCallerIDsCountryIsAllowedAtTheDial(t *testing.T) {
	p := New(nil, nil)
	judge(t, p, vienna, "", true) // not known yet
	judge(t, p, vienna, vienna, true)
	judge(t, p, vienna, berlin, false)
}

func TestPremiumAndEmergencyNumbersAreRefusedWhateverIsAllowed(t *testing.T) {
	for _, p := range []Policy{New([]string{"DE", "US", "GB", "IT"}, nil), New(nil, []engine.PhoneNumber{berlin}), {}} {
		for _, n := range []engine.PhoneNumber{premium, "+49110", "+44999", "+19005550100", "+39899123456"} {
			judge(t, p, n, "", false)
		}
	}
}

func TestNumbersOfNoCountryNeedToBeListed(t *testing.T) {
	judge(t, New([]string{"DE"}, nil), iridium, "", false)
	judge(t, New([]string{"DE", "001"}, nil), iridium, "", true)
	judge(t, New([]string{"DE"}, nil), "+99912345678", "", false)
	judge(t, New([]string{"DE"}, nil), "nonsense", "", false)
}

func TestACountryThatDoesNotExistIsNoConfiguration(t *testing.T) {
	for _, list := range [][]string{nil, {"DE", " at "}, {"001"}, {""}} {
		if err := Check(list); err != nil {
			t.Errorf("%v: %v", list, err)
		}
	}
	if err := Check([]string{"DE", "XX"}); engine.ErrorCode(err) != "unknown_country" {
		t.Error(err)
	}
}

// The checks of a trigger's number: whether it is valid, and whether it may be called.
func BenchmarkATriggersNumber(b *testing.B) {
	p := New([]string{"DE"}, nil)
	const n = "+4915112345678"
	b.Run("read twice", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			to, err := number.Parse(n)
			if err != nil || p.Judge(to, "") != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read once", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			to, err := number.ParseCallee(n)
			if err != nil || p.JudgeCallee(to, "") != nil {
				b.Fatal(err)
			}
		}
	})
}
