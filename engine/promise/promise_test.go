package promise

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/window"
)

var start = time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)

const (
	anna, ben        engine.PhoneNumber = "+4915112345678", "+4915112345679"
	ours             engine.PhoneNumber = "+493012345601"
	camp             engine.CampaignID  = "cmp_1"
	att              engine.AttemptID   = "00000000000000000000000000000001"
	att2             engine.AttemptID   = "00000000000000000000000000000002"
	leg, legB, again engine.LegID       = engine.LegID(att + ".1"), engine.LegID(att2 + ".1"), engine.LegID(att + ".2")
)

// in places a fact at a time after the start.
func in(d time.Duration, f Fact) Timed { return Timed{start.Add(d), f} }

// judged returns the promises that the facts break.
func judged(j *Judge, facts ...Timed) (wrong []string) {
	j.told = func(b Broken) { wrong = append(wrong, b.What) }
	for _, f := range facts {
		j.Hear(f.At, f.Fact)
	}
	return wrong
}

// breaks checks that the facts break exactly one promise; keeps, that they break none.
func breaks(t *testing.T, what string, facts ...Timed) {
	t.Helper()
	if wrong := judged(NewJudge(nil), facts...); len(wrong) != 1 || !strings.Contains(wrong[0], what) {
		t.Errorf("want %q, got %q", what, wrong)
	}
}

func keeps(t *testing.T, facts ...Timed) {
	t.Helper()
	if wrong := judged(NewJudge(nil), facts...); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
}

// row is a campaign that runs all day.
func row(change func(*campaign.Campaign)) Stands {
	c := campaign.Campaign{ID: camp, State: campaign.Running, Run: 1, CreatedAt: start, Settings: campaign.Defaults()}
	c.Settings.Window, c.Settings.MaxAttempts = window.Window{Zone: "UTC"}, 2
	c.Settings.Concurrency = 10
	if change != nil {
		change(&c)
	}
	return Stands{&c}
}

func begun(id engine.AttemptID, to engine.PhoneNumber, d time.Duration) Timed {
	return in(d, Begun{Campaign: camp, Contact: engine.ContactID("of " + to), Attempt: id, Run: 1, To: to,
		Reserved: start.Add(d)})
}

// dialled is a whole dial at one time: the intent, and its INVITE.
func dialled(id engine.AttemptID, to engine.PhoneNumber, d time.Duration) []Timed {
	l := engine.LegID(id + ".1")
	return []Timed{begun(id, to, d), in(d, LegStored{Leg: l}), in(d, invite(l, to))}
}

func invite(l engine.LegID, to engine.PhoneNumber) Invited {
	return Invited{Campaign: camp, Leg: l, Trunk: "trunk", From: ours, To: to}
}

func arrived(l engine.LegID, to engine.PhoneNumber) Arrived {
	return Arrived{Leg: l, Trunk: "trunk", From: ours, To: to}
}

func ended(id engine.AttemptID) Ended {
	return Ended{Attempt: id, Outcome: engine.OutcomeNoAnswer, Consumed: true}
}

func all(lists ...any) (facts []Timed) {
	for _, l := range lists {
		switch l := l.(type) {
		case Timed:
			facts = append(facts, l)
		case []Timed:
			facts = append(facts, l...)
		}
	}
	return facts
}

func TestNoNumberHasTwoCallsAtOnce(t *testing.T) {
	breaks(t, "two calls with", in(0, arrived(leg, anna)), in(1, arrived(legB, anna)))
	breaks(t, "two calls with", in(0, CameIn{leg, anna}), in(1, arrived(legB, anna)))
	breaks(t, "two calls with", in(0, arrived(legB, anna)), in(1, CameIn{leg, anna}))
	keeps(t, in(0, CameIn{leg, anna}), in(1, Over{leg}), in(1, arrived(legB, anna)))
	keeps(t, in(0, CameIn{leg, ""}), in(1, CameIn{legB, ""})) // withheld
	keeps(t, in(0, arrived(leg, anna)), in(1, Over{leg}), in(1, arrived(legB, anna)))
	keeps(t, in(0, arrived(leg, anna)), in(1, arrived(legB, ben)))
}

func TestACallThatCameInIsNoAttemptOfACampaign(t *testing.T) {
	came := Begun{Attempt: att, To: anna, Inbound: true}
	breaks(t, "was consumed", in(0, came), in(1, Ended{att, engine.OutcomeCompleted, true}))
	keeps(t, in(0, came), in(1, Ended{att, engine.OutcomeCompleted, false}))
	came.Campaign = camp
	breaks(t, "counts as a call to contact", in(0, came))
}

func TestNoContactHasTwoAttemptsThatLive(t *testing.T) {
	breaks(t, "two attempts of contact", begun(att, anna, 0), begun(att2, anna, 1))
	keeps(t, begun(att, anna, 0), begun(att, anna, 1), in(1, ended(att)), begun(att2, anna, 2))
	keeps(t, in(0, Begun{Attempt: att, To: anna}), in(0, Begun{Attempt: att2, To: anna})) // dialouts have no contact
}

func TestWhoIsExcludedIsNotDialledUntilSomebodyUndoesIt(t *testing.T) {
	d := dialled(att, anna, 9)
	out := func(asked, at time.Duration) Timed { return in(at, Excluded{camp, anna, start.Add(asked)}) }
	breaks(t, "is excluded and is dialled", all(out(1, 2), d)...)
	breaks(t, "is excluded and is dialled", all(in(0, Adding{camp, anna}), in(1, Added{camp, anna}), out(2, 3), d)...)
	keeps(t, all(d, out(8, 9))...)
	keeps(t, all(in(2, Excluded{"cmp_2", anna, start}), in(2, Excluded{camp, ben, start}), d)...)
	keeps(t, all(out(1, 2), in(3, Adding{camp, anna}), d)...)
	keeps(t, all(in(0, Adding{camp, anna}), out(1, 2), d)...) // is being added meanwhile
	keeps(
		t,
		all(in(0, Adding{camp, anna}), in(2, Added{camp, anna}), out(1, 3), d)...) // added after the request
}

func TestWhoIsSuppressedIsDialledByNobody(t *testing.T) {
	breaks(t, "is suppressed and is dialled", all(in(0, Suppressed{anna}), dialled(att, anna, 1))...)
	keeps(t, all(dialled(att, anna, 1), in(1, Suppressed{anna}))...)
	keeps(t, all(in(0, Suppressed{ben}), dialled(att, anna, 1))...)
}

func TestATrunkIsNotGivenMoreCallsASecondThanItsCap(t *testing.T) {
	caps, b := in(0, TrunkCaps{Trunk: "trunk", CPS: 1}), ben
	breaks(t, "2 INVITEs left through trunk within 1s, its cap is 1",
		all(caps, dialled(att, anna, 0), dialled(att2, b, time.Second-1))...)
	keeps(t, all(caps, dialled(att, anna, 0), dialled(att2, b, time.Second))...)
	caps.Fact = TrunkCaps{Trunk: "trunk", CPS: 1, Within: time.Minute}
	breaks(t, "within 1m0s", all(caps, dialled(att, anna, 0), dialled(att2, b, time.Second))...)
}

func TestOurNumbersKeepTheirCapsOfAnHourAndADay(t *testing.T) {
	caps := func(hour, day int) Timed {
		return in(0, NumberCaps{engine.NumberSettings{Number: ours, HourCap: hour, DayCap: day}})
	}
	two := func(d time.Duration) []Timed { return all(dialled(att, anna, 0), dialled(att2, ben, d)) }
	breaks(t, "2 times in an hour and 2 in a day", all(caps(1, 0), two(time.Hour-1))...)
	keeps(t, all(caps(1, 0), two(time.Hour))...)
	breaks(t, "1 times in an hour and 2 in a day", all(caps(0, 1), two(24*time.Hour-1))...)
	keeps(t, all(caps(0, 1), two(24*time.Hour))...)
	keeps(t, all(caps(2, 2), two(1))...)
	// A dial counts from the grant on.
	keeps(t, all(caps(1, 0), in(0, Lent{ours, att}), begun(att, anna, 0), in(0, LegStored{Leg: leg}),
		in(time.Hour, Lent{ours, att2}), begun(att2, ben, time.Hour), in(time.Hour, LegStored{Leg: legB}),
		in(time.Hour, invite(legB, ben)), in(time.Hour, invite(leg, anna)))...)
	// A further leg of an attempt is not another call.
	keeps(t, all(caps(1, 1), dialled(att, anna, 0), in(1, LegStored{Leg: again}), in(1, invite(again, anna)))...)
}

func TestATrunkHasNoMoreCallsThanChannels(t *testing.T) {
	caps := in(0, TrunkCaps{Trunk: "trunk", CPS: 9, Channels: 1})
	breaks(t, "trunk has 2 calls, its cap is 1", caps, in(1, arrived(leg, anna)), in(2, arrived(legB, ben)))
	keeps(t, caps, in(1, arrived(leg, anna)), in(2, Over{leg}), in(2, arrived(legB, ben)))
	keeps(t, caps, in(1, arrived(leg, anna)), in(2, OwnersGone{}), in(3, arrived(legB, ben)))
	breaks(t, "trunk has 2 calls", caps, in(1, OwnersGone{}), in(2, arrived(leg, anna)), in(3, arrived(legB, ben)))
}

func TestOurNumbersHaveNoMoreCallsAtOnceThanTheirCap(t *testing.T) {
	caps := in(0, NumberCaps{engine.NumberSettings{Number: ours, ConcurrentCap: 1}})
	breaks(t, "+49***01 has 2 calls, it may have 1", caps, in(1, arrived(leg, anna)), in(2, arrived(legB, ben)))
	keeps(t, caps, in(1, arrived(leg, anna)), in(2, Over{leg}), in(2, arrived(legB, ben)))
}

func TestTheBotHasNoMoreConversationsThanSeats(t *testing.T) {
	on := func(d time.Duration, s string) Timed { return in(d, BotOn{Conversation: s}) }
	breaks(t, "the bot has 2 conversations, it has 1 seats", in(0, BotSeats{1}), on(0, "a"), on(1, "b"))
	keeps(t, in(0, BotSeats{1}), on(0, "a"), in(1, BotOff{"a"}), on(1, "b"))
	// A line that was placed with a seat may still be answered when there are fewer seats.
	keeps(t, in(0, BotSeats{2}), on(0, "a"), in(1, BotSeats{1}), on(1+seatedFor, "b"))
	breaks(t, "the bot has 2", in(0, BotSeats{2}), on(0, "a"), in(1, BotSeats{1}), on(2+seatedFor, "b"))
	breaks(t, "the bot has 3", in(0, BotSeats{2}), on(0, "a"), in(1, BotSeats{1}), on(2, "b"), on(3, "c"))
}

func TestACampaignHasNoMoreConversationsThanItIsGranted(t *testing.T) {
	on := func(d time.Duration, c engine.CampaignID, s string) Timed {
		return in(d, BotOn{Campaign: c, Conversation: s})
	}
	g := in(0, Granted{camp, 1})
	breaks(t, "2 calls have a bot, 1 seats are granted", g, on(0, camp, "a"), on(1, camp, "b"))
	keeps(t, g, on(0, camp, "a"), on(1, "cmp_2", "b"))
	breaks(t, "1 calls have a bot, 0 seats are granted", in(0, Granted{camp, 0}), on(0, camp, "a"))
	keeps(t, g, on(0, camp, "a"), in(1, OwnersGone{}), in(1, Granted{camp, 1}), on(1, camp, "b"))
	breaks(t, "1 calls have a bot, 0 seats are granted", g, in(1, OwnersGone{}), on(1, camp, "b"))
}

func TestACampaignHasNoMoreConversationsThanItsConcurrency(t *testing.T) {
	of := func(n int) Stands { return row(func(c *campaign.Campaign) { c.Settings.Concurrency = n }) }
	talk := func(id engine.AttemptID) Timed { return in(9, BotOn{camp, id, string(id)}) }
	two := all(begun(att, anna, 2), begun(att2, ben, 2), talk(att), talk(att2))
	breaks(t, "2 calls have a bot, concurrency 1", all(in(0, of(1)), two)...)
	keeps(t, all(in(0, of(2)), two)...)
	keeps(t, all(in(0, of(2)), two[:2], in(3, of(1)), two[2:])...) // they began before
}

// answers are live answers, each of a different person.
func answers(from, n int, abandoned bool, cause engine.AbandonCause) (facts []Timed) {
	for i := from; i < from+n; i++ {
		id := engine.AttemptID(fmt.Sprintf("%032x", i+100))
		facts = append(facts, begun(id, engine.PhoneNumber(fmt.Sprintf("+49151%07d", i)), 0),
			in(time.Duration(i), LiveAnswer{id, abandoned, cause}))
	}
	return facts
}

func TestAbandonsAreNeverOverTheCap(t *testing.T) {
	served := func(n int) []Timed { return answers(0, n, false, "") }
	lost := answers(900, 1, true, engine.AbandonNoSeat)
	paced := func(mode string, ppm int) Timed {
		return in(0, row(func(c *campaign.Campaign) { c.Settings.PacingMode, c.Settings.AbandonCapPPM = mode, ppm }))
	}
	strict := paced(campaign.PacingStrict, 10_000)
	over := func(facts ...any) {
		t.Helper()
		if wrong := judged(NewJudge(nil), all(facts...)...); len(wrong) != 3 || // for the run, the day and the period
			!strings.Contains(wrong[0], "over the cap of") {
			t.Errorf("%q", wrong)
		}
	}
	over(strict, served(98), lost)
	keeps(t, all(strict, served(99), lost)...)
	keeps(t, all(strict, served(99), lost, lost)...) // it is one
	over(strict, served(99), lost, answers(901, 1, true, engine.AbandonNoSeat))
	over(strict, served(98), answers(900, 1, true, "")) // abandoned, whatever it was
	over(paced(campaign.PacingProgressive, 10_000), served(99), lost)
	keeps(t, all(paced(campaign.PacingHybrid, 10_000), served(1), lost)...)

	j := NewJudge(nil)
	if wrong := judged(j, in(0, Begun{Attempt: att, To: anna}), in(1, LiveAnswer{att, true, engine.AbandonNoSeat})); len(
		wrong) > 0 ||
		j.Peak.Abandons > 0 { // outside campaigns there is no cap
		t.Errorf("%q, %v", wrong, j.Peak)
	}
	j = NewJudge(nil)
	j.Excuses = []engine.AbandonCause{engine.AbandonCapacityLoss}
	if wrong := judged(j, all(strict, served(1), answers(900, 1, true, engine.AbandonCapacityLoss))...); len(
		wrong,
	) > 0 ||
		j.Peak.Abandons > 0 {
		t.Errorf("%q, %v", wrong, j.Peak)
	}
	if wrong := judged(j, all(answers(1, 1, false, ""), lost)...); len(wrong) != 0 || j.Peak.Abandons != 0 {
		t.Errorf("%q, %v", wrong, j.Peak) // it was counted before
	}
	j = NewJudge(nil)
	if wrong := judged(j, all(strict, served(1), lost)...); len(wrong) == 0 || j.Peak.Abandons != 0.5 {
		t.Errorf("%q, %v", wrong, j.Peak)
	}
}

func TestARunThatBeginsHasALedgerOfItsOwn(t *testing.T) {
	second := row(func(c *campaign.Campaign) { c.Run, c.Settings.AbandonCapPPM = 2, 10_000 })
	facts := all(
		in(0, row(func(c *campaign.Campaign) { c.Settings.AbandonCapPPM = 10_000 })),
		answers(0, 500, false, ""),
		in(501, second),
		in(501, Begun{Campaign: camp, Contact: "x", Attempt: att, Run: 2, To: anna, Reserved: start}),
		in(502, LiveAnswer{att, true, engine.AbandonNoSeat}),
	)
	breaks(t, "1 abandoned of 1 live answers since 2", facts...)
}

func TestLinesThatWereLostAreExcusedAndCount(t *testing.T) {
	strict := in(0, row(func(c *campaign.Campaign) { c.Settings.AbandonCapPPM = 10_000 }))
	dial, lost := begun(att, anna, 1), in(900, LiveAnswer{att, true, engine.AbandonCapacityLoss})
	keeps(t, all(strict, dial, in(2, Excused{att}), lost)...)
	for want, facts := range map[string][]Timed{
		"1 abandoned of 1 live answers": all(strict, dial, lost, in(901, Excused{att})),
		"2 abandoned of 101 live answers": all(strict, dial, in(2, Excused{att}), answers(3, 99, false, ""), lost,
			answers(950, 1, true, engine.AbandonNoSeat)),
	} {
		if wrong := judged(NewJudge(nil), facts...); len(wrong) == 0 || !strings.Contains(wrong[0], want) {
			t.Errorf("want %q, got %q", want, wrong)
		}
	}
}

func TestNobodyIsAbandonedTwiceForWantOfASeat(t *testing.T) {
	hybrid := in(0, row(func(c *campaign.Campaign) { c.Settings.PacingMode = campaign.PacingHybrid }))
	twice := func(apart time.Duration, cause engine.AbandonCause) []Timed {
		return all(hybrid, begun(att, anna, 0), in(0, LiveAnswer{att, true, engine.AbandonNoSeat}), in(1, ended(att)),
			begun(att2, anna, apart), in(apart+1, LiveAnswer{att2, true, cause}))
	}
	breaks(t, "was abandoned at", twice(71*time.Hour-1, engine.AbandonNoSeat)...)
	keeps(t, twice(72*time.Hour, engine.AbandonNoSeat)...)
	keeps(t, twice(time.Hour, engine.AbandonLateConnect)...)
}

func TestAnINVITELeavesAfterItsIntentIsDurable(t *testing.T) {
	const want = "an INVITE left before its intent was durable"
	breaks(t, want, in(0, invite(leg, anna)))
	breaks(t, want, begun(att, anna, 0), in(0, invite(leg, anna)))
	breaks(t, want, all(dialled(att, anna, 0), in(1, invite(again, anna)))...)
	keeps(t, all(dialled(att, anna, 0), in(1, LegStored{Leg: again}), in(1, invite(again, anna)))...)
	breaks(t, want, all(dialled(att, anna, 0), in(1, Forgotten{att}), in(2, invite(leg, anna)))...)
}

func TestAnACKLeavesAfterItsAnswerIsDurable(t *testing.T) {
	const want = "an ACK left before its answer was durable"
	breaks(t, want, all(dialled(att, anna, 0), in(1, Acknowledged{leg}))...)
	breaks(t, want, all(dialled(att, anna, 0), in(1, LegStored{Leg: leg, Answer: true}), in(2, Acknowledged{again}))...)
	breaks(t, want, in(1, Acknowledged{leg}))
	keeps(t, all(dialled(att, anna, 0), in(1, LegStored{Leg: leg, Answer: true}), in(2, Acknowledged{leg}),
		in(3, Acknowledged{leg}))...)
}

func TestEveryAttemptEndsOnceAndComesToSomething(t *testing.T) {
	breaks(t, "ended without an outcome", begun(att, anna, 0), in(1, Ended{Attempt: att}))
	keeps(t, begun(att, anna, 0), in(1, ended(att)), in(2, Ended{Attempt: att})) // later rows of it say nothing new
	end := func(facts ...Timed) (wrong []string) {
		j := NewJudge(nil)
		judged(j, facts...)
		j.told = func(b Broken) { wrong = append(wrong, b.What) }
		j.End()
		return wrong
	}
	if wrong := end(begun(att, anna, 0), begun(att2, ben, 0), in(1, ended(att2))); len(wrong) != 1 ||
		wrong[0] != "attempt "+string(att)+" began and never ended" {
		t.Errorf("%q", wrong)
	}
	if wrong := end(begun(att, anna, 0), in(1, ended(att))); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
	legs := all(dialled(att, anna, 0), in(1, LegStored{Leg: again}), in(2, LegStored{Leg: again, Over: true}),
		in(2, ended(att)))
	if wrong := end(legs...); len(wrong) != 1 || wrong[0] != "leg "+string(leg)+" has no end" {
		t.Errorf("%q", wrong)
	}
	if wrong := end(append(legs, in(3, LegStored{Leg: leg, Over: true}))...); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
}

func TestLegsOfLostAttemptsMayStillBeWatchedWhereThatIsSaid(t *testing.T) {
	for _, o := range []engine.Outcome{engine.OutcomeLost, engine.OutcomeNoAnswer} {
		for _, watched := range []bool{true, false} {
			j := NewJudge(nil)
			j.Watched = watched
			judged(j, all(dialled(att, anna, 0), in(1, Ended{Attempt: att, Outcome: o}))...)
			wrong := 0
			j.told = func(Broken) { wrong++ }
			if j.End(); wrong == 0 != (watched && o == engine.OutcomeLost) {
				t.Errorf("%s, watched %v: %d", o, watched, wrong)
			}
			judged(j, in(1, LiveAnswer{att, true, engine.AbandonCapacityLoss}))
			j.told = func(Broken) { wrong++ }
			if wrong = 0; watched {
				j.End()
			}
			if wrong > 0 {
				t.Errorf("%s by the loss of capacity", o)
			}
		}
	}
}

// consumed returns ended attempts of one contact.
func consumed(run, n int) (facts []Timed) {
	for i := range n {
		id := engine.AttemptID(fmt.Sprintf("%032x", 10*run+i+100))
		facts = append(
			facts,
			in(0, Begun{Campaign: camp, Contact: "of " + engine.ContactID(anna), Attempt: id, Run: run,
				To: anna, Reserved: start}),
			in(0, ended(id)),
		)
	}
	return facts
}

func TestNobodyIsCalledMoreOftenThanTheSettingsSay(t *testing.T) {
	stands, d := in(0, row(nil)), dialled(att, anna, 1) // two attempts, and one for a callback
	breaks(t, "has used 3 attempts of 2 and is dialled", all(stands, consumed(1, 3), d)...)
	keeps(t, all(stands, consumed(1, 2), d, in(2, ended(att)))...)
	breaks(t, "attempt 4 of contact", all(stands, consumed(1, 4))...)
	keeps(t, all(stands, consumed(1, 3), in(0, CalledFor{camp, anna}), d)...)
	keeps(t, all(stands, consumed(1, 3), in(0, Adding{camp, anna}), in(0, Added{camp, anna}), d)...)
	keeps(t, all(stands, consumed(1, 3), in(0, row(func(c *campaign.Campaign) { c.Settings.MaxAttempts = 3 })), d)...)
	// An edit takes no used attempts away.
	keeps(t, all(in(0, row(func(c *campaign.Campaign) { c.Settings.MaxAttempts = 4 })), stands, consumed(1, 4), d)...)
	keeps(
		t,
		all(in(0, row(func(c *campaign.Campaign) { c.Run = 2 })), consumed(1, 3), consumed(2, 2))...) // of each run
	second := dialled(att, anna, 1)
	second[0].Fact = Begun{Campaign: camp, Contact: "of " + engine.ContactID(anna), Attempt: att, Run: 2, To: anna,
		Reserved: start}
	keeps(t, all(in(0, row(func(c *campaign.Campaign) { c.Run = 2 })), consumed(1, 3), second)...)
}

func TestNobodyIsDialledForACampaignThatDoesNotRun(t *testing.T) {
	is := func(s campaign.State) Timed { return in(0, row(func(c *campaign.Campaign) { c.State = s })) }
	late, soon := dialled(att, anna, time.Second+1), dialled(att, anna, time.Second)
	for _, s := range []campaign.State{campaign.Draft, campaign.Completed, campaign.Failed} {
		breaks(t, "while the campaign is "+string(s), all(is(s), late)...)
		keeps(t, all(is(s), soon)...)
		keeps(t, all(is(s), in(1, row(nil)), late)...)
	}
	keeps(t, all(is(campaign.Paused), late)...) // a contact that was already reserved for may still be dialled
}

func TestNobodyIsReservedForOnceAPauseIsConfirmed(t *testing.T) {
	stands, pause := in(0, row(nil)), in(1, Paused{camp})
	breaks(t, "though the pause was confirmed", all(stands, pause, dialled(att, anna, 2))...)
	keeps(t, all(stands, dialled(att, anna, 1)[:2], pause, in(9, invite(leg, anna)))...)
	keeps(t, all(stands, pause, in(2, Starting{camp}), dialled(att, anna, 2))...)
	keeps(t, all(stands, in(0, Starting{camp}), pause, dialled(att, anna, 2))...) // it is being resumed
	breaks(t, "pause", all(stands, in(0, Starting{camp}), in(1, Started{camp}), pause, dialled(att, anna, 2))...)
	// Around a step of the clock it is unknown which time the reservation has.
	keeps(t, all(stands, begun(att, anna, 0), in(0, LegStored{Leg: leg}), pause, in(3, ClockStepped{-time.Hour}),
		in(4, invite(leg, anna)))...)
	back := in(10*time.Second, ClockStepped{-time.Minute})
	keeps(t, all(stands, pause, back, dialledBy(-time.Minute, 11*time.Second))...)
	breaks(t, "pause", all(stands, pause, back, dialledBy(-time.Minute, 11*time.Second+1))...)
	before := dialledBy(0, 9*time.Second)
	for i := range before { // reserved for before the step, durable after it
		before[i].At = start.Add(11 * time.Second)
	}
	keeps(t, all(stands, pause, back, before)...)
}

func TestNobodyIsDialledOutsideTheWindow(t *testing.T) {
	stands := in(0, row(func(c *campaign.Campaign) {
		c.Settings.Window = window.Window{Zone: "UTC", Start: 8 * 60, End: 10 * 60}
	}))
	breaks(t, "outside the window", all(stands, dialled(att, anna, time.Hour))...)
	keeps(t, all(stands, dialled(att, anna, time.Hour-1))...)
	breaks(t, "outside the window", all(stands, in(1, ClockStepped{time.Hour}), dialledBy(time.Hour, 2*time.Second))...)
	keeps(t, all(stands, in(2*time.Hour-1, ClockStepped{-2 * time.Hour}),
		dialledBy(-2*time.Hour, 2*time.Hour+2*time.Second))...)
	there := func(zone string, d time.Duration) []Timed {
		f := dialled(att, anna, d)
		i := invite(leg, anna)
		i.Home.Zones = []string{zone}
		f[2].Fact = i
		return f
	}
	zoned := in(0, row(func(c *campaign.Campaign) {
		c.Settings.Window = window.Window{Zone: "UTC", ContactZone: true, Start: 8 * 60, End: 10 * 60}
	}))
	breaks(t, "outside the window", all(zoned, there("Asia/Kolkata", 0))...)
	keeps(t, all(zoned, there("Europe/London", 0))...)
}

// dialledBy is dialled after a step of the wall clock.
func dialledBy(step, d time.Duration) []Timed {
	f := dialled(att, anna, d)
	b, _ := f[0].Fact.(Begun)
	b.Reserved = start.Add(d + step)
	f[0].Fact = b
	return f
}

func TestNobodyIsDialledAfterTheSingleDayWindow(t *testing.T) {
	end := start.Add(time.Hour)
	stands := in(0, row(func(c *campaign.Campaign) { c.WindowEndsAt = &end }))
	breaks(t, "after the single-day window", all(stands, dialled(att, anna, time.Hour))...)
	keeps(t, all(stands, dialled(att, anna, time.Hour-1))...)
}

func TestAnEpochHasOneOwnerAndNobodyActsInAnEarlierOne(t *testing.T) {
	act := func(d time.Duration, of string, n int64, by string) Timed { return in(d, Acted{of, n, by}) }
	keeps(t, act(1, "x", 1, "a"), act(2, "x", 1, "a"), act(3, "x", 2, "b"), act(4, "y", 1, "b"))
	breaks(t, "x: a acted in epoch 1 after b had in epoch 2", act(1, "x", 1, "a"), act(2, "x", 2, "b"),
		act(3, "x", 1, "a"))
	breaks(t, "x: epoch 1 is of a and of b", act(1, "x", 1, "a"), act(2, "x", 1, "b"), act(3, "x", 1, "a"))
}

func TestBooksThatDifferOrDoNotAddUpAreWrong(t *testing.T) {
	c := campaign.Counters{Total: 2, States: map[contact.State]int{contact.Pending: 1, contact.Completed: 1}}
	if wrong := Books("a", c, "b", c); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
	d := c
	d.Total = 3
	if wrong := Books("a", d, "b", c); len(wrong) != 1 || wrong[0] != "total: a 3, b 2" {
		t.Errorf("%q", wrong)
	}
	if wrong := Sums(d); len(wrong) != 1 || wrong[0] != "Total is 3, the states of the contacts add up to 2" {
		t.Errorf("%q", wrong)
	}
	if wrong := Sums(c); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
}

func TestACampaignIsDoneWhenItIsCompletedAndEverybodyIsFinal(t *testing.T) {
	of := func(s contact.State) campaign.Counters {
		return campaign.Counters{Total: 1, States: map[contact.State]int{s: 1}}
	}
	for _, s := range contact.States {
		open := s == contact.Pending || s == contact.Waiting || s == contact.Connected
		if wrong := Done(campaign.Completed, of(s)); len(wrong) != 0 != open {
			t.Errorf("%s: %q", s, wrong)
		}
	}
	if wrong := Done(campaign.Running, of(contact.Completed)); len(wrong) != 1 ||
		wrong[0] != "the campaign is running" {
		t.Errorf("%q", wrong)
	}
	if wrong := Done(campaign.Completed, campaign.Counters{Total: 1}); len(wrong) != 1 {
		t.Errorf("a contact is missing: %q", wrong)
	}
}

func TestARecordIsHeardInTheOrderOfTimeAndWhatEndsFirst(t *testing.T) {
	var r Record
	r.Add(start.Add(2), arrived(legB, anna))
	r.Add(start.Add(2), Over{leg})
	r.Add(start, arrived(leg, anna))
	j := NewJudge(func(b Broken) { t.Error(b) })
	r.Tell(j)
	if j.Peak.Channels != 1 {
		t.Errorf("%+v", j.Peak)
	}
}

func TestThePeakOfAbandonsIsThatOfAnyMoment(t *testing.T) {
	at := func(d time.Duration) *time.Time { x := start.Add(d); return &x }
	id := func(n int) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("%032x", n)) }
	lost := attempt.Attempt{ID: id(2), Campaign: camp, ReservedAt: at(0), State: attempt.Ended, EndedAt: at(4),
		Outcome: engine.OutcomeAbandoned, Cause: engine.AbandonLateConnect}
	rows := []attempt.Attempt{lost}
	for i := range 3 {
		rows = append(rows, attempt.Attempt{ID: id(10 + i), Campaign: camp, ReservedAt: at(0), State: attempt.Ended,
			ServedAt: at(time.Duration(3 * i)), EndedAt: at(9), Outcome: engine.OutcomeCallerHungUp})
	}
	if peak := PeakAbandons(rows); peak != 1./3 {
		t.Errorf("%v of two served and one abandoned", peak)
	}
	if peak := PeakAbandons(rows, engine.AbandonLateConnect); peak != 0 {
		t.Errorf("%v, though it is excused", peak)
	}
}

func TestARowSaysWhatItsAttemptCameTo(t *testing.T) {
	at := func(d time.Duration) *time.Time { x := start.Add(d); return &x }
	a := attempt.Attempt{ID: att, Campaign: camp, Contact: "x", Run: 1, To: anna, ReservedAt: at(0),
		Legs: []attempt.Leg{{ID: leg, Dialog: &engine.DialogState{}}}}
	f := func(want string) {
		t.Helper()
		var s []string
		for _, x := range Of(nil, &a)[2:] { // after the intent and its leg
			s = append(s, fmt.Sprintf("%s %T%+v", x.At.Sub(start), x.Fact, x.Fact))
		}
		if got := strings.Join(s, "; "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if b := Of(nil, &a); b[0].Fact != (Begun{camp, "x", att, 1, anna, start, false}) ||
		b[1].Fact != (LegStored{Leg: leg, Answer: true}) {
		t.Errorf("%+v", b)
	}
	f("")
	a.ServedAt, a.RevisableUntil = at(1), at(9)
	f("") // a beep may take it back
	a.RevisableUntil = nil
	f("1ns promise.LiveAnswer{Attempt:" + string(att) + " Abandoned:false Cause:}")
	a.ServedAt, a.Ending = nil, &attempt.Ending{
		Outcome: engine.OutcomeAbandoned,
		Cause:   engine.AbandonNoSeat,
		At:      *at(2),
	}
	abandoned := "2ns promise.LiveAnswer{Attempt:" + string(att) + " Abandoned:true Cause:no_seat}"
	f(abandoned)
	a.State, a.Outcome, a.Cause, a.EndedAt = attempt.Ended, engine.OutcomeAbandoned, engine.AbandonNoSeat, at(5)
	f(abandoned + "; 5ns promise.Ended{Attempt:" + string(att) + " Outcome:abandoned Consumed:false}")
	a.Outcome, a.Cause = engine.OutcomeLost, "" // the process that should have ended it was lost
	f("5ns promise.Ended{Attempt:" + string(att) + " Outcome:lost Consumed:false}")
	a.Ending, a.Outcome, a.ServedAt, a.RevisableUntil = nil, engine.OutcomeCallerHungUp, at(1), at(9)
	f("1ns promise.LiveAnswer{Attempt:" + string(att) + " Abandoned:false Cause:}; 5ns promise.Ended{Attempt:" +
		string(att) + " Outcome:" + string(a.Outcome) + " Consumed:false}")
}
