package wire

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// Leisure is the work on connections that takes as long as clients like: files
// and streams. It ends with the server.
type Leisure struct {
	Ctx    context.Context
	cancel context.CancelFunc
	Work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// NewLeisure makes one that ends with ctx at the latest.
func NewLeisure(ctx context.Context) *Leisure {
	l := &Leisure{}
	l.Ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// begin counts work that begins; it returns false if the server is shutting down.
func (l *Leisure) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.Work.Add(1)
	return true
}

// Stop ends all of it, and waits for its end or for ctx.
func (l *Leisure) Stop(ctx context.Context) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Work.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// AtLeisure runs work that takes as long as a client likes on the connection, in place of the
// response; fasthttp closes the connection afterwards. It ends when the server shuts down.
func (r *Request) AtLeisure(end func(), run func(ctx context.Context, conn net.Conn)) {
	h := r.Host
	r.HTTP.HijackSetNoResponse(true)
	r.HTTP.Hijack(func(conn net.Conn) { h.OnConnection(conn, end, run) })
}

// OnConnection runs work on a connection, unless the server is shutting down; end
// is called in either case.
func (h *Host) OnConnection(conn net.Conn, end func(), run func(ctx context.Context, conn net.Conn)) {
	defer end()
	if !h.Leisure.begin() {
		return
	}
	defer h.Leisure.Work.Done()
	defer func() {
		if p := recover(); p != nil {
			h.Panicked(p)
		}
	}()
	ctx, cancel := context.WithCancel(h.Leisure.Ctx)
	unblocked := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(unblocked)
		_ = conn.SetDeadline(Past)
	})
	defer func() {
		cancel()
		<-unblocked
	}()
	run(ctx, conn)
}

// Past is a deadline in the past.
var Past = time.Unix(1, 0)

// Patient gives every write its own time-out, and all writes together the time of a reader at
// reportRate bytes a second.
type Patient struct {
	Conn     net.Conn
	Patience time.Duration
	sent     int64
	waited   time.Duration
}

// reportRate is the minimum average rate of a reader, in bytes a second, because the number of
// concurrent reports is limited.
const reportRate = 16 << 10

// Write implements io.Writer.
func (p *Patient) Write(b []byte) (int, error) {
	earned := time.Duration(float64(p.sent) / reportRate * float64(time.Second))
	wait := min(p.Patience, p.Patience+earned-p.waited)
	if wait <= 0 {
		return 0, os.ErrDeadlineExceeded
	}
	began := time.Now()
	if err := p.Conn.SetWriteDeadline(began.Add(wait)); err != nil {
		return 0, err
	}
	n, err := p.Conn.Write(b)
	p.sent += int64(n)
	p.waited += time.Since(began)
	return n, err
}

// ReportPatience is how long a reader of a file may take for what it was sent, unless Config sets
// it.
const ReportPatience = 60 * time.Second
