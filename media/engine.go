package media

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/botlink"
	"dialler/media/recording"
)

// Config says where media runs and limits its cost.
type Config struct {
	// Host is the address that SDP offers name, for example 127.0.0.1 or the external address of a
	// NAT.
	Host string
	// Bind is the local address of the sockets, of Host's family; if empty, Host.
	Bind string
	// Second is an address of the other family, for trunks that use that one; empty means none.
	Second string
	// PortMin and PortMax bound the UDP ports, inclusive; a socket takes an even one for RTP and
	// the odd one above for RTCP. PortMax 0 means any free ports.
	PortMin, PortMax int
	// Control, if set, is called for each socket before it is bound (net.ListenConfig.Control).
	Control func(network, address string, c syscall.RawConn) error
	// Sockets is the number of RTP sockets of an address that all calls share; default 32. More are opened, up to
	// SocketCap (default 1024), while more calls than that are ringing or unheard and may latch.
	Sockets, SocketCap int
	// Pacers is the number of goroutines that send; default 4.
	Pacers int
	// RTPTimeout is how long neither RTP nor RTCP may arrive before MediaSilent; default 30 s.
	RTPTimeout time.Duration
	// HoldTimeout is the same while the far side does not want to hear us (a=sendonly, a=inactive, port 0, or
	// the old c=0.0.0.0): whoever puts a call on hold may send nothing. Default 10 min, longer than people wait.
	HoldTimeout time.Duration
	// Message is the WAV file (8 kHz mono) that PlayMessage plays; if empty, a built-in tone of 1.2
	// s.
	Message string
	// ReadPause is how long the reader of a busy socket waits to batch datagrams; default 3 ms,
	// negative disables it. It adds to the latency and to the measured jitter.
	ReadPause time.Duration
	// Voicemail reads a message to be left on machines, as μ-law; it may block until ctx ends. nil
	// means there are no messages.
	Voicemail func(ctx context.Context, id engine.VoicemailID) ([]byte, error)
	AMD       amd.Config
	Bot       botlink.Config
	// Recorder makes the recordings of calls that ask for one; nil means none are made.
	Recorder *recording.Recorder
	// Fence is the lease of this node. After its end no bot is attached, and no audio is sent once
	// no node has the call. nil means that no lease is needed.
	Fence engine.Fence
	Log   zerolog.Logger
}

// Engine carries the audio of all calls of a process. Its methods are safe
// for concurrent use and return at once.
type Engine struct {
	cfg     Config
	log     zerolog.Logger
	message []byte
	bots    *botlink.Client
	own     []netip.Prefix // the networks of this host
	pools   []*pool        // of Host and Second
	started time.Time
	stop    chan struct{}
	tasks   sync.WaitGroup
	cname   string // of our reports (RFC 7022 §4.2: random, one per process)

	mu      sync.RWMutex
	sockets []*socket // some are added, none is removed
	groups  []*group
	calls   map[engine.AttemptID]*call
	closed  bool
	done    recent
	// voicemails are the messages in memory.
	voicemails map[engine.VoicemailID]*voicemail

	counters counters
}

var errClosed = errors.New("media: closed")

// New binds the sockets and starts the readers and pacers. It fails when an address is none, the
// port range is too small or in use, or the message cannot be read.
func New(cfg Config) (*Engine, error) {
	if cfg.Bind == "" {
		cfg.Bind = cfg.Host
	}
	if cfg.Sockets <= 0 {
		cfg.Sockets = 32
	}
	if cfg.SocketCap <= 0 {
		cfg.SocketCap = 1024
	}
	cfg.SocketCap = max(cfg.SocketCap, cfg.Sockets)
	if cfg.Pacers <= 0 {
		cfg.Pacers = 4
	}
	cfg.Pacers = min(cfg.Pacers, cfg.Sockets)
	if cfg.RTPTimeout <= 0 {
		cfg.RTPTimeout = 30 * time.Second
	}
	if cfg.HoldTimeout <= 0 {
		cfg.HoldTimeout = 10 * time.Minute
	}
	if cfg.ReadPause == 0 {
		cfg.ReadPause = 3 * time.Millisecond
	}
	pools, err := poolsOf(&cfg)
	if err != nil {
		return nil, err
	}
	if cfg.PortMax != 0 && (cfg.PortMin < 1 || cfg.PortMax > 65535 || cfg.PortMin >= cfg.PortMax) {
		return nil, fmt.Errorf("media: RTP port range %d-%d is not valid", cfg.PortMin, cfg.PortMax)
	}
	message, err := loadMessage(cfg.Message)
	if err != nil {
		return nil, err
	}
	// Takes a tenth of a second, for which the first classified call, and every other on its
	// socket, would otherwise wait.
	amd.Shipped()
	e := &Engine{
		cfg: cfg, log: cfg.Log, message: message, started: time.Now(), stop: make(chan struct{}),
		calls: map[engine.AttemptID]*call{}, done: newRecent(), voicemails: map[engine.VoicemailID]*voicemail{},
		own: ownNetworks(), pools: pools,
		cname: strconv.FormatUint(rand.Uint64(), 36) + "@dialler", //nolint:gosec // an identifier
	}
	for _, p := range pools {
		if err := e.fill(p); err != nil {
			for _, o := range e.sockets {
				o.close()
			}
			return nil, err
		}
	}
	e.bots = botlink.New(cfg.Bot)
	n := min(cfg.Pacers, len(e.sockets))
	for i := range n {
		g := &group{e: e, pacer: pacer{offset: frameTime * time.Duration(i) / time.Duration(n), wake: make(chan struct{}, 1),
			skipped: &e.counters.ticksSkipped}}
		for j := i; j < len(e.sockets); j += n {
			g.serve(e.sockets[j])
		}
		e.groups = append(e.groups, g)
		e.tasks.Go(func() { g.pacer.run(e.stop, g.tick) })
	}
	for _, s := range e.sockets {
		s.start()
	}
	e.tasks.Add(1)
	go e.tend()
	return e, nil
}

// ms is a millisecond of now.
const ms = int64(time.Millisecond)

// now is the monotonic time since New in nanoseconds.
func (e *Engine) now() int64 { return int64(time.Since(e.started)) }

// Close ends all calls, tells their bots, and waits for every goroutine.
func (e *Engine) Close() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.closed = true
	all := make([]engine.AttemptID, 0, len(e.calls))
	for id := range e.calls {
		all = append(all, id)
	}
	e.mu.Unlock()
	for _, id := range all {
		e.CloseMedia(id)
	}
	close(e.stop)
	for _, s := range e.sockets {
		s.close()
	}
	e.bots.Close()
	e.tasks.Wait()
}

// Open reserves a media path and returns its SDP offer. Opening an attempt again returns the same
// offer and replaces the sink, unless another trunk's profile requires a new offer. sink may be
// nil: events are kept until AttachMedia. The error says that the engine is closed, or has no
// address of the family that the trunk demands.
//
// sink is called from the engine's goroutines, one event at a time; it must not block, and may call
// the engine.
func (e *Engine) Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) (offer []byte, err error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	p, err := e.poolFor(cmd.Profile)
	if err != nil {
		e.mu.Unlock()
		return nil, err
	}
	c, ok := e.calls[cmd.Attempt]
	if !ok {
		c = &call{
			e: e, id: cmd.Attempt, amd: cmd.AMD, listen: cmd.Listen, record: cmd.Record, sink: sink, openedAt: time.Now(),
			ssrc: rand.Uint32(), seq: uint16(rand.Uint32()) >> 1,
			ts: rand.Uint32(), //nolint:gosec // RFC 3550 §5.1: random, not secret
		}
		if f := e.cfg.Fence; f != nil {
			c.begun = f.Lease()
		}
		c.peer.Owner, c.peer.Alone = c, p.latches(cmd.Profile)
		c.sock = e.choose(p, c.peer.Alone)
		c.described = describe(*p.host.Load(), c.sock.port)
		e.calls[cmd.Attempt] = c
		c.sock.open(c, e.now())
		e.done.forget(cmd.Attempt)
	} else if c.sock.pool != p {
		e.rehome(c, p, cmd.Profile)
	}
	e.mu.Unlock()
	e.fetchVoicemail(cmd.Listen.Voicemail)
	c.leaveEarly()
	keys := c.offer(cmd.Profile)
	if ok {
		c.attach(sink)
	}
	if cmd.Offered != nil {
		c.mu.Lock()
		c.offeredTo = true
		c.mu.Unlock()
		return e.Reoffer(cmd.Attempt, "", cmd.Offered)
	}
	return c.described.appendOffer(make([]byte, 0, 512), keys, cmd.Profile), nil
}

func (e *Engine) call(a engine.AttemptID) *call {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.calls[a]
}

// path returns the path of a leg: a far leg's, or the callee's.
func (e *Engine) path(a engine.AttemptID, leg engine.LegID) *call {
	c := e.call(a)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.peers[leg]; p != nil {
		return p
	}
	return c
}

// Calls lists the attempts that have an open path.
func (e *Engine) Calls() []engine.AttemptID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.Collect(maps.Keys(e.calls))
}

// AnsweredFrom sets the source of a leg's 2xx, which is one of the hosts that the call may accept
// besides the address of its SDP. It comes before Answer or JoinPeer.
func (e *Engine) AnsweredFrom(a engine.AttemptID, leg engine.LegID, host netip.Addr) {
	if c := e.path(a, leg); c != nil {
		c.mu.Lock()
		c.signalled = host.Unmap()
		if c.callee == nil && !c.answered {
			c.answers = leg
		}
		c.mu.Unlock()
	}
}

// HungUp ends what a leg is sent: its BYE is leaving (RFC 3261 §15.1.1). The path, its counts and
// its events stay until CloseMedia or ClosePeer.
func (e *Engine) HungUp(a engine.AttemptID, leg engine.LegID) {
	c := e.path(a, leg)
	if c == nil {
		return
	}
	c.mu.Lock()
	if c.callee != nil || c.answers == leg {
		c.hungUp = true
		c.endTape()
	}
	c.mu.Unlock()
}

// Answer applies the SDP of the 200 OK, received at at: audio starts in both directions, and
// classification if the attempt has it. MediaFailed follows when the answer cannot be used. A later
// answer (re-INVITE) moves the call.
func (e *Engine) Answer(a engine.AttemptID, sdp []byte, at time.Time) {
	if c := e.call(a); c != nil {
		c.answer(sdp, at)
	}
}

// AttachBot opens the bot's socket: MediaBotConnected or MediaBotFailed follows. Repeating a
// session has no effect; another session replaces it.
func (e *Engine) AttachBot(cmd engine.AttachBot) {
	if c := e.call(cmd.Attempt); c != nil {
		c.attachBot(cmd)
	}
}

// AskBot probes whether a bot's endpoint takes calls; it blocks until the answer, or until ctx ends.
// nil means it does.
func (e *Engine) AskBot(ctx context.Context, cmd engine.AskBot) error { return e.bots.Ask(ctx, cmd) }

// OpenSocket opens a bot's socket ahead of its call and returns at once. sink is called
// from the engine's goroutines and must not block.
func (e *Engine) OpenSocket(cmd engine.OpenSocket, sink func(engine.SocketEvent)) {
	e.bots.OpenAhead(cmd, sink)
}

// CloseSocket closes a socket that no call has taken; CloseSockets closes all those of a campaign.
func (e *Engine) CloseSocket(id engine.SocketID, _ engine.Incarnation) { e.bots.CloseAhead(id) }

// CloseSockets: see CloseSocket.
func (e *Engine) CloseSockets(of engine.CampaignID) { e.bots.CloseAllAhead(string(of) + "/") }

// DetachBot detaches the bot: stop frame, close. No event follows.
func (e *Engine) DetachBot(a engine.AttemptID) {
	if c := e.call(a); c != nil {
		c.detachBot()
	}
}

// PlayMessage plays the information message in place of the bot; MediaPlayed
// follows.
func (e *Engine) PlayMessage(a engine.AttemptID) {
	if c := e.call(a); c != nil {
		c.playMessage()
	}
}

// HearDigit passes the bot a digit of the callee, 0-9, *, #, A-D, that did not arrive on the media
// path. It is also forwarded to a far leg to which the callee is connected; by is that leg when it
// has to be sent there by INFO.
func (e *Engine) HearDigit(a engine.AttemptID, digit byte) (by engine.LegID) {
	if c := e.call(a); c != nil {
		return c.hearDigit(digit)
	}
	return ""
}

// CloseMedia ends the media path, with a stop frame to the bot, and returns its counts. Closing
// again returns them again for a while, then zero.
func (e *Engine) CloseMedia(a engine.AttemptID) engine.MediaQuality {
	e.mu.Lock()
	c := e.calls[a]
	if c == nil {
		defer e.mu.Unlock()
		return e.done.get(a)
	}
	delete(e.calls, a)
	e.mu.Unlock()
	q := c.close(e.now())
	e.mu.Lock()
	e.done.put(a, q)
	e.mu.Unlock()
	return q
}

// AttachMedia gives a media path a new owner, who receives all events from Seq 1 and then new ones.
// It returns false when no such path is open here.
func (e *Engine) AttachMedia(a engine.AttemptID, sink func(engine.MediaEvent)) bool {
	c := e.call(a)
	if c == nil {
		return false
	}
	c.attach(sink)
	return true
}

// DetachMedia removes the owner of a media path; its events are kept.
func (e *Engine) DetachMedia(a engine.AttemptID) {
	if c := e.call(a); c != nil {
		c.mu.Lock()
		c.sink = nil
		c.mu.Unlock()
	}
}

// recentCap is the number of ended calls whose counts are kept.
const recentCap = 1024

// recent keeps the counts of the most recently ended calls.
type recent struct {
	rows  map[engine.AttemptID]engine.MediaQuality
	order []engine.AttemptID
	at    int
}

func newRecent() recent {
	return recent{rows: map[engine.AttemptID]engine.MediaQuality{}, order: make([]engine.AttemptID, recentCap)}
}

func (r *recent) get(a engine.AttemptID) engine.MediaQuality { return r.rows[a] }

func (r *recent) forget(a engine.AttemptID) { delete(r.rows, a) }

func (r *recent) put(a engine.AttemptID, q engine.MediaQuality) {
	delete(r.rows, r.order[r.at])
	r.order[r.at], r.rows[a] = a, q
	r.at = (r.at + 1) % recentCap
}
