package actors

import (
	"maps"
	"slices"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// exclusionBook is the run's copy of the campaign's exclusions, so that
// exclusion and the check before a dial meet in one place.
type exclusionBook struct {
	numbers map[engine.PhoneNumber]string // with the reason
	// matches are by one of their values, the one that the fewest others share:
	// whoever is added is held against those that name one of its values.
	matches map[variable][]excludedMatch
}

// excludedMatch is an exclusion by metadata.
type excludedMatch struct {
	match  map[string]string
	reason string
}

func (m *excludedMatch) is(match map[string]string) bool { return maps.Equal(m.match, match) }

type variable struct{ name, value string }

func newExclusionBook(list []journal.Exclusion) exclusionBook {
	b := exclusionBook{numbers: map[engine.PhoneNumber]string{}, matches: map[variable][]excludedMatch{}}
	for i := range list {
		b.add(&list[i])
	}
	return b
}

func (b *exclusionBook) add(e *journal.Exclusion) {
	switch {
	case e.Lifted && e.Number == "":
		b.dropMatch(e.Match)
	case e.Lifted:
		delete(b.numbers, e.Number)
	case e.Number != "":
		b.numbers[e.Number] = e.Reason
	case len(e.Match) > 0:
		b.dropMatch(e.Match) // the newer reason stands
		b.addMatch(excludedMatch{e.Match, e.Reason})
	}
}

func (b *exclusionBook) addMatch(m excludedMatch) {
	var place variable
	fewest := -1
	for name, value := range m.match {
		v := variable{name, value}
		if list := b.matches[v]; fewest < 0 || len(list) < fewest {
			place, fewest = v, len(list)
		}
	}
	b.matches[place] = append(b.matches[place], m)
}

// dropMatch forgets one.
func (b *exclusionBook) dropMatch(m map[string]string) {
	for name, value := range m {
		v := variable{name, value}
		list := slices.DeleteFunc(b.matches[v], func(o excludedMatch) bool { return o.is(m) })
		if b.matches[v] = list; len(list) == 0 {
			delete(b.matches, v)
		}
	}
}

// has says whether the campaign has just this exclusion.
func (b *exclusionBook) has(n engine.PhoneNumber, match map[string]string) bool {
	_, ok := b.reason(n, match)
	return ok
}

// reason is the one that was recorded of an exclusion.
func (b *exclusionBook) reason(n engine.PhoneNumber, match map[string]string) (string, bool) {
	if n != "" {
		reason, ok := b.numbers[n]
		return reason, ok
	}
	for name, value := range match {
		list := b.matches[variable{name, value}]
		if i := slices.IndexFunc(list, func(o excludedMatch) bool { return o.is(match) }); i >= 0 {
			return list[i].reason, true
		}
	}
	return "", false
}

// covers says whether a contact that is about to be dialled is excluded.
func (b *exclusionBook) covers(c *contact.Contact) bool {
	if c.State == contact.Excluded {
		return true
	}
	_, ok := b.numbers[c.Number]
	return ok
}

// refuses says whether an addition is refused: by number or metadata while
// sticky.
func (b *exclusionBook) refuses(n engine.PhoneNumber, vars map[string]string, sticky bool) bool {
	if !sticky {
		return false
	}
	if _, ok := b.numbers[n]; ok {
		return true
	}
	if len(b.matches) == 0 {
		return false
	}
	for name, value := range vars {
		for _, m := range b.matches[variable{name, value}] {
			if matches(vars, m.match) {
				return true
			}
		}
	}
	return false
}

func matches(vars, want map[string]string) bool {
	for k, v := range want {
		if got, ok := vars[k]; !ok || got != v {
			return false
		}
	}
	return len(want) > 0
}
