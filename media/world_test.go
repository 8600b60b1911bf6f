package media

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/pion/rtp"
	"go.uber.org/goleak"

	"dialler/engine"
	"dialler/media/codec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; it is long because machines are shared.
const patience = 60 * time.Second

// start returns an engine on loopback that ends with the test.
func start(t testing.TB, change func(*Config)) *Engine {
	t.Helper()
	cfg := Config{Host: "127.0.0.1", Sockets: 2}
	if change != nil {
		change(&cfg)
	}
	cfg.Bot.LingerTimeout = 100 * time.Millisecond
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// events records what a sink receives.
type events struct {
	t  testing.TB
	ch chan engine.MediaEvent
}

func record(t testing.TB) *events { return &events{t, make(chan engine.MediaEvent, 1000)} }

func (r *events) sink(ev engine.MediaEvent) { r.ch <- ev }

// next returns the next event, which must be of the given kind.
func (r *events) next(kind engine.MediaEventKind) engine.MediaEvent {
	r.t.Helper()
	select {
	case ev := <-r.ch:
		if ev.Kind != kind {
			r.t.Fatalf("event %d is %q (%s), want %q", ev.Seq, ev.Kind, ev.Error, kind)
		}
		return ev
	case <-time.After(patience):
		r.t.Fatalf("no %q came", kind)
	}
	return engine.MediaEvent{}
}

func (r *events) none() {
	r.t.Helper()
	select {
	case ev := <-r.ch:
		r.t.Fatalf("unexpected event %q", ev.Kind)
	default:
	}
}

// phone is the far side of a call: one UDP socket.
type phone struct {
	t    testing.TB
	conn *net.UDPConn
	to   *net.UDPAddr // the engine's address, from its offer
	ssrc uint32
	seq  uint16
	ts   uint32
}

func newPhone(t testing.TB, ssrc uint32) *phone {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadBuffer(1 << 20)
	return &phone{t: t, conn: conn, ssrc: ssrc, seq: 65000, ts: ssrc * 7}
}

func (p *phone) port() int { return p.conn.LocalAddr().(*net.UDPAddr).Port }

// called reads the offer and returns an answer with the payload types.
func (p *phone) called(offer []byte, formats string, extra ...string) []byte {
	p.t.Helper()
	p.to = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: offeredPort(p.t, offer)}
	return sdpAnswer(p.port(), formats, extra...)
}

func offeredPort(t testing.TB, offer []byte) int {
	t.Helper()
	var port int
	for line := range strings.Lines(string(offer)) {
		if _, err := fmt.Sscanf(line, "m=audio %d RTP/AVP 0 8 101", &port); err == nil {
			return port
		}
	}
	t.Fatalf("no m= line in %q", offer)
	return 0
}

func sdpAnswer(port int, formats string, extra ...string) []byte {
	s := fmt.Sprintf("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio %d RTP/AVP %s\r\n",
		port, formats)
	for _, line := range extra {
		s += line + "\r\n"
	}
	return []byte(s)
}

// say sends one packet.
func (p *phone) say(pt uint8, payload []byte) {
	p.t.Helper()
	p.send(rtp.Header{Version: 2, PayloadType: pt, SequenceNumber: p.seq, Timestamp: p.ts, SSRC: p.ssrc}, payload)
	p.seq++
	p.ts += uint32(len(payload))
}

// paced returns a function to call after each packet: now and then it waits until the engine has
// read everything, so that no socket buffer overflows.
func (p *phone) paced(e *Engine) (said func()) {
	before, n := e.Stats().PacketsReceived, uint64(0)
	return func() {
		if n++; n%25 == 0 {
			wait(p.t, func() bool { return e.Stats().PacketsReceived >= before+n }, nil)
		}
	}
}

func (p *phone) send(h rtp.Header, payload []byte) {
	p.t.Helper()
	b, err := (&rtp.Packet{Header: h, Payload: payload}).Marshal()
	if err != nil {
		p.t.Fatal(err)
	}
	p.raw(b)
}

func (p *phone) raw(b []byte) {
	p.t.Helper()
	if _, err := p.conn.WriteTo(b, p.to); err != nil {
		p.t.Fatal(err)
	}
}

// together makes the engine read in one batch what send sends.
func (p *phone) together(e *Engine, n int, send func()) {
	p.t.Helper()
	s := e.call(attempt(n)).sock
	s.mu.Lock()
	defer s.mu.Unlock()
	p.raw(make([]byte, rtpHeaderBytes)) // of no RTP version: holding this one, the reader waits
	send()
}

// streams makes the phone say something and returns the first packet sent after that was heard:
// from then on there are no gaps.
func (p *phone) streams(e *Engine, n int) *rtp.Packet {
	p.t.Helper()
	c := e.call(attempt(n))
	var next uint16
	wait(p.t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		next = c.seq
		return c.tsKnown
	}, nil)
	for {
		if pkt := p.hear(); pkt.SequenceNumber == next {
			return pkt
		}
	}
}

// hear reads one packet.
func (p *phone) hear() *rtp.Packet {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 2000)
	n := 0
	for n == 0 || isRTCP(buf[:n]) {
		var err error
		if n, _, err = p.conn.ReadFromUDP(buf); err != nil {
			p.t.Fatal(err)
		}
	}
	var pkt rtp.Packet
	if err := pkt.Unmarshal(buf[:n]); err != nil {
		p.t.Fatal(err)
	}
	return &pkt
}

// hearUntil collects payloads until it has total bytes that are not silence.
func (p *phone) hearUntil(total int, silence byte) []byte {
	p.t.Helper()
	var out []byte
	for deadline := time.Now().Add(patience); len(out) < total; {
		if time.Now().After(deadline) { // silence never ends
			p.t.Fatalf("%d of %d bytes came", len(out), total)
		}
		for _, b := range p.hear().Payload {
			if b != silence {
				out = append(out, b)
			}
		}
	}
	return out
}

// frame is any message of the platform.
type frame struct {
	Event    string `json:"event"`
	Sequence string `json:"sequenceNumber"`
	Stream   string `json:"streamSid"`
	Start    struct {
		Call       string            `json:"callSid"`
		Parameters map[string]string `json:"customParameters"`
	} `json:"start"`
	Media struct {
		Chunk     string `json:"chunk"`
		Timestamp string `json:"timestamp"`
		Payload   string `json:"payload"`
	} `json:"media"`
	Mark struct {
		Name string `json:"name"`
	} `json:"mark"`
	DTMF struct {
		Digit string `json:"digit"`
	} `json:"dtmf"`
}

// bot is a WebSocket server that keeps its sessions.
type bot struct {
	t        testing.TB
	server   *httptest.Server
	sessions chan *session
	mu       sync.Mutex
	open     []*websocket.Conn
}

type session struct {
	t      testing.TB
	conn   *websocket.Conn
	frames chan frame
}

func newBot(t testing.TB) *bot {
	t.Helper()
	b := &bot{t: t, sessions: make(chan *session, 100)}
	up := websocket.Upgrader{}
	var readers sync.WaitGroup
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		b.mu.Lock()
		b.open = append(b.open, conn)
		b.mu.Unlock()
		s := &session{t: t, conn: conn, frames: make(chan frame, 100000)}
		readers.Add(1)
		go func() {
			defer readers.Done()
			defer close(s.frames)
			defer func() { _ = conn.Close() }()
			for {
				_, data, err := conn.ReadMessage()
				if err != nil {
					return
				}
				var f frame
				if json.Unmarshal(data, &f) != nil {
					f.Event = "not JSON"
				}
				s.frames <- f
			}
		}()
		b.sessions <- s
	}))
	t.Cleanup(func() {
		b.server.Close()
		b.mu.Lock()
		for _, c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
		readers.Wait()
	})
	return b
}

func (b *bot) url() string { return "ws" + strings.TrimPrefix(b.server.URL, "http") + "/media" }

func (b *bot) session() *session {
	b.t.Helper()
	select {
	case s := <-b.sessions:
		return s
	case <-time.After(patience):
		b.t.Fatal("no session came")
	}
	return nil
}

func (s *session) next() (frame, bool) {
	s.t.Helper()
	select {
	case f, ok := <-s.frames:
		return f, ok
	case <-time.After(patience):
		s.t.Fatal("no frame came")
	}
	return frame{}, false
}

// until skips frames up to the next one of the event.
func (s *session) until(event string) frame {
	s.t.Helper()
	for {
		f, ok := s.next()
		if !ok {
			s.t.Fatalf("the socket was closed before %q", event)
		}
		if f.Event == event {
			return f
		}
	}
}

// hearUntil collects audio until it has total bytes that are not silence.
func (s *session) hearUntil(total int) []byte {
	s.t.Helper()
	var out []byte
	for deadline := time.Now().Add(patience); len(out) < total; {
		if time.Now().After(deadline) { // silence never ends
			s.t.Fatalf("%d of %d bytes came", len(out), total)
		}
		f := s.until("media")
		audio, err := base64.StdEncoding.DecodeString(f.Media.Payload)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, b := range audio {
			if b != codec.UlawSilence {
				out = append(out, b)
			}
		}
	}
	return out
}

func (s *session) send(v any) {
	s.t.Helper()
	if err := s.conn.WriteJSON(v); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) say(audio []byte) {
	s.t.Helper()
	s.send(map[string]any{"event": "media", "streamSid": "x",
		"media": map[string]any{"payload": base64.StdEncoding.EncodeToString(audio)}})
}

func attempt(n int) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("%032x", n)) }

func attach(id engine.AttemptID, urls ...string) engine.AttachBot {
	return engine.AttachBot{
		Attempt: id, Session: engine.SessionID("MZ" + string(id)), Call: id.Call(), Endpoints: urls,
		AuthToken: "secret", Account: "AC" + string(id), Parameters: map[string]string{"campaign_id": "c"},
		Deadline: time.Now().Add(patience),
	}
}

// speech is n bytes that are silence in neither codec, different at each position.
func speech(n int, seed byte) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		for {
			x = x*1664525 + 1013904223
			b[i] = byte(x >> 24)
			if codec.UlawToPCM[b[i]] > 100 || codec.UlawToPCM[b[i]] < -100 {
				break
			}
		}
	}
	return b
}

func addr(port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port))
}
