package dialout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/quota"
)

var t0 = time.Date(2030, 3, 4, 10, 0, 0, 0, time.UTC)

// failer is a test, or one draw of a property test.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// admission gives inputs and records the effects.
type admission struct {
	t       failer
	s       *State
	now     time.Time
	unheard bool // the bot has taken no call lately
	out     []Effect
}

func open(t failer) *admission {
	d := &admission{t: t, s: New(), now: t0}
	d.give(&BotsChanged{[]engine.Bot{{ID: "bot", Active: true}, {ID: "off"},
		{ID: "asks", Active: true, Variables: []string{"name", "town"}}}})
	return d
}

func (d *admission) give(event any) []Effect {
	d.out = d.s.Apply(Input{Now: d.now, Boot: engine.BootTime(d.now.Sub(t0) + time.Hour), Event: event,
		Heard: func(engine.BotID) bool { return !d.unheard }}, nil)
	return d.out
}

func place(id string) *Place {
	return &Place{Command: campaign.Dialout{Bot: "bot", To: "+4915112345678"}, Request: engine.Request("who-" + id),
		Attempt: engine.AttemptID(id)}
}

func one[E Effect](d *admission) (e E) {
	d.t.Helper()
	found := 0
	for _, x := range d.out {
		if v, ok := x.(E); ok {
			e = v
			found++
		}
	}
	if found != 1 {
		d.t.Fatalf("%d of %T in %+v", found, e, d.out)
	}
	return e
}

func none[E Effect](d *admission) {
	d.t.Helper()
	for _, x := range d.out {
		if _, ok := x.(E); ok {
			d.t.Fatalf("%T in %+v", x, d.out)
		}
	}
}

// seats answers the last demand.
func (d *admission) seats(n int) {
	d.give(&fleet.Allotted{Bot: "bot", Seats: n, Target: n, N: d.s.Seats["bot"].Demands})
}

func (d *admission) refused(code string) {
	d.t.Helper()
	if r := one[Refuse](d); engine.ErrorCode(r.Err) != code || r.Request == "" {
		d.t.Fatalf("%v, want %s", r.Err, code)
	}
}

func TestWhatADialoutIsRefusedFor(t *testing.T) {
	f := func(name, code string, change func(*Place), barred error) {
		t.Helper()
		d := open(t)
		p := place("a")
		change(p)
		d.out = d.s.Apply(Input{Now: d.now, Event: p, Barred: barred}, nil)
		if r := one[Refuse](d); engine.ErrorCode(r.Err) != code || len(d.out) != 1 || len(d.s.Wants) > 0 {
			t.Errorf("%s: %v", name, d.out)
		}
	}
	away := engine.Unavailable("database_unavailable", "away", time.Second)
	f("an unknown bot, once it was looked up", "bot_not_found",
		func(p *Place) { p.Command.Bot, p.LookedUp = "none", true }, nil)
	f("an inactive bot", "bot_inactive", func(p *Place) { p.Command.Bot = "off" }, away)
	f("a process that places no call", "database_unavailable", func(*Place) {}, away)
	f("a deadline that has passed", "deadline_passed", func(p *Place) { p.Command.Deadline = t0 }, nil)
	f("a variable of the bot that is missing", "missing_variables", func(p *Place) {
		p.Command.Bot, p.Command.Variables = "asks", map[string]string{"name": "Ada"}
	}, nil)
	d := open(t)
	p := place("a")
	p.Command.Bot = "new"
	d.give(p)
	if l := one[LookUp](d); l.Place != p || len(d.out) != 1 {
		t.Errorf("a bot that is not known is looked up: %+v", d.out)
	}
}

// The bot's socket took most of the time for which other nodes had granted trunk and number: both are given back and
// asked for anew, the socket stays. A seat that is still allotted counts as used from the moment of the dial.
func TestWhatWasGrantedTooLongAgoIsAskedForAnew(t *testing.T) {
	d := open(t)
	d.unheard = true
	by := func() engine.BootTime { return quota.UseBy(engine.BootTime(d.now.Sub(t0) + time.Hour)) }
	gather := func() {
		d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Validity: call.Validity{By: by()}})
		one[LeaseNumber](d)
		d.give(&NumberLeased{Attempt: "a", Number: "+4930111111", UseBy: by()})
	}
	d.give(place("a"))
	d.give(&fleet.Allotted{Bot: "bot", Seats: 1, Target: 1, N: 1, Until: engine.BootTime(2 * time.Hour)})
	gather()
	one[OpenSocket](d)
	d.now = d.now.Add(quota.UseFor - quota.UseMargin + time.Millisecond)
	d.give(&engine.SocketEvent{Socket: "dialout/a/1", Stands: true, Endpoint: "ws://b"})
	none[Begin](d)
	if n := one[ReleaseNumber](d); !n.End.NotDialled || n.Number != "+4930111111" {
		t.Errorf("%+v", n)
	}
	if r := one[ReleaseTrunk](d); r.Trunk != "trunk" {
		t.Errorf("%+v", r)
	}
	one[ReserveTrunk](d)
	gather()
	none[OpenSocket](d)
	if b := one[Begin](d).Place; b.Socket != "dialout/a/1" || b.Validity.By != by() {
		t.Errorf("%+v, the grants hold until %v", b, by())
	}

	// It is never had in time: whoever asked is told, and the bot is not to blame.
	d = open(t)
	d.give(place("a"))
	d.give(&fleet.Allotted{Bot: "bot", Seats: 1, Target: 1, N: 1, Until: engine.BootTime(2 * time.Hour)})
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Validity: call.Validity{By: by()}})
	d.now = d.now.Add(Patience / 2)
	d.give(&NumberLeased{Attempt: "a", Number: "+4930111111", UseBy: by()})
	none[Begin](d)
	d.now = d.now.Add(Patience / 2)
	d.give(&TooLate{"a", 1})
	d.refused("no_capacity")
	none[*call.BotTried](d)
	if d.s.Seats["bot"].Used != 0 || len(d.s.Wants)+len(d.s.Seated) != 0 {
		t.Errorf("it holds %+v", d.s)
	}
}

func TestADialoutGathersSeatTrunkAndNumberInThisOrder(t *testing.T) {
	d := open(t)
	p := place("a")
	p.Command.Trunk, p.Command.From = "trunk", "+4930111111"
	d.give(p)
	if e := one[Demand](d); e.Want != 1 || e.N != 1 || e.Bot != "bot" {
		t.Fatalf("%+v", e)
	}
	none[ReserveTrunk](d)
	d.give(&fleet.Allotted{Bot: "bot", Seats: 1, Target: 1, N: 1, Until: engine.BootTime(2 * time.Hour)})
	if e := one[ReserveTrunk](d); e.Attempt != "a" || e.Only != "trunk" || e.After != 0 {
		t.Fatalf("%+v", e)
	}
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Validity: call.Validity{From: 7}})
	if e := one[LeaseNumber](d); e.Attempt != "a" || e.From != "+4930111111" {
		t.Fatalf("%+v", e)
	}
	d.give(&NumberLeased{Attempt: "a", Number: "+4930111111", UseBy: engine.BootTime(time.Hour + time.Second)})
	e := one[Begin](d)
	if b := e.Place; b.Attempt != "a" || b.Request != "who-a" || b.Trunk != "trunk" || b.From != "+4930111111" ||
		b.Validity.From != 7 ||
		b.Validity.By != engine.BootTime(time.Hour+time.Second) || e.Bot.ID != "bot" {
		t.Fatalf("%+v", b)
	}
	if d.s.Seats["bot"].Used != 1 || len(d.s.Wants) > 0 {
		t.Fatalf("%+v", d.s)
	}
	d.give(&TooLate{"a", 1})
	if len(d.out) > 0 {
		t.Fatalf("a call that was placed is not too late: %+v", d.out)
	}
	d.give(&Over{"a"})
	if x := one[Demand](d); x.Want != 0 || d.s.Seats["bot"].Used != 0 {
		t.Fatalf("%+v", x)
	}
	d.give(&Over{"a"})
	if len(d.out) > 0 {
		t.Fatalf("the seat goes back once: %+v", d.out)
	}
}

func TestWhoWaitsForASeatIsToldWhyThereIsNone(t *testing.T) {
	f := func(name, code string, m fleet.Allotted) {
		t.Helper()
		d := open(t)
		d.give(place("a"))
		m.Bot = "bot"
		if m.N == 0 {
			m.N = 1
		}
		d.give(&m)
		if code == "" {
			none[Refuse](d)
			return
		}
		d.refused(code)
	}
	f("none is free", "no_capacity", fleet.Allotted{})
	f("the bot takes no calls", "bot_unavailable", fleet.Allotted{Outage: &fleet.Outage{Reason: "refused"}})
	f("it takes none, and the seats stay", "bot_unavailable",
		fleet.Allotted{Seats: 1, Outage: &fleet.Outage{Reason: "refused"}})
	f("nobody knows", "keeper_away", fleet.Allotted{Away: true})
	f("others give theirs back", "", fleet.Allotted{Target: 1})
	f("an answer to an earlier demand says nothing", "", fleet.Allotted{N: 9})

	d := open(t)
	d.give(place("a"))
	d.give(&fleet.Allotted{Bot: "bot", Target: 1, N: 1})
	if e := one[Later](d); e.After != shareAgain {
		t.Fatalf("%+v", e)
	}
	d.give(&fleet.Allotted{Bot: "bot", Target: 1, N: 1})
	none[Later](d) // it has already been requested
	d.give(&AskAgain{"bot"})
	if e := one[Demand](d); e.N != 2 {
		t.Fatalf("%+v", e)
	}
}

func TestWhatWasGrantedGoesBackWithADialoutThatFails(t *testing.T) {
	seated := func() *admission {
		d := open(t)
		d.give(place("a"))
		d.seats(1)
		one[ReserveTrunk](d)
		return d
	}
	d := seated()
	d.give(&call.TrunkReserved{Attempt: "a", Constraint: engine.ConstraintTrunkCPS,
		RetryAt: t0.Add(300 * time.Millisecond)})
	if e := one[ReserveTrunk](d); e.After != 300*time.Millisecond {
		t.Fatalf("a token that is near is worth the wait: %+v", e)
	}
	d.give(&call.TrunkReserved{Attempt: "a", Constraint: engine.ConstraintTrunkCPS, RetryAt: t0.Add(Patience)})
	d.refused("no_capacity")
	if e := one[Demand](d); e.Want != 0 {
		t.Fatalf("%+v", e)
	}
	d = seated()
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk"})
	d.give(&NumberLeased{Attempt: "a", Err: engine.Unavailable("no_number", "none", time.Second)})
	d.refused("no_number")
	if e := one[ReleaseTrunk](d); e.Trunk != "trunk" || e.Leg != engine.AttemptID("a").Leg(1) {
		t.Fatalf("%+v", e)
	}
	d = seated()
	d.give(&TooLate{"a", 1})
	d.refused("no_capacity")
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Leg: "leg"})
	if e := one[ReleaseTrunk](d); e.Leg != "leg" || len(d.out) != 1 {
		t.Fatalf("%+v", d.out)
	}
	d.give(&NumberLeased{Attempt: "a", Number: "+4930111111"})
	if e := one[ReleaseNumber](d); !e.End.NotDialled || e.Number != "+4930111111" {
		t.Fatalf("%+v", e)
	}
	d.give(&NumberLeased{Attempt: "a"})
	d.give(&call.TrunkReserved{Attempt: "a"})
	if len(d.out) > 0 {
		t.Fatalf("%+v", d.out)
	}
}

func TestSeatsThatAreNotVouchedForPlaceNoCall(t *testing.T) {
	d := open(t)
	d.give(place("a"))
	d.give(&fleet.Allotted{Bot: "bot", Seats: 3, Target: 3, N: 1, Until: engine.BootTime(time.Hour + time.Second)})
	one[ReserveTrunk](d)
	d.now = t0.Add(time.Second)
	d.give(place("b"))
	none[ReserveTrunk](d)
	d.give(&Renew{})
	one[Demand](d)
}

// In any order of events: the seats used are those of calls and of dialouts in progress, each
// request ends once, and every grant is used or given back.
func TestADialoutNeverOverDials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &admission{t: t, s: New(), now: t0}
		d.give(&BotsChanged{[]engine.Bot{{ID: "bot", Active: true}}})
		seats := rapid.IntRange(0, 3).Draw(t, "seats")
		answers, begun, trunks := map[engine.Request]int{}, map[engine.AttemptID]bool{}, map[engine.AttemptID]int{}
		var asked, leased []engine.AttemptID
		placed := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch k := rapid.IntRange(0, 6).Draw(t, "step"); {
			case k == 0:
				placed++
				d.give(place(fmt.Sprintf("%032x", placed)))
			case k == 1 && d.s.Seats["bot"] != nil:
				d.seats(min(seats, d.s.Seats["bot"].Used+len(d.s.Seats["bot"].Queue)))
			case k == 2 && len(asked) > 0:
				id := asked[0]
				asked = asked[1:]
				r := &call.TrunkReserved{Attempt: id, Leg: id.Leg(1), Constraint: engine.ConstraintTrunkChannels}
				if rapid.Bool().Draw(t, "trunk") {
					r.Trunk = "trunk"
					trunks[id]++
				}
				d.give(r)
			case k == 3 && len(leased) > 0:
				id := leased[0]
				leased = leased[1:]
				d.give(&NumberLeased{Attempt: id, Number: "+4930111111"})
			case k == 4 && len(begun) > 0:
				for id := range begun {
					delete(begun, id)
					trunks[id]--
					d.give(&Over{id})
					break
				}
			case k == 5 && placed > 0:
				late := rapid.IntRange(1, placed).Draw(t, "late")
				d.give(&TooLate{engine.AttemptID(fmt.Sprintf("%032x", late)), late})
			case k == 6:
				d.give(&Renew{})
			}
			for _, e := range d.out {
				switch e := e.(type) {
				case ReserveTrunk:
					asked = append(asked, e.Attempt)
				case LeaseNumber:
					leased = append(leased, e.Attempt)
				case ReleaseTrunk:
					id, _, _ := e.Leg.Attempt()
					trunks[id]--
				case Refuse:
					answers[e.Request]++
				case Begin:
					begun[e.Place.Attempt] = true
					answers[e.Place.Request]++
				}
			}
			d.out = nil
			used := 0
			if s := d.s.Seats["bot"]; s != nil {
				used = s.Used
			}
			seated := len(d.s.Seated)
			for _, w := range d.s.Wants {
				if w.Seated {
					seated++
				}
			}
			if used != seated || used > seats {
				t.Fatalf("%d seats used, %d calls and dialouts have one, of %d", used, seated, seats)
			}
			for who, n := range answers {
				if n > 1 {
					t.Fatalf("%s has %d ends", who, n)
				}
			}
		}
		for id, n := range trunks {
			_, wants := d.s.Wants[id]
			if n > 0 && !begun[id] && !wants && !slices.Contains(leased, id) {
				t.Fatalf("the channel of %s was not given back", id)
			}
		}
	})
}

func TestABotThatNobodyHasHeardTakesTheSessionBeforeAnybodyIsCalled(t *testing.T) {
	bot := engine.Bot{ID: "bot", Active: true, Endpoints: []string{"ws://a"}, AuthToken: "t",
		Headers: []engine.HTTPHeader{{Name: "A", Value: "b"}}}
	gathered := func(bot engine.Bot, unheard bool) *admission {
		d := open(t)
		d.unheard = unheard
		d.give(&BotsChanged{[]engine.Bot{bot}})
		d.give(place("a"))
		d.seats(1)
		d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk"})
		d.give(&NumberLeased{Attempt: "a", Number: "+4930111111"})
		return d
	}
	d := gathered(bot, true)
	none[Begin](d)
	if o := one[OpenSocket](d).Open; o.Socket != "dialout/a/1" || o.AuthToken != "t" || len(o.Headers) != 1 ||
		o.Endpoints[0] != "ws://a" || o.Timeout == 0 || o.Limit == 0 {
		t.Fatalf("%+v", o)
	}
	d.give(&engine.SocketEvent{Socket: "dialout/a/1", Stands: true, Endpoint: "ws://b",
		Missed: []engine.EndpointMiss{{Endpoint: "ws://a", Reason: "refused"}}})
	if m := one[*call.BotTried](d); m.Reached != "ws://b" || len(m.Missed) != 1 || m.Missed[0].Endpoint != "ws://a" {
		t.Errorf("the fleet is told %+v", m)
	}
	if b := one[Begin](d); b.Place.Socket != "dialout/a/1" || b.Place.From != "+4930111111" || b.Bot.ID != "bot" {
		t.Fatalf("%+v", b.Place)
	}
	d.give(&engine.SocketEvent{Socket: "dialout/a/1"}) // lost while the phone rings
	if len(d.out) != 0 {
		t.Errorf("%+v", d.out)
	}
	d.give(&Over{"a"})
	if c := one[CloseSocket](d); c.Socket != "dialout/a/1" || len(d.s.Sockets) > 0 {
		t.Errorf("%+v", c)
	}

	// It takes none: nobody is called, everything is given back, and the fleet is told.
	back := func(d *admission, why string) {
		t.Helper()
		d.refused("bot_unavailable")
		if m := one[*call.BotTried](d); m.Reached != "" || len(m.Missed) != 1 || m.Missed[0].Reason != why {
			t.Errorf("the fleet is told %+v", m)
		}
		if n := one[ReleaseNumber](d); !n.End.NotDialled || n.Number != "+4930111111" {
			t.Errorf("%+v", n)
		}
		one[ReleaseTrunk](d)
		if d.s.Seats["bot"].Used != 0 || len(d.s.Wants)+len(d.s.Seated)+len(d.s.Sockets) != 0 {
			t.Errorf("it holds %+v", d.s)
		}
	}
	d = gathered(bot, true)
	d.give(&engine.SocketEvent{Socket: "dialout/a/1", Reason: "the bot answered HTTP 403",
		Missed: []engine.EndpointMiss{{Endpoint: "ws://a", Reason: "the bot answered HTTP 403"}}})
	back(d, "the bot answered HTTP 403")
	none[CloseSocket](d)
	d = gathered(bot, true)
	d.now = d.now.Add(attempt.BridgeBudget)
	d.give(&TooLate{"a", 1})
	one[CloseSocket](d)
	back(d, "the bot did not answer in time")
	d.give(&engine.SocketEvent{Socket: "dialout/a/1", Stands: true})
	if len(d.out) != 0 {
		t.Errorf("what comes too late leads to %+v", d.out)
	}

	// Its socket was asked for late: that says nothing of the bot.
	d = gathered(bot, true)
	d.now = d.now.Add(attempt.BridgeBudget - time.Millisecond)
	d.give(&TooLate{"a", 1})
	d.refused("no_capacity")
	none[*call.BotTried](d)

	// That its process is well says nothing of sessions.
	healthy := bot
	healthy.HealthURL = "/up"
	one[OpenSocket](gathered(healthy, true))

	// Whoever is heard, is asked by a session, or has no sockets, is called at once.
	one[Begin](gathered(bot, false))
	for _, change := range []func(*engine.Bot){
		func(b *engine.Bot) { b.Probe = engine.ProbeSession },
		func(b *engine.Bot) { b.Endpoints = []string{"sip:bot@a"} },
	} {
		sure := bot
		change(&sure)
		one[Begin](gathered(sure, true))
	}
}
