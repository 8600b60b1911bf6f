package botlink

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"go.uber.org/goleak"

	"dialler/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// bot is a WebSocket server; each test decides what it hears and says.
type bot struct {
	t       testing.TB
	server  *httptest.Server
	conns   chan *websocket.Conn
	headers chan http.Header
	status  int // refuses with this status unless 0

	mu   sync.Mutex
	open []*websocket.Conn
}

func newBot(t testing.TB, tls bool) *bot {
	t.Helper()
	b := &bot{t: t, conns: make(chan *websocket.Conn, 10), headers: make(chan http.Header, 100)}
	up := websocket.Upgrader{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case b.headers <- r.Header:
		default: // enough of them
		}
		b.mu.Lock()
		status := b.status
		b.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		b.mu.Lock()
		b.open = append(b.open, conn)
		b.mu.Unlock()
		b.conns <- conn
	})
	if tls {
		b.server = httptest.NewTLSServer(h)
	} else {
		b.server = httptest.NewServer(h)
	}
	t.Cleanup(func() {
		b.server.Close()
		b.mu.Lock()
		for _, c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
	})
	return b
}

func (b *bot) url() string { return "ws" + strings.TrimPrefix(b.server.URL, "http") + "/media?x=1" }

func (b *bot) conn() *peer {
	b.t.Helper()
	select {
	case c := <-b.conns:
		return &peer{b.t, c}
	case <-time.After(patience):
		b.t.Fatal("no connection came")
	}
	return nil
}

// peer is the bot's end of a socket.
type peer struct {
	t testing.TB
	*websocket.Conn
}

type frame struct {
	Event    string `json:"event"`
	Protocol string `json:"protocol"`
	Version  string `json:"version"`
	Sequence string `json:"sequenceNumber"`
	Stream   string `json:"streamSid"`
	Start    *struct {
		Account string   `json:"accountSid"`
		Stream  string   `json:"streamSid"`
		Call    string   `json:"callSid"`
		Tracks  []string `json:"tracks"`
		Format  struct {
			Encoding string `json:"encoding"`
			Rate     int    `json:"sampleRate"`
			Channels int    `json:"channels"`
		} `json:"mediaFormat"`
		Parameters map[string]string `json:"customParameters"`
	} `json:"start"`
	Media *struct {
		Track     string `json:"track"`
		Chunk     string `json:"chunk"`
		Timestamp string `json:"timestamp"`
		Payload   []byte `json:"payload"`
	} `json:"media"`
	DTMF *struct {
		Track string `json:"track"`
		Digit string `json:"digit"`
	} `json:"dtmf"`
	Mark *struct {
		Name string `json:"name"`
	} `json:"mark"`
	Result struct {
		Status string `json:"status"`
		Code   string `json:"code"`
	} `json:"result"`
	Stop *struct {
		Account string `json:"accountSid"`
		Call    string `json:"callSid"`
	} `json:"stop"`
}

func (p *peer) next() frame {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	_, data, err := p.ReadMessage()
	if err != nil {
		p.t.Fatal(err)
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		p.t.Fatalf("%v in %s", err, data)
	}
	return f
}

func (p *peer) text(s string) {
	p.t.Helper()
	if err := p.WriteMessage(websocket.TextMessage, []byte(s)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) say(b []byte) {
	p.t.Helper()
	p.text(`{"event":"media","streamSid":"MZ","media":{"payload":"` + base64.StdEncoding.EncodeToString(b) + `"}}`)
}

func (p *peer) mark(name string) {
	p.t.Helper()
	p.text(`{"event":"mark","mark":{"name":"` + name + `"}}`)
}

// heard records the callbacks of a session.
type heard struct {
	t  testing.TB
	ch chan callback
}

type callback struct {
	kind, reason string
	flag         bool
	at           time.Time
}

func listen(t testing.TB) *heard { return &heard{t, make(chan callback, 100)} }

func (h *heard) BotConnected(_ *Link, at time.Time) { h.ch <- callback{kind: "connected", at: at} }
func (h *heard) BotFailed(_ *Link, at time.Time, reason string, refused bool) {
	h.ch <- callback{"failed", reason, refused, at}
}
func (h *heard) BotClosed(_ *Link, at time.Time, reason string, normal bool) {
	h.ch <- callback{"closed", reason, normal, at}
}

func (h *heard) BotVerdict(_ *Link, at time.Time, v engine.Verdict) {
	h.ch <- callback{kind: "verdict", reason: string(v), at: at}
}

func (h *heard) next(kind string) callback {
	h.t.Helper()
	select {
	case c := <-h.ch:
		if c.kind != kind {
			h.t.Fatalf("%q (%s), want %q", c.kind, c.reason, kind)
		}
		return c
	case <-time.After(patience):
		h.t.Fatalf("no %q came", kind)
	}
	return callback{}
}

func (h *heard) none() {
	h.t.Helper()
	select {
	case c := <-h.ch:
		h.t.Fatalf("unexpected %q", c.kind)
	default:
	}
}

func request(urls ...string) Request {
	return Request{
		Endpoints: urls, AuthToken: "token", Account: "AC00000000000000000000000000000001",
		Session: "MZ00000000000000000000000000000002", Call: "CA00000000000000000000000000000003",
		Parameters: map[string]string{"from_number": "+1", `odd"key`: "värde <&>\n"},
		Deadline:   time.Now().Add(patience),
	}
}

func client(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.LingerTimeout == 0 {
		cfg.LingerTimeout = 50 * time.Millisecond // most bots here are not read to the end
	}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// connect returns both ends of a session whose first two messages were read.
func connect(t testing.TB, cfg Config) (*Link, *peer, *heard, *Client) {
	t.Helper()
	b, c, h := newBot(t, false), client(t, cfg), listen(t)
	l := c.Connect(request(b.url()), h)
	p := b.conn()
	p.next()
	p.next()
	h.next("connected")
	return l, p, h, c
}

func wait(t testing.TB, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the session did not end")
	}
}
