package dialout

import (
	"errors"
	"maps"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Dialouts that wait for their time are rows. One timer asks the store for those whose turn it is, by an
// index; they are placed as any other dialout, and what a request would be refused for makes them wait
// on. Which node places or ends one is decided by the store, with the write that does it.

const (
	// lookEvery is how often the store is asked at least: other nodes schedule dialouts too.
	lookEvery = 5 * time.Second
	// lookPause is the least time between two looks.
	lookPause = 500 * time.Millisecond
	// lookClaim is how long nobody else gets a dialout that was read: longer than Patience.
	lookClaim = 5 * time.Second
	// lookBatch is how many are read at a time.
	lookBatch = 100
	// lookLost is after how long without a look its message must have been lost, by a fault.
	lookLost = 30 * time.Second
	// againAfter is when one is tried again at the earliest that waits for neither a seat nor another node.
	againAfter = 5 * time.Second
)

// Schedule is what is known here of the dialouts that wait for their time.
type Schedule struct {
	At      time.Time // of the next look; zero: none is to come
	N       int       // number of the latest request to look, the only one that counts
	Reading bool
	Partial bool      // dialouts of some bots are left out
	Looked  time.Time // when the latest one came
	// Full are the bots for which one was put off for want of a seat since the latest look: the next one
	// leaves them out, so that those of other bots come to their turn.
	Full   map[engine.BotID]struct{}
	Step   int // of the latest write
	Writes map[int]Writing
}

// Writing is a write that is not known to be stored.
type Writing struct {
	Request engine.Request // to be answered with Value; "" for none
	Value   any
	Type    journal.Type // what it does
	Next    time.Time    // when the dialout that it stores comes to its time
}

type (
	// Look asks the store for dialouts whose turn it is.
	Look struct{ N int }
	// DueRead answers ReadDue; Next is when the next dialout is to be looked at, nil when none is.
	DueRead struct {
		Rows []campaign.ScheduledDialout
		Next *time.Time
		Err  error
	}
	// Cancel ends a dialout that waits for its time.
	Cancel struct {
		Dialout campaign.ScheduledDialout
		Who     engine.Who // zero: not known
		Request engine.Request
	}
)

type (
	// Answer answers a request.
	Answer struct {
		Request engine.Request
		Value   any
	}
	// Persist makes a write durable; *call.Durable with its step follows.
	Persist struct {
		Attempt engine.AttemptID // keeps the order of its writes
		Step    int
		Write   *journal.Write
	}
	// ReadDue asks the store for dialouts whose turn it is; DueRead follows.
	ReadDue struct {
		Claim  time.Duration
		Limit  int
		Except []engine.BotID // whose dialouts are left out
	}
	// PutOff notes why a dialout could not be placed, and when it is looked at again.
	PutOff struct {
		Attempt engine.AttemptID
		Until   time.Time
		Reason  string
	}
	// Count counts a durable event of scheduled dialouts for the metrics.
	Count struct{ Type journal.Type }
)

// schedule stores a dialout; the request is answered once it is durable.
func (s *State) schedule(m *Place) {
	d := campaign.NewScheduledDialout(m.Attempt, m.Command, s.now)
	r := d.Reply()
	w := &journal.Write{Schedule: &d, ScheduleBy: m.Command.Deadline,
		Events: []journal.Event{{At: s.now, Type: journal.DialoutScheduled, Version: 1, Attempt: d.ID,
			Data: journal.Data{Times: &d.Command.Times}}}}
	w.Status = journal.StatusOf(string(d.ID), m.Command.Status, s.now)
	if id := m.Command.Idempotency; id.Present() {
		w.Reply = journal.StoredReply(id, 202, r, s.now)
	}
	s.persist(d.ID, w, Writing{Request: m.Request, Value: r, Next: d.NotBefore})
}

// cancel ends a dialout that waits.
func (s *State) cancel(m *Cancel) {
	why := journal.Event{Type: journal.DialoutCancelled}
	if m.Who != (engine.Who{}) {
		why.Data.Who = &m.Who
	}
	s.end(&m.Dialout, engine.OutcomeCancelled, why, m.Request)
}

// end ends a dialout that was not dialled, for the reason that the event tells, if it has a type.
func (s *State) end(d *campaign.ScheduledDialout, o engine.Outcome, why journal.Event, r engine.Request) {
	a := d.Ended(o, s.now, s.here)
	w := &journal.Write{Unschedule: true}
	if why.Type != "" {
		why.At, why.Version, why.Attempt = s.now, 1, d.ID
		w.Events = append(w.Events, why)
	}
	w.Events = append(w.Events, journal.Event{At: s.now, Type: journal.AttemptEnded, Version: 1, Attempt: d.ID,
		Data: journal.Data{Outcome: o, ReservedAt: a.ReservedAt}})
	w.Attempts = append(w.Attempts, a)
	s.persist(d.ID, w, Writing{Request: r})
}

func (s *State) persist(id engine.AttemptID, w *journal.Write, of Writing) {
	c := &s.Schedule
	c.Step++
	of.Type = w.Events[0].Type
	c.Writes[c.Step] = of
	s.emit(Persist{Attempt: id, Step: c.Step, Write: w})
}

func (s *State) written(m *call.Durable) {
	w, ok := s.Schedule.Writes[m.Step]
	if !ok || m.Spooled {
		return
	}
	delete(s.Schedule.Writes, m.Step)
	if m.Err != nil {
		if w.Request != "" {
			s.emit(Refuse{w.Request, m.Err})
		}
		return
	}
	s.emit(Count{w.Type})
	if w.Request != "" {
		s.emit(Answer{w.Request, w.Value})
	}
	if !w.Next.IsZero() {
		s.lookAt(w.Next)
	}
}

// lookAt has the store asked at a time, at the latest.
func (s *State) lookAt(at time.Time) {
	c := &s.Schedule
	if first := s.now.Add(lookPause); at.Before(first) {
		at = first
	}
	if c.At.IsZero() || at.Before(c.At) {
		c.At = at
		c.N++
		s.emit(Later{at.Sub(s.now), &Look{c.N}})
	}
}

func (s *State) look(m *Look, barred error) {
	c := &s.Schedule
	if m.N != c.N {
		return
	}
	c.At, c.Looked = time.Time{}, s.now
	if c.Reading || barred != nil { // another node may place them
		s.lookAt(s.now.Add(lookPause))
		return
	}
	c.Reading = true
	s.emit(ReadDue{Claim: lookClaim, Limit: lookBatch, Except: slices.Sorted(maps.Keys(c.Full))})
	c.Partial = len(c.Full) > 0
	clear(c.Full)
}

// lookAgain begins again when nobody has looked for long.
func (s *State) lookAgain() {
	if c := &s.Schedule; s.now.Sub(c.Looked) >= lookLost {
		c.At, c.Reading = time.Time{}, false
		s.lookAt(s.now)
	}
}

func (s *State) dueRead(m *DueRead, barred error) {
	s.Schedule.Reading = false
	next := s.now.Add(lookEvery)
	switch {
	case m.Err != nil || s.Schedule.Partial || len(m.Rows) == lookBatch:
		next = s.now
	case m.Next != nil && m.Next.Before(next):
		next = *m.Next
	}
	for i := range m.Rows {
		d := &m.Rows[i]
		_, begun := s.Seated[d.ID]
		switch {
		case s.Wants[d.ID] != nil, begun: // its claim is over, but it is still on its way
		case !s.now.Before(d.ExpiresAt):
			s.end(d, engine.OutcomeExpired, journal.Event{Type: journal.DialoutExpired}, "")
		default:
			s.place(&Place{Command: d.Command, Attempt: d.ID, LookedUp: true, Scheduled: true}, barred)
		}
	}
	s.lookAt(next)
}

// goOn says what becomes of a scheduled dialout that could not be placed: it waits on, or it ends, because no
// later try can mend it.
func (s *State) goOn(id engine.AttemptID, cmd campaign.Dialout, err error) {
	var e *engine.Error
	if errors.As(err, &e) && e.Kind == engine.KindInvalid {
		d := campaign.NewScheduledDialout(id, cmd, s.now)
		s.end(&d, engine.OutcomeBlocked, journal.Event{}, "")
		return
	}
	s.putOff(id, cmd.Bot, cmd.Times, err)
}

// putOff has a scheduled dialout wait on, until it expires at the latest. Of those that wait for a seat the
// first by priority are tried at the next look.
func (s *State) putOff(id engine.AttemptID, bot engine.BotID, times contact.Times, err error) {
	until := s.now.Add(againAfter)
	var e *engine.Error
	if errors.As(err, &e) {
		switch {
		case !e.Until.IsZero():
			until = e.Until
		case e == errNoSeat: //nolint:errorlint // this very one
			until = s.now
			s.Schedule.Full[bot] = struct{}{}
		case e.Code == errSeatsUnknown.Code: // another node keeps the count in a moment
			until = s.now.Add(e.RetryAfter)
		default:
			until = s.now.Add(max(e.RetryAfter, againAfter))
		}
	}
	until = s.now.Add(times.Within(s.now, until.Sub(s.now)))
	s.emit(PutOff{id, until, engine.ErrorCode(err)})
	s.lookAt(until)
}
