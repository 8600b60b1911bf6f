package bot

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"go.uber.org/goleak"

	"dialler/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test on a busy machine.
const patience = time.Minute

func start(t testing.TB, cfg Config) *Bot {
	t.Helper()
	b, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func until(t testing.TB, b *Bot, what string, cond func(*Bot) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Wait(ctx, cond); err != nil {
		t.Fatalf("waited in vain until %s; sessions: %+v, summary: %+v", what, b.Sessions(), b.Summary())
	}
}

const (
	number  = "+4915100000001"
	account = "AC00000000000000000000000000000001"
	stream  = "MZ00000000000000000000000000000002"
	callSID = "CA00000000000000000000000000000003"
)

// platform is the other end of a Media Streams socket, as Twilio would be.
type platform struct {
	t          testing.TB
	conn       *websocket.Conn
	seq, chunk int
	parameters map[string]string
}

func dial(t testing.TB, b *Bot, header http.Header) (*platform, *http.Response, error) {
	t.Helper()
	return dialURL(t, b.URL(), header)
}

func dialURL(t testing.TB, url string, header http.Header) (*platform, *http.Response, error) {
	t.Helper()
	d := websocket.Dialer{HandshakeTimeout: patience}
	conn, resp, err := d.Dial(url, header)
	if err != nil {
		return nil, resp, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return &platform{t: t, conn: conn, parameters: map[string]string{
		"from_number": "+4930555", "to_number": number, "call_id": callSID, "attempt_id": callSID[2:],
		"result_url": "http://127.0.0.1:9/none", "result_token": "secret",
	}}, resp, nil
}

func connect(t testing.TB, b *Bot) *platform {
	t.Helper()
	p, _, err := dial(t, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *platform) send(format string, args ...any) {
	p.t.Helper()
	if err := p.conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *platform) next() int { p.seq++; return p.seq }

func (p *platform) connected() { p.send(`{"event":"connected","protocol":"Call","version":"1.0.0"}`) }

func (p *platform) begin() *platform {
	p.t.Helper()
	p.connected()
	params, err := json.Marshal(p.parameters)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(`{"event":"start","sequenceNumber":"%d",`+
		`"start":{"accountSid":"%s","streamSid":"%s","callSid":"%s","tracks":["inbound"],`+
		`"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1},"customParameters":%s},"streamSid":"%s"}`,
		p.next(), account, stream, callSID, params, stream)
	return p
}

func (p *platform) media(fill byte) {
	p.t.Helper()
	p.chunk++
	payload := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string([]byte{fill}), 160)))
	p.send(`{"event":"media","sequenceNumber":"%d",`+
		`"media":{"track":"inbound","chunk":"%d","timestamp":"%d","payload":"%s"},"streamSid":"%s"}`,
		p.next(), p.chunk, p.chunk*20, payload, stream)
}

func (p *platform) mark(name string) {
	p.t.Helper()
	p.send(`{"event":"mark","sequenceNumber":"%d","streamSid":"%s","mark":{"name":"%s"}}`, p.next(), stream, name)
}

func (p *platform) stop() {
	p.t.Helper()
	p.send(`{"event":"stop","sequenceNumber":"%d","streamSid":"%s","stop":{"accountSid":"%s","callSid":"%s"}}`,
		p.next(), stream, account, callSID)
}

// botFrame is a frame from the bot.
type botFrame struct {
	Event     string `json:"event"`
	StreamSID string `json:"streamSid"`
	Media     struct {
		Payload string `json:"payload"`
	} `json:"media"`
	Mark struct {
		Name string `json:"name"`
	} `json:"mark"`
}

// read returns the bot's next frame, or an error if the socket has ended.
func (p *platform) read() (botFrame, error) {
	var f botFrame
	_, b, err := p.conn.ReadMessage()
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(b, &f); err != nil {
		p.t.Fatalf("the bot sent %q: %v", b, err)
	}
	if f.StreamSID != stream {
		p.t.Fatalf("the bot sent streamSid %q", f.StreamSID)
	}
	return f, nil
}

// readTo reads up to an event and counts the media frames before it.
func (p *platform) readTo(event string) (f botFrame, media, bytes int) {
	p.t.Helper()
	for {
		f, err := p.read()
		if err != nil {
			p.t.Fatalf("no %s: %v", event, err)
		}
		if f.Event == event {
			return f, media, bytes
		}
		if f.Event == "media" {
			raw, err := base64.StdEncoding.DecodeString(f.Media.Payload)
			if err != nil {
				p.t.Fatal(err)
			}
			media++
			bytes += len(raw)
		}
	}
}

func (p *platform) session(b *Bot) Session {
	p.t.Helper()
	s, ok := b.Session(callSID)
	if !ok {
		p.t.Fatal("the bot does not know the call")
	}
	return s
}

func script(list ...Conversation) map[engine.PhoneNumber][]Conversation {
	return map[engine.PhoneNumber][]Conversation{number: list}
}
