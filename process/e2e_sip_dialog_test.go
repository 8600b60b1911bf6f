package process

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/persistence/storetest"
)

// leftRow is the row of a conversation that the callee ended.
var leftRow = sipRow{outcome: engine.OutcomeCompleted, code: 200, q850: 16, by: engine.PartyCallee, retry: retryNever}

func TestACalleeMayChangeTheCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	cases := []sipCase{
		{file: "info-dtmf-relay", then: heard("5#0")},
		{file: "info-dtmf", then: heard("5#0")},
	}
	for file := range strings.FieldsSeq(`reinvite-hold reinvite-hold-old reinvite-inactive reinvite-offerless
		reinvite-unchanged reinvite-unacceptable update-hold update-empty info-unknown options-in-dialog cseq-too-low
		require-unknown refer-refused message-refused tag-unknown`) {
		cases = append(cases, sipCase{file: file, then: audio})
	}
	for i := range cases {
		cases[i].requests = "INVITE ACK"
		if cases[i].want.outcome == "" {
			cases[i].want = leftRow
		}
	}
	w.run(cases)
}

// The ACK waits for the commit of the answer: UPDATEs come before it.
func TestAnUpdateBeforeOurAckIsAnswered(t *testing.T) {
	t.Parallel()
	var slow storetest.Faults
	w := newWorld(t, tuning{toDatabase: slow.Dial}, 0)
	slow.Slow("commit", func() { time.Sleep(500 * time.Millisecond) })
	w.run([]sipCase{{file: "update-before-ack", dialout: true, requests: "INVITE ACK", want: leftRow, then: audio}})
	slow.Slow("commit", nil)
}

// heard checks which digits the bot received.
func heard(digits string) func(*sipCall) {
	return func(c *sipCall) {
		c.t.Helper()
		if s, ok := c.bot.Session(c.id.Call()); !ok || s.Digits != digits {
			c.t.Errorf("the bot heard %q, want %q", s.Digits, digits)
		}
	}
}

func TestACalleeMayLeaveBeforeTheBotIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	if err := w.bot.Configure(bot.Config{Door: bot.Door{Delay: draw.Exactly(700 * time.Millisecond)},
		Conversations: []bot.Conversation{conversation(0)}}); err != nil {
		t.Fatal(err)
	}
	// In strict mode the INVITE waits for an open socket: the bot would be there first.
	w.run([]sipCase{{file: "bye-before-the-bot", requests: "INVITE ACK", campaign: map[string]any{"pacing_mode": "hybrid"},
		want: sipRow{outcome: engine.OutcomeCallerHungUp, code: 200, q850: 31, by: engine.PartyCallee, retry: retryNever}}})
}

func TestOurByeFollowsTheCalleesNewTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 1500*time.Millisecond)
	w.run([]sipCase{{file: "reinvite-target", requests: "INVITE ACK BYE", want: servedRow}})
}

func TestRequestsFromOutsideAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), nil) // only addresses of trunks are answered
	for file := range strings.FieldsSeq(`inbound-options inbound-invite inbound-bye-unknown inbound-cancel-unknown
		inbound-update-unknown inbound-info-unknown inbound-methods`) {
		for transport, mode := range map[string]string{"udp": "u1", "tcp": "t1"} {
			t.Run(file+" "+transport, func(t *testing.T) {
				s := play(t, &sipCase{file: file, args: []string{w.p.sip.Addr(), "-m", "1", "-t", mode}})
				select {
				case <-s.done:
				case <-time.After(patience):
					t.Fatal("SIPp still waits for an answer")
				}
				if s.err != nil {
					t.Fatalf("SIPp found the answer wrong: %v", s.err)
				}
			})
		}
	}
	if n := w.rows("attempts"); n != 0 {
		t.Errorf("%s attempts came of them", strconv.Itoa(n))
	}
}
