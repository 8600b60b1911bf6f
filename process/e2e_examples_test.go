package process

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/engine"
)

// example starts a bot of the folder examples and returns its endpoint once it listens.
func example(t *testing.T, program, path, token string) (endpoint string) {
	t.Helper()
	port := strconv.Itoa(ports.Of(t))
	endpoint = "ws://127.0.0.1:" + port + "/calls"
	cmd := exec.Command(program, filepath.Join("..", "examples", path))
	libraries, err := filepath.Abs(consoleDir + "/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PORT="+port, "BOT_TOKEN="+token, "BOT_URL="+endpoint, "NODE_PATH="+libraries)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("%s said:\n%s", path, said.String())
		}
	})
	eventually(t, path+" listens", func() bool {
		c, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	return endpoint
}

// python returns a Python that has the library of the example.
func python(t *testing.T) string {
	t.Helper()
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import websockets").Run() == nil {
			return p
		}
	}
	t.Fatal("no Python has websockets; make deps installs it (Debian package python3-websockets)")
	return ""
}

// The bots of docs/bots.md, as they stand there: each greets, is interrupted by the callee, gives its
// result on the socket and hangs up; when the callee hangs up first, it posts the result.
func TestTheExampleBotsHoldWholeCalls(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, token string) string{
		"node":   func(t *testing.T, token string) string { return example(t, node(t), "bot-node/bot.js", token) },
		"python": func(t *testing.T, token string) string { return example(t, python(t), "bot-python/bot.py", token) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tuning{}, 0)
			talks := person(50 * time.Millisecond)
			talks.Chatter = draw.Exactly(20 * time.Millisecond)
			model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{talks}})
			w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10,
				"endpoints": []string{start(t, ourToken)}, "health_url": "/health"}).expect(200)

			id := w.dialout(newNumber())
			if c := w.ended(id, engine.OutcomeCompleted); c.HungUpBy != "bot" || c.Disposition != "greeted" {
				t.Errorf("the bot hung up: %+v", c)
			}
			told := w.stored(id).Result.Variables
			heard, _ := strconv.Atoi(told["heard_ms"])
			if interrupted, _ := strconv.Atoi(told["interrupted"]); heard == 0 || interrupted == 0 {
				t.Errorf("it heard %v", told)
			}
			if row := w.over(model, id); row.ByeBy != carrier.Caller || row.RTP.AudioAt.IsZero() {
				t.Errorf("at the carrier: %+v", row)
			}

			id = w.dialout(newNumber())
			eventually(t, "the callee hears the bot", func() bool {
				row, _ := model.Ledger().Call(string(w.stored(id).ID.Leg(1)))
				return !row.RTP.AudioAt.IsZero()
			})
			if !model.HangUp(string(w.stored(id).ID.Leg(1))) {
				t.Fatal("the call is gone")
			}
			if c := w.ended(id, engine.OutcomeCompleted); c.HungUpBy != "callee" || c.Disposition != "hung_up" {
				t.Errorf("the callee hung up: %+v", c)
			}
			if st := w.p.media.Stats(); st.BotFramesMalformed+st.BotFramesUnknown != 0 {
				t.Errorf("%d frames were malformed, %d unknown", st.BotFramesMalformed, st.BotFramesUnknown)
			}
			w.quiet()

			// Whoever does not know the token has no session.
			w.endpoints(start(t, "another"))
			r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
			if r.status != 503 || r.code() != "bot_unavailable" {
				t.Errorf("a bot with another token: %s", r)
			}
		})
	}
}

// A result that cannot be posted ends neither the bot nor its other calls.
func TestAnExampleBotOutlivesAResultThatNobodyTakes(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) string{
		"node":   func(t *testing.T) string { return example(t, node(t), "bot-node/bot.js", "") },
		"python": func(t *testing.T) string { return example(t, python(t), "bot-python/bot.py", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := start(t)
			nobody := "http://127.0.0.1:" + strconv.Itoa(ports.Of(t)) + "/"
			call := func() (c *websocket.Conn, await func(event string)) {
				c, _, err := websocket.DefaultDialer.Dial(endpoint, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				say(t, c, map[string]any{"event": "start", "start": map[string]any{"streamSid": "MZ",
					"customParameters": map[string]string{"result_url": nobody, "result_token": "x"}}})
				return c, func(event string) {
					t.Helper()
					var f struct{ Event string }
					for f.Event != event {
						if err := c.ReadJSON(&f); err != nil {
							t.Fatalf("while %s was awaited: %v", event, err)
						}
					}
				}
			}
			one, greeted := call()
			greeted("mark")
			other, told := call()
			told("mark")
			say(t, one, map[string]any{"event": "stop"})
			_ = one.Close()
			// The pause before the goodbye outlasts a refused connection and the second try.
			say(t, other, map[string]any{"event": "mark", "mark": map[string]string{"name": "greeting"}})
			told("mark")
			say(t, other, map[string]any{"event": "mark", "mark": map[string]string{"name": "goodbye"}})
			told("result")
		})
	}
}

// say sends a frame as the dialler does.
func say(t *testing.T, c *websocket.Conn, frame any) {
	t.Helper()
	if err := c.WriteJSON(frame); err != nil {
		t.Fatal(err)
	}
}
