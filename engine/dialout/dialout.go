// Package dialout admits calls outside campaigns: it gathers a seat, a trunk channel and a caller
// ID for each, in this order, and never over-dials: the seat is held first (SEMANTICS §10). A bot of
// which only connections are asked, and that nobody has heard lately, takes the call's session
// before anybody is called. A dialout that is not to be placed yet is stored, and looked for when its
// time has come. The call itself belongs to package call.
//
// It must not know actors, clocks or the store: events come in as an Input, effects go out.
//
// Invariants: Used of a bot counts the calls that hold one of its seats and those being placed with
// one; a request that is not placed is answered once, and everything that was granted for it is
// given back.
package dialout

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/quota"
)

const (
	// Patience is how long a dialout may wait for seat, trunk and number.
	Patience = 2 * time.Second
	// shareAgain is how often seats of the fair share are requested that others have yet to give
	// back.
	shareAgain = 100 * time.Millisecond
)

// State tracks seats and the dialouts that are gathering what they need.
type State struct {
	Bots  map[engine.BotID]engine.Bot
	Seats map[engine.BotID]*Seats
	Wants map[engine.AttemptID]*Want
	// Seated are the calls that hold a seat.
	Seated map[engine.AttemptID]Placed
	// Sockets are opened ahead of calls that are not over.
	Sockets  map[engine.AttemptID]engine.SocketID
	Schedule Schedule
	Tries    int // of the latest try, of all dialouts

	here  engine.Incarnation
	now   time.Time
	boot  engine.BootTime
	heard func(engine.BotID) bool
	out   []Effect
}

// Seats are the seats of one bot that are held for dialouts.
type Seats struct {
	Granted, Used int
	Demands       int                // number of the last demand
	Until         engine.BootTime    // no call may begin with the seats after this; 0 means no limit
	Queue         []engine.AttemptID // dialouts that wait for the fleet's answer
	Again         bool               // another request is scheduled
}

// Placed is what a call was placed with.
type Placed struct {
	Bot   engine.BotID
	Trunk engine.TrunkID
	From  engine.PhoneNumber
}

// Want is a dialout that is gathering what it needs. One that waits for its time is tried more than once,
// and what an earlier try asked for may be answered late: a trunk and a number serve the later try as well,
// its time and its socket have the number of their try.
type Want struct {
	Try      int
	Command  campaign.Dialout
	Request  engine.Request
	Bot      engine.Bot
	Trunk    engine.TrunkID
	Media    *engine.MediaProfile // the trunk's
	Seated   bool
	SeatBy   engine.BootTime    // when a seat that another node granted may be used no more; 0 means never
	Validity call.Validity      // of the trunk
	Ready    *call.PlaceDialout // only its socket is missing
	Socket   engine.SocketID    // its socket, once that stands
	Asked    engine.BootTime    // when its socket was
	// Scheduled says that it has waited for its time: there is no request to be answered.
	Scheduled bool
	// CallIn says that it is a call that came in: it wants a seat and nothing else.
	CallIn bool
}

// Input is one event, with the process's state at that time.
type Input struct {
	Now  time.Time
	Boot engine.BootTime
	// Event is a pointer to one of the types below, or to a fleet.Allotted, call.TrunkReserved,
	// engine.SocketEvent, call.Durable or call.DialoutReturned.
	Event any
	// Barred is why this process places no call now; nil means that it does.
	Barred error
	// Heard says whether a bot has lately taken a call.
	Heard func(engine.BotID) bool
	Here  engine.Incarnation // this node, 0 outside a cluster
}

type (
	// Place requests a call. LookedUp says that the database was asked for an unknown bot, OurNumber that
	// the caller ID of a dialout for later is one of ours, Scheduled that it has waited for its time.
	Place struct {
		Command   campaign.Dialout
		Request   engine.Request
		Attempt   engine.AttemptID
		LookedUp  bool
		OurNumber bool
		Scheduled bool
	}
	// NumberAsked answers AskNumber; Err says why no call can have the caller ID.
	NumberAsked struct {
		Place *Place
		Err   error
	}
	// NumberLeased answers LeaseNumber.
	NumberLeased struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		UseBy   engine.BootTime // when an unused lease ends; 0 means never
		Err     error
	}
	// TooLate says that the time of a dialout's try is up.
	TooLate struct {
		Attempt engine.AttemptID
		Try     int
	}
	// AskAgain says that seats of a share may have become free.
	AskAgain struct{ Bot engine.BotID }
	// Renew renews the allotments before they end.
	Renew struct{}
	// Over says that a call no longer needs its seat.
	Over struct{ Attempt engine.AttemptID }
	// BotsChanged brings the current configuration of the bots.
	BotsChanged struct{ Bots []engine.Bot }
)

// Effect is something to be done: one of the types below.
type Effect any

type (
	// Refuse answers a request with an error.
	Refuse struct {
		Request engine.Request
		Err     error
	}
	// LookUp asks the database for the bot; Place follows, with LookedUp set.
	LookUp struct{ Place *Place }
	// AskNumber asks whether the caller ID of a dialout is one of ours; *NumberAsked follows.
	AskNumber struct{ Place *Place }
	// Demand asks the fleet for seats; *fleet.Allotted follows.
	Demand struct {
		Bot     engine.BotID
		Want, N int
	}
	// ReserveTrunk requests a channel and a token, after a delay; *call.TrunkReserved follows.
	ReserveTrunk struct {
		Attempt engine.AttemptID
		Only    engine.TrunkID
		After   time.Duration
	}
	ReleaseTrunk struct {
		Trunk engine.TrunkID
		Leg   engine.LegID
	}
	// LeaseNumber requests the caller ID From, "" for any; NumberLeased follows.
	LeaseNumber struct {
		Attempt engine.AttemptID
		From    engine.PhoneNumber
	}
	ReleaseNumber struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		End     numberpool.End
	}
	// OpenSocket opens the session of a call that is about to be placed; *engine.SocketEvent
	// follows. CloseSocket closes it unless the call has taken it.
	OpenSocket struct {
		Bot  engine.BotID
		Open engine.OpenSocket
	}
	CloseSocket struct{ Socket engine.SocketID }
	// Begin places the call.
	Begin struct {
		Bot   engine.Bot
		Place *call.PlaceDialout
	}
	// Later returns the event after a delay.
	Later struct {
		After time.Duration
		Event any
	}
)

// Reasons why a dialout is refused.
var (
	errBotNotFound = engine.NotFound("bot_not_found", "")
	errBotInactive = engine.Conflict("bot_inactive", "")
	errDeadline    = engine.Unavailable("deadline_passed", "",
		time.Second)
	errNoCapacity   = engine.Unavailable("no_capacity", "no capacity for the call; try again", 2*time.Second)
	errNoSeat       = engine.Unavailable("no_capacity", "the fleet has no free seat; try again", 2*time.Second)
	errSeatsUnknown = engine.Unavailable("keeper_away",
		"", time.Second)
)

func botUnavailable(reason string) error {
	return engine.Unavailable("bot_unavailable",
		"the bot takes no calls now ("+reason+"); try again once it does", 5*time.Second)
}

// New returns a state without any bots.
func New() *State {
	return &State{Bots: map[engine.BotID]engine.Bot{}, Seats: map[engine.BotID]*Seats{},
		Wants:  map[engine.AttemptID]*Want{},
		Seated: map[engine.AttemptID]Placed{}, Sockets: map[engine.AttemptID]engine.SocketID{},
		Schedule: Schedule{Writes: map[int]Writing{}, Full: map[engine.BotID]struct{}{}}}
}

// Apply takes one input and appends the effects to dst in the order in which they must be carried
// out. It ignores unknown events.
func (s *State) Apply(in Input, dst []Effect) []Effect {
	s.now, s.boot, s.heard, s.here, s.out = in.Now, in.Boot, in.Heard, in.Here, dst
	switch e := in.Event.(type) {
	case *Place:
		s.place(e, in.Barred)
	case *NumberAsked:
		if e.Err != nil {
			s.emit(Refuse{e.Place.Request, e.Err})
			break
		}
		e.Place.OurNumber = true
		s.place(e.Place, in.Barred)
	case *fleet.Allotted:
		s.allotted(e)
	case *call.TrunkReserved:
		s.trunk(e)
	case *NumberLeased:
		s.number(e)
	case *engine.SocketEvent:
		s.socket(e)
	case *TooLate:
		s.tooLate(e)
	case *AskAgain:
		if seats := s.Seats[e.Bot]; seats != nil {
			seats.Again = false
			if len(seats.Queue) > 0 {
				s.demand(e.Bot)
			}
		}
	case *Renew:
		s.renew()
		s.lookAgain()
	case *Look:
		s.look(e, in.Barred)
	case *DueRead:
		s.dueRead(e, in.Barred)
	case *Cancel:
		s.cancel(e)
	case *call.Durable:
		s.written(e)
	case *call.DialoutReturned:
		if !errors.Is(e.Err, journal.ErrNotScheduled) {
			s.putOff(e.Attempt, s.Seated[e.Attempt].Bot, e.Times, e.Err)
		}
	case *CallIn:
		s.callIn(e, in.Barred)
	case *CallInLeft:
		s.callInLeft(e.Attempt)
	case *Over:
		if placed, ok := s.Seated[e.Attempt]; ok {
			delete(s.Seated, e.Attempt)
			s.closeSocket(e.Attempt)
			s.seatBack(placed.Bot)
		}
	case *BotsChanged:
		clear(s.Bots)
		for _, b := range e.Bots {
			s.Bots[b.ID] = b
		}
	}
	out := s.out
	s.out = nil
	return out
}

func (s *State) emit(e Effect) { s.out = append(s.out, e) }

// place begins a dialout, or answers why not.
func (s *State) place(m *Place, barred error) {
	bot, known := s.Bots[m.Command.Bot]
	var err error
	switch {
	case !known && !m.LookedUp:
		s.emit(LookUp{m})
		return
	case !known:
		err = errBotNotFound
	case !bot.Active:
		err = errBotInactive
	case barred != nil:
		err = barred
	case !m.Command.Deadline.IsZero() && !s.now.Before(m.Command.Deadline), m.Command.Times.Within(s.now, 1) <= 0:
		err = errDeadline
	default:
		err = missingVariables(&bot, m.Command.Variables)
	}
	switch {
	case err != nil && m.Scheduled:
		s.goOn(m.Attempt, m.Command, err)
		return
	case err != nil:
		s.emit(Refuse{m.Request, err})
		return
	case m.Command.Times.NotBefore != nil && !m.Scheduled && m.Command.From != "" && !m.OurNumber:
		s.emit(AskNumber{m})
		return
	case m.Command.Times.NotBefore != nil && !m.Scheduled:
		s.schedule(m)
		return
	}
	s.Tries++
	s.Wants[m.Attempt] = &Want{Try: s.Tries, Command: m.Command, Request: m.Request, Bot: bot, Scheduled: m.Scheduled}
	s.emit(Later{m.Command.Times.Within(s.now, Patience), &TooLate{m.Attempt, s.Tries}})
	s.await(&bot, m.Attempt)
}

// await has a call wait for a seat.
func (s *State) await(bot *engine.Bot, id engine.AttemptID) {
	seats := s.Seats[bot.ID]
	if seats == nil {
		seats = &Seats{}
		s.Seats[bot.ID] = seats
	}
	seats.Queue = slices.Insert(seats.Queue, s.placeIn(seats.Queue, s.Wants[id].precedence()), id)
	s.serve(bot.ID)
	s.demand(bot.ID)
}

// precedence orders the calls that wait for a seat, the smallest first: a caller is on the line.
func (w *Want) precedence() int {
	if w.CallIn {
		return -1
	}
	return w.Command.Times.Precedence()
}

// placeIn is where a call waits for a seat: behind those of its priority.
func (s *State) placeIn(queue []engine.AttemptID, precedence int) int {
	i := slices.IndexFunc(queue, func(q engine.AttemptID) bool {
		return s.Wants[q].precedence() > precedence
	})
	if i < 0 {
		return len(queue)
	}
	return i
}

// missingVariables names variables that the bot needs and that were not given.
func missingVariables(bot *engine.Bot, given map[string]string) error {
	var fields []engine.FieldError
	for _, v := range bot.Variables {
		if _, ok := given[v]; !ok {
			fields = append(fields, engine.FieldError{Field: "variables." + v, Code: "missing",
				Message: "the bot needs this variable"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return engine.Invalid("missing_variables", "", fields...)
}

func (s *State) demand(bot engine.BotID) {
	seats := s.Seats[bot]
	seats.Demands++
	want := seats.Used + len(seats.Queue)
	seats.Granted = min(seats.Granted, want) // others may have the rest as soon as the fleet is told
	s.emit(Demand{Bot: bot, Want: want, N: seats.Demands})
}

func (s *State) allotted(m *fleet.Allotted) {
	seats := s.Seats[m.Bot]
	if seats == nil {
		return
	}
	switch {
	case m.Away:
		seats.Until = s.boot // seats in use stay
	case m.N == seats.Demands:
		seats.Granted, seats.Until = m.Seats, m.Until
	default: // it ignores seats given back since
		seats.Granted, seats.Until = min(seats.Granted, m.Seats), m.Until
	}
	if m.Outage == nil {
		s.serve(m.Bot)
	}
	switch {
	case len(seats.Queue) == 0:
	case m.Away:
		s.failAll(seats, errSeatsUnknown)
	case m.Outage == nil && seats.Granted > seats.Used || m.N != seats.Demands: // not the answer for all who wait
	case m.Outage != nil:
		s.failAll(seats, botUnavailable(m.Outage.Reason))
	case s.callsWait(seats), m.Target > m.Seats: // others have more than their share, and give it back as their calls end
		if !seats.Again {
			seats.Again = true
			s.emit(Later{shareAgain, &AskAgain{m.Bot}})
		}
	default:
		s.failAll(seats, errNoSeat)
	}
}

// callsWait says that a call that came in waits for a seat; dialouts behind it wait with it.
func (s *State) callsWait(seats *Seats) bool {
	return s.Wants[seats.Queue[0]].CallIn
}

// serve gives held, free seats to the dialouts that wait.
func (s *State) serve(bot engine.BotID) {
	seats := s.Seats[bot]
	for len(seats.Queue) > 0 && seats.Used < seats.Granted && (seats.Until == 0 || s.boot < seats.Until) {
		id := seats.Queue[0]
		seats.Queue = slices.Delete(seats.Queue, 0, 1)
		seats.Used++
		w := s.Wants[id]
		if w.CallIn {
			s.callInSeated(id, w, seats.Until != 0)
			continue
		}
		w.Seated = true
		if seats.Until != 0 {
			w.SeatBy = quota.UseBy(s.boot)
		}
		s.emit(ReserveTrunk{Attempt: id, Only: w.Command.Trunk})
	}
}

func (s *State) seatBack(bot engine.BotID) {
	if seats := s.Seats[bot]; seats != nil {
		seats.Used--
		s.serve(bot)
		s.demand(bot)
	}
}

// trunk takes the answer to ReserveTrunk. It waits for a token that is near.
func (s *State) trunk(m *call.TrunkReserved) {
	w, has := s.Wants[m.Attempt], s.Seated[m.Attempt].Trunk
	if w != nil {
		has = w.Trunk
	}
	switch wait, asks := m.RetryAt.Sub(s.now), w != nil && w.Seated && w.Trunk == ""; {
	case !asks && m.Trunk != "" && m.Trunk != has:
		s.emit(ReleaseTrunk{m.Trunk, m.Leg})
	case !asks:
	case m.Trunk == "" && !m.RetryAt.IsZero() && wait < Patience:
		s.emit(ReserveTrunk{Attempt: m.Attempt, Only: w.Command.Trunk, After: max(wait, 0)})
	case m.Trunk == "":
		s.fail(m.Attempt, engine.Unavailable("no_capacity",
			"no trunk can take the call now ("+string(m.Constraint)+"); try again", 2*time.Second))
	default:
		w.Trunk, w.Media, w.Validity = m.Trunk, m.Media, m.Validity
		s.emit(LeaseNumber{m.Attempt, w.Command.From})
	}
}

func (s *State) number(m *NumberLeased) {
	w, has := s.Wants[m.Attempt], s.Seated[m.Attempt].From
	if w != nil && w.Ready != nil {
		has = w.Ready.From
	}
	switch asks := w != nil && w.Trunk != "" && w.Ready == nil; {
	case !asks && m.Number != "" && m.Number != has:
		s.emit(ReleaseNumber{m.Attempt, m.Number, numberpool.End{NotDialled: true}})
	case !asks:
	case m.Err != nil:
		s.fail(m.Attempt, m.Err)
	default:
		w.Ready = &call.PlaceDialout{Command: w.Command, Request: w.Request, Attempt: m.Attempt, Trunk: w.Trunk,
			Media: w.Media, From: m.Number, Validity: w.Validity.And(call.Validity{By: m.UseBy}), Scheduled: w.Scheduled}
		if w.Socket != "" || s.sureOf(&w.Bot) {
			s.begin(w)
			return
		}
		id := engine.SocketID(socketPrefix + string(m.Attempt) + "/" + strconv.Itoa(w.Try))
		s.Sockets[m.Attempt], w.Asked = id, s.boot
		s.emit(OpenSocket{w.Bot.ID, engine.OpenSocket{Socket: id, Endpoints: w.Bot.Endpoints, AuthToken: w.Bot.AuthToken,
			Headers: w.Bot.Headers, Timeout: Patience, Limit: fleet.SocketLimit}})
	}
}

// sureOf says whether it is known that the bot takes sessions: a probe that connects, or asks whether
// the process is well, says nothing of them. A bot that is called by SIP has no socket.
func (s *State) sureOf(b *engine.Bot) bool {
	return b.URIs() != nil || b.Probe == engine.ProbeSession || s.heard(b.ID)
}

// socketPrefix begins the identifiers of the sockets of dialouts.
const socketPrefix = "dialout/"

// socket handles what became of a session that was opened ahead of its call. One that is lost while
// the phone rings is opened anew at the answer.
func (s *State) socket(e *engine.SocketEvent) {
	of, _, _ := strings.Cut(strings.TrimPrefix(string(e.Socket), socketPrefix), "/")
	id := engine.AttemptID(of)
	w := s.Wants[id]
	switch {
	case w == nil || s.Sockets[id] != e.Socket:
	case e.Stands:
		if len(e.Missed) > 0 {
			s.emit(&call.BotTried{Bot: w.Bot.ID, Reached: e.Endpoint, Missed: e.Missed})
		}
		w.Socket = e.Socket
		s.begin(w)
	default:
		delete(s.Sockets, id)
		s.emit(&call.BotTried{Bot: w.Bot.ID, Missed: e.Missed})
		s.fail(id, botUnavailable(e.Reason))
	}
}

// tooLate ends a try. The bot is to blame if it had the time that it has with an answered call.
func (s *State) tooLate(m *TooLate) {
	switch w := s.Wants[m.Attempt]; {
	case w == nil || w.Try != m.Try:
	case w.Ready != nil && w.Socket == "" && s.boot >= w.Asked.Add(attempt.BridgeBudget):
		const reason = "the bot did not answer in time"
		s.emit(&call.BotTried{Bot: w.Bot.ID, Missed: []engine.EndpointMiss{{Reason: reason}}})
		s.fail(m.Attempt, botUnavailable(reason))
	case !w.Seated:
		s.fail(m.Attempt, errNoSeat)
	default:
		s.fail(m.Attempt, errNoCapacity)
	}
}

func (s *State) closeSocket(id engine.AttemptID) {
	if socket, ok := s.Sockets[id]; ok {
		delete(s.Sockets, id)
		s.emit(CloseSocket{socket})
	}
}

// begin places a dialout that has everything. A trunk and a number that other nodes granted too long ago, while
// the bot's socket was opened, are given back and asked for anew; a seat of an allotment that still holds is used
// from now on.
func (s *State) begin(w *Want) {
	id := w.Ready.Attempt
	if by := w.Ready.Validity.By; by != 0 && by < s.boot.Add(quota.UseMargin) {
		s.emit(ReleaseNumber{id, w.Ready.From, numberpool.End{NotDialled: true}})
		s.emit(ReleaseTrunk{w.Trunk, id.Leg(1)})
		w.Trunk, w.Ready = "", nil
		s.emit(ReserveTrunk{Attempt: id, Only: w.Command.Trunk})
		return
	}
	if seats := s.Seats[w.Bot.ID]; w.SeatBy != 0 && s.boot < seats.Until && seats.Used <= seats.Granted {
		w.SeatBy = quota.UseBy(s.boot)
	}
	w.Ready.Socket, w.Ready.Validity.By = w.Socket, call.Earliest(w.SeatBy, w.Ready.Validity.By)
	delete(s.Wants, id)
	s.Seated[id] = Placed{w.Bot.ID, w.Trunk, w.Ready.From}
	s.emit(Begin{w.Bot, w.Ready})
}

// fail answers a dialout that cannot be placed and gives back what it held.
func (s *State) fail(id engine.AttemptID, err error) {
	w := s.Wants[id]
	delete(s.Wants, id)
	if seats := s.Seats[w.Bot.ID]; seats != nil {
		seats.Queue = slices.DeleteFunc(seats.Queue, func(q engine.AttemptID) bool { return q == id })
	}
	s.closeSocket(id)
	if w.Ready != nil {
		s.emit(ReleaseNumber{id, w.Ready.From, numberpool.End{NotDialled: true}})
	}
	if w.Trunk != "" {
		s.emit(ReleaseTrunk{w.Trunk, id.Leg(1)})
	}
	if w.Seated {
		s.seatBack(w.Bot.ID)
	}
	if w.CallIn {
		s.emit(CallInRefused{id})
		return
	}
	if w.Scheduled {
		s.goOn(id, w.Command, err)
		return
	}
	s.emit(Refuse{w.Request, err})
}

// failAll answers every dialout that waits for a seat.
func (s *State) failAll(seats *Seats, err error) {
	for _, id := range slices.Clone(seats.Queue) {
		s.fail(id, err)
	}
}

// renew renews every allotment that is held or waited for.
func (s *State) renew() {
	var bots []engine.BotID
	for bot, seats := range s.Seats {
		if seats.Granted > 0 || len(seats.Queue) > 0 {
			bots = append(bots, bot)
		}
	}
	slices.Sort(bots)
	for _, bot := range bots {
		s.demand(bot)
	}
}
