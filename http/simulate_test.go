package http

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/window"
	"dialler/http/wire"
)

const simulatePath = "/api/v1/campaigns/cmp_1/simulate"

// simulated is a campaign with 200 contacts and a bot with 5 seats, behind a real
// socket.
func simulated(b *bench) {
	b.overTCP()
	d := detail("cmp_1", campaign.Settings{Name: "n", Bot: "bot_1", Concurrency: 20, RetryDelaySec: 300, AbandonCapPPM: 30_000, Numbers: []engine.PhoneNumber{"+493012345678"},
		Window: window.Window{Start: 9 * 60, End: 17 * 60}}, campaign.Draft)
	d.Counters.States = map[contact.State]int{contact.Pending: 150, contact.Unanswered: 50, contact.Completed: 70, contact.Excluded: 9}
	d.Counters.RetriesLeft = 150*3 + 50*2
	b.ports.onDetail = func(_ context.Context, id engine.CampaignID) (campaign.Detail, error) {
		if id != "cmp_1" {
			return campaign.Detail{}, wire.ErrNoCampaign
		}
		return d, nil
	}
	b.ports.bots = []engine.Bot{{ID: "bot_1", Seats: 5, Active: true}}
	b.ports.trunks = []engine.TrunkSettings{{ID: "a", Active: true, CPSCap: 20, ChannelCap: 200}, {ID: "b"}}
	b.ports.past = campaign.Behaviour{Dials: 400, Answered: 160, Ring: 9, RingSD: 4, Talks: 150, Short: 30, Talk: 40}
}

func TestASimulationShowsACampaignAsItIsAndByOtherSettings(t *testing.T) {
	b := newBench(t)
	simulated(b)
	body := `{"seed":7,"what_if":{"seats":15,"abandon_cap_pct":0,"pacing_mode":"progressive","max_attempts":2,"window":{"zone":"Europe/Berlin","start":"09:00","end":"20:00"}}}`
	a := b.byAdmin("POST", simulatePath, body).is(200, "")
	if again := b.byAdmin("POST", simulatePath, body).is(200, ""); !bytes.Equal(a.body, again.body) {
		t.Errorf("once %s\nand once %s", a.body, again.body)
	}
	people := a.get("people").(map[string]any)
	// Friday, March 1st 2030, noon UTC: the window is open.
	if a.get("seed") != 7.0 || a.get("contacts") != 200.0 || a.get("attempts_used") != 50.0 || a.get("start_at") != "2030-03-01T12:00:00Z" ||
		people["source"] != "measured" || people["attempts"] != 400.0 || people["answer_rate"] != 0.4 || people["talk_s"] != 40.0 || people["machine_share"] != 0.0 {
		t.Fatalf("%s", a.body)
	}
	asIs, whatIf := a.get("as_is").(map[string]any), a.get("what_if").(map[string]any)
	set, other := asIs["settings"].(map[string]any), whatIf["settings"].(map[string]any)
	if set["seats"] != 5.0 || set["concurrency"] != 20.0 || set["abandon_cap_pct"] != 3.0 || other["seats"] != 15.0 || other["pacing_mode"] != "progressive" || other["max_attempts"] != 2.0 || other["retry_delay_s"] != 300.0 {
		t.Errorf("as is %v, what if %v", set, other)
	}
	before, after := asIs["summary"].(map[string]any), whatIf["summary"].(map[string]any)
	if before["ended"] != "list_done" || after["abandoned"] != 0.0 || before["connects_per_h"].(float64) >= after["connects_per_h"].(float64) {
		t.Errorf("as is %v, what if %v", before, after)
	}
	// What it echoes asks the same again.
	again := b.byAdmin("POST", simulatePath, `{"seed":7,"start_at":"2030-03-01T12:00:00Z","contacts":200,"attempts_used":50,
		"people":{"answer_rate":0.4,"machine_share":0,"ring_s":9,"ring_sd_s":4,"talk_s":40,"short_share":0.316}}`).is(200, "")
	if s := again.get("as_is").(map[string]any)["summary"].(map[string]any); fmt.Sprint(s) != fmt.Sprint(before) || again.get("what_if") != nil {
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
		`{"what_if":{"ring_timeout_s":14},"seed":"1"}`: "what_if.ring_timeout_s out_of_range",
	} {
		b.byAdmin("POST", simulatePath, body).is(422, "validation_failed", field)
	}
	b.byAdmin("POST", simulatePath, `{"what_if":{"window":{"zone":"UTC","start":"09:00","end":"10:00","days":["Sat"],"holidays":["2030-03-02"]}},"start_at":"2030-03-02T12:00:00Z"}`).is(200, "")
	b.byAdmin("POST", "/api/v1/campaigns/cmp_2/simulate", "").is(404, "campaign_not_found")
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
	b.do("POST", simulatePath, "", "Authorization", "Bearer "+b.token("usr_view")).is(503, "too_many_simulations").has("Retry-After", "5")
	done[0]()
	b.byAdmin("POST", simulatePath, "").is(200, "")
	done[1]()
	if n := b.underWay(); n != 0 {
		t.Errorf("%d are under way", n)
	}
}

// stuck is a listener whose connections write nothing until they may.
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

// Who has the answer may ask for the next one at once.
func TestASimulationThatWasPlayedIsUnderWayNoLonger(t *testing.T) {
	b := newBench(t)
	simulated(b)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &stuck{Listener: ln, begun: make(chan struct{}, 1), goOn: make(chan struct{})}
	go func() { _ = b.server.Serve(l) }() // ends with the bench
	c := knock(t, ln.Addr().String(), "POST "+simulatePath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+b.admin+"\r\n\r\n")
	<-l.begun
	if n := b.underWay(); n != 0 {
		t.Errorf("%d are under way when the answer begins", n)
	}
	close(l.goOn)
	if status, p, _ := response(t, bufio.NewReader(c)); status != 200 {
		t.Errorf("%d %+v", status, p)
	}
}

// underWay is how many simulations are.
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
	if _, err := io.WriteString(c, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", simulatePath, b.admin, len(body), body)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is under way", func() bool { return b.underWay() == 1 })
	began := time.Now()
	_ = c.Close()
	eventually(t, "its place is free", func() bool { return b.underWay() == 0 })
	t.Logf("%s", time.Since(began))
}
