package process

import (
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/sipstack"
)

// Each test here places a call through the API to a trunk that SIPp plays, and asserts three
// things: the messages on the wire (SIPp's exit status), the outcome in the API, and the stored
// row.

// one checks what every call to one trunk has in common and returns its row: one leg, with the
// Call-ID that SIPp saw.
func (w *world) one(id engine.CallID, s *sipp, wantRequests string) attempt.Attempt {
	w.t.Helper()
	s.satisfied()
	a := w.stored(id)
	if len(a.Legs) != 1 || a.Legs[0].Trunk != "sipp" || a.Legs[0].ID != a.ID.Leg(1) || a.Trunk != "sipp" {
		w.t.Errorf("legs %+v of trunk %s, want one of sipp", a.Legs, a.Trunk)
	}
	requests, invited := s.requests(string(a.ID.Leg(1)))
	if requests != wantRequests || len(invited) != 1 || invited[0] != string(a.ID.Leg(1)) {
		w.t.Errorf("SIPp saw %q of %s and calls %v, want %q", requests, a.ID.Leg(1), invited, wantRequests)
	}
	if a.State != attempt.Ended || a.EndedAt == nil || a.InviteAt == nil || a.ReservedAt == nil ||
		a.Legs[0].EndedAt == nil {
		w.t.Errorf("stages of an ended call: %+v", a)
	}
	w.quiet()
	return a
}

// inOrder says whether every stage is set and none precedes the one before it.
func inOrder(stages ...*time.Time) bool {
	for i, at := range stages {
		if at == nil || i > 0 && at.Before(*stages[i-1]) {
			return false
		}
	}
	return true
}

// served checks the row of a conversation with a bot.
func (w *world) served(id engine.CallID, a *attempt.Attempt) {
	w.t.Helper()
	if !inOrder(a.ReservedAt, a.InviteAt, a.TryingAt, a.RingingAt, a.AnsweredAt, a.BotConnectedAt, a.ServedAt, a.EndedAt) {
		w.t.Errorf("stages: reserved %v invite %v trying %v ringing %v answered %v bot %v served %v ended %v",
			a.ReservedAt, a.InviteAt, a.TryingAt, a.RingingAt, a.AnsweredAt, a.BotConnectedAt, a.ServedAt, a.EndedAt)
	}
	if !a.Consumed || a.Outcome != engine.OutcomeCompleted || a.SIPCode != 200 || a.Result == nil ||
		a.Result.Disposition != "interested" ||
		a.Result.Variables["plan"] != "gold" || a.Session == "" {
		w.t.Errorf("row: consumed %v, %s, SIP %d, result %+v, session %s", a.Consumed, a.Outcome, a.SIPCode, a.Result,
			a.Session)
	}
	if leg := a.Legs[len(a.Legs)-1]; leg.Dialog == nil || leg.Dialog.ToTag == "" || leg.Dialog.RemoteTarget == "" ||
		leg.SIPCode != 200 {
		w.t.Errorf("the answered leg has no dialog state: %+v", leg)
	}
	s := w.session(id, "with its result posted", func(s bot.Session) bool { return s.Result.State != bot.ReportPending })
	if s.SessionID != a.Session || s.Number != a.To || s.FramesIn == 0 || s.FramesOut == 0 || len(s.Violations) > 0 ||
		s.Result.State != bot.ReportTaken || s.Result.Status != 200 {
		w.t.Errorf("session %+v", s)
	}
}

func TestAnAnsweredCallIsServedAndEndedByItsBot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	s := startSipp(t, `< INVITE
		> 180
		pause 200
		> 200 sdp
		< ACK
		< BYE Reason=Q.850;cause=16
		> 200`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeCompleted); c.HungUpBy != "bot" || c.Disposition != "interested" ||
		c.Trunk != "sipp" {
		t.Errorf("the API shows %+v", c)
	}
	a := w.one(id, s, "INVITE ACK BYE")
	w.served(id, &a)
	if a.HungUpBy != engine.PartyBot || a.Quality == nil || a.Quality.PacketsReceived == 0 || a.Quality.PacketsSent == 0 {
		t.Errorf("hung up by %s, quality %+v", a.HungUpBy, a.Quality)
	}
}

func TestACalleeWhoHangsUpEndsTheConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	s := startSipp(t, `< INVITE
		> 180
		> 200 sdp
		< ACK
		pause 2500
		> BYE
		< 200`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeCompleted); c.HungUpBy != "callee" {
		t.Errorf("the API shows %+v", c)
	}
	a := w.one(id, s, "INVITE ACK")
	w.served(id, &a)
	if a.Q850 != 16 || a.HungUpBy != engine.PartyCallee {
		t.Errorf("cause %d, hung up by %s", a.Q850, a.HungUpBy)
	}
}

func TestABusyPhoneIsBusyOnTheWireInTheAPIAndInTheRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	s := startSipp(t, `< INVITE
		> 180
		> 486
		< ACK`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeBusy); c.SIPReason != "Busy" || c.SIPCode != 0 || c.AnsweredAt != nil {
		t.Errorf("the API shows %+v", c)
	}
	a := w.one(id, s, "INVITE ACK")
	if a.SIPCode != 486 || a.SIPReason != "Busy Here" || a.Legs[0].SIPCode != 486 || !a.Consumed ||
		a.HungUpBy != engine.PartyCallee ||
		!inOrder(a.ReservedAt, a.InviteAt, a.RingingAt, a.EndedAt) || a.AnsweredAt != nil || a.Session != "" {
		t.Errorf("row %+v", a)
	}
}

func TestAPhoneThatNobodyAnswersIsCancelledAtTheRingTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{dialoutRing: time.Second}, time.Second)
	s := startSipp(t, `< INVITE
		> 180
		< CANCEL
		> 200
		> 487 of INVITE
		< ACK`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeNoAnswer); c.AnsweredAt != nil {
		t.Errorf("the API shows %+v", c)
	}
	a := w.one(id, s, "INVITE CANCEL ACK")
	if a.SIPCode != 487 || !a.Consumed || !inOrder(a.InviteAt, a.RingingAt, a.EndedAt) || a.AnsweredAt != nil {
		t.Errorf("row %+v", a)
	}
	if ring := a.EndedAt.Sub(*a.InviteAt); ring < time.Second {
		t.Errorf("it rang %v, want 1 s", ring)
	}
}

func TestEarlyMediaIsNoAnswerOfAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	s := startSipp(t, `< INVITE
		> 183 sdp
		pause 2000
		> 200 sdp
		< ACK
		< BYE Reason=Q.850;cause=16
		> 200`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeCompleted)
	a := w.one(id, s, "INVITE ACK BYE")
	w.served(id, &a)
	if early := a.AnsweredAt.Sub(*a.RingingAt); early < time.Second { // the 183 may have been read late
		t.Errorf("answered %v after the 183, want 2 s", early)
	}
}

func TestRingingAndAnswerBackToBackAreBothSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 500*time.Millisecond)
	s := startSipp(t, `< INVITE
		> 100
		> 180
		> 200 sdp
		< ACK
		< BYE Reason=Q.850;cause=16
		> 200`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	const calls = 5
	ids := make([]engine.CallID, calls)
	for i := range ids {
		ids[i] = w.dialout(newNumber())
	}
	for _, id := range ids {
		w.ended(id, engine.OutcomeCompleted)
	}
	s.satisfied()
	w.quiet()
	for _, id := range ids {
		a := w.stored(id)
		w.served(id, &a) // RingingAt among the stages
		if requests, invited := s.requests(string(a.ID.Leg(1))); requests != "INVITE ACK BYE" || len(invited) != calls {
			t.Errorf("SIPp saw %q of %d calls", requests, len(invited))
		}
	}
}

func TestATrunkThatDemandsCredentialsGetsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 500*time.Millisecond)
	s := startSipp(t, `< INVITE
		> 401 challenge
		< ACK
		< INVITE auth alice:wonderland
		> 180
		> 200 sdp
		< ACK
		< BYE
		> 200`)
	w.trunk("sipp", "127.0.0.1", s.port, map[string]any{"username": "alice", "password": "wonderland"})
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeCompleted)
	a := w.one(id, s, "INVITE ACK INVITE ACK BYE")
	w.served(id, &a)
	if a.Legs[0].Dialog.CSeq != 2 {
		t.Errorf("dialog %+v, want the CSeq of the second INVITE", a.Legs[0].Dialog)
	}
}

func TestCredentialsThatAreRefusedAreTheTrunksFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 500*time.Millisecond)
	s := startSipp(t, `< INVITE
		> 401 challenge
		< ACK
		< INVITE
		> 401 challenge
		< ACK`)
	w.trunk("sipp", "127.0.0.1", s.port, map[string]any{"username": "alice", "password": "wonderland"})
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeTrunkError)
	a := w.one(id, s, "INVITE ACK INVITE ACK")
	if a.SIPCode != 401 || a.Consumed || a.HungUpBy != engine.PartySystem {
		t.Errorf("row: SIP %d, consumed %v, hung up by %s", a.SIPCode, a.Consumed, a.HungUpBy)
	}
	// An operator should look into it: the trunk is held and takes no more calls.
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()}).expect(503)
	if r.code() != "no_capacity" || r.header.Get("Retry-After") == "" {
		t.Errorf("a held trunk: %s", r)
	}
}

func TestACongestedTrunkHandsTheCallToTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 500*time.Millisecond)
	first := startSipp(t, `< INVITE
		> 503
		< ACK`)
	second := startSipp(t, `< INVITE
		> 180
		> 200 sdp
		< ACK
		< BYE
		> 200`)
	w.trunk("first", "127.0.0.1", first.port, map[string]any{"priority": 0})
	w.trunk("second", "127.0.0.1", second.port, map[string]any{"priority": 1})
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeCompleted); c.Trunk != "second" {
		t.Errorf("the API shows %+v", c)
	}
	first.satisfied()
	second.satisfied()
	a := w.stored(id)
	w.served(id, &a)
	if len(a.Legs) != 2 || a.Legs[0].Trunk != "first" || a.Legs[0].SIPCode != 503 || a.Legs[1].Trunk != "second" ||
		a.Legs[1].SIPCode != 200 ||
		a.Trunk != "second" || a.Legs[1].SentAt.Before(*a.Legs[0].EndedAt) {
		t.Errorf("legs %+v", a.Legs)
	}
	if got, _ := first.requests(string(a.ID.Leg(1))); got != "INVITE ACK" {
		t.Errorf("the first trunk saw %q", got)
	}
	if got, _ := second.requests(string(a.ID.Leg(2))); got != "INVITE ACK BYE" {
		t.Errorf("the second trunk saw %q", got)
	}
	w.quiet()
}

func TestSilenceIsNotTriedOnTheNextTrunkAndALateAnswerIsEnded(t *testing.T) {
	t.Parallel()
	// Timer B is 64 times T1: 3.2 s; the leg stays owned for as long again.
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 50 * time.Millisecond}}, time.Second)
	s := startSipp(t, `< INVITE
		pause 4500
		> 200 sdp
		< ACK
		< BYE
		> 200`)
	other := startSipp(t, `< INVITE
		> 486
		< ACK`)
	w.trunk("sipp", "127.0.0.1", s.port, map[string]any{"priority": 0})
	w.trunk("other", "127.0.0.1", other.port, map[string]any{"priority": 1})
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeTrunkError); c.AnsweredAt != nil {
		t.Errorf("the API shows %+v", c)
	}
	a := w.one(id, s, "INVITE ACK BYE")
	if !a.Consumed || a.TryingAt != nil || a.RingingAt != nil || a.HungUpBy != engine.PartySystem || a.Session != "" {
		t.Errorf("row %+v", a)
	}
	if len(w.bot.Sessions()) != 0 {
		t.Error("the late answer was given to a bot")
	}
	other.satisfied()
	if _, invited := other.requests(""); len(invited) != 0 {
		t.Errorf("the next trunk was tried: %v", invited)
	}
}

func TestSilenceForeverEndsAsATrunkError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 20 * time.Millisecond}}, time.Second)
	s := startSipp(t, `< INVITE
		pause 1000`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeTrunkError)
	a := w.one(id, s, "INVITE")
	if !a.Consumed || a.SIPCode != 0 || a.TryingAt != nil {
		t.Errorf("row %+v", a)
	}
}
