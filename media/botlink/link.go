package botlink

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

type linkState uint8

const (
	linkDialling linkState = iota
	linkUp
	linkStopped // by Stop, by the bot, or because it never opened
)

// Link is one session with a bot. Its methods are safe for concurrent use and never block; before
// the session opens and after its end they do nothing.
type Link struct {
	client  *Client
	req     Request
	handler Handler
	ctx     context.Context // ends with Stop while dialling
	cancel  context.CancelFunc
	done    chan struct{}

	mu    sync.Mutex
	state linkState
	ws    *websocket.Conn
	tcp   *conn
	out   net.Conn // tcp, or TLS on top of it
	why   error    // a failed write, which ends the session
	// endpoint accepted the session; missed did not.
	endpoint string
	missed   []engine.EndpointMiss
	byUs     bool   // Stop was called
	stream   string // ids as JSON strings with their quotes
	account  string
	call     string
	seq      uint64
	chunk    uint64
	play     playout
	// results are those of the bot that wait for the one being stored, oldest first.
	results [][]byte
	storing bool
	// active is false while play has neither audio nor marks: then the ticks of a quiet bot take no
	// lock.
	active atomic.Bool
}

func newLink(c *Client, r Request, h Handler) *Link {
	l := &Link{
		client: c, req: r, handler: h, done: make(chan struct{}),
		stream: quote(string(r.Session)), account: quote(r.Account), call: quote(string(r.Call)),
	}
	l.play.cap = int(c.cfg.PlayoutCap.Milliseconds()) * bytesPerMilli
	l.ctx, l.cancel = context.WithCancel(c.ctx)
	return l
}

// Session is the session's id.
func (l *Link) Session() engine.SessionID { return l.req.Session }

// Up says whether the session is open.
func (l *Link) Up() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == linkUp
}

// Done is closed when the session's goroutine has ended.
func (l *Link) Done() <-chan struct{} { return l.done }

// WriteFrame sends the callee's audio, 8 kHz μ-law, to the bot. ulaw is normally FrameBytes long
// and is not retained.
func (l *Link) WriteFrame(ulaw []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != linkUp {
		return
	}
	s := getScratch()
	l.chunk++
	l.seq++
	s.b = appendMedia(s.b, l.stream, l.seq, l.chunk, (l.chunk-1)*FrameBytes/bytesPerMilli, ulaw)
	l.send(opText, s)
}

// WriteDigit sends a DTMF digit of the callee: 0-9, *, #, A-D.
func (l *Link) WriteDigit(digit byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != linkUp {
		return
	}
	s := getScratch()
	l.seq++
	s.b = appendDigit(s.b, l.stream, l.seq, digit)
	l.send(opText, s)
}

// ReadFrame copies up to len(dst) bytes of the audio that the callee is to hear and returns their
// number, 0 when the bot is quiet. hold says that it is late rather than quiet: nothing is to be
// played for now, and what follows continues what was played before. It is called every 20 ms; each
// call also means that the audio of the previous one has been played, which is when marks are
// echoed.
func (l *Link) ReadFrame(dst []byte) (n int, hold bool) {
	if !l.active.Load() {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != linkUp {
		return 0, false
	}
	l.echo(l.play.due())
	take, hold := l.play.ready()
	if !take {
		l.active.Store(!l.play.idle() || len(l.play.marks) > 0)
		return 0, hold
	}
	return l.play.pop(dst), false
}

// Stop ends the session: stop frame, close frame, then the bot has
// LingerTimeout to close its side. No callback is made after Stop.
func (l *Link) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byUs = true
	l.cancel()
	if l.state != linkUp {
		l.state = linkStopped
		return
	}
	s := getScratch()
	l.seq++
	s.b = appendStop(s.b, l.stream, l.seq, l.account, l.call)
	l.send(opText, s)
	l.sendClose(websocket.CloseNormalClosure)
	l.shut()
	deadline := time.Now().Add(l.client.cfg.LingerTimeout)
	_ = l.tcp.SetReadDeadline(deadline)
	if l.tcp.behind() {
		l.client.tasks.Add(1)
		go func(c *conn) {
			defer l.client.tasks.Done()
			c.flush(deadline)
		}(l.tcp)
	}
}

// shut leaves linkUp; the lock is held.
func (l *Link) shut() {
	l.state = linkStopped
	l.play.clear()
	l.play.marks = nil
}

// echo returns the first n marks; the lock is held.
func (l *Link) echo(n int) {
	for _, m := range l.play.marks[:n] {
		if l.state != linkUp {
			break
		}
		s := getScratch()
		l.seq++
		s.b = appendMark(s.b, l.stream, l.seq, m.name)
		l.send(opText, s)
	}
	if n > 0 {
		l.play.dropMarks(min(n, len(l.play.marks)))
	}
}

// send frames and writes the payload after s's head room and returns s to the pool; the lock is
// held.
func (l *Link) send(op byte, s *scratch) {
	_, err := l.out.Write(finish(op, s.b))
	putScratch(s)
	if err == nil {
		if op == opText {
			l.client.stats.FramesSent.Add(1)
		}
		return
	}
	if l.why == nil {
		l.why = err
		if errors.Is(err, errSlow) {
			l.client.stats.SlowBots.Add(1)
		}
		// This wakes the reader, which reports it.
		_ = l.tcp.Close()
	}
}

func (l *Link) sendClose(code int) {
	s := getScratch()
	s.b = append(s.b, byte(code>>8), byte(code)) //nolint:gosec // a close code has two bytes
	l.send(opClose, s)
}

// handleControl answers the bot's pings and its close frame.
func (l *Link) handleControl(ws *websocket.Conn) {
	ws.SetPingHandler(func(data string) error {
		l.pong(data)
		return nil
	})
	ws.SetCloseHandler(func(int, string) error {
		l.closing()
		return nil
	})
}

func (l *Link) pong(data string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == linkUp {
		s := getScratch()
		s.b = append(s.b, data...)
		l.send(opPong, s)
	}
}

func (l *Link) closing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == linkUp {
		l.sendClose(websocket.CloseNormalClosure)
	}
}

// begin opens the session: connected and start are its first two messages.
func (l *Link) begin(ws *websocket.Conn, tcp *conn) error {
	s := getScratch()
	defer func() { putScratch(s) }()
	start, err := appendStart(nil, &l.req)
	if err != nil {
		return err
	}
	s.b = append(s.b, connectedFrame...)
	first := append([]byte(nil), finish(opText, s.b)...)
	s.b = append(s.b[:headRoom], start...)
	first = append(first, finish(opText, s.b)...)

	l.mu.Lock()
	if l.byUs {
		l.mu.Unlock()
		return context.Canceled
	}
	l.ws, l.tcp, l.out = ws, tcp, ws.NetConn()
	// The kernel's buffer is empty, so this does not block for long; it is bounded nevertheless.
	_ = l.tcp.SetWriteDeadline(l.req.Deadline)
	l.mu.Unlock()
	if _, err := l.out.Write(first); err != nil {
		return errors.New("the bot closed its socket before start")
	}
	_ = tcp.SetWriteDeadline(time.Time{})
	tcp.detach()

	l.mu.Lock()
	if l.byUs {
		l.mu.Unlock()
		return context.Canceled
	}
	l.state = linkUp
	l.req.Parameters, l.req.Headers = nil, nil // personal data and secrets are not kept longer than needed
	l.seq = 1
	l.mu.Unlock()
	l.client.stats.FramesSent.Add(2)
	l.client.stats.Connected.Add(1)
	return nil
}

type message struct{ b []byte }

// messages holds buffers for incoming frames: an idle socket holds none.
var messages = sync.Pool{New: func() any { return &message{b: make([]byte, 2048)} }}

// read runs as long as the socket is open.
func (l *Link) read() {
	l.connected()
	l.receiveAll(l.ws.NextReader())
}

func (l *Link) connected() {
	l.mu.Lock()
	up := l.state == linkUp
	l.mu.Unlock()
	if up {
		l.handler.BotConnected(l, time.Now())
	}
}

// receiveAll handles a message and all later ones, until the socket closes.
func (l *Link) receiveAll(kind int, r io.Reader, err error) {
	for ; err == nil; kind, r, err = l.ws.NextReader() {
		if kind != websocket.TextMessage {
			l.client.stats.Unknown.Add(1)
			continue
		}
		if err = l.receive(r); err != nil {
			break
		}
	}
	_ = l.tcp.Close()
	l.client.stats.Open.Add(-1)

	l.mu.Lock()
	silent := l.byUs
	if l.why != nil {
		err = l.why
	}
	l.shut()
	l.mu.Unlock()
	l.cancel()
	if !silent {
		l.client.stats.Closed.Add(1)
		reason, normal := closeReason(err)
		l.handler.BotClosed(l, time.Now(), reason, normal)
	}
	l.client.forget(l)
}

func closeReason(err error) (reason string, normal bool) {
	var ce *websocket.CloseError
	switch {
	case errors.Is(err, errSlow):
		return errSlow.Error(), false
	case errors.As(err, &ce) && ce.Code != websocket.CloseAbnormalClosure:
		switch ce.Code {
		case websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived:
			return "the bot closed its socket", true
		}
		return "the bot closed its socket with an error: " + strings.TrimPrefix(ce.Error(), "websocket: "), false
	}
	return "the bot's connection was lost", false
}

// receive reads and handles one message. The error is the socket's.
func (l *Link) receive(r io.Reader) error {
	m := messages.Get().(*message)
	defer func() {
		if cap(m.b) <= maxScratch {
			messages.Put(m)
		}
	}()
	n, frameCap := 0, l.client.cfg.FrameCap
	for {
		got, err := r.Read(m.b[n:])
		n += got
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if n > frameCap {
			l.client.stats.Oversized.Add(1)
			return nil // NextReader discards the rest
		}
		if n == len(m.b) {
			grown := make([]byte, min(2*n, frameCap+1))
			copy(grown, m.b)
			m.b = grown
		}
	}
	l.handle(m, n)
	l.client.stats.FramesReceived.Add(1)
	return nil
}

// handle acts on the message in m.b[:n]; m.b may grow.
func (l *Link) handle(m *message, n int) {
	in, err := parse(m.b[:n])
	if err != nil {
		l.client.stats.Malformed.Add(1)
		return
	}
	switch string(in.event) {
	case "media":
		audio, ok := m.audio(n, in)
		if !ok {
			l.client.stats.Malformed.Add(1)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state == linkUp {
			l.active.Store(true)
			if dropped := l.play.push(audio); dropped > 0 {
				l.client.stats.OverflowBytes.Add(uint64(dropped))
			}
		}
	case "mark":
		if in.name == nil {
			l.client.stats.Malformed.Add(1)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state != linkUp {
			return
		}
		l.active.Store(true)
		if len(in.name) > 1024 || !l.play.addMark(in.name) {
			l.client.stats.MarksDropped.Add(1)
			return
		}
		if l.play.size == 0 {
			l.echo(l.play.due())
		}
	case "clear":
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state == linkUp {
			l.play.clear()
			l.echo(len(l.play.marks))
		}
	case "verdict":
		v := engine.Verdict(in.verdict)
		if v.Live() { // every unknown name too
			l.client.stats.Malformed.Add(1)
			return
		}
		l.mu.Lock()
		up := l.state == linkUp
		l.mu.Unlock()
		if up {
			l.handler.BotVerdict(l, time.Now(), v)
		}
	case "result":
		if l.client.cfg.Result == nil {
			l.client.stats.Unknown.Add(1)
			return
		}
		if in.result == nil {
			l.client.stats.Malformed.Add(1)
			return
		}
		l.reported(bytes.Clone(in.result))
	default:
		l.client.stats.Unknown.Add(1)
	}
}

// resultsCap is how many results of a session wait for the one being stored; further ones are refused.
const resultsCap = 8

var errTooManyResults = engine.Unavailable("too_many_results",
	"the results before it are not stored yet; give it again when they are answered", 0)

// reported has a result stored after those that came before it: each may say what the next does
// not. It also comes after stop: a bot may send it when it is told of the end.
func (l *Link) reported(result []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.results) == resultsCap {
		l.answer(appendRefused(nil, l.call, errTooManyResults))
		return
	}
	l.results = append(l.results, result)
	if l.storing {
		return
	}
	l.storing = true
	l.client.tasks.Add(1)
	go func() {
		defer l.client.tasks.Done()
		for result := l.waiting(); result != nil; result = l.waiting() {
			answer := l.client.cfg.Result(l.req.Call, result)
			l.mu.Lock()
			l.answer(answer)
			l.mu.Unlock()
		}
	}()
}

// waiting takes the oldest result that waits; nil means that there is none.
func (l *Link) waiting() (result []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.results) == 0 {
		l.results, l.storing = nil, false
		return nil
	}
	result, l.results = l.results[0], l.results[1:]
	return result
}

// answer sends what became of a result; the lock is held.
func (l *Link) answer(answer []byte) {
	if l.state == linkUp && answer != nil {
		s := getScratch()
		l.seq++
		s.b = appendResult(s.b, l.stream, l.seq, answer)
		l.send(opText, s)
	}
}

// audio decodes the payload of a media frame into the buffer after the message.
func (m *message) audio(n int, in incoming) ([]byte, bool) {
	if in.payload == nil {
		return nil, false
	}
	text := in.payload
	if in.escaped { // some encoders write "\/" for a slash of the base64
		var s string
		if json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &s) != nil {
			return nil, false
		}
		text = []byte(s)
	}
	for len(text) > 0 && text[len(text)-1] == '=' {
		text = text[:len(text)-1] // padding is optional
	}
	need := base64.RawStdEncoding.DecodedLen(len(text))
	if len(m.b)-n < need {
		grown := make([]byte, n+need)
		copy(grown, m.b[:n])
		m.b = grown // text still points into the old buffer
	}
	got, err := base64.RawStdEncoding.Decode(m.b[n:n+need], text)
	if err != nil {
		return nil, false
	}
	return m.b[n : n+got], true
}
