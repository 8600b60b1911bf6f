package actortest

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/disposition"
)

// Bots implements actors.Store.
func (s *Store) Bots(context.Context) ([]engine.Bot, error) {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.BotList), nil
}

// Cadences implements actors.Store.
func (s *Store) Cadences(context.Context) ([]cadence.Named, error) {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.CadenceList), nil
}

// Calendars implements actors.Store.
func (s *Store) Calendars(context.Context) ([]calendar.Named, error) {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.CalendarList), nil
}

// AnswerHours implements actors.Store.
func (s *Store) AnswerHours(context.Context) (besthour.Table, error) { return besthour.Table{}, nil }

// Trunks implements actors.Store.
func (s *Store) Trunks(context.Context) ([]engine.TrunkSettings, error) {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.TrunkList), nil
}

// Numbers implements actors.Store.
func (s *Store) Numbers(context.Context) ([]engine.NumberSettings, error) {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.Nums), nil
}

// NumberDials implements actors.Store.
func (s *Store) NumberDials(_ context.Context, since time.Time) ([]engine.NumberDials, error) {
	defer s.answerLate()
	s.Lock()
	defer s.Unlock()
	var list []engine.NumberDials
	for _, n := range s.Nums {
		for a := range s.AllAttempts() {
			if (n.HourCap > 0 || n.DayCap > 0) && a.From == n.Number && a.ReservedAt != nil &&
				!a.ReservedAt.Before(since) &&
				(a.State != attempt.Ended || a.InviteAt != nil) {
				list = append(list, engine.NumberDials{Number: n.Number, At: a.ReservedAt.Truncate(time.Minute),
					Count: 1})
			}
		}
	}
	return list, nil
}

// NumberEnds implements actors.Store; nothing is ever forgiven.
func (s *Store) NumberEnds(_ context.Context, since time.Time, most int) ([]engine.NumberEnd, error) {
	s.Lock()
	defer s.Unlock()
	var list []engine.NumberEnd
	for _, n := range s.Nums {
		var of []engine.NumberEnd
		for a := range s.AllAttempts() {
			if a.From == n.Number && a.ReservedAt != nil && !a.ReservedAt.Before(since) && a.State == attempt.Ended &&
				a.InviteAt != nil {
				of = append(of, engine.NumberEnd{Number: n.Number, At: *a.EndedAt, Answered: a.AnsweredAt != nil,
					Struck: disposition.Struck(a.Outcome, a.SIPCode)})
			}
		}
		slices.SortFunc(of, func(a, b engine.NumberEnd) int { return a.At.Compare(b.At) })
		list = append(list, of[max(0, len(of)-most):]...)
	}
	return list, nil
}

// QuarantineNumber implements actors.Store.
func (s *Store) QuarantineNumber(ctx context.Context, n engine.PhoneNumber) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	for i := range s.Nums {
		if s.Nums[i].Number == n {
			s.Nums[i].State = "quarantined"
			return nil
		}
	}
	s.Nums = append(s.Nums, engine.NumberSettings{Number: n, State: "quarantined"})
	return nil
}
