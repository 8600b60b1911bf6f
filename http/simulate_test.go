package http

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
	"dialler/engine/window"
	"dialler/http/wire"
)

const simulatePath = "/api/v1/campaigns/cmp_1/simulate"

// simulated is a campaign with 60 contacts and a bot with 5 seats, over a real socket.
func simulated(b *bench) {
	b.overTCP()
	d := detail(
		"cmp_1",
		campaign.Settings{
			Name:          "n",
			Bot:           "bot_1",
			Concurrency:   20,
			RetryDelaySec: 300,
			AbandonCapPPM: 30_000,
			Numbers:       []engine.PhoneNumber{"+493012345678"},
			Window:        window.Window{Start: 9 * 60, End: 17 * 60},
		},
		campaign.Draft,
	)
	b.ports.onDetail = func(_ context.Context, id engine.CampaignID) (campaign.Detail, error) {
		if id != "cmp_1" {
			return campaign.Detail{}, wire.ErrNoCampaign
		}
		return d, nil
	}
	b.ports.bots = []engine.Bot{{ID: "bot_1", Seats: 5, Active: true}}
	b.ports.trunks = []engine.TrunkSettings{{ID: "a", Active: true, CPSCap: 20, ChannelCap: 200}, {ID: "b"}}
	b.ports.standing = campaign.Position{Ahead: []campaign.Ahead{{Count: 40}, {Used: 1, Due: time.Minute, Count: 20}}}
	b.ports.people = callee.People{Dials: 400, Kinds: []callee.Kind{
		{Answered: true, First: 160, Ring: callee.Sample{6, 12}, Talk: callee.Sample{20, 60}},
		{Outcome: engine.OutcomeBusy, First: 40, Code: 486, Ring: callee.Sample{1}},
		{Outcome: engine.OutcomeNoAnswer, First: 200},
	}}
}

func TestASimulationShowsACampaignAsItIsAndByOtherSettings(t *testing.T) {
	b := newBench(t)
	simulated(b)
	body := `{"seed":7,"what_if":{"seats":15,"pacing_mode":"progressive","max_attempts":2,
		"window":{"zone":"Europe/Berlin","start":"09:00","end":"20:00"}}}`
	a := b.byAdmin("POST", simulatePath, body).is(200, "")
	if again := b.byAdmin("POST", simulatePath, body).is(200, ""); !bytes.Equal(a.body, again.body) {
		t.Errorf("once %s\nand once %s", a.body, again.body)
	}
	people := a.get("people").(map[string]any)
	// Friday, March 1st 2030, noon UTC: the window is open.
	if a.get("seed") != 7.0 || a.get("contacts") != 60.0 || a.get("attempts_used") != 20.0 ||
		a.get("start_at") != "2030-03-01T12:00:00Z" ||
		people["source"] != "measured" || people["attempts"] != 400.0 || people["answer_rate"] != 0.4 ||
		people["talk_s"] != 40.0 || people["machine_share"] != 0.0 || people["ring_s"] != 9.0 ||
		fmt.Sprint(
			people["kinds"].([]any)[1],
		) != "map[classification_s:<nil> kind:busy ring_s:1 share:0.1 talk_s:<nil>]" {
		t.Fatalf("%s", a.body)
	}
	asIs, whatIf := a.get("as_is").(map[string]any), a.get("what_if").(map[string]any)
	set, other := asIs["settings"].(map[string]any), whatIf["settings"].(map[string]any)
	if set["seats"] != 5.0 || set["concurrency"] != 20.0 || set["abandon_cap_pct"] != 3.0 || other["seats"] != 15.0 ||
		other["pacing_mode"] != "progressive" ||
		other["max_attempts"] != 2.0 ||
		other["retry_delay_s"] != 300.0 {
		t.Errorf("as is %v, what if %v", set, other)
	}
	before, after := asIs["summary"].(map[string]any), whatIf["summary"].(map[string]any)
	if before["ended"] != "list_done" || after["abandoned"] != 0.0 ||
		before["connects_per_h"].(float64) >= after["connects_per_h"].(float64) {
		t.Errorf("as is %v, what if %v", before, after)
	}
	forecast := asIs["forecast"].(map[string]any)
	if band := forecast["connected"].(map[string]any); forecast["plays"] != 20.0 ||
		!(band["low"].(float64) < band["median"].(float64) &&
			band["median"].(float64) < band["high"].(float64)) {
		t.Errorf("%v", forecast)
	}
	// Sending back its echoed inputs repeats the question, although time has passed.
	b.clock.advance(time.Minute)
	again := b.byAdmin("POST", simulatePath, `{"seed":7,"as_of":"2030-03-01T12:00:00Z"}`).is(200, "")
	if s := again.get("as_is").(map[string]any)["summary"].(map[string]any); fmt.Sprint(s) != fmt.Sprint(before) ||
		again.get("what_if") != nil {
		t.Errorf("once %v\nand once %v", before, s)
	}
}

func TestASimulationBeginsWhenTheWindowOpensAndWithoutABody(t *testing.T) {
	b := newBench(t)
	simulated(b)
	b.clock.advance(8 * time.Hour) // 21:00 in Berlin
	a := b.do("POST", simulatePath, "", "Authorization", "Bearer "+b.token("usr_view")).is(200, "")
	if a.get("start_at") != "2030-03-02T08:00:00Z" || a.get("what_if") != nil {
		t.Errorf("%s", a.body)
	}
}

func TestWhatCannotBeSimulatedIsNamed(t *testing.T) {
	b := newBench(t)
	simulated(b)
	for body, field := range map[string]string{
		`{"seed":-1}`:                                  "seed out_of_range",
		`{"contacts":0}`:                               "contacts out_of_range",
		`{"contacts":1000001}`:                         "contacts out_of_range",
		`{"start_at":"2032-01-01T00:00:00Z"}`:          "start_at out_of_range",
		`{"people":{"answer_rate":1.1}}`:               "people.answer_rate out_of_range",
		`{"people":{"talks":3}}`:                       "people.talks unknown_field",
		`{"what_if":{"seats":0}}`:                      "what_if.seats out_of_range",
		`{"what_if":{"abandon_cap_pct":6}}`:            "what_if.abandon_cap_pct out_of_range",
		`{"what_if":{"max_attempts":51}}`:              "what_if.max_attempts out_of_range",
		`{"what_if":{"pacing_mode":"ratio"}}`:          "what_if.pacing_mode unknown_value",
		`{"what_if":{"window":{"zone":"x"}}}`:          "what_if.window.zone",
		`{"what_if":{"bot_id":"bot_2"}}`:               "what_if.bot_id unknown_field",
		`{"what_if":{"ring_timeout_s":14}}`:            "what_if.ring_timeout_s out_of_range",
		`{"what_if":{"ring_timeout_s":14},"seed":"1"}`: "seed wrong_type",
		`{"as_of":"2030-03-01T12:00:01Z"}`:             "as_of out_of_range",
		`{"as_of":"2030-03-01T10:59:59Z"}`:             "as_of out_of_range",
		`{"people":{"ring_sd_s":4}}`:                   "people.ring_sd_s unknown_field",
		// What has no effect.
		`{"attempts_used":3}`:                                           "attempts_used no_effect",
		`{"contacts":10,"attempts_used":21}`:                            "attempts_used no_effect",
		`{"people":{"machine_share":0.2}}`:                              "people.machine_share no_effect",
		`{"people":{"answer_rate":0,"talk_s":20}}`:                      "people.talk_s no_effect",
		`{"what_if":{"max_attempts":1,"retry_delay_s":60}}`:             "what_if.retry_delay_s no_effect",
		`{"what_if":{"pacing_mode":"progressive","abandon_cap_pct":1}}`: "what_if.abandon_cap_pct no_effect",
		`{"what_if":{"seats":30,"concurrency":5}}`:                      "what_if.seats no_effect",
		`{"what_if":{"concurrency":30}}`:                                "what_if.concurrency no_effect",
	} {
		b.byAdmin("POST", simulatePath, body).is(422, "validation_failed", field)
	}
	b.byAdmin("POST", simulatePath, `{"start_at":"2030-03-02T12:00:00Z","contacts":3,"what_if":{"window":{
		"zone":"UTC","start":"09:00","end":"10:00","days":["Sat","Sun"],"holidays":["2030-03-02"]}}}`).
		is(200, "")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_2/simulate", "").is(404, "campaign_not_found")
	b.ports.people.Dials = 49
	b.byAdmin("POST", simulatePath, `{"people":{"campaign_id":"cmp_9"}}`).
		is(422, "validation_failed", "people.campaign_id too_few_attempts")
	if n := b.underWay(); n != 0 {
		t.Errorf("%d are under way", n)
	}
}

func TestOnlySoManySimulationsAreUnderWay(t *testing.T) {
	b := newBench(t)
	simulated(b)
	var done []func()
	for _, who := range []string{"user usr_admin", "user usr_oper"} {
		end, err := b.server.campaigns.Running.Take(who)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, end)
	}
	b.byAdmin("POST", simulatePath, "").is(429, "simulation_running").has("Retry-After", "5")
	b.do("POST", simulatePath, "", "Authorization", "Bearer "+b.token("usr_view")).
		is(503, "too_many_simulations").
		has("Retry-After", "5")
	done[0]()
	b.byAdmin("POST", simulatePath, `{"contacts":5}`).is(200, "")
	done[1]()
	if n := b.underWay(); n != 0 {
		t.Errorf("%d are under way", n)
	}
}

func TestBackTestsAreShownAndTellHowFarToTrustAForecast(t *testing.T) {
	b := newBench(t)
	simulated(b)
	const path = "/api/v1/campaigns/cmp_1/back-tests"
	none := b.byKey("GET", path, "").is(200, "")
	if string(none.body) != `{"back_tests":[],"trust":null}` {
		t.Errorf("%s", none.body)
	}
	told := func(median, real float64) forecast.Foretold {
		return forecast.Foretold{Band: forecast.Band{Low: median - 10, Median: median, High: median + 10}, Real: real}
	}
	b.ports.backTests = []forecast.RunBackTest{{Run: 2, Points: []forecast.BackTestPoint{
		{SharePct: 10, At: testAt, Plays: 20, DurationSec: told(110, 100), Connected: told(50, 40)},
		{SharePct: 50, At: testAt, Plays: 20, DurationSec: told(120, 100), Connected: told(36, 40)}}}}
	trust := map[string]any{"runs": 1.0, "duration_error_pct": 15.0, "connected_error_pct": 17.5,
		"duration_within_pct": 50.0, "connected_within_pct": 100.0}
	a := b.byKey("GET", path, "").is(200, "")
	if !reflect.DeepEqual(a.get("trust"), trust) {
		t.Errorf("%s", a.body)
	}
	a = b.byAdmin("POST", simulatePath, "").is(200, "")
	if !reflect.DeepEqual(a.get("trust"), trust) {
		t.Errorf("%v", a.get("trust"))
	}
	b.byKey("GET", "/api/v1/campaigns/cmp_9/back-tests", "").is(404, "campaign_not_found")
}

// stuck is a listener whose connections block writes until released.
type stuck struct {
	net.Listener
	begun, goOn chan struct{}
}

type stuckConn struct {
	net.Conn
	of *stuck
}

func (l *stuck) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return stuckConn{c, l}, nil
}

func (c stuckConn) Write(b []byte) (int, error) {
	select {
	case c.of.begun <- struct{}{}:
	default:
	}
	<-c.of.goOn
	return c.Conn.Write(b)
}

// A client with the answer may ask for the next simulation at once.
func TestASimulationThatWasPlayedIsUnderWayNoLonger(t *testing.T) {
	b := newBench(t)
	simulated(b)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &stuck{Listener: ln, begun: make(chan struct{}, 1), goOn: make(chan struct{})}
	go func() { _ = b.server.Serve(l) }() // ends with the bench
	c := knock(
		t,
		ln.Addr().String(),
		"POST "+simulatePath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+b.admin+
			"\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"contacts\":5}",
	)
	<-l.begun
	if n := b.underWay(); n != 0 {
		t.Errorf("%d are under way when the answer begins", n)
	}
	close(l.goOn)
	if status, p, _ := response(t, bufio.NewReader(c)); status != 200 {
		t.Errorf("%d %+v", status, p)
	}
}

// underWay returns how many simulations are running.
func (b *bench) underWay() int { return b.server.campaigns.Running.Count() }

func TestASimulationThatTakesTooLongSaysSo(t *testing.T) {
	b := newBench(t, func(c *Config) { c.SimulationTime = time.Nanosecond })
	simulated(b)
	b.byAdmin("POST", simulatePath, `{"contacts":5000}`).is(503, "simulation_too_long").has("Retry-After", "5")
}

func TestASimulationEndsWhenItsClientGoes(t *testing.T) {
	b := newBench(t, func(c *Config) { c.SimulationTime = time.Hour })
	simulated(b)
	c := b.connect()
	body := `{"contacts":1000000,"what_if":{"seats":1000,"concurrency":1000}}`
	if _, err := io.WriteString(c, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+
		"%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", simulatePath, b.admin, len(body),
		body)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is under way", func() bool { return b.underWay() == 1 })
	began := time.Now()
	_ = c.Close()
	eventually(t, "its place is free", func() bool { return b.underWay() == 0 })
	t.Logf("%s", time.Since(began))
}
