package carrier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"dialler/bench/admin"
	"dialler/bench/await"
	"dialler/bench/carrier/media"
	"dialler/bench/draw"
	"dialler/engine"
)

// Carrier is a running model carrier.
type Carrier struct {
	cfg   Config
	rules atomic.Pointer[rules]
	addr  netip.AddrPort
	udp   *net.UDPConn
	tcp   *net.TCPListener

	connsMu sync.Mutex
	conns   map[*tcpConn]struct{} // nil once closed

	shards  [shardCount]shard
	numbers [shardCount]numberCounts
	// datagrams counts UDP messages while Config.Loss is set.
	datagrams atomic.Int64
	live      atomic.Int64 // admitted calls that have not ended

	media   *media.Ports
	clips   clips
	admin   *admin.Server
	file    *ledgerFile
	changed await.Signal
	stray   counter

	tasks     sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

const shardCount = 64

// shard owns the calls of some Call-IDs.
type shard struct {
	mu     sync.Mutex
	closed bool
	calls  map[string]*call // by Call-ID, until their transactions expire
	known  map[string]*Call // latest row of every Call-ID
	rows   []*Call
}

// numberCounts holds how many calls each number has had.
type numberCounts struct {
	mu sync.Mutex
	n  map[engine.PhoneNumber]int
}

// Start binds the sockets and begins to answer calls.
func Start(cfg Config) (*Carrier, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("carrier: %w", err)
	}
	r, err := cfg.rules()
	if err != nil {
		return nil, fmt.Errorf("carrier: %w", err)
	}
	c := &Carrier{cfg: cfg, conns: map[*tcpConn]struct{}{}, clips: clips{seed: cfg.Seed}}
	c.rules.Store(r)
	for i := range c.shards {
		c.shards[i].calls = map[string]*call{}
		c.shards[i].known = map[string]*Call{}
		c.numbers[i].n = map[engine.PhoneNumber]int{}
	}
	if err := c.listen(cfg.Listen); err != nil {
		return nil, err
	}
	if c.media, err = media.Start(c.cfg.media(c.addr.Addr())); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if cfg.LedgerFile != "" {
		if c.file, err = openLedgerFile(cfg.LedgerFile); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if cfg.HTTP != "" {
		if c.admin, err = admin.Start(cfg.HTTP, cfg.AllowRemote, c.routes()); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	c.tasks.Add(2)
	go c.readUDP()
	go c.acceptTCP()
	return c, nil
}

// Run runs a carrier as a separate process, until ctx ends or StopAfter has passed.
func Run(ctx context.Context, cfg Config) error {
	c, err := Start(cfg)
	if err != nil {
		return err
	}
	if cfg.StopAfter > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cfg.StopAfter)
		defer cancel()
	}
	c.cfg.Log.Info().Str("sip", c.Addr()).Str("http", c.HTTPAddr()).Msg("carrier listens")
	<-ctx.Done()
	s := c.Ledger().Summary()
	c.cfg.Log.Info().Int("calls", s.Calls).Int("answered", s.EverAnswer).Int("overlaps", s.Overlaps).
		Int("duplicate_invites", s.Duplicates).Msg("carrier stops")
	return c.Close()
}

// Addr returns host:port for SIP over UDP and TCP.
func (c *Carrier) Addr() string { return c.addr.String() }

// HTTPAddr returns host:port of the admin interface, empty without one.
func (c *Carrier) HTTPAddr() string { return c.admin.Addr() }

// Ledger answers questions about the calls; it works after Close too.
func (c *Carrier) Ledger() Ledger { return Ledger{c} }

// Configure replaces seed, profile, mix, script, credentials and limits for later calls. Settings
// of sockets, timers and media stay.
func (c *Carrier) Configure(cfg Config) error {
	cfg.Listen = "127.0.0.1:0" // not used again
	cfg, err := cfg.withDefaults()
	if err != nil {
		return fmt.Errorf("carrier: %w", err)
	}
	r, err := cfg.rules()
	if err != nil {
		return fmt.Errorf("carrier: %w", err)
	}
	c.rules.Store(r)
	return nil
}

// HangUp makes the callee of an answered call hang up now; it returns false if no such call is
// answered.
func (c *Carrier) HangUp(callID string) bool {
	sh := c.shard(callID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	cl := sh.calls[callID]
	if cl == nil || cl.row.State != StateAnswered {
		return false
	}
	cl.hangUp()
	return true
}

// Close ends everything without sending anything, like a carrier that loses power. It reports a
// ledger file that could not be written.
func (c *Carrier) Close() error {
	c.closeOnce.Do(func() {
		for i := range c.shards {
			sh := &c.shards[i]
			sh.mu.Lock()
			sh.closed = true
			for _, cl := range sh.calls {
				cl.stopTimers()
				cl.stopMedia()
			}
			sh.mu.Unlock()
		}
		c.admin.Close()
		_ = c.udp.Close()
		_ = c.tcp.Close()
		c.connsMu.Lock()
		for t := range c.conns {
			_ = t.conn.Close()
		}
		c.conns = nil
		c.connsMu.Unlock()
		c.tasks.Wait()
		if c.media != nil {
			c.media.Close()
		}
		if c.file != nil {
			c.closeErr = c.file.close()
		}
	})
	return c.closeErr
}

func (c *Carrier) shard(callID string) *shard {
	return &c.shards[draw.Hash(0, callID, 0)%shardCount]
}

// nth returns how many calls a number has had, and counts one more.
func (c *Carrier) nth(number engine.PhoneNumber) int {
	s := &c.numbers[draw.Hash(0, string(number), 0)%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n[number]++
	return s.n[number]
}

// touched records a change of a row; the shard's lock is held.
func (c *Carrier) touched(row *Call) {
	if c.file != nil {
		c.file.append(row)
	}
	c.changed.Notify()
}

func (sh *shard) snapshot(dst Rows, liveOnly bool) Rows {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, row := range sh.rows {
		if liveOnly && !row.Live() {
			continue
		}
		sh.countMedia(row)
		dst = append(dst, *row)
	}
	return dst
}

func (sh *shard) row(id string) (Call, bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := sh.known[id]
	if row == nil {
		return Call{}, false
	}
	sh.countMedia(row)
	return *row, true
}

// countMedia updates the packet counts of a call with media.
func (sh *shard) countMedia(row *Call) {
	if cl := sh.calls[row.CallID]; cl != nil && cl.row == row && cl.stream != nil {
		row.RTP = cl.stream.Count()
	}
}

// counter counts by name.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

func (c *counter) snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// since returns a non-negative time difference.
func since(now, at time.Time) time.Duration { return max(0, now.Sub(at)) }
