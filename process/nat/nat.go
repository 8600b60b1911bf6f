package nat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pion/stun/v3"
	"github.com/rs/zerolog"
)

// scheme begins the settings that name a server (RFC 7064).
const scheme = "stun:"

const (
	// patience is how long a server may take to answer, with what is sent again meanwhile (RFC 8489 §6.2.1).
	patience = 8 * time.Second
	rto      = 500 * time.Millisecond // the first is sent again after it, then after twice as long
	every    = time.Minute
)

// IsServer says whether a setting names a server rather than an address.
func IsServer(setting string) bool { return strings.HasPrefix(strings.ToLower(setting), scheme) }

// hostName is what a name or an IPv4 address consists of: IPv6 servers see no address of a NAT.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// Server returns the host:port of a setting, stun:HOST[:PORT]; 3478 without a port.
func Server(setting string) (hostPort string, err error) {
	u, err := stun.ParseURI(scheme + setting[len(scheme):])
	if err != nil || !hostName.MatchString(u.Host) || u.Port < 1 || u.Port > 65535 {
		return "", fmt.Errorf("must be stun:HOST or stun:HOST:PORT; got %q", setting)
	}
	return net.JoinHostPort(u.Host, fmt.Sprint(u.Port)), nil
}

// Ask asks a server, host:port, at which IPv4 address it sees us when we send from an address of this machine; from
// may be unspecified. The error says what is wrong with the server or the way to it.
func Ask(ctx context.Context, server string, from netip.Addr) (seen netip.Addr, err error) {
	return ask(ctx, server, from, patience)
}

func ask(ctx context.Context, server string, from netip.Addr, within time.Duration) (seen netip.Addr, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the STUN server %s: %w", server, err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	d := net.Dialer{}
	if from.Is4() {
		d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	conn, err := d.DialContext(ctx, "udp4", server)
	if err != nil {
		return netip.Addr{}, err
	}
	defer func() { _ = conn.Close() }()
	request, err := stun.Build(stun.TransactionID, stun.BindingRequest)
	if err != nil {
		return netip.Addr{}, err
	}
	answer := new(stun.Message)
	for wait := rto; ctx.Err() == nil; wait *= 2 {
		if _, err = conn.Write(request.Raw); err == nil {
			err = read(ctx, conn, time.Now().Add(wait), request, answer)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return netip.Addr{}, errors.New("does not answer")
	case err != nil:
		return netip.Addr{}, err
	}
	return mapped(answer, from)
}

// read waits for the answer to a request; whatever else comes is no answer (RFC 8489 §6.3).
func read(ctx context.Context, conn net.Conn, until time.Time, request, answer *stun.Message) error {
	if err := conn.SetReadDeadline(until); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	for buf := make([]byte, 1500); ; {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		answer.Raw = buf[:n]
		if answer.Decode() == nil && answer.TransactionID == request.TransactionID {
			return nil
		}
	}
}

// mapped reads the address of an answer (RFC 8489 §14.2; a server of RFC 3489 has it in clear). A loopback address is
// ours only where we send from one.
func mapped(m *stun.Message, from netip.Addr) (netip.Addr, error) {
	var xor stun.XORMappedAddress
	var plain stun.MappedAddress
	ip := net.IP(nil)
	switch {
	case m.Type != stun.BindingSuccess:
		return netip.Addr{}, fmt.Errorf("refuses: %s", m.Type)
	case xor.GetFrom(m) == nil:
		ip = xor.IP
	case plain.GetFrom(m) == nil:
		ip = plain.IP
	}
	a, ok := netip.AddrFromSlice(ip)
	if a = a.Unmap(); !ok || !a.Is4() || !a.IsGlobalUnicast() && !(a.IsLoopback() && from.IsLoopback()) {
		return netip.Addr{}, errors.New("names no IPv4 address of ours")
	}
	return a, nil
}

// shared are the addresses between a provider and its customers (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// Inner says whether only a part of the network can send to an address: one of a private network (RFC 1918), of a
// provider's inner one or of this machine. Behind another NAT a server sees such an address; within a private network
// it may be the right one.
func Inner(a netip.Addr) bool { return a.IsPrivate() || a.IsLoopback() || shared.Contains(a) }

// Config says whom a Watch asks, and whom it tells.
type Config struct {
	Server string // host:port
	From   netip.Addr
	Every  time.Duration // 0: a minute
	Within time.Duration // in which an answer must come; 0: 8 s
	// Last is used while the first question is not answered; not valid: there is none.
	Last netip.Addr
	// Changed is called with each address that differs from the one before.
	Changed func(netip.Addr)
	Log     zerolog.Logger
}

// Watch keeps the address of one server. Its methods are safe for concurrent use.
type Watch struct {
	Config
	mu    sync.Mutex
	seen  netip.Addr
	why   string // it could not be asked last time, and why; empty when it could
	since time.Time
}

// Begin asks for the first time; without an answer or a last address there is no watch.
func Begin(ctx context.Context, c Config) (*Watch, error) {
	c.Every, c.Within = cmp.Or(c.Every, every), cmp.Or(c.Within, patience)
	w := &Watch{Config: c, seen: c.Last}
	seen, err := ask(ctx, c.Server, c.From, c.Within)
	switch {
	case err == nil:
		w.seen = seen
		c.Log.Info().Str("server", c.Server).Stringer("address", seen).
			Msg("the STUN server says at which address we are seen")
		w.warnInner()
	case c.Last.IsValid() && ctx.Err() == nil:
		w.note(netip.Addr{}, err)
	default:
		return nil, err
	}
	return w, nil
}

// warnInner warns of an address that few can send to.
func (w *Watch) warnInner() {
	if Inner(w.seen) {
		w.Log.Warn().Str("server", w.Server).Stringer("address", w.seen).
			Msg("the STUN server sees a private address; only who is in the same network can send to it")
	}
}

// Seen is the last address that the server said.
func (w *Watch) Seen() netip.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// Failing says since when the server has not answered, and why; the reason is empty while it does.
func (w *Watch) Failing() (since time.Time, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since, w.why
}

// Run goes on asking until the context ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		seen, err := ask(ctx, w.Server, w.From, w.Within)
		if ctx.Err() != nil {
			return
		}
		if w.note(seen, err) && w.Changed != nil {
			w.Changed(seen)
		}
	}
}

// note keeps what an answer says, and returns whether it is another address.
func (w *Watch) note(seen netip.Addr, err error) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if w.why == "" {
			w.since = time.Now()
			w.Log.Warn().Err(err).Stringer("address", w.seen).
				Msg("the STUN server does not answer; its last address stays in use")
		}
		w.why = err.Error()
		return false
	}
	if w.why != "" {
		w.why = ""
		w.Log.Info().Str("server", w.Server).Msg("the STUN server answers again")
	}
	if seen == w.seen {
		return false
	}
	w.Log.Warn().Str("server", w.Server).Stringer("was", w.seen).Stringer("address", seen).
		Msg("our external address has changed; new calls name the new one")
	w.seen = seen
	w.warnInner()
	return true
}
