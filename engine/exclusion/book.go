// Package exclusion defines who must not be called by a campaign: by number, or by the values of
// variables (SEMANTICS §3). The stores match in the same way.
package exclusion

import (
	"maps"
	"slices"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Book is a campaign's exclusions in memory, so that exclusions and the check before a dial use the
// same data.
type Book struct {
	numbers map[engine.PhoneNumber]string // with the reason
	// matches are indexed by one of their values, the one that the fewest others share: a contact
	// is checked only against those that name one of its values.
	matches map[variable][]match
}

// match is an exclusion by variables.
type match struct {
	of     map[string]string
	reason string
}

func (m *match) is(of map[string]string) bool { return maps.Equal(m.of, of) }

type variable struct{ name, value string }

// NewBook returns a book of the stored exclusions.
func NewBook(list []journal.Exclusion) Book {
	b := Book{numbers: map[engine.PhoneNumber]string{}, matches: map[variable][]match{}}
	for i := range list {
		b.Add(&list[i])
	}
	return b
}

// Add enters an exclusion, or a lift.
func (b *Book) Add(e *journal.Exclusion) {
	switch {
	case e.Lifted && e.Number == "":
		b.DropMatch(e.Match)
	case e.Lifted:
		b.DropNumber(e.Number)
	case e.Number != "":
		b.numbers[e.Number] = e.Reason
	case len(e.Match) > 0:
		b.DropMatch(e.Match) // the newer reason stands
		b.addMatch(match{e.Match, e.Reason})
	}
}

func (b *Book) addMatch(m match) {
	var place variable
	fewest := -1
	for name, value := range m.of {
		v := variable{name, value}
		if list := b.matches[v]; fewest < 0 || len(list) < fewest {
			place, fewest = v, len(list)
		}
	}
	b.matches[place] = append(b.matches[place], m)
}

// DropNumber forgets the exclusion of a number.
func (b *Book) DropNumber(n engine.PhoneNumber) { delete(b.numbers, n) }

// DropMatch forgets an exclusion by variables.
func (b *Book) DropMatch(m map[string]string) {
	for name, value := range m {
		v := variable{name, value}
		list := slices.DeleteFunc(b.matches[v], func(o match) bool { return o.is(m) })
		if b.matches[v] = list; len(list) == 0 {
			delete(b.matches, v)
		}
	}
}

// Has says whether the campaign has exactly this exclusion.
func (b *Book) Has(n engine.PhoneNumber, of map[string]string) bool {
	_, ok := b.Reason(n, of)
	return ok
}

// Reason is the recorded reason of an exclusion, by number or by variables; ok is false if there is
// no such exclusion.
func (b *Book) Reason(n engine.PhoneNumber, of map[string]string) (reason string, ok bool) {
	if n != "" {
		reason, ok = b.numbers[n]
		return reason, ok
	}
	for name, value := range of {
		list := b.matches[variable{name, value}]
		if i := slices.IndexFunc(list, func(o match) bool { return o.is(of) }); i >= 0 {
			return list[i].reason, true
		}
	}
	return "", false
}

// Covers says whether a contact that is about to be dialled is excluded, by any of its numbers, or
// asked not to be called at one of them.
func (b *Book) Covers(c *contact.Contact) bool {
	return c.State == contact.Excluded || c.Choice.Stopped() || b.names(c.Number, c.Alternates)
}

// names says whether one of a person's numbers is excluded.
func (b *Book) names(n engine.PhoneNumber, others contact.Alternates) bool {
	_, ok := b.numbers[n]
	if ok || others == "" || len(b.numbers) == 0 {
		return ok
	}
	for other := range others.Numbers() {
		if _, ok := b.numbers[other]; ok {
			return true
		}
	}
	return false
}

// ReasonOf is the recorded reason of the exclusion of one of a contact's numbers, the first that is.
func (b *Book) ReasonOf(c *contact.Contact) (reason string) {
	for n := range c.Numbers() {
		if reason, ok := b.numbers[n]; ok {
			return reason
		}
	}
	return ""
}

// Refuses says whether an addition is refused, by one of its numbers or by variables, while exclusions
// are sticky.
func (b *Book) Refuses(n engine.PhoneNumber, others contact.Alternates, vars map[string]string, sticky bool) bool {
	if !sticky {
		return false
	}
	if b.names(n, others) {
		return true
	}
	_, ok := b.Met(vars)
	return ok
}

// Met returns the reason of an exclusion by variables that these variables match.
func (b *Book) Met(vars map[string]string) (reason string, ok bool) {
	if len(b.matches) == 0 {
		return "", false
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		for _, m := range b.matches[variable{name, vars[name]}] {
			if Matches(vars, m.of) {
				return m.reason, true
			}
		}
	}
	return "", false
}

// Matches says whether variables have all the wanted values.
func Matches(vars, want map[string]string) bool {
	for k, v := range want {
		if got, ok := vars[k]; !ok || got != v {
			return false
		}
	}
	return len(want) > 0
}

// Concerns says whether an exclusion, by number or by variables, applies to a contact with these
// numbers and variables.
func Concerns(number engine.PhoneNumber, of map[string]string, n engine.PhoneNumber, others contact.Alternates,
	vars map[string]string) bool {
	if number != "" {
		return n == number || others.Has(number)
	}
	return Matches(vars, of)
}

// Parts implements snapshot.Parts.
func (b *Book) Parts() []any { return []any{&b.numbers, &b.matches} }

func (m *match) Parts() []any { return []any{&m.of, &m.reason} }

func (v *variable) Parts() []any { return []any{&v.name, &v.value} }
