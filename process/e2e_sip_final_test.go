package process

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

// refused is a case of a final response: its code, an optional phrase, and a header, which is a
// whole line.
func refused(file, response, header string, want sipRow) sipCase {
	code, phrase, ok := strings.Cut(response, " ")
	if !ok {
		phrase = "Said By SIPp"
	}
	c := sipCase{file: file, label: code, requests: "INVITE ACK", want: want}
	if ok {
		c.label += " " + phrase
	}
	if header == "" {
		header = "Server: carrier"
	} else {
		c.label += " " + header
	}
	c.want.code, _ = strconv.Atoi(code)
	c.keys = []string{"status=SIP/2.0 " + code + " " + phrase, "header=" + header}
	return c
}

func cause(q850 int) string { return fmt.Sprintf(`Reason: Q.850;cause=%d;text="of the switch"`, q850) }

// TestEveryFinalResponseComesToItsOutcome plays the table "final response → outcome", one file per
// row.
func TestEveryFinalResponseComesToItsOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	callee, system := engine.PartyCallee, engine.PartySystem
	var cases []sipCase
	// row adds a case for every code, and one for every cause with a 500.
	row := func(file string, want sipRow, codes string, causes ...int) {
		for code := range strings.FieldsSeq(codes) {
			cases = append(cases, refused(file, code, "", want))
		}
		for _, q := range causes {
			with := want
			with.q850 = q
			cases = append(cases, refused(file, "500", cause(q), with))
		}
	}
	row("final-busy", sipRow{outcome: engine.OutcomeBusy, by: callee}, "486 600", 17)
	row("final-no-answer", sipRow{outcome: engine.OutcomeNoAnswer, by: callee}, "408 480 487", 18, 19, 20, 31)
	row("final-no-response", sipRow{outcome: engine.OutcomeTrunkError, by: system}, "408")
	row("final-invalid-number", sipRow{outcome: engine.OutcomeInvalidNumber, by: callee, retry: retryNever},
		"404 410 416 484 485 604", 1, 3, 22, 28)
	row("final-rejected", sipRow{outcome: engine.OutcomeRejected, by: callee, retry: retryNever}, "603 403", 21)
	row("final-not-acceptable", sipRow{outcome: engine.OutcomeMediaError, by: system, retry: retryNever}, "606")
	row("final-unwanted", sipRow{outcome: engine.OutcomeBlocked, by: callee, retry: retryNever}, "607")
	row("final-blocked", sipRow{outcome: engine.OutcomeBlocked, by: system, retry: retryNever}, "608")
	row("final-credentials", sipRow{outcome: engine.OutcomeTrunkError, by: system, free: true, retry: retrySoon},
		"401 402 407", 55, 57)
	row("final-congestion", sipRow{outcome: engine.OutcomeCongestion, by: system},
		"500 502 503 504 580", 27, 34, 38, 41, 42, 44, 47, 102, 111, 127)
	row("final-throttled", sipRow{outcome: engine.OutcomeThrottled, by: system, free: true, retry: retrySoon}, "429")
	row("final-media-error", sipRow{outcome: engine.OutcomeMediaError, by: system, retry: retryNever},
		"415 420 421 488 494", 65, 70, 79, 88)
	row("final-redirect", sipRow{outcome: engine.OutcomeInvalidNumber, by: callee, retry: retryNever}, "301 302 305", 23)
	row("final-unlisted", sipRow{outcome: engine.OutcomeSystemError, by: system, retry: retryNever}, "400 405 482 499")
	row("final-unlisted", sipRow{outcome: engine.OutcomeCongestion, by: system}, "501 599")
	row("final-unlisted", sipRow{outcome: engine.OutcomeRejected, by: callee, retry: retryNever}, "699")
	w.run(cases)
}

// TestWhatAResponseAddsToItsCodeIsHeard plays what decides in addition to the code: Reason,
// Retry-After, markers of a block, words of a limit, and the campaign's own redial list.
func TestWhatAResponseAddsToItsCodeIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	callee, system := engine.PartyCallee, engine.PartySystem
	busy := sipRow{outcome: engine.OutcomeBusy, by: callee}
	blocked := sipRow{outcome: engine.OutcomeBlocked, by: system, retry: retryNever}
	throttled := sipRow{outcome: engine.OutcomeThrottled, by: system, free: true, retry: retrySoon}
	with := func(r sipRow, change func(*sipRow)) sipRow { change(&r); return r }
	caused := func(r sipRow, q int) sipRow { r.q850 = q; return r }
	later := func(r sipRow, d time.Duration) sipRow { r.after = d; return r }
	set := func(c sipCase, key string, v any) sipCase { c.campaign = map[string]any{key: v}; return c }
	w.run([]sipCase{
		// A cause overrides the four vague codes …
		refused("final-busy", "480", cause(17), caused(busy, 17)),
		refused("final-busy", "503", cause(17), caused(busy, 17)),
		refused("final-busy", "603", cause(17), caused(busy, 17)),
		refused("final-invalid-number", "480", cause(1), sipRow{outcome: engine.OutcomeInvalidNumber, by: callee, q850: 1,
			retry: retryNever}),
		refused("final-rejected", "480", cause(21), sipRow{outcome: engine.OutcomeRejected, by: callee, q850: 21,
			retry: retryNever}),
		refused("final-credentials", "503", cause(57), sipRow{outcome: engine.OutcomeTrunkError, by: system, free: true,
			q850: 57, retry: retrySoon}),
		// … and no others; 16 is ignored.
		refused("final-busy", "486", cause(19), caused(busy, 19)),
		refused("final-invalid-number", "404", cause(17), sipRow{outcome: engine.OutcomeInvalidNumber, by: callee, q850: 17,
			retry: retryNever}),
		refused("final-no-answer", "480", cause(16), sipRow{outcome: engine.OutcomeNoAnswer, by: callee, q850: 16}),
		// Other spellings of Reason: another protocol before it, no text, lower case.
		refused("final-busy", "500", `Reason: SIP;cause=486;text="Busy Here", Q.850;cause=17`, caused(busy, 17)),
		refused("final-busy", "500", `Reason: q.850 ;cause=17`, caused(busy, 17)),
		refused("final-busy", "500", "Reason: SIP;cause=500\r\nReason: Q.850;cause=17;text=\"a;b, \\\"c\\\"\"",
			caused(busy, 17)),

		refused("final-blocked", "603 Network Blocked", "", blocked),
		refused("final-blocked", "603", `Reason: Q.850;cause=21;text="v=analytics1;url=https://block.example/redress"`,
			caused(blocked, 21)), refused("final-blocked", "603", "X-Twilio-Error: 32203 Blocked by STIR/SHAKEN", blocked),

		refused("final-throttled", "503 CPS Limit Exceeded", "", throttled),
		refused("final-throttled", "503 Max Channels Reached", "", throttled),
		refused("final-throttled", "503", `Reason: Q.850;cause=42;text="concurrent call limit"`, caused(throttled, 42)),
		refused("final-throttled", "503", `Warning: 399 sbc.example "call rate exceeded"`, throttled),
		// The Retry-After of a throttled trunk applies to the trunk, never to the contact.
		refused("final-throttled", "503 Too Many Calls", "Retry-After: 30",
			with(throttled, func(r *sipRow) { r.before = 30 * time.Second })),
		refused("final-congestion", "503 Operator Unavailable", "", sipRow{outcome: engine.OutcomeCongestion, by: system}),

		// Longer than the campaign's delay of an hour.
		refused("final-no-answer", "480", "Retry-After: 7200", later(sipRow{outcome: engine.OutcomeNoAnswer, by: callee},
			2*time.Hour)), refused("final-busy", "486", "Retry-After: 7200 (in a meeting)", later(busy, 2*time.Hour)),
		refused("final-busy", "600", "Retry-After: 7200;duration=60", later(busy, 2*time.Hour)),
		refused("final-congestion", "503", "Retry-After: 7200", later(sipRow{outcome: engine.OutcomeCongestion, by: system},
			2*time.Hour)),
		set(refused("final-rejected", "603", "Retry-After: 7200",
			later(sipRow{outcome: engine.OutcomeRejected, by: callee}, 2*time.Hour)),
			"retry_on_system", []string{"rejected"}),
		// Only these five may carry it.
		refused("final-congestion", "500", "Retry-After: 7200", with(sipRow{outcome: engine.OutcomeCongestion, by: system},
			func(r *sipRow) { r.before = 2 * time.Hour })),

		set(refused("final-busy", "486", "", with(busy, func(r *sipRow) { r.retry = retryNever })), "retry_on_system",
			[]string{}),
		set(refused("final-throttled", "429", "", throttled), "retry_on_system", []string{}),
		set(refused("final-invalid-number", "404", "", sipRow{outcome: engine.OutcomeInvalidNumber, by: callee}),
			"retry_on_system", []string{"invalid_number"}),
	})
}
