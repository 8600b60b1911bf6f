// Package destination decides which numbers an installation may call at all (SEMANTICS §10), in
// campaigns and outside.
//
// What it must not know: suppressions, exclusions, windows, who asks.
//
// Decisions:
//
//   - Premium-rate, emergency and short numbers are refused, whatever is allowed.
//   - Countries are an allow-list of ISO 3166 codes. If none is configured, it
//     consists of the countries of our own numbers.
//   - While no number of ours is configured either, nothing is known when contacts
//     come in; at the dial the caller ID's own country is the one allowed. So a
//     call never leaves for a country that neither an operator nor one of our
//     numbers stands for.
//   - Numbers of no country (satellite, international freephone; "001") are
//     allowed only when 001 is listed.
package destination

import (
	"slices"
	"strings"

	"dialler/engine"
	"dialler/engine/number"
)

// NotAllowed is the code of every refusal.
const NotAllowed = engine.CodeDestination

// Policy says where calls may go. The zero value allows the country of the
// caller ID.
type Policy struct {
	countries []string // ISO 3166, sorted; empty means unknown
}

// New makes the policy from configured countries, or from the countries of our own numbers when
// none is configured.
func New(countries []string, own []engine.PhoneNumber) Policy {
	var list []string
	for _, c := range countries {
		if c = strings.ToUpper(strings.TrimSpace(c)); c != "" {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		for _, n := range own {
			if r := number.Region(n); r != "" {
				list = append(list, r)
			}
		}
	}
	slices.Sort(list)
	return Policy{countries: slices.Compact(list)}
}

// Check refuses an invalid configured list.
func Check(countries []string) error {
	for _, c := range countries {
		c = strings.ToUpper(strings.TrimSpace(c))
		if c != "" && c != global && !number.SupportedRegion(c) {
			return engine.Invalid("unknown_country",
				"allowed countries are ISO 3166 codes such as DE, or 001 for numbers of no country; "+c+" is none")
		}
	}
	return nil
}

const global = "001"

// Countries are the allowed countries in alphabetical order; nil while unknown.
func (p Policy) Countries() []string { return slices.Clone(p.countries) }

// Only is the country that is called when there is no other, "" otherwise: national numbers are of it.
func (p Policy) Only() string {
	if len(p.countries) != 1 || p.countries[0] == global {
		return ""
	}
	return p.countries[0]
}

// Judge returns nil if a call to the number may be placed. from is the caller ID, "" while it is
// not chosen.
func (p Policy) Judge(to, from engine.PhoneNumber) error {
	return p.JudgeCallee(number.CalleeOf(to), from)
}

// JudgeCallee is Judge for a number that has already been parsed.
func (p Policy) JudgeCallee(to number.Callee, from engine.PhoneNumber) error {
	region := to.Region
	switch to.Use {
	case number.Premium:
		return refuse("premium-rate numbers are never dialled")
	case number.Emergency:
		return refuse("emergency numbers are never dialled")
	case number.Short:
		return refuse("short codes are never dialled")
	default: // for every other kind the country decides
	}
	if region == "" {
		return refuse("the number's country is not known")
	}
	if len(p.countries) == 0 {
		if from == "" || number.Region(from) == region {
			return nil
		}
		return refuse("calls to " + region + " are not allowed: we have no number there; see --allowed-countries")
	}
	if _, ok := slices.BinarySearch(p.countries, region); !ok {
		return refuse("calls to " + region + " are not allowed in this installation; see --allowed-countries")
	}
	return nil
}

func refuse(detail string) error { return engine.Invalid(NotAllowed, detail) }
