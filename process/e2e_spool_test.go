package process

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// elsewhere replaces the listener of a dialler that runs as another process.
type elsewhere struct {
	net.Listener
	addr net.Addr
}

func (e elsewhere) Addr() net.Addr { return e.addr }

// another starts the program on the world's installation, with further arguments, and requests go there from then on.
func (w *world) another(args ...string) *running {
	w.t.Helper()
	url, dir := w.url, dataDir(w.t)
	if w.flags.DatabaseURL == "" { // a private one
		url, dir = "", w.flags.DataDir
	}
	r := serve(
		w.t,
		url,
		append([]string{
			"--data-dir=" + dir,
			"--webhook-allow-private",
			"--sip=" + w.flags.SIP,
			"--spool-dir=" + w.flags.SpoolDir,
			fmt.Sprintf("--spool-size=%d", w.flags.SpoolSize),
			"--recordings-dir=" + w.flags.RecordingsDir,
		}, args...)...,
	)
	addr, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(r.api, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.p = &Process{listener: elsewhere{addr: addr}}
	return r
}

// checkOf returns an entry of /readyz.
func (w *world) checkOf(name string) (ok bool, detail string) {
	w.t.Helper()
	var v struct {
		Checks []struct {
			Name, Detail string
			OK           bool
		}
	}
	w.send("GET", "/readyz", nil).into(&v)
	for _, c := range v.Checks {
		if c.Name == name {
			return c.OK, c.Detail
		}
	}
	w.t.Fatalf("/readyz has no check %s", name)
	return false, ""
}

func TestWhatLiveCallsProduceSurvivesTheDeathOfDatabaseAndDialler(t *testing.T) {
	t.Parallel()
	pg := newServer(t)
	w := newWorldOn(t, pg.pg.URL(), tuning{}, 0)
	var numbers []string
	script := map[engine.PhoneNumber][]carrier.Behaviour{}
	for range 5 {
		n := newNumber()
		numbers, script[engine.PhoneNumber(n)] = append(
			numbers,
			n,
		), []carrier.Behaviour{
			person(time.Hour),
		} // until it is told to answer
	}
	rings := newNumber()
	script[engine.PhoneNumber(rings)] = []carrier.Behaviour{{Kind: carrier.NoAnswer}}
	model := w.carrier(carrier.Config{Script: script})
	id := w.running(map[string]any{"max_attempts": 1, "concurrency": 8, "ring_timeout_s": 60})

	w.p.Close()
	w.flags.SIP = fmt.Sprintf("127.0.0.1:%d", ports.Of(t))
	w.tampered = true // no audit while another process runs
	first := w.another()
	dead := false
	t.Cleanup(func() {
		if !dead {
			_ = first.cmd.Process.Kill()
			_ = first.cmd.Wait()
		}
	})
	// Its trunk and its bot are known to answer once they were probed.
	var rep campaign.DialoutReply
	eventually(t, "the first call is placed", func() bool {
		r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": numbers[0]})
		if r.status == 201 {
			r.into(&rep)
		}
		return r.status == 201
	})
	calls := []engine.CallID{rep.CallID}
	for _, n := range append(numbers[1:], rings) {
		calls = append(calls, w.trigger(id, n, nil).AttemptID.Call())
	}
	row := func(c engine.CallID) carrier.Call {
		a, _ := c.Attempt()
		r, _ := model.Ledger().Call(string(a.Leg(1)))
		return r
	}
	eventually(t, "every phone rings", func() bool {
		for _, c := range calls {
			if row(c).RingingAt.IsZero() {
				return false
			}
		}
		return true
	})
	pg.kill()

	// They are answered, confirmed, and talk to the bot.
	talking := calls[:5]
	for _, c := range talking {
		if a, _ := c.Attempt(); !model.Answer(string(a.Leg(1))) {
			t.Fatal("it does not ring any more")
		}
	}
	for _, c := range talking {
		w.session(
			c,
			"begun while the database is away",
			func(s bot.Session) bool { return s.FramesIn > 0 && s.FramesOut > 0 },
		)
		eventually(t, "its answer is confirmed", func() bool { return !row(c).AckAt.IsZero() })
		if r := row(c); len(r.Violations) > 0 {
			t.Errorf("at the carrier: %+v", r)
		}
	}
	over := calls[1]
	if a, _ := over.Attempt(); !model.HangUp(string(a.Leg(1))) {
		t.Fatal("no call to hang up")
	}
	// Its bot has posted its result and will not repeat it; corrections come after it, and nothing
	// overtakes it.
	token := w.session(over, "reported", func(s bot.Session) bool {
		return s.Result.State == bot.ReportTaken && s.Result.Status == 202
	}).Parameters["result_token"]
	for _, d := range []string{"sold", "sold twice"} {
		if r := w.result(over, token, map[string]any{"disposition": d, "mood": "good"}); r.status != 202 ||
			r.status == 202 && !strings.Contains(r.String(), `"kept"`) {
			t.Errorf("a result while the database is away: %s", r)
		}
	}
	eventually(
		t,
		"five answers, five connections and an end wait on disk",
		func() bool { return w.metric("dialler_spool_writes") >= 11 },
	)
	if ok, detail := w.checkOf("spool"); !ok ||
		!strings.Contains(detail, "writes of live calls wait on disk for the database since") {
		t.Errorf("/readyz says of the spool: %v, %q", ok, detail)
	}
	if w.metric("dialler_spool_bytes") == 0 || w.metric("dialler_spool_full") != 0 ||
		w.metric("dialler_spool_size_bytes") != 4<<20 {
		t.Error("figures of the spool")
	}
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
	if r.status != 503 ||
		r.header.Get("Retry-After") == "" {
		t.Errorf("a dialout: %s", r)
	}
	invites := len(model.Ledger().Calls())

	// The dialler dies as well.
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.read
	_ = first.cmd.Wait()
	dead = true
	pg.start()
	w.start()
	w.tampered = false

	for _, c := range talking {
		want := engine.OutcomeLost
		if c == over {
			want = engine.OutcomeCompleted
		}
		w.ended(c, want)
		if c == over {
			eventually(
				t,
				"all three results are stored",
				func() bool { a := w.stored(c); return a.Result != nil && a.Result.Disposition == "sold twice" },
			)
			if a := w.stored(c); a.Result.Revision != 2 || a.Result.Unknown["mood"] == "" {
				t.Errorf("its result: %+v", a.Result)
			}
		}
		a := w.stored(c)
		if a.AnsweredAt == nil || a.BotConnectedAt == nil || a.ServedAt == nil || !a.Consumed || a.Session == "" ||
			a.Legs[0].Dialog == nil {
			t.Errorf("what was spooled of the call is not stored: %+v", a)
		}
		if c == over && a.HungUpBy != engine.PartyCallee {
			t.Errorf("the callee ended it: %+v", a)
		}
	}
	w.ended(calls[5], engine.OutcomeLost)
	eventually(t, "nothing lives at the carrier", func() bool { return len(model.Ledger().Live()) == 0 })
	for _, c := range talking {
		if r := row(c); c != over && r.ByeBy != carrier.Caller || r.Invites != 1 {
			t.Errorf("at the carrier: %+v", r)
		}
	}
	if dup, lap := model.Ledger().DuplicateInvites(), model.Ledger().Overlaps(); len(dup)+len(lap) > 0 ||
		len(model.Ledger().Calls()) != invites {
		t.Errorf("duplicates %v, overlaps %v, %d calls where %d were", dup, lap, len(model.Ledger().Calls()), invites)
	}
	if n := w.metric("dialler_spool_replayed_total"); n < 11 || w.metric("dialler_spool_refused_total") != 0 ||
		w.metric("dialler_spool_writes") != 0 {
		t.Errorf("%v writes were replayed", n)
	}
	if ok, detail := w.checkOf("spool"); !ok || detail != "" {
		t.Errorf("/readyz says of the spool: %v, %q", ok, detail)
	}
	for _, s := range []string{`"message":"writes spooled by an earlier process are now in the database"`} {
		if !strings.Contains(w.log.String(), s) {
			t.Errorf("the log has no %s", s)
		}
	}
	if d := w.detail(id); d.Counters.Attempts != 5 || d.Counters.Answered != 4 || d.Counters.ConnectedCalls != 4 {
		t.Errorf("%+v", d.Counters)
	}
	if leak := personal.FindString(first.log()); leak != "" {
		t.Error("the log gives away a number")
	}
	eventually(
		t,
		"no number is held any more",
		func() bool { return w.rows("number_holds WHERE hold_until IS NULL") == 0 },
	)
	if a := w.stored(over); a.State != attempt.Ended {
		t.Errorf("%+v", a)
	}
	w.act(id, "stop").expect(200)
	w.quiet()
}
