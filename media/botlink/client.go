package botlink

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
)

// Config limits what a bot may cost. The zero value means the defaults.
type Config struct {
	PlayoutCap time.Duration // audio that a bot may send ahead; default 60 s
	FrameCap   int           // bytes of one incoming message; default 256 KiB, longer ones are ignored
	QueueCap   int           // bytes a bot may lag, beyond the kernel's buffer; default 64 KiB
	// RetryPause is the pause between two rounds through the endpoints; default 100 ms.
	RetryPause time.Duration
	// LingerTimeout is how long a stopped session waits for the bot to close
	// its side; default 2 s.
	LingerTimeout time.Duration
	TLS           *tls.Config // nil means the system's certificates
	// Result stores what a bot reports of its call, a JSON object, and returns the answer for it, or
	// nil. It is called from a goroutine of its own, for one result of a session at a time. nil
	// means that results are unknown frames.
	Result func(call engine.CallID, result []byte) []byte
}

// Stats are counters since the start, except Open and Ahead.
type Stats struct {
	Open           atomic.Int64 // open sockets
	Connected      atomic.Uint64
	Failed         atomic.Uint64 // no endpoint accepted the call
	Retries        atomic.Uint64 // attempts beyond a session's first
	Ahead          atomic.Int64  // sockets open ahead of their calls
	AheadFailed    atomic.Uint64 // ahead-of-call sockets that could not be opened
	Asked          atomic.Uint64 // probes that an endpoint accepted
	Closed         atomic.Uint64 // by the bot
	SlowBots       atomic.Uint64 // closed because they did not read
	FramesReceived atomic.Uint64
	FramesSent     atomic.Uint64
	Malformed      atomic.Uint64
	Unknown        atomic.Uint64
	Oversized      atomic.Uint64
	OverflowBytes  atomic.Uint64 // audio that did not fit the playout buffer
	MarksDropped   atomic.Uint64
}

// Request says which bot to reach and what to tell it.
type Request struct {
	Endpoints  []string // ws:// or wss://, tried in this order
	AuthToken  string   // signs the upgrade request
	Headers    []engine.HTTPHeader
	Account    string // "AC" + 32 hex
	Session    engine.SessionID
	Call       engine.CallID
	Parameters map[string]string // customParameters of start
	Deadline   time.Time         // for all attempts together; zero means 5 s from now
	Socket     engine.SocketID   // opened ahead; used if it is still open
}

// Handler receives the events of a session. Its methods are called in order from the session's own
// goroutines, never from within a method of Link; they must not block. After Stop no new call
// begins, but one in progress may still finish.
type Handler interface {
	// BotConnected means that the socket is open and start was written.
	BotConnected(l *Link, at time.Time)
	// BotFailed means that no endpoint accepted the call; it is the last callback. refused means
	// that at least one was reached and refused.
	BotFailed(l *Link, at time.Time, reason string, refused bool)
	// BotVerdict means that the bot reported a machine, a fax or SIT.
	BotVerdict(l *Link, at time.Time, v engine.Verdict)
	// BotClosed means that the bot closed or lost its socket; it is the last callback. normal means
	// that it closed with 1000, 1001 or 1005.
	BotClosed(l *Link, at time.Time, reason string, normal bool)
}

// Client opens sessions.
type Client struct {
	cfg    Config
	stats  Stats
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	links  map[*Link]struct{}
	ahead  map[engine.SocketID]*ahead
	tasks  sync.WaitGroup
}

// New returns a client; Close ends it.
func New(cfg Config) *Client {
	if cfg.PlayoutCap <= 0 {
		cfg.PlayoutCap = time.Minute
	}
	if cfg.FrameCap <= 0 {
		cfg.FrameCap = 256 << 10
	}
	if cfg.QueueCap <= 0 {
		cfg.QueueCap = 64 << 10
	}
	if cfg.RetryPause <= 0 {
		cfg.RetryPause = 100 * time.Millisecond
	}
	if cfg.LingerTimeout <= 0 {
		cfg.LingerTimeout = 2 * time.Second
	}
	c := &Client{cfg: cfg, links: map[*Link]struct{}{}, ahead: map[engine.SocketID]*ahead{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Stats gives the live counters.
func (c *Client) Stats() *Stats { return &c.stats }

// Connect starts opening a session and returns at once.
func (c *Client) Connect(r Request, h Handler) *Link {
	if r.Deadline.IsZero() {
		r.Deadline = time.Now().Add(5 * time.Second)
	}
	l := newLink(c, r, h)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		l.Stop()
		close(l.done)
		return l
	}
	c.links[l] = struct{}{}
	c.tasks.Add(1)
	c.mu.Unlock()
	go func() {
		if a := c.claim(r.Socket); a != nil {
			l.adopt(a)
			return
		}
		l.open()
	}()
	return l
}

// forget is called once by the last goroutine of a link.
func (c *Client) forget(l *Link) {
	c.mu.Lock()
	delete(c.links, l)
	c.mu.Unlock()
	close(l.done)
	c.tasks.Done()
}

// Close stops all sessions and waits for their goroutines, for about the linger timeout at most.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	all := make([]*Link, 0, len(c.links))
	for l := range c.links {
		all = append(all, l)
	}
	c.mu.Unlock()
	for _, l := range all {
		l.Stop()
	}
	c.CloseAllAhead("")
	c.cancel()
	c.tasks.Wait()
}
