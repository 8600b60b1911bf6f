package botlink

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

const (
	// pingEvery keeps proxies from closing a socket as idle while it waits for its call, and
	// detects a bot that is gone.
	pingEvery  = 5 * time.Second
	pongWithin = 3 * pingEvery
)

// ahead is a socket opened ahead of its call: the upgrade is done and no message was sent. Its
// goroutine reads, and becomes the reader of the link that takes it.
type ahead struct {
	client *Client
	id     engine.SocketID
	tell   func(engine.SocketEvent)
	taken  chan *Link // closed with that link, or nil if it could not take it

	mu       sync.Mutex
	ws       *websocket.Conn
	tcp      *conn
	endpoint string
	claimed  bool // a link is taking it
	over     bool // closed by us or the bot
	link     *Link
	timers   []*time.Timer
}

// OpenAhead opens a socket ahead of its call and returns at once. tell reports whether it opened,
// and later if it is lost before a call took it, but not after it was closed. It is called from the
// socket's own goroutine and must not block.
func (c *Client) OpenAhead(cmd engine.OpenSocket, tell func(engine.SocketEvent)) {
	ctx, cancel := context.WithTimeout(c.ctx, cmd.Timeout)
	a := &ahead{client: c, id: cmd.Socket, tell: tell, taken: make(chan *Link, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.ahead[cmd.Socket] != nil {
		cancel()
		return
	}
	c.ahead[cmd.Socket] = a
	c.tasks.Add(1)
	go func() {
		defer c.tasks.Done()
		defer cancel()
		a.run(ctx, &cmd)
	}()
}

// CloseAhead closes such a socket, or stops opening it. One that a call has taken stays open.
func (c *Client) CloseAhead(id engine.SocketID) {
	if a := c.takeAhead(id); a != nil {
		a.close()
	}
}

// CloseAllAhead closes the sockets whose identifier has the prefix.
func (c *Client) CloseAllAhead(prefix string) {
	c.mu.Lock()
	var list []*ahead
	for id, a := range c.ahead {
		if strings.HasPrefix(string(id), prefix) {
			list = append(list, a)
			delete(c.ahead, id)
		}
	}
	c.mu.Unlock()
	for _, a := range list {
		a.close()
	}
}

func (c *Client) takeAhead(id engine.SocketID) *ahead {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.ahead[id]
	delete(c.ahead, id)
	return a
}

// forget drops a socket that is over. Another one may have its identifier by now.
func (a *ahead) forget() {
	a.client.mu.Lock()
	defer a.client.mu.Unlock()
	if a.client.ahead[a.id] == a {
		delete(a.client.ahead, a.id)
	}
}

// claim returns an open socket to a link; nil means it is not open.
func (c *Client) claim(id engine.SocketID) *ahead {
	if id == "" {
		return nil
	}
	a := c.takeAhead(id)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.ws == nil {
		a.over = true
		return nil
	}
	a.claimed = true
	a.stopTimers()
	_ = a.tcp.SetReadDeadline(time.Time{})
	return a
}

// run opens the socket and reads until it is closed or a link takes it.
func (a *ahead) run(ctx context.Context, cmd *engine.OpenSocket) {
	e := engine.SocketEvent{Socket: a.id, Reason: errNoEndpoint.Error()}
	for i, url := range cmd.Endpoints {
		if i > 0 && a.gone() {
			return
		}
		share := cmd.Timeout
		if end, ok := ctx.Deadline(); ok {
			share = time.Until(end) / time.Duration(len(cmd.Endpoints)-i)
		}
		try, cancel := context.WithTimeout(ctx, share)
		ws, tcp, _, err := a.client.dial(try, url, cmd.AuthToken, cmd.Headers)
		cancel()
		if err != nil {
			e.Missed, e.Reason = append(e.Missed, engine.EndpointMiss{Endpoint: url, Reason: err.Error()}), err.Error()
			continue
		}
		if a.stands(ws, tcp, url, cmd.Limit) {
			e.Stands, e.Endpoint, e.Reason = true, url, ""
			a.tell(e)
		}
		a.read(ws)
		return
	}
	a.forget()
	a.mu.Lock()
	silent := a.over
	a.over = true
	a.mu.Unlock()
	if !silent {
		a.client.stats.AheadFailed.Add(1)
		a.tell(e)
	}
}

// gone says whether the socket is no longer wanted.
func (a *ahead) gone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}

// stands keeps the open socket; it returns false when the socket is no longer wanted and about to
// close.
func (a *ahead) stands(ws *websocket.Conn, tcp *conn, url string, limit time.Duration) bool {
	ws.SetPingHandler(func(data string) error {
		a.mu.Lock()
		l := a.link
		if l == nil && !a.claimed {
			a.write(opPong, []byte(data))
		}
		a.mu.Unlock()
		if l != nil {
			l.pong(data)
		}
		return nil
	})
	ws.SetPongHandler(func(string) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.claimed && !a.over {
			_ = tcp.SetReadDeadline(time.Now().Add(pongWithin))
		}
		return nil
	})
	ws.SetCloseHandler(func(int, string) error {
		a.mu.Lock()
		l := a.link
		if l == nil && !a.claimed && !a.over {
			a.writeClose()
		}
		a.mu.Unlock()
		if l != nil {
			l.closing()
		}
		return nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ws, a.tcp, a.endpoint = ws, tcp, url
	a.client.stats.Ahead.Add(1)
	if a.over {
		a.leave()
		return false
	}
	_ = tcp.SetReadDeadline(time.Now().Add(pongWithin))
	a.timers = append(a.timers, time.AfterFunc(pingEvery, a.ping), time.AfterFunc(limit, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.claimed && !a.over {
			a.leave()
		}
	}))
	return true
}

func (a *ahead) ping() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.claimed && !a.over {
		a.write(opPing, nil)
		a.timers[0].Reset(pingEvery)
	}
}

// write sends a control frame; the lock is held.
func (a *ahead) write(op byte, payload []byte) {
	s := getScratch()
	s.b = append(s.b, payload...)
	_ = a.tcp.SetWriteDeadline(time.Now().Add(askLinger))
	_, err := a.ws.NetConn().Write(finish(op, s.b))
	putScratch(s)
	if err != nil {
		_ = a.tcp.Close() // the reader wakes up
	}
}

func (a *ahead) writeClose() {
	a.write(opClose, []byte{websocket.CloseNormalClosure >> 8, websocket.CloseNormalClosure & 0xff})
}

// leave closes the socket gracefully: it waits a little for the bot's close frame. The lock is
// held.
func (a *ahead) leave() {
	a.writeClose()
	_ = a.tcp.SetReadDeadline(time.Now().Add(askLinger))
}

func (a *ahead) stopTimers() {
	for _, t := range a.timers {
		t.Stop()
	}
}

// close ends a socket that no call has taken. One that is still being opened is closed once the bot
// has accepted it: aborting would leave the bot with a call that never began.
func (a *ahead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.claimed {
		return
	}
	a.over = true
	a.stopTimers()
	if a.ws != nil {
		a.leave()
	}
}

// read waits for messages from the bot; there are none before it was told of a call.
func (a *ahead) read(ws *websocket.Conn) {
	for {
		kind, r, err := ws.NextReader()
		a.mu.Lock()
		claimed, silent := a.claimed, a.over
		if err != nil && !claimed {
			a.over = true
			a.stopTimers()
		}
		a.mu.Unlock()
		switch {
		case claimed:
			if l := <-a.taken; l != nil {
				l.receiveAll(kind, r, err)
			}
			return
		case err != nil:
			_ = a.tcp.Close()
			a.client.stats.Ahead.Add(-1)
			if !silent {
				a.forget()
				reason, _ := closeReason(err)
				a.tell(engine.SocketEvent{Socket: a.id, Reason: reason})
			}
			return
		}
		a.client.stats.Unknown.Add(1)
		_, _ = io.Copy(io.Discard, r)
	}
}

// adopt makes the socket the link's. If it is lost at that moment, another one is opened as if
// there had been none.
func (l *Link) adopt(a *ahead) {
	l.client.stats.Ahead.Add(-1)
	l.took(a.endpoint)
	if err := l.begin(a.ws, a.tcp); err != nil {
		_ = a.tcp.Close()
		a.taken <- nil
		l.open()
		return
	}
	a.mu.Lock()
	a.link = l
	a.mu.Unlock()
	l.client.stats.Open.Add(1)
	l.connected()
	a.taken <- l
}
