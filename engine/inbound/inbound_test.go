package inbound

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

var t0 = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

const ours, theirs engine.PhoneNumber = "+493023125000", "+4915112345678"

func TestTheLastCallDecidesElseTheNumber(t *testing.T) {
	bot := Rule{Policy: Bot, Bot: "anna"}
	last := func(ago time.Duration, r Rule) *Last {
		return &Last{Attempt: "missed", At: t0.Add(-ago), Rule: r, Variables: map[string]string{"name": "Ada"}}
	}
	for what, c := range map[string]struct {
		called  Called
		policy  Policy
		returns engine.AttemptID
	}{
		"a number without a policy refuses": {Called{Number: ours}, Reject, ""},
		"a number's policy":                 {Called{Rule: Rule{Policy: Message}}, Message, ""},
		"the campaign's policy wins": {Called{Rule: bot, Last: last(time.Hour, Rule{Policy: Message})}, Message,
			"missed"},
		"its bot is not the message's": {Called{Last: last(time.Hour, Rule{Policy: Message, Bot: "otto"})}, Message,
			"missed"},
		"a campaign may refuse": {Called{Rule: bot, Last: last(time.Hour, Rule{Policy: Reject})}, Reject,
			"missed"},
		"a campaign without a policy":           {Called{Rule: bot, Last: last(time.Hour, Rule{Bot: "otto"})}, Bot, "missed"},
		"30 days are remembered":                {Called{Last: last(Memory, bot)}, Bot, "missed"},
		"and no longer":                         {Called{Last: last(Memory+1, bot)}, Reject, ""},
		"a bot that no longer exists is no bot": {Called{Rule: Rule{Policy: Bot}}, Reject, ""},
	} {
		a := Decide(&c.called, t0)
		if a.Policy != c.policy || a.Returns != c.returns || (a.Variables != nil) != (c.returns != "") {
			t.Errorf("%s: %+v", what, a)
		}
		if (a.Bot != "") != (a.Policy == Bot) {
			t.Errorf("%s: the bot is %q", what, a.Bot)
		}
		if what == "a campaign without a policy" && a.Bot != "anna" {
			t.Errorf("%s: the bot is %s", what, a.Bot)
		}
	}
}

// The store fills a rule with all that a campaign or number has; only what its policy needs counts.
func TestAnAnswerHasNothingThatItsPolicyDoesNotNeed(t *testing.T) {
	for p, want := range map[Policy]Rule{
		Reject:  {Policy: Reject},
		Message: {Policy: Message, Message: "sorry"},
		Bot:     {Policy: Bot, Bot: "otto"},
	} {
		r := Rule{Policy: p, Bot: "otto", Message: "sorry"}
		if a := Decide(&Called{Last: &Last{Attempt: "missed", At: t0, Rule: r}}, t0); a.Rule != want {
			t.Errorf("of a campaign: %+v", a.Rule)
		}
		if a := Decide(&Called{Rule: r}, t0); a.Rule != want {
			t.Errorf("of a number: %+v", a.Rule)
		}
	}
}

func TestNumbersAreReadAsTrunksWriteThem(t *testing.T) {
	for _, user := range []string{"+493023125000", "493023125000", "00493023125000", "03023125000"} {
		if got := Candidates(user, "DE"); !slices.Contains(got, ours) {
			t.Errorf("%q: %d numbers, none of them ours", user, len(got))
		}
	}
	for _, user := range []string{"anna", "", "anonymous", "+", "12"} {
		if got := Candidates(user, "DE"); len(got) != 0 {
			t.Errorf("%q: %d numbers", user, len(got))
		}
	}
	if got := Candidates("03023125000", ""); len(got) != 0 {
		t.Errorf("a national number of no country: %v", got)
	}
}

// call is the n-th call that the trunk brings, from a number of its own unless from is given.
func call(n int, from string) *engine.IncomingCall {
	a := engine.AttemptID(fmt.Sprintf("%032x", n))
	return &engine.IncomingCall{Attempt: a, Leg: a.Leg(1), Trunk: "a", To: []string{string(ours)}, From: from, At: t0}
}

func offer(s *Calls, n int, from string) []Effect {
	c := call(n, from)
	return s.Apply(Event{Kind: Offered, Attempt: c.Attempt, Call: c, Now: t0})
}

func found(s *Calls, n int, c *Called) []Effect {
	return s.Apply(Event{Kind: Found, Attempt: call(n, "").Attempt, Called: c, Now: t0})
}

// names are the effects by their types, with the code of a refusal.
func names(es []Effect) string {
	var out []string
	for _, e := range es {
		name := reflect.TypeOf(e).Name()
		if r, ok := e.(Refuse); ok {
			name += fmt.Sprint(" ", r.Code)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

func TestEveryStateAndEvent(t *testing.T) {
	seating := &Called{Number: ours, Rule: Rule{Policy: Bot, Bot: "anna"}}
	reach := map[State]func(*Calls){
		Unknown: func(*Calls) {},
		Asking:  func(s *Calls) { offer(s, 1, string(theirs)) },
		Seating: func(s *Calls) { offer(s, 1, string(theirs)); found(s, 1, seating) },
		Lives: func(s *Calls) {
			offer(s, 1, string(theirs))
			found(s, 1, &Called{Number: ours, Rule: Rule{Policy: Message}})
		},
	}
	want := map[State]map[Kind]string{
		Unknown: {Offered: "asking Ask"},
		Asking:  {Found: "lives Begin", Left: "unknown "},
		Seating: {Seated: "lives Begin", NoSeat: "unknown Refuse 486", Left: "unknown Withdraw"},
		Lives:   {Over: "unknown "},
	}
	for _, from := range States {
		for _, k := range Kinds {
			s := New()
			reach[from](s)
			c := call(1, string(theirs))
			es := s.Apply(Event{Kind: k, Attempt: c.Attempt, Call: c, Now: t0,
				Called: &Called{Number: ours, Rule: Rule{Policy: Message}}})
			to := Unknown
			if c := s.Of[c.Attempt]; c != nil {
				to = c.State
			}
			expected := want[from][k]
			if expected == "" {
				expected = string(from) + " "
			}
			if got := string(to) + " " + names(es); got != expected {
				t.Errorf("%s × %s: %q, want %q", from, k, got, expected)
			}
			if s.Counts.Offered < s.Counts.Taken+s.Counts.TurnedAway {
				t.Errorf("%s × %s: %+v", from, k, s.Counts)
			}
		}
	}
}

func TestEveryWayInWhichACallIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		called *Called
		want   string
	}{
		"the store does not answer": {nil, "Refuse 480"},
		"not our number":            {&Called{}, "Refuse 0"},
		"the policy":                {&Called{Number: ours}, "Refuse 0"},
	} {
		s := New()
		offer(s, 1, string(theirs))
		if got := names(found(s, 1, c.called)); got != c.want || s.Counts != (Counts{Offered: 1, TurnedAway: 1}) {
			t.Errorf("%s: %s, %+v", what, got, s.Counts)
		}
	}
	s := New()
	c := call(1, "")
	if got := names(s.Apply(Event{Kind: Offered, Attempt: c.Attempt, Call: c, Barred: true})); got != "Refuse 480" {
		t.Errorf("no calls are taken: %s", got)
	}
	offer(s, 1, string(theirs))
	if got := names(s.Apply(Event{Kind: Found, Attempt: c.Attempt, Called: &Called{Number: ours,
		Rule: Rule{Policy: Message}}, Barred: true})); got != "Refuse 480" {
		t.Errorf("none are taken any more: %s", got)
	}
}

func TestACallerHasOneCallAndATrunkSoMany(t *testing.T) {
	s := New()
	offer(s, 1, string(theirs))
	if got := names(offer(s, 2, "4915112345678")); got != "Refuse 486" {
		t.Errorf("the same number in another form: %s", got)
	}
	for n := 3; len(s.Of) < TrunkCap; n++ {
		if got := names(offer(s, n, "")); got != "Ask" {
			t.Fatalf("a withheld number: %s", got)
		}
	}
	if got := names(offer(s, 1000, "")); got != "Refuse 503" {
		t.Errorf("one too many: %s", got)
	}
	other := call(1001, "")
	other.Trunk = "b"
	if got := names(s.Apply(Event{Kind: Offered, Attempt: other.Attempt, Call: other})); got != "Ask" {
		t.Errorf("another trunk: %s", got)
	}
}

func TestTheNumberThatWasCalledIsTheCallers(t *testing.T) {
	s := New()
	offer(s, 1, string(theirs))
	es := found(s, 1, &Called{Number: ours, Caller: "+4915199999999", Rule: Rule{Policy: Message}})
	if b, ok := es[0].(Begin); !ok || b.Call.To != ours || b.Call.Caller != "+4915199999999" {
		t.Errorf("%+v", es)
	}
	if i := slices.IndexFunc(table.Rows(), func(r row) bool { return r.From == nil }); i >= 0 {
		t.Errorf("row %d is of no state", i)
	}
}

func TestACallToANumberThatIsNotOursAsksNobody(t *testing.T) {
	s := New()
	s.Know([]engine.PhoneNumber{"+493023125099"})
	for n := range 3 * AskBurst { // before anything else is known of it, whatever else holds
		c := call(n, string(theirs))
		ev := Event{Kind: Offered, Attempt: c.Attempt, Call: c, Now: t0, Barred: true}
		if got := names(s.Apply(ev)); got != "Refuse 0" {
			t.Fatalf("call %d: %s", n, got)
		}
	}
	if s.Counts != (Counts{Strange: 3 * AskBurst}) || len(s.Of) != 0 {
		t.Errorf("%+v, %d calls", s.Counts, len(s.Of))
	}
	if s.KnowAlso(ours); names(offer(s, 1000, string(theirs))) != "Ask" {
		t.Error("a number that is configured now is not known")
	}
}

func TestTheStoreIsAskedSoOftenAboutTheCallsOfATrunk(t *testing.T) {
	s := New()
	s.Know([]engine.PhoneNumber{ours})
	now, n := t0, 0
	asks := func(trunk engine.TrunkID, calls int) (asked int) {
		for range calls {
			n++
			c := call(n, "")
			c.Trunk = trunk
			es := s.Apply(Event{Kind: Offered, Attempt: c.Attempt, Call: c, Now: now})
			switch names(es) {
			case "Ask":
				asked++
				s.Apply(Event{Kind: Found, Attempt: c.Attempt, Called: &Called{Number: ours}, Now: now})
			case "Refuse 503":
			default:
				t.Fatalf("%v", es)
			}
		}
		return asked
	}
	if got := asks("a", 2*AskBurst); got != AskBurst || s.Counts.Unasked != AskBurst {
		t.Errorf("asked %d times at once, %+v", got, s.Counts)
	}
	if got := asks("b", AskBurst); got != AskBurst {
		t.Errorf("another trunk: asked %d times", got)
	}
	now = now.Add(time.Second)
	if got := asks("a", AskBurst); got != AskRate {
		t.Errorf("a second later: asked %d times", got)
	}
	now = now.Add(-time.Hour) // the clock is put back
	if got := asks("a", 1); got != 0 {
		t.Error("asked beyond the rate")
	}
	now = now.Add(24 * time.Hour)
	if got := asks("a", 2*AskBurst); got != AskBurst {
		t.Errorf("a day later: asked %d times", got)
	}
}
