package bot

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what X-Twilio-Signature is made with
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/bench/admin"
	"dialler/bench/await"
	"dialler/bench/draw"
	"dialler/bench/pace"
	"dialler/engine"
)

// pacerCount goroutines send the audio of all sessions.
const pacerCount = 2

// seatGrace is how long a full bot waits for a seat before it refuses.
const seatGrace = 50 * time.Millisecond

// Bot is a running model bot.
type Bot struct {
	cfg    Config
	rules  atomic.Pointer[rules]
	server *http.Server
	addr   string
	admin  *admin.Server
	pacers *pace.Group
	voices voices
	poster *poster
	upgr   websocket.Upgrader

	ctx    context.Context // ends with Close; bounds result posts
	cancel context.CancelFunc

	knocks       atomic.Int64
	open         atomic.Int64
	peak         atomic.Int64
	full         atomic.Int64
	refused      atomic.Int64
	badSignature atomic.Int64
	badUpgrade   atomic.Int64
	probes       atomic.Int64

	mu       sync.Mutex
	sessions []*session
	past     Summary // of the sessions not kept
	// forgetting ensures that only one goroutine at a time folds sessions into past.
	forgetting bool
	heard      map[engine.PhoneNumber]int
	closed     bool

	changed   await.Signal
	tasks     sync.WaitGroup
	served    chan struct{}
	closeOnce sync.Once
}

// Start listens for sessions.
func Start(cfg Config) (*Bot, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("bot: %w", err)
	}
	r, err := cfg.rules()
	if err != nil {
		return nil, fmt.Errorf("bot: %w", err)
	}
	// Calls are short: probes of idle connections would cost four system calls each.
	quiet := net.ListenConfig{KeepAlive: -1}
	ln, err := quiet.Listen(context.Background(), "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("bot: %w", err)
	}
	b := &Bot{
		cfg: cfg, addr: ln.Addr().String(), heard: map[engine.PhoneNumber]int{}, past: newSummary(), served: make(
			chan struct{}),
		pacers: pace.Start(pacerCount), voices: voices{seed: cfg.Seed},
		poster: newPoster(),
		upgr: websocket.Upgrader{
			ReadBufferSize: readBuffer(cfg.ReadEvery), WriteBufferSize: 2048, WriteBufferPool: &sync.Pool{},
			CheckOrigin: func(*http.Request) bool { return true }, // platforms send none
		},
	}
	b.rules.Store(r)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc(cfg.Path, b.knock)
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(b.served)
		_ = b.server.Serve(drowsyListener{ln}) // ends with Close
	}()
	if cfg.HTTP != "" {
		if b.admin, err = admin.Start(cfg.HTTP, cfg.AllowRemote, b.routes()); err != nil {
			_ = b.Close() // always nil
			return nil, fmt.Errorf("bot: %w", err)
		}
	}
	return b, nil
}

// readBuffer returns the size of a session's read buffer: a few frames, or the data between two
// reads and half as much again.
func readBuffer(every time.Duration) int {
	const frame, second = 320, 50 // bytes per frame, frames per second
	return max(2048, min(int(every.Seconds()*frame*second*1.5), asleep))
}

// Run runs a bot as a separate process, until ctx ends or StopAfter has passed.
func Run(ctx context.Context, cfg Config) error {
	b, err := Start(cfg)
	if err != nil {
		return err
	}
	if cfg.StopAfter > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cfg.StopAfter)
		defer cancel()
	}
	b.cfg.Log.Info().Str("url", b.URL()).Str("http", b.HTTPAddr()).Msg("bot listens")
	<-ctx.Done()
	s := b.Summary()
	b.cfg.Log.Info().Int("sessions", s.Sessions).Interface("violations", s.Violations).
		Interface("results", s.Results).Msg("bot stops")
	return b.Close()
}

// URL returns the URL that the platform dials.
func (b *Bot) URL() string { return "ws://" + b.addr + b.cfg.Path }

// HTTPAddr returns host:port of the admin interface, empty without one.
func (b *Bot) HTTPAddr() string { return b.admin.Addr() }

// Configure replaces seed, seats, door, conversations, script and results for later sessions.
func (b *Bot) Configure(cfg Config) error {
	r, err := cfg.rules()
	if err != nil {
		return fmt.Errorf("bot: %w", err)
	}
	b.rules.Store(r)
	return nil
}

// Close breaks all sessions and gives up results that are not posted yet.
func (b *Bot) Close() error {
	b.closeOnce.Do(func() {
		b.mu.Lock()
		b.closed = true
		open := append([]*session(nil), b.sessions...)
		b.mu.Unlock()
		b.cancel()
		b.poster.close()
		b.admin.Close()
		_ = b.server.Close()
		<-b.served
		for _, s := range open {
			s.abandon()
		}
		b.tasks.Wait()
		b.pacers.Close()
	})
	return nil
}

// Sessions gives the record of every session, oldest first.
func (b *Bot) Sessions() []Session {
	b.mu.Lock()
	all := append([]*session(nil), b.sessions...)
	b.mu.Unlock()
	out := make([]Session, 0, len(all))
	for _, s := range all {
		out = append(out, s.record())
	}
	return out
}

// Session gives the newest session of a call.
func (b *Bot) Session(call engine.CallID) (Session, bool) {
	rows := b.Sessions()
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].CallID == call {
			return rows[i], true
		}
	}
	return Session{}, false
}

// Summary counts everything.
func (b *Bot) Summary() Summary {
	b.mu.Lock()
	all, s := append([]*session(nil), b.sessions...), b.past.clone()
	b.mu.Unlock()
	for _, one := range all {
		s.count(one.record())
	}
	s.PeakOpen, s.Full, s.Refused = int(b.peak.Load()), int(b.full.Load()), int(b.refused.Load())
	s.BadSignature, s.BadUpgrade = int(b.badSignature.Load()), int(b.badUpgrade.Load())
	s.Probes = int(b.probes.Load())
	return s
}

// Wait returns once cond holds, or with the error of ctx.
func (b *Bot) Wait(ctx context.Context, cond func(*Bot) bool) error {
	return b.changed.Until(ctx, func() bool { return cond(b) })
}

// HangUp makes the bot close the socket of a call now; it returns false if no open session has that
// call.
func (b *Bot) HangUp(call engine.CallID) bool {
	b.mu.Lock()
	all := append([]*session(nil), b.sessions...)
	b.mu.Unlock() // a session's mutex is never taken under the bot's
	for _, s := range all {
		if s.hangUpIf(call) {
			return true
		}
	}
	return false
}

// knock handles an upgrade request.
func (b *Bot) knock(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.tasks.Add(1)
	b.mu.Unlock()
	defer b.tasks.Done()
	if b.cfg.AuthToken != "" && !b.signed(r) {
		b.badSignature.Add(1)
		b.changed.Notify()
		http.Error(w, "bad signature", http.StatusForbidden)
		return
	}
	rules := b.rules.Load()
	chance := draw.Rand(rules.seed, "door", int(b.knocks.Add(1)))
	door := rules.door
	wait := door.Delay.Draw(chance)
	if chance.Float64() < door.SlowShare {
		wait = max(wait, door.Slow.Draw(chance))
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-b.ctx.Done():
			return
		case <-r.Context().Done(): // the platform gave up
			b.refused.Add(1)
			b.changed.Notify()
			return
		}
	}
	switch fate := chance.Float64(); {
	case fate < door.RefuseShare:
		b.refused.Add(1)
		b.changed.Notify()
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	case fate < door.RefuseShare+door.DropShare:
		b.refused.Add(1)
		b.changed.Notify()
		panic(http.ErrAbortHandler) // net/http's way to close without an answer
	}
	if !b.takeSeat(rules.seats) {
		b.full.Add(1)
		b.changed.Notify()
		http.Error(w, "no free seat", http.StatusServiceUnavailable)
		return
	}
	conn, err := b.upgr.Upgrade(w, r, nil)
	if err != nil {
		b.giveSeat()
		b.badUpgrade.Add(1)
		return
	}
	b.serve(conn)
}

// takeSeat reserves a seat; seats 0 means no limit. A full bot checks again for a moment, because
// the stop frame of one session and the upgrade of the next come over different sockets and may be
// read in the wrong order.
func (b *Bot) takeSeat(seats int64) bool {
	try := func() bool {
		for {
			open := b.open.Load()
			if seats > 0 && open >= seats {
				return false
			}
			if b.open.CompareAndSwap(open, open+1) {
				for peak := b.peak.Load(); open+1 > peak && !b.peak.CompareAndSwap(peak, open+1); {
					peak = b.peak.Load()
				}
				return true
			}
		}
	}
	if try() {
		return true
	}
	ctx, cancel := context.WithTimeout(b.ctx, seatGrace)
	defer cancel()
	return b.changed.Until(ctx, try) == nil
}

func (b *Bot) giveSeat() {
	b.open.Add(-1)
	b.changed.Notify()
}

// serve runs one session to its end and posts its result.
func (b *Bot) serve(conn *websocket.Conn) {
	s := newSession(b, conn)
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		s.giveSeat()
		_ = conn.Close()
		return
	}
	b.sessions = append(b.sessions, s)
	b.mu.Unlock()
	s.read()
	s.giveSeat()
	if s.probe {
		b.probes.Add(1)
		b.mu.Lock()
		b.sessions = slices.DeleteFunc(slices.Clone(b.sessions), func(o *session) bool { return o == s })
		b.mu.Unlock()
		s.release()
		b.changed.Notify()
		return
	}
	s.report()
	s.release()
	b.forget()
	b.changed.Notify()
}

// forget folds the oldest sessions into the summary if there are too many; unfinished ones stay. It
// works in batches.
func (b *Bot) forget() {
	keep := b.cfg.KeepSessions
	if keep <= 0 {
		return
	}
	b.mu.Lock()
	old := b.sessions[:max(0, len(b.sessions)-keep)]
	if len(old) < keep || b.forgetting {
		b.mu.Unlock()
		return
	}
	b.forgetting = true
	b.mu.Unlock() // a session's mutex is never taken under the bot's
	rows, gone := make([]Session, 0, len(old)), make(map[*session]bool, len(old))
	for _, s := range old { // nobody changes the slice's elements meanwhile
		if s.over.Load() {
			rows, gone[s] = append(rows, s.record()), true
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past.count(rows...)
	for i := range rows {
		delete(b.heard, rows[i].Number)
	}
	b.sessions = slices.Clone(slices.DeleteFunc(b.sessions, func(s *session) bool { return gone[s] }))
	b.forgetting = false
}

// nth returns how many sessions a number has had, and counts one more.
func (b *Bot) nth(number engine.PhoneNumber) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard[number]++
	return b.heard[number]
}

// signed verifies X-Twilio-Signature: base64(HMAC-SHA1(token, URL)). A URL
// without a path may have been signed with or without its slash.
func (b *Bot) signed(r *http.Request) bool {
	got := r.Header.Get("X-Twilio-Signature")
	bases := []string{b.cfg.PublicURL}
	if b.cfg.PublicURL == "" {
		bases = []string{"ws://" + r.Host + r.RequestURI, "wss://" + r.Host + r.RequestURI}
	}
	for _, url := range bases {
		for _, u := range []string{url, strings.TrimSuffix(url, "/")} {
			mac := hmac.New(sha1.New, []byte(b.cfg.AuthToken))
			mac.Write([]byte(u))
			want := base64.StdEncoding.EncodeToString(mac.Sum(nil))
			if subtle.ConstantTimeCompare([]byte(want), []byte(got)) == 1 {
				return true
			}
		}
	}
	return false
}
