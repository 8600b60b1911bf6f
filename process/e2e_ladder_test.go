package process

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// ladder returns GET /api/v1/calls/{call_id}/ladder in short form.
func (w *world) ladder(id engine.CallID) (titles string) {
	w.t.Helper()
	var l struct {
		Messages []struct {
			Title string `json:"title"`
		} `json:"messages"`
	}
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
	run := func(trunk string) (said, failed string) {
		t.Helper()
		number := newNumber()
		cmd := program(t, "", "trunk", "test", trunk, number, "--api="+w.p.URL(), "--talk=300ms",
			"--timeout="+patience.String())
		cmd.Env = append(cmd.Env, "DIALLER_PASSWORD="+w.hidden[0])
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); (err != nil) != (stderr.Len() > 0) {
			t.Errorf("%v, and it said %q", err, &stderr)
		}
		if strings.Contains(stdout.String()+stderr.String(), number) {
			t.Error("the number is shown in clear")
		}
		return stdout.String(), stderr.String()
	}
	out, failed := run("model")
	for _, want := range []string{"-> INVITE (SDP)", "We ask the carrier to ring the number.", "The phone rings.",
		"The call was answered.", "the bot is connected", "We hung up.", "Answered: the trunk carries calls."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said", want)
		}
	}
	if failed != "" || len(model.Ledger().Calls()) != 1 {
		t.Errorf("%s, %d INVITEs\n%s", failed, len(model.Ledger().Calls()), out)
	}
	if out, failed := run("other"); !strings.Contains(failed, "the call was not answered") ||
		!strings.Contains(out, "outcome invalid_number") || len(model.Ledger().Calls()) != 1 {
		t.Errorf("%s\n%s", failed, out)
	}
	if _, failed := run("none"); !strings.Contains(failed, "trunk_not_found") {
		t.Errorf("no such trunk: %q", failed)
	}
}
