package sim

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
)

// row is a contact at rest: what is durable of it, in little space. Times are
// nanoseconds since 1970, 0 for none.
type row struct {
	dueAt, resultDueAt, callbackAt, abandonedAt, updatedAt int64
	lastTalk, longestTalk                                  int64
	version                                                int32
	run                                                    int16
	duePass, used, unconsumed, max                         uint8
	state, callback, reason, outcome, disposition, source  uint8
	calledFrom                                             uint8
	dueClass, flags                                        uint8
	hasAttempt                                             bool
}

const (
	flagConnected = 1 << iota
	flagResult
	flagRang
	flagExtra
	flagExcludeAfter
)

// words are the strings that rows share, by number; 0 is "".
type words struct {
	list []string
	no   map[string]uint8
}

func (w *words) number(s string) uint8 {
	if s == "" {
		return 0
	}
	if n, ok := w.no[s]; ok {
		return n
	}
	if w.no == nil {
		w.no, w.list = map[string]uint8{}, []string{""}
	}
	if len(w.list) > math.MaxUint8 { // more dispositions than any campaign has: the rest are one
		return math.MaxUint8
	}
	n := uint8(len(w.list)) //nolint:gosec // checked
	w.no[s], w.list = n, append(w.list, s)
	return n
}

func (w *words) word(n uint8) string {
	if n == 0 {
		return ""
	}
	return w.list[n]
}

// book is the durable list of one campaign's contacts.
type book struct {
	id       engine.CampaignID
	created  time.Time
	prefixes []string
	first    int // number of the contact in place 0
	listed   int // rows of the list; those behind were added
	others   map[int32]int
	added    map[int]int32
	rows     []row
	attempts map[int32]engine.AttemptID // the live ones
	words    words
}

func nanos(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixNano()
}

func instant(n int64) *time.Time {
	if n == 0 {
		return nil
	}
	t := time.Unix(0, n).UTC()
	return &t
}

// numberOf is the phone number with that place in the world.
func numberOf(prefixes []string, n int) engine.PhoneNumber {
	return engine.PhoneNumber(fmt.Sprintf("%s%07d", prefixes[n%len(prefixes)], n))
}

// segments is how many values the variable "segment" has.
const segments = 10

func (b *book) contactID(i int32) engine.ContactID {
	return engine.ContactID(fmt.Sprintf("%024x%08x", string(b.id), i)[:32])
}

// placeIn is the place in the list of the contact with that identifier.
func placeIn(id engine.ContactID) int32 {
	n, _ := strconv.ParseUint(string(id[24:]), 16, 31)
	return int32(n)
}

// find is the place in the list of a number of the world; ok is false when it
// is not in it.
func (b *book) find(n int) (i int32, ok bool) {
	if k := n - b.first; k >= 0 && k < b.listed {
		return int32(k), true //nolint:gosec // bounded by the plan
	}
	i, ok = b.added[n]
	return i, ok
}

func (b *book) number(i int32) engine.PhoneNumber { return numberOf(b.prefixes, b.place(i)) }

func (b *book) place(i int32) int {
	if n, ok := b.others[i]; ok {
		return n
	}
	return b.first + int(i)
}

func (b *book) segment(i int32) int { return b.place(i)%segments + 1 }

// get gives a contact as it is stored.
func (b *book) get(i int32) contact.Contact {
	r := &b.rows[i]
	c := contact.Contact{
		ID: b.contactID(i), Campaign: b.id, Number: b.number(i), Position: int64(i) + 1,
		Source: b.words.word(r.source), Run: int(r.run), State: contact.State(b.words.word(r.state)), Reason: b.words.word(r.reason),
		Used: int(r.used), Unconsumed: int(r.unconsumed), Max: int(r.max), LastOutcome: engine.Outcome(b.words.word(r.outcome)),
		LastDisposition: b.words.word(r.disposition), CalledFrom: engine.PhoneNumber(b.words.word(r.calledFrom)), LastTalk: time.Duration(r.lastTalk), LongestTalk: time.Duration(r.longestTalk),
		ConnectedOnce: r.flags&flagConnected != 0, HasResult: r.flags&flagResult != 0, RangUnanswered: r.flags&flagRang != 0,
		DueAt: instant(r.dueAt), DueClass: contact.DueClass(r.dueClass), DuePass: int(r.duePass), ResultDueAt: instant(r.resultDueAt),
		Callback: contact.CallbackState(b.words.word(r.callback)), CallbackAt: instant(r.callbackAt), CallbackExtra: r.flags&flagExtra != 0,
		ExcludeAfterCall: r.flags&flagExcludeAfter != 0, AbandonedAt: instant(r.abandonedAt),
		CreatedAt: b.created, UpdatedAt: time.Unix(0, r.updatedAt).UTC(), Version: int64(r.version),
	}
	if r.hasAttempt {
		c.Attempt = b.attempts[i]
	}
	return c
}

// put stores a contact; an older version than the stored one is left out.
func (b *book) put(i int32, c *contact.Contact) {
	r := &b.rows[i]
	if c.Version <= int64(r.version) {
		return
	}
	b.set(i, c)
}

//nolint:gosec // all of them are small: limits of settings, or checked by the tests of rows
func (b *book) set(i int32, c *contact.Contact) {
	var flags uint8
	for _, f := range []struct {
		on  bool
		bit uint8
	}{{c.ConnectedOnce, flagConnected}, {c.HasResult, flagResult}, {c.RangUnanswered, flagRang},
		{c.CallbackExtra, flagExtra}, {c.ExcludeAfterCall, flagExcludeAfter}} {
		if f.on {
			flags |= f.bit
		}
	}
	w := &b.words
	b.rows[i] = row{
		dueAt: nanos(c.DueAt), resultDueAt: nanos(c.ResultDueAt), callbackAt: nanos(c.CallbackAt), abandonedAt: nanos(c.AbandonedAt),
		updatedAt: c.UpdatedAt.UnixNano(), lastTalk: int64(c.LastTalk), longestTalk: int64(c.LongestTalk), version: int32(c.Version), run: int16(c.Run),
		duePass: uint8(c.DuePass), used: uint8(c.Used), unconsumed: uint8(c.Unconsumed), max: uint8(c.Max),
		state: w.number(string(c.State)), callback: w.number(string(c.Callback)), reason: w.number(c.Reason),
		outcome: w.number(string(c.LastOutcome)), disposition: w.number(c.LastDisposition), calledFrom: w.number(string(c.CalledFrom)), source: w.number(c.Source),
		dueClass: uint8(c.DueClass), flags: flags, hasAttempt: c.Attempt != "",
	}
	if c.Attempt != "" {
		b.attempts[i] = c.Attempt
	} else {
		delete(b.attempts, i)
	}
}

// waits says whether the stored contact waits for a dial.
func (b *book) waits(i int32) bool {
	r := &b.rows[i]
	return r.dueAt != 0 && !r.hasAttempt && b.open(i)
}

func (b *book) open(i int32) bool {
	s := contact.State(b.words.word(b.rows[i].state))
	return s != contact.Excluded && !s.Processed()
}
