package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// ladder is what GET /api/v1/calls/{call_id}/ladder says in short.
func (w *world) ladder(id engine.CallID) (titles string) {
	w.t.Helper()
	var l testedLadder
	w.crm("GET", "/api/v1/calls/"+string(id)+"/ladder", nil).expect(200).into(&l)
	for _, m := range l.Messages {
		titles += m.Title + ", "
	}
	return strings.TrimSuffix(titles, ", ")
}

func TestTheLadderOfAFailedCallOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	s := startSipp(t, `< INVITE
		> 500
		< ACK`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	failed := w.dialout(newNumber())
	w.ended(failed, engine.OutcomeCongestion)
	const want = "INVITE, 500 Server Internal Error, ACK"
	eventually(t, "it is kept", func() bool { return w.rows("sip_ladders") == 1 })
	w.restart()
	if got := w.ladder(failed); strings.ReplaceAll(got, "500 Internal Server Error", "500 Server Internal Error") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestATrunkTestExplainsEveryStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	other := startSipp(t, `< INVITE
		> 404
		< ACK`)
	w.trunk("other", "127.0.0.1", other.port, map[string]any{"priority": 9})
	run := func(trunk string) (string, error) {
		t.Helper()
		cmd := trunkTestCmd{Trunk: trunk, Number: newNumber(), API: w.p.URL(), Email: firstAdminEmail, Password: w.hidden[0],
			Talk: 300 * time.Millisecond, Timeout: patience}
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), cmd.Timeout)
		defer cancel()
		err := cmd.follow(ctx, &out)
		if strings.Contains(out.String(), cmd.Number) {
			t.Error("the number is shown in clear")
		}
		return out.String(), err
	}
	out, err := run("model")
	for _, want := range []string{"-> INVITE (SDP)", "We ask the carrier to ring the number.", "The phone rings.", "The call was answered.",
		"the bot is connected", "We hung up.", "Answered: the trunk carries calls."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said", want)
		}
	}
	if err != nil || len(model.Ledger().Calls()) != 1 {
		t.Errorf("%v, %d INVITEs\n%s", err, len(model.Ledger().Calls()), out)
	}
	if out, err := run("other"); !errors.Is(err, errTrunkTest) || !strings.Contains(out, "outcome invalid_number") || len(model.Ledger().Calls()) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := run("none"); err == nil || !strings.Contains(err.Error(), "trunk_not_found") {
		t.Errorf("no such trunk: %v", err)
	}
}
