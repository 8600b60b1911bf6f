package contact

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dialler/engine"
)

// Limits of a person's numbers.
const (
	NumbersCap = 5  // the first included
	LabelCap   = 40 // bytes of a label
)

// Alternate is a person's number beside the first.
type Alternate struct {
	Number engine.PhoneNumber
	Label  string // what it is, such as "office"; may be ""
}

// Alternates are a person's numbers after the first, in the order in which they are tried; "" is none.
// They are one text that copies of the contact share: the numbers, apart by spaces, and unless no
// number has one, each label after a tab. The store finds a contact by the part before the first tab.
type Alternates string

// NewAlternates writes a list down; its labels have no control characters (CheckAlternates).
func NewAlternates(list []Alternate) Alternates {
	var numbers, labels strings.Builder
	some := false
	for i, a := range list {
		if i > 0 {
			numbers.WriteByte(' ')
		}
		numbers.WriteString(a.Number.E164())
		labels.WriteString("\t" + a.Label)
		some = some || a.Label != ""
	}
	if some {
		numbers.WriteString(labels.String())
	}
	return Alternates(numbers.String())
}

// Numbers are the numbers in their order.
func (a Alternates) Numbers() iter.Seq[engine.PhoneNumber] {
	return func(yield func(engine.PhoneNumber) bool) {
		numbers, _, _ := strings.Cut(string(a), "\t")
		for n := range strings.FieldsSeq(numbers) {
			if !yield(engine.PhoneNumber(n)) {
				return
			}
		}
	}
}

// Len is how many there are.
func (a Alternates) Len() (n int) {
	for range a.Numbers() {
		n++
	}
	return n
}

// Has says whether a number is one of them.
func (a Alternates) Has(n engine.PhoneNumber) bool {
	for own := range a.Numbers() {
		if own == n {
			return true
		}
	}
	return false
}

// List is the numbers with their labels.
func (a Alternates) List() (list []Alternate) {
	for n := range a.Numbers() {
		list = append(list, Alternate{Number: n})
	}
	if _, labels, ok := strings.Cut(string(a), "\t"); ok {
		for i, label := range strings.Split(labels, "\t") {
			list[i].Label = label
		}
	}
	return list
}

// String tells how many there are: phone numbers are personal data.
func (a Alternates) String() string { return strconv.Itoa(a.Len()) + " more numbers" }

// Choice is which of a person's numbers is called next, and why: from the lowest bit 3 for its place
// (0 is the first), 5 for the numbers that must not be called any more, 1 for a person who asked not
// to be called, 7 for the unanswered attempts to the number in a row, 1 for a person who asked that at
// their only number. Who has one number has none but the two marks.
type Choice int32

const (
	placeBits      = 3
	outAt          = placeBits
	stoppedAt      = outAt + NumbersCap
	unansweredAt   = stoppedAt + 1
	unansweredMost = 1<<7 - 1
	askedAt        = unansweredAt + 7

	placeMask      = Choice(1<<placeBits - 1)
	unansweredMask = Choice(unansweredMost << unansweredAt)
	ChoiceStopped  = Choice(1 << stoppedAt)
	// ChoiceAsked is the mark of a person with one number who asked at that: the suppression list has it,
	// and whoever takes it off the list may have it called again. Once the person has other numbers it
	// is ChoiceStopped.
	ChoiceAsked = Choice(1 << askedAt)
	// ChoiceKept is all that stays of a choice when a contact is given fresh attempts.
	ChoiceKept = ChoiceStopped | ChoiceAsked
)

// Place is the number's place among the person's, 0 for the first.
func (c Choice) Place() int { return int(c & placeMask) }

// Out says whether the number at a place must not be called any more in this run: it is invalid, or on
// the suppression list.
func (c Choice) Out(place int) bool { return c>>(outAt+place)&1 == 1 }

// Stopped says that somebody at one of the numbers asked not to be called again: in this campaign the
// person is not called at any of them.
func (c Choice) Stopped() bool { return c&ChoiceStopped != 0 }

// Asked says that somebody asked, at one of the numbers or at the only one, not to be called again.
func (c Choice) Asked() bool { return c&ChoiceKept != 0 }

// Unanswered is how many attempts in a row, to this number, nobody answered.
func (c Choice) Unanswered() int { return int(c & unansweredMask >> unansweredAt) }

func (c Choice) counting(n int) Choice {
	return c&^unansweredMask | Choice(min(n, unansweredMost))<<unansweredAt //nolint:gosec // 7 bits
}

// asked is the choice of a person, of count numbers, who asked at the one at a place not to be called.
func (c Choice) asked(place, count int) Choice {
	if count == 1 && place == 0 {
		return c | ChoiceAsked
	}
	return c | ChoiceStopped
}

// at is the choice of the number at a place, which may be called again.
func (c Choice) at(place int) Choice {
	return (c.counting(0)&^placeMask | Choice(place)) &^ (1 << (outAt + place)) //nolint:gosec // 0 to 4
}

// left says whether any of count numbers may still be called.
func (c Choice) left(count int) bool {
	for i := range count {
		if !c.Out(i) {
			return true
		}
	}
	return false
}

// next is the choice of the next of count numbers that may be called, after the last the first again;
// the same number if there is no other.
func (c Choice) next(count int) Choice {
	for i := 1; i <= count; i++ {
		if place := (c.Place() + i) % count; !c.Out(place) {
			return c.at(place)
		}
	}
	return c
}

// after is the choice once an attempt to the number at a place, of count numbers, has ended: on to the
// next after an invalid or a suppressed number, or after so many unanswered attempts in a row.
func (c Choice) after(place, count int, a *Attempt, most int) Choice {
	if a.DoNotCall {
		c = c.asked(place, count)
	}
	switch {
	case count == 1:
	case place < 0: // a newer list leaves the number out
	case a.bars():
		if c |= 1 << (outAt + place); place == c.Place() {
			c = c.next(count)
		}
	case place != c.Place(): // a newer request chose another
	case a.Outcome.Row().Answered:
		c = c.counting(0)
	case !a.Consumed || a.Outcome != engine.OutcomeNoAnswer && a.Outcome != engine.OutcomeBusy:
	case c.Unanswered()+1 >= most:
		c = c.next(count)
	default:
		c = c.counting(c.Unanswered() + 1)
	}
	return c
}

// bars says that the number must not be called any more: there is no such number, or it is on the
// suppression list.
func (a *Attempt) bars() bool {
	return a.Outcome == engine.OutcomeInvalidNumber || a.Outcome == engine.OutcomeBlocked ||
		a.Refusal == engine.CodeSuppressed
}

// Numbers are all of the person's numbers in the order in which they are tried.
func (c *Contact) Numbers() iter.Seq[engine.PhoneNumber] {
	return func(yield func(engine.PhoneNumber) bool) {
		if yield(c.Number) && c.Alternates != "" {
			c.Alternates.Numbers()(yield)
		}
	}
}

// NextNumber is the number at which the person is called next.
func (c *Contact) NextNumber() engine.PhoneNumber {
	place := c.Choice.Place()
	if place == 0 {
		return c.Number
	}
	i := 0
	for n := range c.Alternates.Numbers() {
		if i++; i == place {
			return n
		}
	}
	return c.Number
}

// HasNumber says whether a number is one of the person's.
func (c *Contact) HasNumber(n engine.PhoneNumber) bool { return c.PlaceOf(n) >= 0 }

// PlaceOf is the place of a number among the person's, 0 for the first, -1 if it is none of them.
func (c *Contact) PlaceOf(n engine.PhoneNumber) int {
	place := 0
	for own := range c.Numbers() {
		if own == n {
			return place
		}
		place++
	}
	return -1
}

// TakeNumbers gives the contact the numbers of a newer request: its list stands, the first number
// stays. A number beside the first that the request names is called next.
func (c *Contact) TakeNumbers(named engine.PhoneNumber, newer Alternates) {
	if newer != "" {
		if list := c.joined(named, newer); list != c.Alternates {
			c.Alternates, c.Choice = list, c.Choice&ChoiceKept
		}
		if c.Choice&ChoiceAsked != 0 && c.Alternates != "" {
			c.Choice = ChoiceStopped
		}
	}
	if place := c.PlaceOf(named); place > 0 {
		c.Choice = c.Choice.at(place)
	}
}

// joined is a request's list for this contact: the named number and the others, without the first.
func (c *Contact) joined(named engine.PhoneNumber, newer Alternates) Alternates {
	list := newer.List()
	if named != "" && named != c.Number {
		label := ""
		for _, a := range c.Alternates.List() {
			if a.Number == named {
				label = a.Label
			}
		}
		list = append([]Alternate{{named, label}}, list...)
	}
	list = slices.DeleteFunc(list, func(a Alternate) bool { return a.Number == c.Number })
	return NewAlternates(list[:min(len(list), NumbersCap-1)])
}

// StopsWith says that the person is called at no number once a request's others are theirs: they asked
// not to be called, though it may have been when they had one.
func (c *Contact) StopsWith(newer Alternates) bool {
	return c.Choice.Stopped() || newer != "" && c.Choice&ChoiceAsked != 0
}

// StopsFor says whether the contact's numbers are all on the suppression list, as far as they may be
// called at all.
func (c *Contact) StopsFor(suppressed func(engine.PhoneNumber) bool) bool {
	place := 0
	for n := range c.Numbers() {
		if !c.Choice.Out(place) && !suppressed(n) {
			return false
		}
		place++
	}
	return true
}

// chosen is the contact's choice with the attempt that an event ends, or whose result it brings.
func (m *Machine) chosen(ev Event) Choice {
	a := ev.Attempt
	count := 1 + m.C.Alternates.Len()
	place := m.C.Choice.Place()
	switch {
	case ev.Kind != Attempted && (ev.Kind != ResultStored || !a.DoNotCall):
		return m.C.Choice
	case a.To != "":
		place = m.C.PlaceOf(a.To)
	}
	if ev.Kind == ResultStored {
		return m.C.Choice.asked(place, count)
	}
	return m.C.Choice.after(place, count, a, ev.Policy.Cadence.NumberAfter())
}

// reachable is the contact's choice with a number from which the person has called us: it exists, whatever our calls
// to it found. If it is on the suppression list, the dial finds that out.
func (m *Machine) reachable(ev Event) Choice {
	c, a := m.chosen(ev), ev.Attempt
	if a != nil && a.CalledBack {
		if place := m.C.PlaceOf(a.To); place >= 0 && c.Out(place) {
			return c.at(place)
		}
	}
	return c
}

// nowhere says that a person with several numbers is called at none of them any more: they asked for that,
// or none is left.
func (m *Machine) nowhere(ev Event) bool {
	c, count := m.reachable(ev), 1+m.C.Alternates.Len()
	return c.Stopped() || count > 1 && !c.left(count)
}

// stop marks a person who asked in an earlier run not to be called, or by the key of the message in a call
// back: the rest of it says nothing about this run.
func (m *Machine) stop(ev Event) { m.C.Choice = m.chosen(ev) }

// goesOn says whether the person is called at another number at once, because the one that was called
// must not be called any more.
func (m *Machine) goesOn(ev Event) bool {
	a, p := ev.Attempt, &ev.Policy
	if m.C.Alternates == "" || !a.bars() {
		return false
	}
	return !m.nowhere(ev) && m.usedAfter(ev) < p.MaxAttempts && !p.Redial.Meaningful(m.redialOf(a))
}

// nextNumber calls the person at the next number at once. A dial that never left costs the contact
// nothing: it keeps its place, unless that was a callback's.
func (m *Machine) nextNumber(ev Event) {
	class, row := DueRetry, m.C.Unconsumed
	if !ev.Attempt.Consumed && m.C.DueClass != DueCallback {
		class = m.C.DueClass
	}
	m.attempted(ev)
	if !ev.Attempt.Consumed {
		m.C.Unconsumed = row
	}
	m.due(ev, class, ev.Attempt.EndedAt)
}

// barsOne says that a suppression leaves the person numbers at which to be called; none does whoever has
// asked not to be called.
func (m *Machine) barsOne(ev Event) bool {
	c := m.C
	if place := c.PlaceOf(ev.Number); ev.Number != "" && place >= 0 && !c.Choice.Stopped() {
		c.Choice |= 1 << (outAt + place)
		return c.Choice.left(1 + c.Alternates.Len())
	}
	return false
}

// barNumber handles the suppression of one of the numbers of a contact that has others.
func (m *Machine) barNumber(ev Event) {
	c := &m.C
	a := &Attempt{Outcome: engine.OutcomeBlocked}
	c.Choice = c.Choice.after(c.PlaceOf(ev.Number), 1+c.Alternates.Len(), a, 1)
}

// CheckAlternates says what is wrong with a person's numbers beside the first, each with an example
// that is right; field is the name of the list.
func CheckAlternates(field string, first engine.PhoneNumber, list []Alternate) (wrong []engine.FieldError) {
	if len(list) > NumbersCap-1 {
		return []engine.FieldError{{Field: field, Code: "too_long", Message: "must have at most " +
			strconv.Itoa(NumbersCap-1) + " numbers beside the first, for example " + alternatesExample}}
	}
	seen := []engine.PhoneNumber{first}
	for i, a := range list {
		at := field + "[" + strconv.Itoa(i) + "]."
		if slices.Contains(seen, a.Number) && a.Number != "" {
			wrong = append(wrong, engine.FieldError{Field: at + "number", Code: "duplicate",
				Message: "is one of the person's numbers already; name each once, for example " + alternatesExample})
		}
		seen = append(seen, a.Number)
		if message := CheckLabel(a.Label); message != "" {
			wrong = append(wrong, engine.FieldError{Field: at + "label", Code: "invalid_format", Message: message})
		}
	}
	return wrong
}

// CheckLabel says what is wrong with a number's label, "" if nothing is.
func CheckLabel(label string) string {
	if len(label) > LabelCap || !utf8.ValidString(label) || strings.ContainsFunc(label, unicode.IsControl) {
		return "must be printable text of at most " + strconv.Itoa(LabelCap) + " bytes, for example office"
	}
	return ""
}

const alternatesExample = `[{"number":"+4930901820","label":"office"}]`
