package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/inbound"
)

// CallIn returns what is known of a call that came in: which of the numbers called is ours, its rule, and
// the last call from it, since a time, to one of the numbers that may be the caller's.
func (s *Store) CallIn(_ context.Context, to, from []engine.PhoneNumber, since time.Time) (*inbound.Called, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &inbound.Called{}
	for _, n := range to {
		i := slices.IndexFunc(s.opt.Numbers, func(x engine.NumberSettings) bool { return x.Number == n })
		if i >= 0 {
			x := &s.opt.Numbers[i]
			c.Number = n
			c.Rule = inbound.Rule{Policy: inbound.Policy(x.CallbackPolicy), Bot: x.CallbackBot, Message: x.CallbackMessage}
			break
		}
	}
	var last *record
	for _, r := range s.attempts {
		a := &r.a
		if c.Number == "" || a.From != c.Number || a.Inbound || a.InviteAt == nil || a.ReservedAt.Before(since) ||
			!slices.Contains(from, a.To) {
			continue
		}
		if last == nil || a.ReservedAt.After(*last.a.ReservedAt) || a.ReservedAt.Equal(*last.a.ReservedAt) && r.no > last.no {
			last = r
		}
	}
	if last == nil {
		return c, nil
	}
	a := &last.a
	c.Caller, c.Last = a.To, &inbound.Last{Attempt: a.ID, At: *a.ReservedAt, Variables: a.Variables}
	if b := s.books[a.Campaign]; b != nil && b.row != nil {
		set := &b.row.Settings
		c.Last.Rule = inbound.Rule{Policy: inbound.Policy(set.CallbackPolicy), Bot: set.Bot, Message: set.CallbackMessage}
	}
	if r := s.rows[a.Contact]; r != nil {
		c.Last.Variables = r.c.Variables
	}
	return c, nil
}

// CallsBackUntold returns up to limit calls back, begun since a time, that are over and of whose result, or
// opt-out key, the contact has not heard.
func (s *Store) CallsBackUntold(_ context.Context, since time.Time, limit int) (list []attempt.Attempt, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.attempts {
		a := &r.a
		if !a.Inbound || a.Live() || a.ReservedAt == nil || a.ReservedAt.Before(since) || !a.Concerns() {
			continue
		}
		of := s.attempts[a.Returns]
		if of == nil {
			continue
		}
		c := s.rows[of.a.Contact]
		asked := a.OptedOut() || a.Result != nil && a.Result.DoNotCall
		if c != nil && !c.c.Number.Erased() && !c.c.HeardOf(a.ID, asked) {
			list = append(list, *a)
		}
	}
	slices.SortFunc(list, func(x, y attempt.Attempt) int { return strings.Compare(string(x.ID), string(y.ID)) })
	return list[:min(len(list), limit)], nil
}
