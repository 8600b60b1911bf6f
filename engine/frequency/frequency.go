// Package frequency says how often a number may be called, over all campaigns and dialouts, by the
// country that it belongs to.
//
// What it must not know: campaigns, contacts, when calls were placed; whoever stores calls counts
// them and asks (journal.CalleeCap).
//
// Decisions:
//
//   - Rules add up: a call is placed when each limit of each rule for its country allows it.
//   - An attempt counts from its beginning, if it was consumed or is live. A conversation and an
//     abandoned call count from their end.
//   - A period ends now and is as long as it says: no calendar days. Where a law counts days from
//     midnight, this is stricter by a part of a day, and never milder.
//   - The presets are what laws and regulators say about everybody. Whom they bind, and for what
//     calls, is for whoever chooses them.
package frequency

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What says what a limit counts.
type What string

const (
	Attempts      What = "attempts"
	Conversations What = "conversations"
	Abandons      What = "abandons" // abandoned calls
)

// Limit allows no further call to a number after Most within Period.
type Limit struct {
	What   What
	Most   int
	Period time.Duration
}

// Bounds of a limit.
const (
	MostCap   = 1000
	LeastTime = time.Minute
	MostTime  = 90 * 24 * time.Hour // for so long calls are kept at least
)

// String writes a limit as Parse reads it.
func (l Limit) String() string {
	return fmt.Sprintf("%d %s in %s", l.Most, l.What, written(l.Period))
}

// Rule is a number of limits for the numbers of some countries.
type Rule struct {
	Countries []string // ISO 3166, sorted; none means all
	Limits    []Limit
}

// String writes a rule as Parse reads it.
func (r Rule) String() string {
	where := "*"
	if len(r.Countries) > 0 {
		where = strings.Join(r.Countries, "/")
	}
	limits := make([]string, len(r.Limits))
	for i, l := range r.Limits {
		limits[i] = l.String()
	}
	return where + ": " + strings.Join(limits, " and ")
}

// Rules are those of an installation. The zero value limits nothing.
type Rules struct{ list []Rule }

// New makes the rules of a list; it must not be changed afterwards.
func New(list []Rule) Rules { return Rules{list} }

// With returns the rules together with one more.
func (r Rules) With(rule Rule) Rules { return Rules{append(slices.Clip(r.list), rule)} }

// For returns the limits on calls to numbers of a country; nil means there are none.
func (r Rules) For(country string) (limits []Limit) {
	for i := range r.list {
		if c := r.list[i].Countries; len(c) == 0 || slices.Contains(c, country) {
			limits = append(limits, r.list[i].Limits...)
		}
	}
	return limits
}

// ByCountry says that a country must be known to know the limits.
func (r Rules) ByCountry() bool {
	return slices.ContainsFunc(r.list, func(r Rule) bool { return len(r.Countries) > 0 })
}

// Longest returns the longest period of any limit: calls must be known for so long.
func (r Rules) Longest() (d time.Duration) {
	for _, rule := range r.list {
		for _, l := range rule.Limits {
			d = max(d, l.Period)
		}
	}
	return d
}

// String writes the rules as Parse reads them; "none" when there are none.
func (r Rules) String() string {
	if len(r.list) == 0 {
		return "none"
	}
	parts := make([]string, len(r.list))
	for i := range r.list {
		parts[i] = r.list[i].String()
	}
	return strings.Join(parts, ", ")
}

// Parse reads rules: names of presets, or limits by country such as
//
//	DE/AT: 3 attempts in 24h and 1 conversation in 7d
//	*: 5 attempts in 12h
//
// Periods are Go durations or days. known says whether a country's code is one. An error
// names the rule, what is wrong with it, and an example.
func Parse(list []string, known func(country string) bool) (Rules, error) {
	var rules Rules
	for _, text := range list {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if p, ok := preset(text); ok {
			rules.list = append(rules.list, p.Rule)
			continue
		}
		r, why := parse(text, known)
		if why != "" {
			return Rules{}, fmt.Errorf("%q is no rule: %s; write the name of a preset (%s), or limits such as "+
				"\"DE/AT: 3 attempts in 24h and 1 conversation in 7d\"", text, why, strings.Join(names(), ", "))
		}
		rules.list = append(rules.list, r)
	}
	return rules, nil
}

func parse(text string, known func(string) bool) (r Rule, why string) {
	where, limits, ok := strings.Cut(text, ":")
	if !ok {
		return r, "it has no colon, and no preset has this name"
	}
	if where = strings.TrimSpace(where); where != "*" {
		for c := range strings.SplitSeq(where, "/") {
			c = strings.ToUpper(strings.TrimSpace(c))
			if !known(c) {
				return r, fmt.Sprintf("%q is no country by ISO 3166", c)
			}
			r.Countries = append(r.Countries, c)
		}
		slices.Sort(r.Countries)
		r.Countries = slices.Compact(r.Countries)
	}
	for part := range strings.SplitSeq(limits, " and ") {
		l, why := limit(part)
		if why != "" {
			return r, why
		}
		r.Limits = append(r.Limits, l)
	}
	return r, ""
}

func limit(text string) (l Limit, why string) {
	f := strings.Fields(text)
	if len(f) != 4 || f[2] != "in" {
		return l, fmt.Sprintf("%q is not \"N attempts in PERIOD\"", strings.TrimSpace(text))
	}
	n, err := strconv.Atoi(f[0])
	if err != nil || n < 1 || n > MostCap {
		return l, fmt.Sprintf("%q is no number from 1 to %d", f[0], MostCap)
	}
	for _, w := range []What{Attempts, Conversations, Abandons} {
		if f[1] == string(w) || f[1] == strings.TrimSuffix(string(w), "s") {
			l.What = w
		}
	}
	if l.What == "" {
		return l, fmt.Sprintf("%q is neither attempts, conversations nor abandons", f[1])
	}
	period, ok := duration(f[3])
	if !ok || period < LeastTime || period > MostTime {
		return l, fmt.Sprintf("%q is no period from %s to %s", f[3], written(LeastTime), written(MostTime))
	}
	l.Most, l.Period = n, period
	return l, ""
}

const day = 24 * time.Hour

// duration reads a Go duration, or whole days: 7d.
func duration(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * day, err == nil //nolint:gosec // below 65536
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// written writes a period as duration reads it.
func written(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
