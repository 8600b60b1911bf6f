package number

import (
	"slices"
	"sync"

	"github.com/nyaruka/phonenumbers"

	"dialler/engine"
)

// EvidentCountry is the country (ISO 3166) that numbers without a country code most likely belong to: that
// of all our own numbers, such as the caller IDs of a campaign; otherwise the one that has a zone. "" if
// neither tells.
func EvidentCountry(own []engine.PhoneNumber, zone string) string {
	country := ""
	for i, n := range own {
		r := Region(n)
		if r == "" || !SupportedRegion(r) || i > 0 && r != country {
			return ofZone(zone)
		}
		country = r
	}
	if country == "" {
		return ofZone(zone)
	}
	return country
}

// ofZone is the country that has a zone, as far as numbers tell; "" if several may have it.
func ofZone(zone string) string { return countries()[zone].country }

// claim is the best claim of a country to a zone; country is "" if another's is as good.
type claim struct {
	country string
	rank    int
}

// countries are the countries by their zones. Countries with the same time are listed with each other's
// zones: one that has no other zone goes before them, and of those with one code the main one.
var countries = sync.OnceValue(func() map[string]claim {
	all := map[string]claim{}
	for region := range phonenumbers.GetSupportedRegions() {
		of, rank := zonesOf(region), 1
		if len(of) == 1 {
			rank += 2
		}
		if phonenumbers.GetRegionCodeForCountryCode(phonenumbers.GetCountryCodeForRegion(region)) == region {
			rank++
		}
		for _, zone := range of {
			switch best := all[zone]; {
			case rank > best.rank:
				all[zone] = claim{region, rank}
			case rank == best.rank:
				all[zone] = claim{"", rank}
			}
		}
	}
	return all
})

// zonesOf are the zones of a country: of its code, or where countries share one, of the examples of its
// fixed and mobile numbers, as far as these tell where they are.
func zonesOf(region string) (of []string) {
	code := phonenumbers.GetCountryCodeForRegion(region)
	if len(phonenumbers.GetRegionCodesForCountryCode(code)) == 1 {
		return zones(e164(phonenumbers.GetExampleNumber(region)))
	}
	for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.FIXED_LINE, phonenumbers.MOBILE} {
		if n := phonenumbers.GetExampleNumberForType(region, kind); n != nil {
			if z := zones(e164(n)); len(z) == 1 && !slices.Contains(of, z[0]) {
				of = append(of, z[0])
			}
		}
	}
	return of
}

func e164(n *phonenumbers.PhoneNumber) engine.PhoneNumber {
	return engine.PhoneNumber(phonenumbers.Format(n, phonenumbers.E164))
}
