package process

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
)

// repeats makes SIPp see every retransmission.
var repeats = []string{"-nr"}

// servedRow is the row of a conversation that its bot ended.
var servedRow = sipRow{outcome: engine.OutcomeCompleted, code: 200, by: engine.PartyBot, retry: retryNever}

func TestACallIsSetUpAndEndedOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	const whole = "INVITE ACK BYE"
	w.run([]sipCase{
		{file: "answer-bot-hangs-up", requests: whole, want: servedRow},
		{file: "answer-without-provisional", requests: whole, want: servedRow},
		{file: "answer-as-bye-crosses", requests: whole, want: servedRow},
		{file: "bye-unanswered-once", args: repeats, requests: whole, want: servedRow},
		{file: "invite-unanswered-twice", args: repeats, requests: whole, want: servedRow},
		{file: "answer-repeated", args: repeats, requests: whole, want: servedRow},
		{file: "answer-ack-lost", args: repeats, requests: whole, want: servedRow},
		{file: "answer-contact-unreachable", requests: whole, want: servedRow},
		{file: "refusal-repeated", args: repeats, requests: "INVITE ACK",
			want: sipRow{outcome: engine.OutcomeBusy, code: 486, by: engine.PartyCallee}},
		{file: "ring-early-media", requests: whole, want: servedRow, then: rangFor(250 * time.Millisecond)},
		{file: "ring-many", requests: whole, want: servedRow, then: rangFor(0)},
		{file: "ring-forked", requests: whole, want: servedRow, then: rangFor(0)},
		{file: "ring-forked-199", requests: whole, want: servedRow, then: rangFor(0)},
		{file: "answer-forked", args: repeats, requests: "INVITE ACK BYE", want: servedRow},
	})
}

// rangFor checks that the phone rang at least that long before it was answered.
func rangFor(least time.Duration) func(*sipCall) {
	return func(c *sipCall) {
		c.t.Helper()
		if !inOrder(c.row.InviteAt, c.row.TryingAt, c.row.RingingAt, c.row.AnsweredAt, c.row.ServedAt, c.row.EndedAt) ||
			c.row.AnsweredAt.Sub(*c.row.RingingAt) < least {
			c.t.Errorf("invited %v, ringing %v, answered %v, want %v of ringing", c.row.InviteAt, c.row.RingingAt,
				c.row.AnsweredAt, least)
		}
	}
}

func TestACalleeMayHangUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.run([]sipCase{
		{file: "answer-callee-hangs-up", requests: "INVITE ACK",
			want: sipRow{outcome: engine.OutcomeCompleted, code: 200, q850: 16, by: engine.PartyCallee, retry: retryNever}},
	})
}

func TestACallIsGivenUpOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{dialoutRing: time.Second}, time.Second)
	unanswered := sipRow{outcome: engine.OutcomeNoAnswer, code: 487, by: engine.PartySystem}
	with := func(code int) sipRow { r := unanswered; r.code = code; return r }
	w.run([]sipCase{
		{file: "cancel-at-ring-timeout", dialout: true, requests: "INVITE CANCEL ACK", want: unanswered},
		{file: "cancel-crossed-by-200", dialout: true, requests: "INVITE CANCEL ACK BYE", want: with(200),
			then: nobodyTalked},
		{file: "cancel-crossed-by-486", dialout: true, requests: "INVITE CANCEL ACK",
			want: sipRow{outcome: engine.OutcomeBusy, code: 486, by: engine.PartyCallee}},
		{file: "cancel-for-exclusion", requests: "INVITE CANCEL ACK",
			want: sipRow{outcome: engine.OutcomeExcluded, code: 487, by: engine.PartySystem, retry: retryNever},
			meanwhile: func(c *sipCall) {
				eventually(c.t, "it rings", func() bool { return c.call(c.id.Call()).State == "ringing" })
				c.exclude(c.campaignID, c.to)
			}},
	})
	// Timer B is 64 times T1.
	hasty := newWorld(t, tuning{dialoutRing: time.Second, timers: sipstack.Timers{T1: 50 * time.Millisecond}},
		time.Second)
	hasty.run([]sipCase{
		{file: "cancel-waits-for-provisional", dialout: true, requests: "INVITE CANCEL ACK",
			want: sipRow{outcome: engine.OutcomeTrunkError, code: 487, by: engine.PartySystem}}, // no response in time
		{file: "cancel-without-487", dialout: true, requests: "INVITE CANCEL", want: with(0)},
	})
}

func nobodyTalked(c *sipCall) {
	c.t.Helper()
	if _, ok := c.bot.Session(c.id.Call()); ok || c.row.Session != "" {
		c.t.Error("a bot got the call")
	}
}

func TestSilenceIsTheTrunksFault(t *testing.T) {
	t.Parallel()
	// Timer B is 64 times T1: 1.9 s; the leg stays owned for the same time again. The late
	// responses come in the middle of that.
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 30 * time.Millisecond}}, time.Second)
	want := sipRow{outcome: engine.OutcomeTrunkError, by: engine.PartySystem}
	w.run([]sipCase{
		{file: "silence", requests: "INVITE", want: want, then: nobodyTalked},
		{file: "silence-then-180", requests: "INVITE CANCEL ACK", want: want, then: nobodyTalked},
		{file: "silence-then-200", requests: "INVITE ACK BYE", want: sipRow{outcome: want.outcome, code: 200, by: want.by},
			then: nobodyTalked},
	})
}
