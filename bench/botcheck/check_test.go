package botcheck

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"go.uber.org/goleak"

	"dialler/bench/bot"
	"dialler/bench/draw"
	"dialler/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const talk = 800 * time.Millisecond

// checked checks a bot and returns its findings: "level step text".
func checked(t *testing.T, b engine.Bot) (list []string, faults int) {
	t.Helper()
	faults = Run(t.Context(), Config{Bot: b, Talk: talk, Patience: time.Second}, func(f Finding) {
		list = append(list, fmt.Sprintf("%s %s %s", f.Level, f.Step, f.Text))
	})
	return list, faults
}

func contains(t *testing.T, list []string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		found := false
		for _, s := range list {
			found = found || strings.Contains(s, want)
		}
		if !found {
			t.Errorf("nothing says %q in\n%s", want, strings.Join(list, "\n"))
		}
	}
}

// The contact's variables do not replace what is said of the call, as in calls.
func TestABotIsToldOfTheCallAsInCalls(t *testing.T) {
	id := newCall()
	p := id.parameters(map[string]string{"call_id": "mine", "result_url": "mine", "plan": "gold"}, "http://a")
	if p["call_id"] != string(id.id()) || p["result_url"] != "http://a"+resultPath(id.id()) ||
		p["result_token"] != id.token || p["plan"] != "gold" {
		t.Errorf("it is told %v", p)
	}
}

// A bot that gives results without end does not fill the memory.
func TestNoMoreResultsAreToldThanAnybodyReads(t *testing.T) {
	r := &results{call: newCall(), first: make(chan struct{})}
	for range 3 * findingsCap {
		r.onSocket([]byte(`{"disposition":"sold"}`))
	}
	if n := len(r.all()); n != findingsCap {
		t.Errorf("%d are told", n)
	}
}

func TestABotThatDoesEverythingRightHasNoFault(t *testing.T) {
	b, err := bot.Start(bot.Config{AuthToken: "token", Conversations: []bot.Conversation{
		{Utterance: draw.Exactly(300 * time.Millisecond), Pause: draw.Exactly(100 * time.Millisecond)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	list, faults := checked(t, engine.Bot{Endpoints: []string{b.URL()}, AuthToken: "token"})
	contains(t, list, "ok address ws to 127.0.0.1", "ok session the upgrade took", "ok audio the bot spoke after",
		"ok frames every frame", "ok end the bot closed its socket after stop", "ok result a result came by HTTP")
	if s := b.Summary(); faults != 0 || s.Sessions != 1 || s.Probes != 0 || len(s.Violations) > 0 {
		t.Errorf("%d faults, the bot saw %+v\n%s", faults, s, strings.Join(list, "\n"))
	}
}

// stub is a bot that does what a test says once a session has begun.
func stub(t *testing.T, does func(c *websocket.Conn, start map[string]string)) string {
	t.Helper()
	up := websocket.Upgrader{}
	var sessions sync.WaitGroup
	var opened atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		opened.Add(1)
		sessions.Add(1)
		defer sessions.Done()
		defer func() { _ = c.Close() }()
		var frame struct {
			Start struct {
				Parameters map[string]string `json:"customParameters"`
			}
		}
		for range 2 {
			if c.ReadJSON(&frame) != nil {
				return
			}
		}
		does(c, frame.Start.Parameters)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		sessions.Wait()
		if n := opened.Load(); n > 1 {
			t.Errorf("%d sessions were opened", n)
		}
	})
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func text(c *websocket.Conn, s string) { _ = c.WriteMessage(websocket.TextMessage, []byte(s)) }

// toTheEnd reads until the socket closes.
func toTheEnd(c *websocket.Conn) {
	for {
		if _, _, err := c.ReadMessage(); err != nil {
			return
		}
	}
}

// hear reads some frames of the callee's.
func hear(c *websocket.Conn) {
	for range 20 {
		if _, _, err := c.ReadMessage(); err != nil {
			return
		}
	}
}

func speak(c *websocket.Conn) {
	loud := strings.Repeat("\x1e\x9e", 1600)
	text(c, `{"event":"media","media":{"payload":"`+base64.StdEncoding.EncodeToString([]byte(loud))+`"}}`)
}

func post(start map[string]string, token, kind, body string) (status int) {
	r, err := http.NewRequest(http.MethodPost, start["result_url"], strings.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestWhatIsWrongWithABotIsExplained(t *testing.T) {
	f := func(name string, want int, does func(*websocket.Conn, map[string]string), says ...string) {
		t.Run(name, func(t *testing.T) {
			list, faults := checked(t, engine.Bot{Endpoints: []string{stub(t, does)}})
			if contains(t, list, says...); faults != want {
				t.Errorf("%d faults, want %d:\n%s", faults, want, strings.Join(list, "\n"))
			}
		})
	}
	f("it gives its result on the socket and hangs up", 0, func(c *websocket.Conn, _ map[string]string) {
		speak(c)
		hear(c)
		text(c, `{"event":"result","result":{"disposition":"sold","outcom":"x"}}`)
		for {
			var in struct {
				Event  string
				Result struct {
					Status  string
					Unknown []string `json:"unknown_fields"`
				}
			}
			if c.ReadJSON(&in) != nil {
				return
			}
			if in.Event == "result" {
				if in.Result.Status != "ok" || len(in.Result.Unknown) != 1 {
					t.Errorf("answered %+v", in)
				}
				_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
			}
		}
	}, "ok audio", "ok end the bot closed its socket, which hangs up",
		"ok result a result came on the socket; stored as unknown, perhaps mistyped: outcom")
	f("it says nothing, and gives no result", 1, func(c *websocket.Conn, _ map[string]string) { toTheEnd(c) },
		"fault audio the bot said nothing", "warning result no result came within")
	f("it speaks another dialect", 0, func(c *websocket.Conn, _ map[string]string) {
		speak(c)
		text(c, `{"event":"media","media":{"payload":7}}`)
		text(c, `{"event":"response.audio.delta"}`)
		_ = c.WriteMessage(websocket.BinaryMessage, []byte{1})
		toTheEnd(c)
	}, "warning frames 1 frames could not be read", "warning frames 2 frames are none that the dialler knows")
	f("it dies", 1, func(c *websocket.Conn, _ map[string]string) {
		speak(c)
		hear(c)
	}, "fault end the bot's connection was lost in the middle of the conversation")
	f("it keeps its socket open", 0, func(c *websocket.Conn, _ map[string]string) {
		speak(c)
		c.SetCloseHandler(func(int, string) error { return nil })
		toTheEnd(c)
		_, _ = c.NetConn().Read(make([]byte, 1)) // until the dialler breaks off
	}, "warning end the bot did not close its socket within 2s after stop")
	f("its result is refused", 1, func(c *websocket.Conn, start map[string]string) {
		speak(c)
		if s := post(start, start["result_token"], "application/json", `{"disposition":5}`); s != 422 {
			t.Errorf("answered %d", s)
		}
		toTheEnd(c)
	}, "fault result a result came by HTTP that is refused, and lost", "disposition must be a string")
	f("its result has no token", 1, func(c *websocket.Conn, start map[string]string) {
		speak(c)
		if s := post(start, "x", "application/json", `{"disposition":"sold"}`); s != 401 {
			t.Errorf("answered %d", s)
		}
		toTheEnd(c)
	}, "fault result a result was posted without the bearer")
	f("its result is a form", 1, func(c *websocket.Conn, start map[string]string) {
		speak(c)
		if s := post(start, start["result_token"], "text/plain", `disposition=sold`); s != 415 {
			t.Errorf("answered %d", s)
		}
		toTheEnd(c)
	}, "fault result a result was posted with another Content-Type")
	f("its result has no disposition", 0, func(c *websocket.Conn, start map[string]string) {
		speak(c)
		body, _ := json.Marshal(map[string]string{"summary": start["to_number"]})
		post(start, start["result_token"], "application/json", string(body))
		toTheEnd(c)
	}, "warning result a result came by HTTP without a disposition")
}

func TestABotThatTakesNoSessionIsExplained(t *testing.T) {
	f := func(b engine.Bot, says ...string) {
		t.Helper()
		list, faults := checked(t, b)
		if contains(t, list, says...); faults == 0 {
			t.Errorf("no fault:\n%s", strings.Join(list, "\n"))
		}
	}
	refusing := func(status int) engine.Bot {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return engine.Bot{Endpoints: []string{"ws" + strings.TrimPrefix(s.URL, "http")}}
	}
	f(refusing(403), "fault session the bot answered HTTP 403. Check the auth token")
	f(refusing(404), "Check the path")
	f(refusing(200), "This is a web page")
	f(refusing(301), "Redirects are not followed")
	f(refusing(426), "a proxy passes Upgrade")
	f(refusing(503), "full or not ready")
	f(engine.Bot{Endpoints: []string{"ws://127.0.0.1:1"}}, "Nothing listens there")
	f(engine.Bot{Endpoints: []string{"http://a"}}, "fault address endpoints[0] must be a ws://")
	f(engine.Bot{Endpoints: []string{"sip:bot@a"}}, "fault address a bot that is called by SIP")
	f(engine.Bot{Endpoints: []string{"ws://a"}, Headers: []engine.HTTPHeader{{Name: "Host", Value: "a"}}},
		"fault address headers[0].name is written by the dialler itself")
	at := stub(t, func(*websocket.Conn, map[string]string) {})
	f(engine.Bot{Endpoints: []string{at}, HealthURL: "/health"}, "fault health the bot's health_url answered HTTP 502")
	slow, err := bot.Start(bot.Config{Door: bot.Door{Delay: draw.Exactly(1900 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slow.Close() })
	f(engine.Bot{Endpoints: []string{slow.URL()}}, "A callee waits 1.8s for the bot")
}
