package process

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"dialler/actors/actortest"
	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/persistence/storetest"
)

// exec changes the world's database without the dialler's knowledge.
func (w *world) exec(sql string) {
	w.t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, sql); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func TestEveryCallLeavesOneLineInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"max_attempts": 1})
	w.trigger(id, newNumber(), map[string]any{"first_name": "Ada"})
	w.dialout(newNumber())
	eventually(t, "the calls are over", func() bool {
		return w.p.tree.LiveCalls() == 0 && w.detail(id).Counters.Pending == 0
	})
	campaigns := map[string]int{}
	for line := range strings.Lines(w.log.without(`"level":"debug"`)) {
		var got map[string]any
		if json.Unmarshal([]byte(line), &got) != nil || got["message"] != "call ended" {
			continue
		}
		campaigns[got["campaign_id"].(string)]++
		keys := "abandon_cause bot_id call_id campaign_id contact_id hung_up_by level message outcome ring_ms sip_code " +
			"talk_ms total_ms trunk"
		if has := strings.Join(slices.Sorted(maps.Keys(got)), " "); has != keys {
			t.Errorf("keys %s, want %s", has, keys)
		}
		c := w.call(engine.CallID(got["call_id"].(string)))
		if got["level"] != "info" || got["trunk"] != "model" || got["bot_id"] != ourBot || got["sip_code"] != 200.0 ||
			got["hung_up_by"] != c.HungUpBy || got["talk_ms"].(float64) < 300 ||
			got["total_ms"].(float64) < got["talk_ms"].(float64)+got["ring_ms"].(float64) {
			t.Errorf("%s of a call that is %+v", line, c)
		}
	}
	if len(campaigns) != 2 || campaigns[""] != 1 || campaigns[string(id)] != 1 {
		t.Errorf("lines %v, want one of the campaign's call and one of the dialout", campaigns)
	}
}

// Every world checks its log at the end; this one makes it log everything that can go wrong with a
// number.
func TestTheLogOfARunGivesNoNumberVariableOrSecretAway(t *testing.T) {
	t.Parallel()
	faults := new(actortest.Faults)
	w := newWorld(t, tuning{tree: faults.Inject}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Credentials: &carrier.Credentials{Username: "alice", Password: "wonderland"},
		Profile: []carrier.Behaviour{person(50 * time.Millisecond), carrier.Refusal(404, "", 1), carrier.Refusal(480, "", 20),
			carrier.Busy()}})
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"username": "alice", "password": "wonderland"})
	id := w.running(map[string]any{"max_attempts": 1})
	for range 8 {
		to := newNumber()
		w.trigger(id, to, map[string]any{"first_name": "Ada", "number": to})
		w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber(),
			"variables": map[string]any{"first_name": "Ada"}})
	}
	eventually(t, "the calls are over", func() bool {
		return w.p.tree.LiveCalls() == 0 && w.detail(id).Counters.Pending == 0
	})
	// Client errors, in every part of a request.
	number := newNumber()
	w.send("GET", "/api/v1/calls/"+number+"?mobile="+number, nil, "X-API-Key", w.key)
	w.send("POST", "/api/v1/"+number, `{"mobile":"`+number+`"}`, "X-API-Key", w.key, "X-Request-ID", number)
	w.send("POST", "/api/v1/campaigns/trigger", `{"mobile":"`+number+`","`+number+`":"Ada"`, "X-API-Key", w.key)
	w.operator("PUT", "/api/v1/numbers/"+number+"0000000", map[string]any{"state": number})
	w.send("POST", "/api/v1/auth/token", map[string]any{"email": FirstAdminEmail, "password": "wonderland"}).expect(401)
	// Internal errors: a database that refuses a write, and a panic.
	w.exec("ALTER TABLE suppressions RENAME TO elsewhere")
	if r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": number,
		"variables": map[string]any{"first_name": "Ada"}}); r.status != 503 {
		t.Errorf("no intent can be made durable: %s", r)
	}
	w.exec("ALTER TABLE elsewhere RENAME TO suppressions")
	eventually(t, "the database is back", func() bool { return strings.Contains(w.log.String(), "the database is back") })
	w.exec("ALTER TABLE contacts RENAME TO elsewhere")
	if r := w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts", nil); r.status < 500 ||
		strings.Contains(string(r.body), "elsewhere") || strings.Contains(string(r.body), "SELECT") {
		t.Errorf("the contacts' table is gone: %s", r)
	}
	w.exec("ALTER TABLE elsewhere RENAME TO contacts")
	faults.Crash("run", id, "")
	eventually(t, "it goes on", func() bool { return w.detail(id).Status == "running" })
	w.act(id, "stop").expect(200)
	w.quiet()
	if n := strings.Count(w.log.String(), "\n"); n < 30 {
		t.Errorf("only %d lines were logged", n)
	}
}

func TestAProcessThatWasClosedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	if measuresItsProcess(t, 5*time.Minute) {
		return
	}
	before := goleak.IgnoreCurrent()
	url := storetest.URL(t)
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, ListenHTTP: ports.AddressOf(t)}}, tuning{},
		300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	w.trigger(id, newNumber(), nil)
	call := w.dialout(newNumber())
	w.ended(call, engine.OutcomeCompleted)
	live := w.dialout(newNumber())
	w.session(live, "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	w.p.Close() // a call is live
	_ = model.Close()
	_ = w.bot.Close()
	w.client.CloseIdleConnections()
	if err := Ended(append([]goleak.Option{before}, Lingering...)...); err != nil {
		t.Error(err)
	}
	w.start() // its ports are free for the next process
	w.send("GET", "/healthz", nil).expect(200)
}
