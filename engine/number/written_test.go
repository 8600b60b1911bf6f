package number_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/number"
)

func TestANumberIsWrittenAsTheCarrierWantsIt(t *testing.T) {
	for _, c := range []struct {
		n       engine.PhoneNumber
		f       number.Format
		country string
		want    string
	}{
		{"+4915112345678", "", "", "+4915112345678"},
		{"+4915112345678", number.E164, "DE", "+4915112345678"},
		{"+4915112345678", number.E164NoPlus, "", "4915112345678"},
		{"+4915112345678", number.International, "", "004915112345678"},
		{"+4915112345678", number.National, "DE", "015112345678"},
		{"+493012345678", number.National, "DE", "03012345678"},
		{"+16502530000", number.National, "US", "6502530000"},
		{"+14165550123", number.National, "US", "4165550123"},  // Canada has the same country code
		{"+390612345678", number.National, "IT", "0612345678"}, // Italy's zero belongs to the number
		{"+34912345678", number.National, "ES", "912345678"},
		{"+442079460123", number.National, "GB", "02079460123"},
		{"+4915112345678", number.National, "AT", "004915112345678"}, // abroad: with the country's prefix
		{"+4915112345678", number.National, "US", "0114915112345678"},
		{"+4915112345678", number.National, "BR", "004915112345678"}, // several prefixes there
		{"+4915112345678", number.National, "", "+4915112345678"},
		{"+4915112345678", number.National, "XX", "+4915112345678"},
		{"+999", number.National, "DE", "+999"},
	} {
		if got := number.Written(c.n, c.f, c.country); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.n, c.f, c.country, got, c.want)
		}
	}
}

func TestAWrittenNumberIsDigitsAndReadsBackAsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := engine.PhoneNumber("+49" + rapid.StringMatching(`(30|40|89|151|160|171)[1-9][0-9]{6,7}`).Draw(t, "number"))
		if _, err := number.Parse(p.E164()); err != nil {
			t.Skip("no number")
		}
		f := rapid.SampledFrom([]number.Format{number.E164, number.E164NoPlus, number.International, number.National}).Draw(t,
			"format")
		country := rapid.SampledFrom([]string{"DE", "AT", "FR", "GB"}).Draw(t, "country")
		s := number.Written(p, f, country)
		if strings.Trim(strings.TrimPrefix(s, "+"), "0123456789") != "" {
			t.Fatalf("%q has other characters", s)
		}
		if f == number.E164NoPlus {
			s = "+" + s
		}
		if back, err := number.ParseLoose(s, country); err != nil || back != p {
			t.Fatalf("%s as %s in %s is %s, read back as %s (%v)", p, f, country, s, back, err)
		}
	})
}
