package cdr

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
)

// Leg is one of our calls to a carrier.
type Leg struct {
	ID       engine.LegID // also its Call-ID
	Trunk    engine.TrunkID
	To, From engine.PhoneNumber
	Start    time.Time
	// Answer and End are zero when it was not answered, or has not ended.
	Answer, End time.Time
}

// at is the time that is compared with Record.At.
func (l *Leg) at(answered bool) time.Time {
	if answered {
		return l.Answer
	}
	return l.Start
}

// Duration is from the answer to the end; -1 while it is not known.
func (l *Leg) Duration() time.Duration {
	switch {
	case l.Answer.IsZero():
		return 0
	case l.End.IsZero():
		return -1
	}
	return l.End.Sub(l.Answer)
}

// Kind says what a finding is.
type Kind string

const (
	Matched     Kind = "matched"
	Differing   Kind = "differing"
	OnlyOurs    Kind = "only_ours"
	OnlyCarrier Kind = "only_carrier"
)

// Finding is what became of a leg, a record, or the two of them.
type Finding struct {
	Kind   Kind
	Leg    *Leg    // nil for OnlyCarrier
	Record *Record // nil for OnlyOurs; its line names it, its Call-ID is left out
	// Differs are the fields in which the two differ.
	Differs []string
}

// Limits say how far the two sides may be apart.
type Limits struct {
	// Within is how far apart the times of a leg and a record without Call-ID may be to be the same
	// call.
	Within time.Duration
	// Start and Duration are how far times and durations may be apart without being a difference.
	Start, Duration time.Duration
	// From and To bound the calls that are findings when only one side has them; the other side's
	// may be as far outside as Within. Zero for no bound.
	From, To time.Time
	// Answered says that the carrier's file has answered calls only.
	Answered bool
}

// Summary counts findings.
type Summary struct {
	Matched     int `json:"matched"`
	Differing   int `json:"differing"`
	OnlyOurs    int `json:"only_ours"`
	OnlyCarrier int `json:"only_carrier"`
	// Outside are records of calls outside the window.
	Outside int `json:"outside"`
	// Erased are legs of persons who were erased: without a number they match nothing but a Call-ID.
	Erased int `json:"erased"`
}

// Same says whether both sides tell the same.
func (s *Summary) Same() bool { return s.Differing == 0 && s.OnlyOurs == 0 && s.OnlyCarrier == 0 }

// row is a record, small.
type row struct {
	id            [16]byte // of its Call-ID, zero without
	to, from      uint64
	start, answer int64 // ns, 0 without
	duration      time.Duration
	line          int32
	used          bool
}

func (r *row) at() int64 {
	if r.start == 0 {
		return r.answer
	}
	return r.start
}

// Matcher matches the records of a carrier, all given first, with our legs, given in order of time.
type Matcher struct {
	limits   Limits
	rows     []row
	byID     []int32 // rows with a Call-ID
	byNumber []int32 // rows without, by number and time
	sorted   bool
	// waiting are legs whose number has no record at their time, in order: one farther away is theirs
	// only if no later leg fits it better.
	waiting []Leg
	Summary
}

// NewMatcher returns one without records.
func NewMatcher(l Limits) *Matcher { return &Matcher{limits: l} }

// rowsCap bounds the records of one file; lines are counted in 32 bits.
const rowsCap = 50_000_000

// Add takes a record.
func (m *Matcher) Add(x *Record) error {
	if at := x.At(); !m.limits.From.IsZero() && at.Before(m.limits.From.Add(-m.limits.Within)) ||
		!m.limits.To.IsZero() && !at.Before(m.limits.To.Add(m.limits.Within)) {
		m.Outside++
		return nil
	}
	if len(m.rows) >= rowsCap {
		return unreadable("the file has more than %d records: split it by days", rowsCap)
	}
	r := row{to: digits(x.To), from: digits(x.From), duration: x.Duration, line: int32(x.Line)} //nolint:gosec // few
	if !x.Start.IsZero() {
		r.start = x.Start.UnixNano()
	}
	if !x.Answer.IsZero() {
		r.answer = x.Answer.UnixNano()
	}
	if i := int32(len(m.rows)); x.CallID != "" { //nolint:gosec // see rowsCap
		r.id = key(x.CallID)
		m.byID = append(m.byID, i)
	} else {
		m.byNumber = append(m.byNumber, i)
	}
	m.rows = append(m.rows, r)
	return nil
}

func key(callID string) (k [16]byte) {
	sum := sha256.Sum256([]byte(callID))
	copy(k[:], sum[:])
	return k
}

// digits is a number as one; 0 for none.
func digits(n engine.PhoneNumber) uint64 {
	if len(n) < 2 || n.Erased() {
		return 0
	}
	d, err := strconv.ParseUint(n.E164()[1:], 10, 64)
	if err != nil {
		return 0
	}
	return d
}

func phone(d uint64) engine.PhoneNumber {
	if d == 0 {
		return ""
	}
	return engine.PhoneNumber("+" + strconv.FormatUint(d, 10))
}

func (m *Matcher) sort() {
	if m.sorted {
		return
	}
	m.sorted = true
	slices.SortFunc(m.byID, func(a, b int32) int {
		x, y := &m.rows[a], &m.rows[b]
		return cmp.Or(bytes.Compare(x.id[:], y.id[:]), cmp.Compare(x.line, y.line))
	})
	slices.SortFunc(m.byNumber, func(a, b int32) int {
		x, y := &m.rows[a], &m.rows[b]
		return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.at(), y.at()), cmp.Compare(x.line, y.line))
	})
}

// Span is when the first and the last of the records began; ok is false without any.
func (m *Matcher) Span() (first, last time.Time, ok bool) {
	for i := range m.rows {
		at := time.Unix(0, m.rows[i].at()).UTC()
		if !ok || at.Before(first) {
			first = at
		}
		if !ok || at.After(last) {
			last = at
		}
		ok = true
	}
	return first, last, ok
}

// Leg matches one of our legs, and passes what is to be said of it and of legs before it; legs come
// in order of their start.
func (m *Matcher) Leg(l *Leg, f func(Finding)) {
	m.sort()
	m.flush(l.Start.Add(-2*m.limits.Within), f)
	r := m.byCallID(l)
	if r == nil {
		r = m.near(l, m.limits.Start)
	}
	if r == nil && m.limits.Within > m.limits.Start && digits(l.To) != 0 && len(m.byNumber) > 0 {
		m.waiting = append(m.waiting, *l)
		return
	}
	m.say(l, r, f)
}

// flush decides about legs that waited and began before a time.
func (m *Matcher) flush(before time.Time, f func(Finding)) {
	n := 0
	for ; n < len(m.waiting) && m.waiting[n].Start.Before(before); n++ {
		m.say(&m.waiting[n], m.near(&m.waiting[n], m.limits.Within), f)
	}
	m.waiting = m.waiting[n:]
}

func (m *Matcher) say(l *Leg, r *row, f func(Finding)) {
	switch {
	case r == nil && (m.limits.Answered && l.Answer.IsZero() || m.outside(l.Start)):
		return
	case r == nil && l.To.Erased() && len(m.byNumber) > 0:
		m.Erased++
		return
	case r == nil:
		m.OnlyOurs++
		f(Finding{Kind: OnlyOurs, Leg: l})
		return
	}
	r.used = true
	x := Finding{Kind: Matched, Leg: l, Record: r.record(), Differs: m.differs(l, r)}
	if len(x.Differs) > 0 {
		x.Kind = Differing
		m.Differing++
	} else {
		m.Matched++
	}
	f(x)
}

func (m *Matcher) outside(at time.Time) bool {
	return !m.limits.From.IsZero() && at.Before(m.limits.From) || !m.limits.To.IsZero() && !at.Before(m.limits.To)
}

// byCallID returns the record with a leg's Call-ID, nil when there is none.
func (m *Matcher) byCallID(l *Leg) *row {
	id := key(string(l.ID))
	at, _ := slices.BinarySearchFunc(m.byID, id, func(i int32, id [16]byte) int {
		return bytes.Compare(m.rows[i].id[:], id[:])
	})
	for ; at < len(m.byID) && m.rows[m.byID[at]].id == id; at++ {
		if r := &m.rows[m.byID[at]]; !r.used {
			return r
		}
	}
	return nil
}

// near returns the earliest record without Call-ID of a leg's number within that time of it.
func (m *Matcher) near(l *Leg, within time.Duration) *row {
	to := digits(l.To)
	if to == 0 {
		return nil
	}
	at, _ := slices.BinarySearchFunc(m.byNumber, to, func(i int32, to uint64) int { return cmp.Compare(m.rows[i].to, to) })
	for ; at < len(m.byNumber) && m.rows[m.byNumber[at]].to == to; at++ {
		r := &m.rows[m.byNumber[at]]
		ours := l.at(r.start == 0)
		if !r.used && !ours.IsZero() && apart(r.at(), ours) <= within {
			return r
		}
	}
	return nil
}

func apart(ns int64, at time.Time) time.Duration { return at.Sub(time.Unix(0, ns)).Abs() }

// differs lists the fields in which a leg and its record differ.
func (m *Matcher) differs(l *Leg, r *row) (out []string) {
	differ := func(field string, is bool) {
		if is {
			out = append(out, field)
		}
	}
	differ(To, r.to != 0 && digits(l.To) != 0 && r.to != digits(l.To))
	differ(From, r.from != 0 && digits(l.From) != 0 && r.from != digits(l.From))
	differ(Start, r.start != 0 && apart(r.start, l.Start) > m.limits.Start)
	differ(Answer, r.answer != 0 && (l.Answer.IsZero() || apart(r.answer, l.Answer) > m.limits.Start))
	ours := l.Duration()
	differ(Duration, r.duration >= 0 && ours >= 0 && (r.duration-ours).Abs() > m.limits.Duration)
	return out
}

// Rest passes what is to be said of the last legs, and the records that no leg was found for, in order
// of their lines. It is called last.
func (m *Matcher) Rest(f func(Finding)) {
	m.sort()
	for i := range m.waiting {
		m.say(&m.waiting[i], m.near(&m.waiting[i], m.limits.Within), f)
	}
	m.waiting = nil
	for i := range m.rows {
		r := &m.rows[i]
		switch {
		case r.used:
		case m.outside(time.Unix(0, r.at())):
			m.Outside++
		default:
			m.OnlyCarrier++
			f(Finding{Kind: OnlyCarrier, Record: r.record()})
		}
	}
}

func (r *row) record() *Record {
	x := Record{Line: int(r.line), To: phone(r.to), From: phone(r.from), Duration: r.duration}
	if r.start != 0 {
		x.Start = time.Unix(0, r.start).UTC()
	}
	if r.answer != 0 {
		x.Answer = time.Unix(0, r.answer).UTC()
	}
	return &x
}
