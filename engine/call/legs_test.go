package call

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
)

// live is a stored attempt that rings, or one with a conversation.
func live(t *testing.T, conversation bool) attempt.Attempt {
	t.Helper()
	r := up(t, nil, nil)
	r.dialled(first)
	if conversation {
		r.conversation()
	} else {
		r.apply(r.leg(1, engine.LegProvisional, code(180)))
	}
	return r.call.snapshot()
}

// recovered starts a contact with the attempt of an earlier owner.
func recovered(t *testing.T, at attempt.Attempt, known int, rows ...func(*contact.Contact)) *rig {
	t.Helper()
	r := newRig(t)
	r.known = known
	r.contact = NewContact(rowOf(func(c *contact.Contact) {
		c.Attempt, c.DueAt = at.ID, nil
		for _, f := range rows {
			f(c)
		}
	}), rulesOf(nil), limits, nil)
	r.call = &r.contact.Call
	for _, l := range at.Legs {
		r.seq[l.ID] = l.Seq
	}
	r.media = at.MediaSeq
	r.apply(&Started{Lost: &at})
	return r
}

func TestACallGoesOnUnderANewOwner(t *testing.T) {
	r := recovered(t, live(t, true), 1)
	r.want("up", "own a", "count recovered", "attach legs of a", "confirm a.1", "arm call 15m0s",
		"reported a served seated")
	r.on(&Reattached{Attempt: second, Seated: true})
	r.on(&Reattached{Attempt: first, Seated: true}, "attach media of a")
	r.apply(r.leg(1, engine.LegHungUp))
	if !r.has("closemedia") || !r.has("write 1 attempt.ended") { // the media path exists, whoever opened it
		t.Errorf("%v", r.log)
	}
}

// The far leg that the earlier owner had joined is confirmed again, which is harmless.
func TestAConversationWithASIPBotGoesOnUnderANewOwner(t *testing.T) {
	at := live(t, true)
	answered := start
	at.Peers = []attempt.Peer{{Leg: attempt.Leg{ID: first.Leg(2), SentAt: &answered, Dialog: &engine.DialogState{}},
		Kind:  attempt.PeerBot,
		State: attempt.PeerUp, URI: "sip:bot@a"}}
	r := recovered(t, at, 2)
	if !r.has("confirm a.1") || !r.has("confirm a.2") {
		t.Errorf("%v", r.log)
	}
	at.Ending = &attempt.Ending{Outcome: engine.OutcomeCompleted, At: start}
	if r = recovered(t, at, 2); r.has("confirm") {
		t.Errorf("it is being ended: %v", r.log)
	}
}

func TestASeatThatTheRunKeptIsGivenAgain(t *testing.T) {
	at := live(t, false)
	r := recovered(t, at, 1)
	r.want("up", "own a", "count recovered", "attach legs of a", "arm ring 30s", "reported a ringing")
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(1)
	r.clear()
	r.on(&Reattached{Attempt: first, Seated: true}, "attach bot", "attach media of a")
}

// Without legs the call is lost: whatever may still ring is ended, and watched to its end.
func TestACallWhoseLegsAreGoneIsLost(t *testing.T) {
	at := live(t, false)
	r := recovered(t, at, 0)
	r.want("up", "own a", "count recovered", "attach legs of a", "recover leg a.1", "trunk trunk a.1 over",
		"closemedia", "release number of a", "line of a over", "over",
		"write 1 attempt.ended +contact +owed")
	w := r.write()
	if h := w.Holds[0]; !h.Until.Equal(w.Attempts[0].HoldBound(&r.call.Machine.Config)) ||
		w.Attempts[0].Outcome != engine.OutcomeLost {
		t.Errorf("%+v %s", h, w.Attempts[0].Outcome)
	}
	if l := last[*RecoverLeg](r).Leg; l.Attempt != first || l.Node != 7 || l.From != caller || l.To != callee ||
		l.GiveUp != 65*time.Second || l.Trunk != "trunk" {
		t.Errorf("%+v", l)
	}
	r.on(&Durable{Step: 1}) // its legs are watched: nothing is forgotten, and the contact is busy
	r.on(r.leg(1, engine.LegProvisional, code(180)))
	r.on(r.leg(1, engine.LegClosed, proven(engine.ProofBye)), "write 2 leg.closed +free")
	if d := r.write().Events[0].Data; d.Leg != first.Leg(1) || d.Proof != engine.ProofBye {
		t.Errorf("%+v", d)
	}
	r.on(&Durable{Step: 2}, "forget legs of a", "idle")
}

// The hold ends with a proof, otherwise at its bound.
func TestAHoldEndsWithAProof(t *testing.T) {
	r := recovered(t, live(t, false), 0)
	r.durable(1)
	r.clear()
	r.on(r.leg(1, engine.LegClosed), "write 2 leg.closed")
	r.on(&Durable{Step: 2}, "forget legs of a", "idle")
}

// A lost conversation ends with its session, which nobody refreshes. Watching its leg, before or
// after a restart, does not change that.
func TestTheHoldOfALostConversationEndsWithItsSession(t *testing.T) {
	const end = 10*time.Minute + attempt.HoldMargin
	f := func(sec uint32, want time.Duration) attempt.Attempt {
		t.Helper()
		at := live(t, true)
		at.Legs[0].Dialog.SessionSec = sec
		r := recovered(t, at, 0)
		w := r.write()
		h := w.Holds[0]
		if !h.Owed || !h.Until.Equal(w.Attempts[0].HoldBound(&r.call.Machine.Config)) {
			t.Errorf("%+v", h)
		}
		if want == 0 && !h.SessionEnd.IsZero() || want != 0 && !h.SessionEnd.Equal(r.now.Add(want)) {
			t.Errorf("%d s: %+v, want the end in %s", sec, h, want)
		}
		r.durable(1)
		r.clear()
		return r.call.snapshot()
	}
	f(0, 0)
	at := f(600, end)
	later := newRig(t)
	later.contact = NewContact(rowOf(nil), rulesOf(nil), limits, nil)
	later.call = &later.contact.Call
	later.seq[first.Leg(1)] = at.Legs[0].Seq
	later.apply(&Started{Lost: &at})
	later.want("up", "own a", "recover leg a.1")
	later.on(later.leg(1, engine.LegClosed), "write 1 leg.closed") // its hold is unchanged
}

// The session length set by a refresh counts, once it is recorded.
func TestTheHoldOfALostConversationEndsWithTheSessionThatIsInForce(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.on(r.leg(1, engine.LegSession, func(e *engine.LegEvent) { e.Dialog = &engine.DialogState{SessionSec: 900} }),
		"write 4 leg.added")
	if d := r.write().Attempts[0].Legs[0].Dialog; d.SessionSec != 900 {
		t.Errorf("%+v", d)
	}
	r.apply(&LegsGone{Attempt: first})
	if h := r.write().Holds[0]; !h.SessionEnd.Equal(r.now.Add(15*time.Minute + attempt.HoldMargin)) {
		t.Errorf("%+v", h)
	}
}

// The same holds when the far side does not receive our BYE: the session is no longer refreshed.
func TestTheHoldOfACallThatNobodyHearsUsEndEndsWithItsSession(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.apply(r.leg(1, engine.LegSession, func(e *engine.LegEvent) { e.Dialog = &engine.DialogState{SessionSec: 900} }))
	r.apply(r.leg(1, engine.LegClosed))
	if h := r.write().Holds[0]; !h.Owed || !h.SessionEnd.Equal(r.now.Add(15*time.Minute+attempt.HoldMargin)) {
		t.Errorf("%+v", h)
	}
}

// Where several nodes use a trunk and a number, a leg that may still be up keeps them in use.
func TestALostLegKeepsItsTrunkAndNumberWhereTheyAreShared(t *testing.T) {
	r := newRig(t)
	at := live(t, false)
	r.p.shared = true
	r.contact = NewContact(rowOf(func(c *contact.Contact) { c.Attempt, c.DueAt = first, nil }), rulesOf(nil), limits,
		nil)
	r.call = &r.contact.Call
	r.seq[first.Leg(1)] = at.Legs[0].Seq
	r.apply(&Started{Lost: &at})
	r.want("up", "own a", "count recovered", "attach legs of a", "recover leg a.1", "trunk trunk a.1", "closemedia",
		"line of a over", "over",
		"write 1 attempt.ended +contact +owed")
	r.on(r.leg(1, engine.LegRefused, code(487)), "release number of a", "write 2 leg.closed +free")

	// A leg that ends normally gives both back.
	r = up(t, nil, nil)
	r.p.shared = true
	r.talking(first)
	r.on(r.leg(1, engine.LegHungUp), "trunk trunk a.1 over", "closemedia", "release number of a answered",
		"line of a over", "over", "arm linger 3s",
		"write 4 attempt.ended +contact +free")
}

// An attempt closed by an earlier owner has legs that are watched further.
func TestLegsOfACallThatHasEndedAreWatchedOn(t *testing.T) {
	for _, shared := range []bool{false, true} {
		lost := recovered(t, live(t, false), 0)
		at := lost.call.snapshot()
		r := newRig(t)
		r.p.shared = shared
		r.contact = NewContact(rowOf(nil), rulesOf(nil), limits, nil)
		r.call = &r.contact.Call
		r.seq[first.Leg(1)] = at.Legs[0].Seq
		r.apply(&Started{Lost: &at})
		r.want("up", "own a", "recover leg a.1")
		want := []string{"write 1 leg.closed +free"}
		if shared {
			want = append([]string{"release number of a"}, want...)
		}
		r.on(r.leg(1, engine.LegHungUp), want...)
		r.on(&Durable{Step: 1}, "forget legs of a", "idle")
	}
}

func TestTheNodeWithTheLegsIsGone(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.on(&LegsGone{Attempt: second})
	r.apply(&LegsGone{Attempt: first})
	if !r.has("recover leg a.1") || !r.has("write 4 attempt.ended") ||
		r.write().Attempts[0].Outcome != engine.OutcomeLost {
		t.Errorf("%v %s", r.log, r.write().Attempts[0].Outcome)
	}
	r.clear()
	r.on(&LegsGone{Attempt: first}, "recover leg a.1") // watched from here, once
	if r.call.Watching != 1 {
		t.Errorf("%d legs are watched", r.call.Watching)
	}
	r.apply(r.leg(1, engine.LegHungUp))
	r.apply(&Durable{Step: 5})
	r.clear()
	r.on(&LegsGone{Attempt: first}, "idle")
	if r.call.Machine.Owed() {
		t.Error("all of it was proven to be over")
	}
	r.on(&LegsGone{}, "idle")
	r.on(r.leg(1, engine.LegClosed), "idle") // nothing is watched any more
}

// The node that was to carry the call is lost before its intent is durable.
func TestNoInviteLeavesOfACallThatIsLost(t *testing.T) {
	r := up(t, nil, nil)
	r.apply(dialOf(first))
	r.apply(&LegsGone{Attempt: first})
	r.clear()
	r.on(&Durable{Step: 1})
	if r.call.Live() || len(r.call.Gated) > 0 {
		t.Errorf("%+v", r.call.Gated)
	}
}

// --- a crash --------------------------------------------------------------------------

func restarted(t *testing.T, stash ...any) *rig {
	t.Helper()
	r := newRig(t)
	r.contact = NewContact(rowOf(nil), rulesOf(nil), limits, stash)
	r.call = &r.contact.Call
	r.on(&Restarted{}, "load contact")
	return r
}

func TestAContactLoadsWhatIsDurableAfterACrash(t *testing.T) {
	r := restarted(t, &Exclude{Op: 4})
	r.on(&Exclude{Op: 5}) // waits
	r.on(&Stop{})
	r.on(&ContactLoaded{Err: errAway}, "arm load 1s")
	r.on(&TimerFired{Timer: TimerLoad}, "load contact")
	row := rowOf(func(c *contact.Contact) { c.Used, c.Version = 1, 7 })
	r.on(&ContactLoaded{Row: row}, "reported - ", "write 1001 contact.excluded +contact", "excluded 5", "not idle")
	if c := r.write().Contacts[0]; c.Used != 1 || c.Version != 8 {
		t.Errorf("%+v", c)
	}
	r.on(&Durable{Step: 1001}, "excluded 4 new", "idle")
}

func TestAContactThatIsNotStoredGoesOnAfterACrash(t *testing.T) {
	r := restarted(t)
	r.on(&ContactLoaded{Err: ErrContactNotFound}, "reported - ", "idle")
	if r.contact.Machine.C.Number != callee {
		t.Error("its row is gone")
	}
}

func TestACallOutlivesTheCrashOfItsContact(t *testing.T) {
	at := live(t, true)
	row := rowOf(func(c *contact.Contact) { c.Attempt, c.DueAt = first, nil })
	for known := range 2 {
		r := restarted(t, &Show{Attempt: first, Request: someone})
		r.known = known
		r.apply(&ContactLoaded{Row: row, Attempt: &at})
		lost := r.has("write 1001 attempt.ended")
		if lost != (known == 0) || r.has("reported a served seated") == lost {
			t.Errorf("%d legs are known: %v", known, r.log)
		}
		if lost && r.write().Attempts[0].Outcome != engine.OutcomeSystemError { // the process lived on
			t.Errorf("%s", r.write().Attempts[0].Outcome)
		}
		if answered := r.has("answer someone connected"); answered == lost {
			t.Errorf("%v", r.log)
		}
	}
	over := ended(t, first)
	r := restarted(t)
	r.on(&ContactLoaded{Row: rowOf(nil), Attempt: &over}, "reported - ", "idle")
}

func TestAnExclusionFindsTheCallAfterTheCrash(t *testing.T) {
	r := recovered(t, live(t, false), 1, func(c *contact.Contact) { c.State = contact.Excluded })
	r.want("up", "own a", "count recovered", "attach legs of a", "arm ring 30s", "reported a ringing",
		"line of a released", "cancel a.1")
	r = recovered(t, live(t, true), 1, func(c *contact.Contact) { c.State = contact.Excluded })
	if r.has("hang up") {
		t.Errorf("a conversation is left alone: %v", r.log)
	}
}

// An INVITE that has not left when its owner restarts never will.
func TestARestartedOwnerPlacesNoLateInvite(t *testing.T) {
	r := recovered(t, live(t, false), 1)
	if r.call.SendBy != 0 {
		t.Errorf("send by %d", r.call.SendBy)
	}
}

// --- far legs -------------------------------------------------------------------------

func sipBot(rl *Rules) { rl.Bot.Endpoints = []string{"sip:bot@a", "sip:bot@b"} }

func TestABotThatIsReachedBySIP(t *testing.T) {
	r := up(t, func(c *contact.Contact) {
		c.Variables = map[string]string{"note": strings.Repeat("v", engine.VariableHeaderCap+1), "call-id": "mine"}
	}, sipBot)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.clear()
	r.p.endpoints = []string{"sip:bot@b", "sip:bot@a"} // the current order
	r.apply(&SeatGranted{Attempt: first})
	for _, step := range []int{3, 4} {
		if len(r.call.Pending) > 0 {
			r.apply(&Durable{Step: step})
		}
	}
	place := last[*PlaceLeg](r)
	l := place.Leg
	if l.URI != "sip:bot@b" || !place.Peer || l.Password != "secret" || string(l.Offer) != "peer offer" ||
		l.From != callee || l.SendBy == 0 ||
		l.RingTimeout <= 0 || l.RingTimeout > attempt.BridgeBudget {
		t.Errorf("%+v", l)
	}
	if h := fmt.Sprint(l.Headers); len(l.Headers) == 0 || strings.Contains(h, "mine") || strings.Contains(h, "vvv") {
		t.Errorf("the bot is told nothing, or what it must not be: %s", h)
	}
	if n := r.call.Machine.A.VariablesLeftOut; n != 1 {
		t.Errorf("%d variables were left out, want 1", n)
	}
	if r.has("count leg_placed") {
		t.Error("a far leg is no leg to a callee")
	}
	r.clear()
	r.apply(r.leg(2, engine.LegRefused, code(486)))
	if !r.has("bot tried missed sip:bot@b: it answered SIP 486") {
		t.Errorf("%v", r.log)
	}
	r.apply(&Durable{Step: r.call.Step})
	r.apply(r.leg(3, engine.LegSent))
	r.apply(r.leg(3, engine.LegAnswered, answered))
	r.apply(&Durable{Step: r.call.Step})
	if !r.has("joinpeer") || r.has("confirm a.3") {
		t.Fatalf("%v", r.log)
	}
	r.clear()
	r.on(&PeerJoined{Attempt: second, Leg: first.Leg(3)})
	r.apply(&PeerJoined{Attempt: first, Leg: first.Leg(3)})
	if !r.has("bot tried sip:bot@a") || !r.has("line of a served") || r.call.Reaching.Asked {
		t.Errorf("%v", r.log)
	}
	r.durable(r.call.Step)
	if !r.has("confirm a.3") {
		t.Errorf("%v", r.log)
	}
	r.clear()
	// The callee hangs up: the bot's leg is ended and watched, and its number is held meanwhile.
	r.apply(r.leg(1, engine.LegHungUp))
	if !r.has("hang up a.3") || r.call.Watching != 1 || r.write().Holds[0].Until != r.now.Add(65*time.Second) ||
		r.write().Holds[0].Owed {
		t.Errorf("%v %+v", r.log, r.write().Holds)
	}
	r.apply(&Durable{Step: r.call.Step})
	r.clear()
	r.on(&Rest{}, "disarm linger", "watches")
	r.apply(r.leg(3, engine.LegClosed, proven(engine.ProofBye)))
	if len(r.write().Holds) != 1 {
		t.Errorf("%v", r.log)
	}
}

func TestWhatKeepsABotFromItsCall(t *testing.T) {
	misses := map[string]func(*rig){
		"nothing can be sent to it": func(r *rig) {
			r.apply(r.leg(2, engine.LegNotSent, func(e *engine.LegEvent) { e.NotSent = engine.NotSentNoRoute }))
		},
		"it does not answer": func(r *rig) { r.apply(r.leg(2, engine.LegSilent)) },
		"its SDP cannot be used": func(r *rig) {
			r.apply(r.leg(2, engine.LegAnswered, answered))
			r.apply(&Durable{Step: r.call.Step})
			r.apply(&PeerJoined{Attempt: first, Leg: first.Leg(2), Err: errAway})
		},
	}
	for why, f := range misses {
		r := up(t, nil, sipBot)
		r.dialled(first)
		r.apply(r.leg(1, engine.LegAnswered, answered))
		r.apply(&SeatGranted{Attempt: first})
		r.apply(&Durable{Step: r.call.Step})
		r.apply(r.leg(2, engine.LegSent))
		r.clear()
		f(r)
		if !r.has("bot tried missed sip:bot@a: " + why) {
			t.Errorf("%s: %v", why, r.log)
		}
	}
}

func TestWhatKeepsASocketFromItsCall(t *testing.T) {
	waiting := func() *rig {
		r := up(t, nil, nil)
		r.dialled(first)
		r.apply(r.leg(1, engine.LegAnswered, answered))
		r.durable(2)
		r.apply(&SeatGranted{Attempt: first})
		r.clear()
		return r
	}
	r := waiting()
	r.apply(r.mediaEvent(engine.MediaBotFailed, func(e *engine.MediaEvent) { e.Error = "refused" }))
	if r.log[0] != "bot settled telling" || r.log[1] != "bot tried missed : refused" {
		t.Errorf("%v", r.log)
	}
	r = waiting()
	e := r.mediaEvent(engine.MediaBotFailed, func(e *engine.MediaEvent) {
		e.Missed = []engine.EndpointMiss{{Endpoint: "ws://bot", Reason: "away"}}
	})
	r.apply(e)
	if r.log[1] != "bot tried missed ws://bot: away" {
		t.Errorf("%v", r.log)
	}
	r.clear()
	r.on(e) // replayed

	// Abandoned while the bot was being reached: no event says which endpoint it was.
	r = waiting()
	var bridge *Arm
	for _, e := range r.all {
		if a, ok := e.(*Arm); ok && a.Fired.Timer == attempt.TimerBridge {
			bridge = a
		}
	}
	r.now = r.now.Add(attempt.BridgeBudget)
	r.apply(&bridge.Fired)
	if !r.has("bot settled telling") || !r.has("bot tried missed : it did not answer in time") {
		t.Errorf("%v", r.log)
	}
	// The callee hangs up: that says nothing about the bot.
	r = waiting()
	r.apply(r.leg(1, engine.LegHungUp))
	if r.call.Reaching.Since != 0 || r.has("bot settled telling") != r.has("bot tried") {
		t.Errorf("%v", r.log)
	}
}

func TestATransferToANumber(t *testing.T) {
	const target = "+4930999999"
	r := up(t, nil, func(rl *Rules) {
		rl.Attempt.Transfers = attempt.TransferRules{Allowed: []string{target, "sip:desk@office"}, Limit: 3}
	})
	r.talking(first)
	r.p.barred = map[engine.PhoneNumber]error{target: engine.Conflict(engine.CodeDestination, "")}
	r.on(&Transfer{Attempt: first, To: target, Request: someone}, "answer someone destination_not_allowed")
	r.p.barred = nil
	r.on(&Transfer{Attempt: first, To: target, Request: someone}, "reserve trunk for a.2", "answer someone")
	r.p.barred = map[engine.PhoneNumber]error{target: engine.Conflict(engine.CodeDestination, "")} // meanwhile
	r.apply(&TrunkReserved{Attempt: first, Leg: first.Leg(2), Trunk: "trunk"})
	r.apply(&Durable{Step: r.call.Step})
	if r.has("place leg a.2") {
		t.Errorf("%v", r.log)
	}
	r.p.barred = nil
	r.clear()
	r.apply(&Transfer{Attempt: first, To: target, Request: someone})
	r.apply(&TrunkReserved{Attempt: first, Leg: r.call.Machine.NextLeg(), Trunk: "trunk", Media: &engine.MediaProfile{},
		Validity: Validity{By: 5000}})
	r.apply(&Durable{Step: r.call.Step})
	l := last[*PlaceLeg](r).Leg
	if l.To != target || l.From != caller || l.URI != "" || l.SendBy != 5000 || l.Password != "" ||
		len(l.Headers) != 0 {
		t.Errorf("%+v", l)
	}
	r.clear()
	r.apply(r.leg(3, engine.LegSent))
	if !r.has("trunk trunk a.3 sent") || r.has("count leg_sent") {
		t.Errorf("%v", r.log)
	}
	// The leg is recovered as a call to the number.
	r.clear()
	r.apply(&LegsGone{Attempt: first})
	if l := last[*RecoverLeg](r).Leg; l.Leg != first.Leg(3) || l.To != target || l.From != caller || l.URI != "" ||
		r.call.Watching != 2 {
		t.Errorf("%+v", l)
	}
}

func TestATransferToASIPAddressTellsNothingThatIsTheBotsAlone(t *testing.T) {
	r := up(t, nil, func(rl *Rules) {
		rl.Attempt.Transfers = attempt.TransferRules{Allowed: []string{"sip:desk@office"}, Limit: 3}
	})
	r.talking(first)
	r.apply(&Transfer{Attempt: first, To: "sip:desk@office", Request: someone})
	r.apply(&Durable{Step: r.call.Step})
	l := last[*PlaceLeg](r).Leg
	said := fmt.Sprint(l.Headers)
	if l.URI != "sip:desk@office" || l.Password != "" || len(l.Headers) == 0 {
		t.Errorf("%+v", l)
	}
	for _, h := range l.Headers {
		if h.Value == "token of "+string(first.Call()) || slices.Contains(forBots, strings.TrimPrefix(h.Name, "X-")) {
			t.Errorf("%s", said)
		}
	}
}

func TestAFarLegWithoutAMediaPathIsNotCalled(t *testing.T) {
	r := up(t, nil, sipBot)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.noMedia = errAway
	r.clear()
	r.apply(&SeatGranted{Attempt: first})
	r.apply(&Durable{Step: r.call.Step})
	if !r.has("open peer a.2") || r.has("place leg") {
		t.Errorf("%v", r.log)
	}
}
