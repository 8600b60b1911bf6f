// Package inbound decides what becomes of a call that comes in: whom the caller calls back, whether it
// is refused, hears a message or gets a bot, and how many calls there may be at once.
//
// It must not know actors, clocks or the store: events come in as an Input, effects go out. The call
// itself belongs to packages attempt and call, once it has begun.
//
// Invariants: a call that is not begun is refused, once; while a call of a number is being decided or
// lives, another one of that number is refused; a trunk brings at most TrunkCap at once. Calls to numbers
// that are not ours are refused without asking the store, and of the others it is asked AskRate a second.
package inbound

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/fsm"
	"dialler/engine/number"
)

const (
	// Memory is for how long a call from our number is remembered: a later caller is unknown.
	Memory = 30 * 24 * time.Hour
	// TrunkCap is how many calls one trunk may bring at once, refused ones aside.
	TrunkCap = 200
	// AskRate is about how many calls of one trunk the store is asked a second, AskBurst are those that
	// may come at once.
	AskRate  = 50
	AskBurst = TrunkCap
)

// Codes of the responses to calls that are refused here; 0 is the answer that the trunk's calls get
// by its own setting.
const (
	codeTrunk       = 0
	codeBusy        = 486
	codeOverloaded  = 503
	codeUnavailable = 480
)

// Policy is what becomes of a call.
type Policy string

// The policies of a number; a campaign may have none (""), and then its contacts get what the number
// says.
const (
	Reject  Policy = "reject"
	Message Policy = "message"
	Bot     Policy = "bot"
)

// Rule is the policy with what it needs.
type Rule struct {
	Policy  Policy
	Bot     engine.BotID       // of Bot
	Message engine.VoicemailID // of Message, "" is the information message
}

// Last is the latest call from a number of ours to the caller.
type Last struct {
	Attempt   engine.AttemptID
	At        time.Time
	Rule      Rule // of its campaign; without a policy for a call outside campaigns
	Variables map[string]string
}

// Called is what the store knows of a call's two numbers.
type Called struct {
	Number engine.PhoneNumber   // the number of ours, "" when none of those called is ours
	Caller engine.PhoneNumber   // as it was called, "" when it never was
	Rule   Rule                 // of that number
	Media  *engine.MediaProfile // of the trunk
	Last   *Last                // nil when it never called the caller
}

// Answer is what becomes of a call.
type Answer struct {
	Rule
	Returns   engine.AttemptID // what the caller calls back, "" when nothing is known
	Variables map[string]string
}

// Decide says what becomes of a call: the last call of the number to the caller decides, if it is not
// longer ago than Memory and its campaign has a policy, otherwise the number.
func Decide(c *Called, now time.Time) Answer {
	a := Answer{Rule: c.Rule}
	if l := c.Last; l != nil && !l.At.Before(now.Add(-Memory)) {
		a.Returns, a.Variables = l.Attempt, l.Variables
		if l.Rule.Policy != "" {
			a.Rule = l.Rule
		}
	}
	if a.Policy == "" || a.Policy == Bot && a.Bot == "" {
		a.Rule = Rule{Policy: Reject}
	}
	if a.Policy != Bot { // the store names the bot and message of any policy
		a.Bot = ""
	}
	if a.Policy != Message {
		a.Message = ""
	}
	return a
}

// Candidates are the numbers that the user part of an address may mean, the likeliest first; country
// is that of national numbers ("" for none).
func Candidates(user, country string) (list []engine.PhoneNumber) {
	add := func(n engine.PhoneNumber, err error) {
		if err == nil && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	add(number.ParseNational(user, country))
	if user != "" && user[0] != '+' && user[0] != '0' { // E.164 without its plus
		add(number.ParseNational("+"+user, ""))
	}
	return list
}

// State of a call that is being decided.
type State string

// The states of a call; a call that is not known has none.
const (
	Unknown State = "unknown" // no such call
	Asking  State = "asking"  // the store is asked about its numbers
	Seating State = "seating" // a seat of the bot is awaited
	Lives   State = "lives"   // it has begun
)

// States and Kinds list all of them.
var (
	States = []State{Unknown, Asking, Seating, Lives}
	Kinds  = []Kind{Offered, Found, Seated, NoSeat, Left, Over}
)

// Kind names an event.
type Kind string

const (
	Offered Kind = "offered" // a trunk brings it
	Found   Kind = "found"   // the store has answered
	Seated  Kind = "seated"  // it has a seat
	NoSeat  Kind = "no_seat" // it gets none
	Left    Kind = "left"    // the caller gave up before it had begun
	Over    Kind = "over"    // it has ended
)

// Event is one input.
type Event struct {
	Kind    Kind
	Attempt engine.AttemptID
	Call    *engine.IncomingCall // of Offered
	Called  *Called              // of Found, nil when the store could not be asked
	By      engine.BootTime      // of Seated: until when the call may begin with its seat; 0 = no limit
	Barred  bool                 // of Offered and Found: this process takes no calls now
	Now     time.Time
}

// Effect is something to be done: one of the types below.
type Effect any

type (
	// Ask asks the store about a call's numbers; Found follows. To are the candidates for our number, From
	// those for the caller's, none when it is withheld.
	Ask struct {
		Attempt  engine.AttemptID
		To, From []engine.PhoneNumber
	}
	// Refuse refuses the call.
	Refuse struct {
		Leg  engine.LegID
		Code int
	}
	// Seat requests a seat of the bot for the call; Seated or NoSeat follows. Withdraw takes it back.
	Seat     struct{ Call *Call }
	Withdraw struct{ Attempt engine.AttemptID }
	// Begin begins a call.
	Begin struct{ Call *Call }
)

// Call is a call that is being decided, or lives.
type Call struct {
	State  State
	In     engine.IncomingCall
	To     engine.PhoneNumber   // of ours
	Caller engine.PhoneNumber   // "" when it is withheld
	From   []engine.PhoneNumber // candidates for it
	Answer Answer               // once it is decided
	Media  *engine.MediaProfile // of the trunk
	By     engine.BootTime      // until when it may begin, 0 = no limit
}

// Counts are what has become of calls; they count up only.
type Counts struct {
	Offered    int // for a number of ours, or being asked about
	Taken      int // begun
	TurnedAway int // refused, or given up before they were begun
	Strange    int // for none of our numbers, refused without asking; not among Offered
	Unasked    int // refused because the store was asked as often as it may be; among TurnedAway
}

// Calls are the calls of a process.
type Calls struct {
	Of map[engine.AttemptID]*Call
	// Ours are the configured numbers, nil while they are not known: then the store is asked.
	Ours   map[engine.PhoneNumber]struct{}
	Asked  map[engine.TrunkID]*Asked
	Counts Counts
}

// Asked is how often the store may be asked about calls of a trunk.
type Asked struct {
	Left float64 // questions, as of At
	At   time.Time
}

// New returns a state without calls.
func New() *Calls {
	return &Calls{Of: map[engine.AttemptID]*Call{}, Asked: map[engine.TrunkID]*Asked{}}
}

// Know notes the configured numbers; none is ever given up.
func (s *Calls) Know(list []engine.PhoneNumber) {
	if s.Ours == nil {
		s.Ours = make(map[engine.PhoneNumber]struct{}, len(list))
	}
	for _, n := range list {
		s.Ours[n] = struct{}{}
	}
}

// KnowAlso notes a number that is configured now.
func (s *Calls) KnowAlso(n engine.PhoneNumber) {
	if s.Ours != nil {
		s.Ours[n] = struct{}{}
	}
}

// Machine is a call's event in the table.
type Machine struct {
	s   *Calls
	c   *Call
	out []Effect
}

type row = fsm.Row[State, Kind, *Machine, Event]

// strange says that none of the numbers called is ours.
func strange(m *Machine, _ Event) bool {
	return m.s.Ours != nil && !slices.ContainsFunc(m.called(), func(n engine.PhoneNumber) bool {
		_, ours := m.s.Ours[n]
		return ours
	})
}

// tooMany says that the store was asked about calls of the trunk as often as it may be; otherwise it is asked.
func tooMany(m *Machine, ev Event) bool {
	a := m.s.Asked[ev.Call.Trunk]
	if a == nil {
		a = &Asked{Left: AskBurst, At: ev.Now}
		m.s.Asked[ev.Call.Trunk] = a
	}
	if since := ev.Now.Sub(a.At); since > 0 {
		a.Left = min(a.Left+since.Seconds()*AskRate, AskBurst)
	}
	if a.At = ev.Now; a.Left < 1 {
		return true
	}
	a.Left--
	return false
}

func barred(_ *Machine, ev Event) bool { return ev.Barred }

func full(m *Machine, ev Event) bool { return m.s.onTrunk(ev.Call.Trunk) >= TrunkCap }

func again(m *Machine, _ Event) bool { return m.s.calls(m.c) }

func unasked(_ *Machine, ev Event) bool { return ev.Called == nil || ev.Barred }

func notOurs(_ *Machine, ev Event) bool { return ev.Called.Number == "" }

func policyIs(p Policy) func(*Machine, Event) bool {
	return func(_ *Machine, ev Event) bool { return Decide(ev.Called, ev.Now).Policy == p }
}

var table = fsm.New("inbound", States, Kinds, rows())

// Table is the table of a call that comes in.
func Table() *fsm.Table[State, Kind, *Machine, Event] { return table }

func rows() []row {
	refuse := func(code int) func(*Machine, Event) { return func(m *Machine, _ Event) { m.refuse(code) } }
	rs := []row{
		{From: []State{Unknown}, On: Offered, Guard: "known not to be our number", When: strange, Do: (*Machine).stranger,
			Why: "as any other call that a trunk brings; the store is not asked"},
		{From: []State{Unknown}, On: Offered, Guard: "no calls are taken now", When: barred, Do: refuse(codeUnavailable)},
		{From: []State{Unknown}, On: Offered, Guard: "too many on the trunk", When: full, Do: refuse(codeOverloaded)},
		{From: []State{Unknown}, On: Offered, Guard: "the caller has a call", When: again, Do: refuse(codeBusy)},
		{From: []State{Unknown}, On: Offered, Guard: "the store was asked too often", When: tooMany,
			Do: (*Machine).unasked, Why: "a flood of calls does not take the database from ours"},
		{From: []State{Unknown}, On: Offered, To: Asking, Do: (*Machine).ask},
		{From: []State{Asking}, On: Found, Guard: "nothing is known", When: unasked, To: Unknown,
			Do: refuse(codeUnavailable), Why: "no call is answered that cannot be stored"},
		{From: []State{Asking}, On: Found, Guard: "not our number", When: notOurs, To: Unknown, Do: refuse(codeTrunk),
			Why: "as any other call that a trunk brings"},
		{From: []State{Asking}, On: Found, Guard: "reject", When: policyIs(Reject), To: Unknown, Do: refuse(codeTrunk)},
		{From: []State{Asking}, On: Found, Guard: "bot", When: policyIs(Bot), To: Seating, Do: (*Machine).seat,
			Why: "no call is answered without a seat of the bot"},
		{From: []State{Asking}, On: Found, To: Lives, Do: (*Machine).begin},
		{From: []State{Seating}, On: Seated, To: Lives, Do: (*Machine).seated},
		{From: []State{Seating}, On: NoSeat, To: Unknown, Do: refuse(codeBusy)},
		{From: []State{Asking}, On: Left, To: Unknown, Do: (*Machine).left},
		{From: []State{Seating}, On: Left, To: Unknown, Do: (*Machine).withdrawn},
		{From: []State{Lives}, On: Over, To: Unknown},
		{From: []State{Lives}, On: Left, Ignore: true, Why: "the call itself hears of it"},
		{From: []State{Asking, Seating, Lives}, On: Offered, Ignore: true, Why: "each call has a name of its own"},
	}
	for _, k := range []Kind{Found, Seated, NoSeat, Left, Over} {
		rs = append(rs, row{From: []State{Unknown}, On: k, Ignore: true, Why: "late: it was refused, or the caller gave up"})
	}
	return append(rs,
		row{From: []State{Asking}, On: Seated, Ignore: true}, row{From: []State{Asking}, On: NoSeat, Ignore: true},
		row{From: []State{Asking}, On: Over, Ignore: true}, row{From: []State{Seating}, On: Found, Ignore: true},
		row{From: []State{Seating}, On: Over, Ignore: true}, row{From: []State{Lives}, On: Found, Ignore: true},
		row{From: []State{Lives}, On: Seated, Ignore: true}, row{From: []State{Lives}, On: NoSeat, Ignore: true})
}

// Apply takes one event and returns the effects in the order in which they must be carried out.
func (s *Calls) Apply(ev Event) []Effect {
	m := &Machine{s: s, c: s.Of[ev.Attempt]}
	if m.c == nil {
		m.c = &Call{State: Unknown}
		if ev.Call != nil {
			m.c.In, m.c.From = *ev.Call, Candidates(ev.Call.From, ev.Call.Country)
		}
	}
	to, err := table.Step(m.c.State, ev.Kind, m, ev)
	if err != nil { // the table has a row for every pair
		return nil
	}
	if m.c.State = to; to == Unknown {
		delete(s.Of, ev.Attempt)
	} else {
		s.Of[ev.Attempt] = m.c
	}
	return m.out
}

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

func (m *Machine) refuse(code int) {
	m.s.Counts.TurnedAway++
	if m.c.State == Unknown {
		m.s.Counts.Offered++
	}
	m.emit(Refuse{Leg: m.c.In.Leg, Code: code})
}

// stranger refuses a call to a number that is not ours.
func (m *Machine) stranger(Event) {
	m.s.Counts.Strange++
	m.emit(Refuse{Leg: m.c.In.Leg, Code: codeTrunk})
}

func (m *Machine) unasked(Event) {
	m.s.Counts.Unasked++
	m.refuse(codeOverloaded)
}

func (m *Machine) ask(Event) {
	m.s.Counts.Offered++
	m.emit(Ask{Attempt: m.c.In.Attempt, To: m.called(), From: m.c.From})
}

// called are the numbers that may be the one that is called.
func (m *Machine) called() (to []engine.PhoneNumber) {
	for _, user := range m.c.In.To {
		for _, n := range Candidates(user, m.c.In.Country) {
			if !slices.Contains(to, n) {
				to = append(to, n)
			}
		}
	}
	return to
}

// decided notes both numbers of a call that is taken.
func (m *Machine) decided(ev Event) *Call {
	m.c.To, m.c.Media = ev.Called.Number, ev.Called.Media
	if len(m.c.From) > 0 {
		m.c.Caller = m.c.From[0]
	}
	if ev.Called.Caller != "" {
		m.c.Caller = ev.Called.Caller
	}
	m.c.Answer = Decide(ev.Called, ev.Now)
	return m.c
}

func (m *Machine) begin(ev Event) {
	m.s.Counts.Taken++
	m.emit(Begin{Call: m.decided(ev)})
}

func (m *Machine) seat(ev Event) { m.emit(Seat{Call: m.decided(ev)}) }

func (m *Machine) seated(ev Event) {
	m.s.Counts.Taken++
	m.c.By = ev.By
	m.emit(Begin{Call: m.c})
}

func (m *Machine) left(Event) { m.s.Counts.TurnedAway++ }

func (m *Machine) withdrawn(Event) {
	m.s.Counts.TurnedAway++
	m.emit(Withdraw{Attempt: m.c.In.Attempt})
}

// onTrunk counts the calls that a trunk brought.
func (s *Calls) onTrunk(id engine.TrunkID) (n int) {
	for _, c := range s.Of {
		if c.In.Trunk == id {
			n++
		}
	}
	return n
}

// calls says whether the caller of a new call has another one.
func (s *Calls) calls(in *Call) bool {
	for _, c := range s.Of {
		if len(in.From) > 0 && len(c.From) > 0 && c.From[0] == in.From[0] {
			return true
		}
	}
	return false
}
