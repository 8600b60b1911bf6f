package process

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
)

func TestProvisionalsAreAcknowledgedWhereTheyAreReliable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	const whole = "INVITE PRACK ACK BYE"
	type set = map[string]any
	w.run([]sipCase{
		{file: "prack", requests: whole, want: servedRow, then: rangFor(0)},
		{file: "prack-early-media", requests: whole, want: servedRow, then: audio},
		{file: "prack-in-order", requests: whole, want: servedRow, then: audio},
		{file: "prack-repeated", args: repeats, requests: whole, want: servedRow},
		{file: "prack-required", trunk: set{"reliable_provisionals": "required"}, requests: whole, want: servedRow},
		{file: "prack-off", trunk: set{"reliable_provisionals": "off"}, requests: "INVITE ACK BYE", want: servedRow},
		{file: "prack-challenged", trunk: withCredentials, requests: whole, want: servedRow, then: credentials(1)},
		{file: "prack-then-refused", requests: "INVITE PRACK ACK",
			want: sipRow{outcome: engine.OutcomeBusy, code: 486, by: engine.PartyCallee}},
	})
}

func TestSessionTimersAreAgreedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	const again = "INVITE ACK INVITE ACK BYE"
	w.run([]sipCase{
		{file: "timer-offered", requests: "INVITE ACK BYE", want: servedRow},
		{file: "timer-422", requests: again, want: servedRow},
		{file: "timer-422-again", requests: "INVITE ACK INVITE ACK",
			want: sipRow{outcome: engine.OutcomeMediaError, code: 422, by: engine.PartySystem, retry: retryNever}},
	})
}

func TestSessionsAreRefreshedByEitherSide(t *testing.T) {
	t.Parallel()
	// The pause after a 491 depends on T1: 0.2 to 0.4 s.
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 50 * time.Millisecond}}, 0)
	lost := sipRow{outcome: engine.OutcomeCompleted, code: 200, by: engine.PartySystem, retry: retryNever}
	w.run([]sipCase{
		{file: "timer-they-refresh-update", requests: "INVITE ACK", want: leftRow},
		{file: "timer-they-refresh-invite", requests: "INVITE ACK", want: leftRow},
		{file: "timer-too-short", requests: "INVITE ACK", want: leftRow},
		{file: "timer-we-refresh-update", requests: "INVITE ACK UPDATE", want: leftRow},
		{file: "timer-we-refresh-invite", requests: "INVITE ACK INVITE ACK", want: leftRow, then: audio},
		{file: "timer-refresh-491", requests: "INVITE ACK INVITE ACK INVITE ACK", want: leftRow, then: audio},
		{file: "timer-refresh-422", requests: "INVITE ACK UPDATE", want: leftRow},
		{file: "timer-refresh-refused", keys: []string{"refusal=SIP/2.0 403 Forbidden"},
			requests: "INVITE ACK UPDATE INVITE ACK", want: leftRow, then: audio},
		{file: "timer-refresh-481", requests: "INVITE ACK UPDATE BYE", want: lost},
		{file: "timer-expired", requests: "INVITE ACK BYE", want: lost},
		{file: "glare-491", requests: "INVITE ACK INVITE ACK", want: leftRow, then: audio},
		{file: "reinvite-codec", requests: "INVITE ACK", want: leftRow, then: audio},
		{file: "reinvite-moved", requests: "INVITE ACK", want: leftRow, then: audio},
	})
}

func TestRedirectsAreFollowedAsOftenAsTheTrunkAllows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	once := map[string]any{"redirects": 1}
	w.run([]sipCase{
		{file: "redirect-followed", trunk: once, requests: "INVITE ACK INVITE ACK BYE", want: servedRow},
		{file: "redirect-proxy", trunk: once, requests: "INVITE ACK INVITE ACK BYE", want: servedRow},
		{file: "redirect-alternative", trunk: once, requests: "INVITE ACK INVITE ACK BYE", want: servedRow},
		{file: "redirect-too-often", trunk: once, requests: "INVITE ACK INVITE ACK",
			want: sipRow{outcome: engine.OutcomeInvalidNumber, code: 302, by: engine.PartyCallee, retry: retryNever}},
	})
}
