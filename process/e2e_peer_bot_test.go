package process

import (
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/engine"
)

// shownBot is a bot as GET /api/v1/bots shows it.
type shownBot struct {
	ID     string
	Status struct {
		Health    string
		Held      int `json:"seats_held"`
		Endpoints []struct{ Endpoint, Health, Reason string }
	}
}

func (w *world) shownBot(id string) (b shownBot) {
	w.t.Helper()
	var list struct{ Bots []shownBot }
	w.operator("GET", "/api/v1/bots", nil).expect(200).into(&list)
	for _, b := range list.Bots {
		if b.ID == id {
			return b
		}
	}
	w.t.Fatalf("no bot %s", id)
	return b
}

func (w *world) endpoints(urls ...string) {
	w.t.Helper()
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10, "endpoints": urls}).expect(200)
}

// While a bot takes no calls, for whatever reason, nobody is dialled. The campaign, the API, a
// dialout and the metrics say so, and dialling resumes by itself.
func TestNobodyIsDialledWhileTheBotTakesNoCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	answering := func(status int) string {
		s := httptest.NewServer(nethttp.HandlerFunc(func(rw nethttp.ResponseWriter, _ *nethttp.Request) {
			rw.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return "ws" + strings.TrimPrefix(s.URL, "http")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed := "127.0.0.1:" + strconv.Itoa(ports.Of(t)) // reserved until the bot starts
	id := w.running(nil)
	to := newNumber()
	f := func(url, probe, why string) {
		t.Helper()
		w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10, "endpoints": []string{url},
			"probe": probe}).expect(200)
		rep := w.trigger(id, to, nil)
		if rep.Status != "queued" || rep.Reason != "seats" && rep.Reason != "merged" {
			t.Errorf("%s: a trigger is answered %+v", why, rep)
		}
		r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()}).expect(503)
		if r.code() != "bot_unavailable" || r.header.Get("Retry-After") == "" || !strings.Contains(string(r.body), why) {
			t.Errorf("%s: a dialout is answered %s", why, r)
		}
		if b := w.shownBot(ourBot); b.Status.Health != "down" || b.Status.Held != 0 || len(b.Status.Endpoints) != 1 ||
			!strings.Contains(b.Status.Endpoints[0].Reason, why) {
			t.Errorf("%s: the bot is shown as %+v", why, b.Status)
		}
		eventually(t, why+": the campaign says why", func() bool {
			l := w.detail(id).Live
			return l != nil && l.Constraint == engine.ConstraintSeats &&
				strings.Contains(l.Explanation, "has taken no calls since") && strings.Contains(l.Explanation, why)
		})
		if n := w.metric("dialler_bots_down"); n != 1 {
			t.Errorf("%s: %v bots are down", why, n)
		}
	}
	f("ws://"+silent.Addr().String(), engine.ProbeSession, "in time")
	f(answering(403), engine.ProbeSession, "HTTP 403")
	f(answering(503), engine.ProbeSession, "HTTP 503")
	f("wss://"+silent.Addr().String(), engine.ProbeConnection, "in time")
	f("ws://"+closed+"/media", engine.ProbeConnection, "connection refused")
	if n := len(model.Ledger().Calls()); n != 0 {
		t.Fatalf("%d calls were placed", n)
	}
	// The bot is restarted at the same address.
	again, err := bot.Start(bot.Config{Listen: closed,
		Conversations: []bot.Conversation{conversation(300 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	eventually(t, "the contact is called and served", func() bool { return w.contact(id, to).Status == "completed" })
	if b := w.shownBot(ourBot); b.Status.Health != "up" || w.metric("dialler_bots_down") != 0 ||
		w.metric("dialler_abandoned_total") != 0 {
		t.Errorf("afterwards %+v", b.Status)
	}
	if s := again.Summary(); s.Probes != 0 || s.Sessions != 1 || len(s.Violations) > 0 {
		t.Errorf("the bot saw %+v", s)
	}
	if n := strings.Count(w.log.String(), "the bot takes no calls"); n != 5 {
		t.Errorf("%d lines of the log for five outages", n)
	}
	w.act(id, "stop").expect(200)
	w.quiet()
}

// A connection tells nothing of a bot that refuses every session. Its first session is opened before
// anybody is called.
func TestABotThatRefusesEverySessionIsFoundOutBeforeAnybodyIsCalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	var knocks atomic.Int64
	s := httptest.NewServer(nethttp.HandlerFunc(func(rw nethttp.ResponseWriter, _ *nethttp.Request) {
		knocks.Add(1)
		rw.WriteHeader(403)
	}))
	t.Cleanup(s.Close)
	w.endpoints("ws" + strings.TrimPrefix(s.URL, "http"))
	for range 6 {
		r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()}).expect(503)
		if r.code() != "bot_unavailable" || !strings.Contains(string(r.body), "HTTP 403") {
			t.Errorf("a dialout is answered %s", r)
		}
	}
	if n := knocks.Load(); n == 0 || n > 6 {
		t.Errorf("%d sessions for six calls", n)
	}
	id := w.running(nil)
	if rep := w.trigger(id, newNumber(), nil); rep.Status != "queued" {
		t.Errorf("a trigger is answered %+v", rep)
	}
	eventually(t, "the campaign says that it waits for the bot", func() bool {
		l := w.detail(id).Live
		return l != nil && l.Constraint == engine.ConstraintSeats
	})
	if n := len(model.Ledger().Calls()); n != 0 {
		t.Errorf("%d calls were placed", n)
	}
	w.act(id, "stop").expect(200)
	// The session of a bot that takes it is the call's.
	w.endpoints(w.bot.URL())
	call := w.dialout(newNumber())
	w.session(call, "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	if s := w.bot.Summary(); s.Probes != 0 || s.Sessions != 1 {
		t.Errorf("the bot saw %+v", s)
	}
	if !w.bot.HangUp(call) {
		t.Error("the session is gone")
	}
	w.ended(call, engine.OutcomeCompleted)
	w.quiet()
}

// A bot with a health URL is asked there, with its own headers, and no session is opened but those
// of calls.
func TestABotWithAHealthURLIsAskedThereAndHasNoSessionButItsCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	b, err := bot.Start(bot.Config{Conversations: []bot.Conversation{conversation(300 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	inner, err := url.Parse("http" + strings.TrimPrefix(b.URL(), "ws"))
	if err != nil {
		t.Fatal(err)
	}
	inner.Path = ""
	var status, asked atomic.Int64
	status.Store(503)
	pass := httputil.NewSingleHostReverseProxy(inner)
	s := httptest.NewServer(nethttp.HandlerFunc(func(rw nethttp.ResponseWriter, r *nethttp.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cret":
			rw.WriteHeader(401)
		case r.URL.Path == "/health":
			asked.Add(1)
			rw.WriteHeader(int(status.Load()))
		default:
			pass.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(s.Close)
	w.hidden = append(w.hidden, "s3cret")
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10, "health_url": "/health",
		"endpoints": []string{"ws" + strings.TrimPrefix(s.URL, "http") + "/media"},
		"headers":   []map[string]string{{"name": "Authorization", "value": "Bearer s3cret"}}}).expect(200)
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()}).expect(503)
	if r.code() != "bot_unavailable" || !strings.Contains(string(r.body), "health_url answered HTTP 503") {
		t.Errorf("a dialout is answered %s", r)
	}
	if n := len(model.Ledger().Calls()); n != 0 {
		t.Errorf("%d calls were placed", n)
	}
	status.Store(204)
	eventually(t, "the bot is up again", func() bool { return w.shownBot(ourBot).Status.Health == "up" })
	w.ended(w.dialout(newNumber()), engine.OutcomeCompleted)
	if s := b.Summary(); s.Probes != 0 || s.Sessions != 1 || len(s.Violations) > 0 || asked.Load() < 2 {
		t.Errorf("the bot was asked %d times and saw %+v", asked.Load(), s)
	}
	w.quiet()
}

// A slow bot is as good as none.
func TestABotThatIsTooSlowMakesAnAbandonWithTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(2 * time.Second)}})
	w.heard()
	id := w.dialout(newNumber())
	if err := w.bot.Configure(bot.Config{Door: bot.Door{Delay: draw.Exactly(5 * time.Second)},
		Conversations: []bot.Conversation{conversation(time.Second)}}); err != nil {
		t.Fatal(err)
	}
	c := w.ended(id, engine.OutcomeAbandoned)
	if a := w.stored(id); a.Cause != engine.AbandonLateConnect && a.Cause != engine.AbandonCapacityLoss ||
		a.AnsweredAt == nil || a.ServedAt != nil || c.State != "ended" {
		t.Errorf("cause %s, shown as %+v", a.Cause, c)
	}
	if n, m := w.metric("dialler_abandoned_total"), w.labelled("dialler_outcomes_total", "outcome", "abandoned"); n != 1 ||
		m != 1 {
		t.Errorf("%v and %v abandoned", n, m)
	}
	if row := w.over(model, id); row.ByeBy != carrier.Caller || row.RTP.AudioAt.IsZero() {
		t.Errorf("the callee hears the message: %+v", row.RTP)
	}
	w.quiet()
}

func TestABotThatBreaksInTheConversationEndsItsCallAndNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	dies, floods, sibling := engine.PhoneNumber(newNumber()), engine.PhoneNumber(newNumber()), newNumber()
	// One dies silently, one sends nonsense and minutes of speech at once.
	if err := w.bot.Configure(bot.Config{Conversations: []bot.Conversation{conversation(0)},
		Script: map[engine.PhoneNumber][]bot.Conversation{
			dies: {{Die: draw.Exactly(300 * time.Millisecond), Result: &bot.Result{None: true}}},
			floods: {{Noise: 500, Burst: true, Utterance: draw.Exactly(2 * time.Minute), Pause: draw.Exactly(time.Hour),
				Result: &bot.Result{Disposition: "interested"}}},
		}}); err != nil {
		t.Fatal(err)
	}
	other, flood := w.dialout(sibling), w.dialout(floods.E164())
	w.session(other, "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	dead := w.dialout(dies.E164())
	if c := w.ended(dead, engine.OutcomeConnectedNoResult); c.HungUpBy != "bot" {
		t.Errorf("the bot died: %+v", c)
	}
	if n := w.labelled("dialler_outcomes_total", "outcome", "connected_no_result"); n != 1 {
		t.Errorf("%v calls ended without a result", n)
	}
	leg := func(id engine.CallID) engine.LegID { return w.stored(id).ID.Leg(1) }
	eventually(t, "its callee is hung up", func() bool {
		row, _ := model.Ledger().Call(string(leg(dead)))
		return row.State == carrier.StateEnded && row.ByeBy == carrier.Caller
	})
	w.session(flood, "begun", func(s bot.Session) bool { return s.FramesIn > 0 && s.FramesOut > 0 })
	for _, id := range []engine.CallID{other, flood} {
		eventually(t, "audio goes both ways", func() bool {
			row, _ := model.Ledger().Call(string(leg(id)))
			s, _ := w.bot.Session(id)
			return row.State == carrier.StateAnswered && row.RTP.Received > 25 && s.FramesIn > 25 && s.EndedAt.IsZero()
		})
		if !model.HangUp(string(leg(id))) {
			t.Fatal("the call is gone")
		}
		w.ended(id, engine.OutcomeCompleted)
	}
	if n := w.p.media.Stats().BotFramesMalformed + w.p.media.Stats().BotFramesUnknown; n < 300 {
		t.Errorf("%d frames were counted as nonsense", n)
	}
	if b := w.shownBot(ourBot); b.Status.Health != "up" {
		t.Errorf("a bot that took every call is %+v", b.Status)
	}
	w.quiet()
}
