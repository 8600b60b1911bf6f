package memstore

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/frequency"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// record is a stored attempt.
type record struct {
	a      attempt.Attempt
	no     int64 // sequence number in the store
	answer answer
}

// putAttempt stores an attempt, but never moves it or its legs back to an earlier state.
func (s *tables) putAttempt(a *attempt.Attempt) {
	r := s.attempts[a.ID]
	var b *book
	if a.Campaign != "" {
		b = s.book(a.Campaign)
	}
	if r == nil {
		s.begun++
		r = &record{a: *a, no: s.begun}
		s.attempts[a.ID] = r
		s.begin(r)
	} else {
		s.count(b, r, -1)
		r.a = newer(&r.a, a)
		s.recount(r)
	}
	s.count(b, r, 1)
	mark(s.live, r, r.a.Live())
	mark(s.loose, r, !r.a.Live() && r.a.OpenLeg())
	if !r.a.Live() && !r.a.Inbound && r.a.Outcome == engine.OutcomeAbandoned && r.a.EndedAt != nil {
		s.abandons[r.a.To] = max(s.abandons[r.a.To], r.a.EndedAt.UnixNano())
	}
}

func mark(set map[engine.AttemptID]*record, r *record, in bool) {
	if in {
		set[r.a.ID] = r
	} else {
		delete(set, r.a.ID)
	}
}

// count adds an attempt to a campaign's figures, or removes it.
func (s *tables) count(b *book, r *record, sign int) {
	if b == nil {
		return
	}
	if r.a.Live() {
		b.live += sign
	}
	if sign < 0 {
		b.run(r.a.Run).tally.Withdraw(&r.a)
		b.answers.remove(r.answer, r.no)
		return
	}
	b.run(r.a.Run).tally.Attempt(&r.a)
	r.answer = answerOf(&r.a)
	b.answers.add(r.answer, r.no)
}

// newer is the state to store when a stored attempt is written again.
func newer(old, a *attempt.Attempt) attempt.Attempt {
	stands := *a
	if !old.Live() && a.Live() || progress(a) < progress(old) {
		stands = *old
	} else if old.Result != nil && a.Result == nil {
		stands.Result = old.Result
		if !old.Live() {
			stands.Outcome = old.Outcome
		}
	}
	stands.Legs = newerLegs(old.Legs, a.Legs)
	return stands
}

// progress grows with every event of the legs and the media path.
func progress(a *attempt.Attempt) int {
	n := a.MediaSeq
	for i := range a.Legs {
		n += a.Legs[i].Seq
	}
	for i := range a.Peers {
		n += a.Peers[i].Seq
	}
	return n
}

func newerLegs(old, legs []attempt.Leg) []attempt.Leg {
	out := slices.Clone(old)
	for _, l := range legs {
		i := slices.IndexFunc(out, func(o attempt.Leg) bool { return o.ID == l.ID })
		switch {
		case i < 0:
			out = append(out, l)
		case l.Seq >= out[i].Seq && (out[i].EndedAt == nil || l.EndedAt != nil):
			out[i] = l
		}
	}
	return out
}

// forget drops an attempt that nobody can ask for any more.
func (s *tables) forget(id engine.AttemptID) {
	r := s.attempts[id]
	if s.opt.KeepEnded || r == nil || r.a.Campaign == "" || r.a.Live() || r.a.OpenLeg() {
		return
	}
	if !r.a.WasConnected() || r.a.Result != nil {
		delete(s.attempts, id)
	}
}

// Attempt returns an attempt.
func (s *Store) Attempt(_ context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.attempts[id]; r != nil {
		return r.a, true, nil
	}
	return a, false, nil
}

// AllAttempts yields every attempt in the order in which they began; call it under the lock.
func (s *tables) AllAttempts() iter.Seq[attempt.Attempt] {
	return func(yield func(attempt.Attempt) bool) {
		for _, r := range byBegin(s.attempts) {
			if !yield(r.a) {
				return
			}
		}
	}
}

func byBegin(of map[engine.AttemptID]*record) []*record {
	return slices.SortedFunc(maps.Values(of), func(x, y *record) int { return cmp.Compare(x.no, y.no) })
}

// OpenAttempts lists every attempt that has not ended.
func (s *Store) OpenAttempts(context.Context) ([]attempt.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]attempt.Attempt, 0, len(s.live))
	for _, r := range byBegin(s.live) {
		list = append(list, r.a)
	}
	return list, nil
}

// OpenLegs lists the attempts that ended before their legs did, until their holds end.
func (s *Store) OpenLegs(context.Context) (list []attempt.Attempt, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range byBegin(s.loose) {
		if h, ok := s.Holds[r.a.To]; ok && h.Attempt == r.a.ID && s.opt.Now().Before(h.Until) {
			list = append(list, r.a)
		}
	}
	return list, nil
}

// Maintain is run by a process at its start, and from time to time: it ends the legs of lost
// attempts that no process watched long enough to see their end. The call counts as over when the
// hold of its number ends.
func (s *Store) Maintain(_ context.Context, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range byBegin(s.loose) {
		if h, ok := s.Holds[r.a.To]; ok && h.Attempt == r.a.ID && (h.Until.IsZero() || now.Before(h.Until)) {
			continue
		}
		r.a.Legs, r.a.Peers = slices.Clone(r.a.Legs), slices.Clone(r.a.Peers)
		for i := range r.a.Legs {
			l := &r.a.Legs[i]
			l.EndedAt = cmp.Or(l.EndedAt, &now)
		}
		for i := range r.a.Peers {
			p := &r.a.Peers[i]
			p.EndedAt = cmp.Or(p.EndedAt, &now)
		}
		delete(s.loose, r.a.ID)
		if s.opt.Closed != nil {
			s.opt.Closed(&r.a)
		}
	}
	return nil
}

// AbandonedSince returns for each number when a call to it was last abandoned, in any campaign, if
// that was after the given time.
func (s *Store) AbandonedSince(_ context.Context, numbers []engine.PhoneNumber,
	since time.Time) (map[engine.PhoneNumber]time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[engine.PhoneNumber]time.Time{}
	for _, n := range numbers {
		if at, ok := s.abandons[n]; ok && at >= since.UnixNano() {
			found[n] = time.Unix(0, at).UTC()
		}
	}
	return found, nil
}

// dial is what the caps on calls need to know about an attempt: when it began, when a conversation
// of it ended, and when it was abandoned; zero means it does not count as such.
type dial struct {
	id                              engine.AttemptID
	attempted, conversed, abandoned time.Time
}

func dialOf(a *attempt.Attempt) dial {
	d := dial{id: a.ID}
	if a.Consumed || a.Live() {
		d.attempted = *a.ReservedAt
	}
	if a.EndedAt != nil && a.WasConnected() {
		d.conversed = *a.EndedAt
	}
	if a.EndedAt != nil && a.Outcome == engine.OutcomeAbandoned {
		d.abandoned = *a.EndedAt
	}
	return d
}

func (d *dial) at(what frequency.What) time.Time {
	switch what {
	case frequency.Attempts:
		return d.attempted
	case frequency.Conversations:
		return d.conversed
	case frequency.Abandons:
		return d.abandoned
	}
	return time.Time{}
}

// begin registers an attempt for the caps; recount updates its entry.
func (s *tables) begin(r *record) {
	a := &r.a
	if a.ReservedAt == nil {
		return
	}
	if a.Key != "" {
		s.byKey[a.Key] = append(s.byKey[a.Key], dialOf(a))
	}
	if s.byNumber != nil && !a.Inbound {
		s.byNumber[a.To] = append(s.byNumber[a.To], dialOf(a))
	}
}

func (s *tables) recount(r *record) {
	a := &r.a
	if a.ReservedAt == nil {
		return
	}
	for _, list := range [][]dial{s.byKey[a.Key], s.byNumber[a.To]} {
		if i := slices.IndexFunc(list, func(d dial) bool { return d.id == a.ID }); i >= 0 {
			list[i] = dialOf(a)
		}
	}
}

// nth returns when the nth latest call after a time happened, ignoring one attempt.
func nth(list []dial, what frequency.What, n int, since time.Time, but engine.AttemptID) (at time.Time, ok bool) {
	var times []time.Time
	for i := range list {
		d := &list[i]
		if at := d.at(what); d.id != but && at.After(since) {
			times = append(times, at)
		}
	}
	if len(times) < n {
		return at, false
	}
	slices.SortFunc(times, func(x, y time.Time) int { return y.Compare(x) })
	return times[n-1], true
}

// capped refuses an intent whose number was called as often as allowed, or whose API key has placed
// as many dialouts as it may.
func (s *tables) capped(n *journal.Intent) (err error) {
	if s.attempts[n.Attempt] == nil && n.Cap != nil {
		if s.byNumber == nil { // calls are counted from when this first matters
			s.byNumber = map[engine.PhoneNumber][]dial{}
			for _, r := range byBegin(s.attempts) {
				if r.a.ReservedAt != nil && !r.a.Inbound {
					s.byNumber[r.a.To] = append(s.byNumber[r.a.To], dialOf(&r.a))
				}
			}
		}
		for _, l := range n.Cap.Limits { // of several the one that lasts longest
			at, ok := nth(s.byNumber[n.Number], l.What, l.Most, n.Cap.Now.Add(-l.Period), "")
			if !ok {
				continue
			}
			if full := n.Cap.Refusal(l, at); err == nil || engine.ErrorUntil(full).After(engine.ErrorUntil(err)) {
				err = full
			}
		}
	}
	if k := n.KeyCap; err == nil && k != nil && s.attempts[n.Attempt] == nil {
		if at, ok := nth(s.byKey[k.Key], frequency.Attempts, k.Calls, k.Now.Add(-journal.KeyCapPeriod), n.Attempt); ok {
			return k.Refusal(at)
		}
	}
	return err
}

// answer is an attempt's entry in the abandon ledger, and its time.
type answer struct {
	at   int64
	kind answerKind
}

type answerKind uint8

const (
	noAnswer answerKind = iota
	liveAnswer
	abandonedAnswer
	lostAnswer // abandoned for lack of capacity
	machineAnswer
)

func (k answerKind) counts() pacing.Counts {
	switch k {
	case liveAnswer:
		return pacing.Counts{Live: 1}
	case abandonedAnswer:
		return pacing.Counts{Live: 1, Abandoned: 1}
	case lostAnswer:
		return pacing.Counts{Live: 1, Abandoned: 1, CapacityLoss: 1}
	case machineAnswer:
		return pacing.Counts{Machines: 1}
	case noAnswer:
	}
	return pacing.Counts{}
}

func answerOf(a *attempt.Attempt) answer {
	if a.AnsweredAt == nil {
		return answer{}
	}
	outcome, cause, at := a.Outcome, a.Cause, a.EndedAt
	if a.Live() && a.Ending != nil {
		outcome, cause, at = a.Ending.Outcome, a.Ending.Cause, &a.Ending.At
	}
	kind := noAnswer
	switch {
	case a.WasConnected() && a.Live() && a.RevisableUntil != nil: // it does not count yet
	case a.WasConnected():
		kind, at = liveAnswer, a.ServedAt
		if r := a.RevisableUntil; r != nil {
			at = r
			if a.EndedAt != nil && a.EndedAt.Before(*at) {
				at = a.EndedAt
			}
		}
	case outcome == engine.OutcomeAbandoned && cause == engine.AbandonCapacityLoss:
		kind = lostAnswer
	case outcome == engine.OutcomeAbandoned:
		kind = abandonedAnswer
	case a.Verdict != "" && !a.Verdict.Live():
		kind, at = machineAnswer, a.VerdictAt
	}
	if kind == noAnswer || at == nil {
		return answer{}
	}
	return answer{at.UnixNano(), kind}
}

// ledger counts a campaign's answers by the hour.
type ledger map[int64]*hour

type hour struct {
	sum     pacing.Counts
	answers index[answerKind]
}

func (l ledger) add(a answer, no int64) {
	if a.kind == noAnswer {
		return
	}
	n := pacing.HourOf(time.Unix(0, a.at))
	h := l[n]
	if h == nil {
		h = &hour{}
		l[n] = h
	}
	h.sum.Add(a.kind.counts())
	h.answers.add(a.at, no, a.kind)
}

func (l ledger) remove(a answer, no int64) {
	if a.kind == noAnswer {
		return
	}
	n := pacing.HourOf(time.Unix(0, a.at))
	h := l[n]
	h.answers.remove(a.at, no, a.kind)
	c := a.kind.counts()
	h.sum.Add(pacing.Counts{Live: -c.Live, Abandoned: -c.Abandoned, Machines: -c.Machines,
		CapacityLoss: -c.CapacityLoss})
	if h.answers.size == 0 {
		delete(l, n)
	}
}

// since returns the counts of each hour from a given time on.
func (l ledger) since(at time.Time) map[int64]pacing.Counts {
	first := pacing.HourOf(at)
	found := map[int64]pacing.Counts{}
	for n, h := range l {
		if n > first {
			found[n] = h.sum
		}
	}
	if h := l[first]; h != nil {
		var c pacing.Counts
		for e := range h.answers.from(at.UnixNano()) {
			c.Add(e.of.counts())
		}
		if c != (pacing.Counts{}) {
			found[first] = c
		}
	}
	return found
}

// AbandonHours counts by the hour the campaign's live answers, the abandoned ones among them, and
// the machines since a given time, over all its runs.
func (s *Store) AbandonHours(_ context.Context, id engine.CampaignID,
	since time.Time) (map[int64]pacing.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[id]
	if b == nil {
		return map[int64]pacing.Counts{}, nil
	}
	hours := b.answers.since(since)
	for _, p := range b.before {
		if !p.At.Before(since) {
			c := hours[pacing.HourOf(p.At)]
			c.Add(p.Counts)
			hours[pacing.HourOf(p.At)] = c
		}
	}
	return hours, nil
}

// AbandonLedger returns the sum of AbandonHours.
func (s *Store) AbandonLedger(ctx context.Context, id engine.CampaignID,
	since time.Time) (sum pacing.Counts, err error) {
	hours, err := s.AbandonHours(ctx, id, since)
	for _, c := range hours {
		sum.Add(c)
	}
	return sum, err
}
