package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"dialler/sipstack/message"
)

const (
	// maxInbound bounds the connections that far sides have open to us.
	maxInbound = 1000
	// maxListeners bounds Config.Listeners.
	maxListeners = 16
	// acceptPause is how long a listener pauses when the process is out of file descriptors.
	acceptPause = 100 * time.Millisecond
)

// Listener is one address at which far sides reach us, and from which the trunks that choose it
// send.
type Listener struct {
	Name string
	// Address is host:port. UDP and TCP share the port; port 0 picks one that is free for both. TLS
	// uses the next port if TCP is served too, otherwise this one; with port 0 it uses any free
	// one.
	Address    string
	Transports []message.Transport // empty: UDP and TCP
	// ExternalHost is written into Via and Contact when carriers see another address than ours
	// (NAT). If empty, it is the host of Address, or for a wildcard address the source address of
	// the route to the far side.
	ExternalHost string
	// Certificate is presented by the TLS listener, and on connections to trunks whose far side
	// asks for one. A TLS listener requires it; trunks over TLS do not.
	Certificate *tls.Certificate
	// Control, if set, is called for its sockets before they are bound, and for connections from it
	// (net.ListenConfig.Control).
	Control func(network, address string, c syscall.RawConn) error
}

// Endpoint is an open Listener. Only its external host changes.
type Endpoint struct {
	Name     string
	external atomic.Pointer[string]
	bind     netip.Addr // source address of connections; invalid: by route
	udp      *net.UDPConn
	tcp, tls net.Listener
	cert     *tls.Certificate
	control  func(network, address string, c syscall.RawConn) error
	// The port for Via and Contact. tlsPort is the plain one when nothing listens for TLS: then
	// requests are expected on our own connection.
	port, tlsPort int
}

// checkListeners says what is wrong with the configured listeners.
func checkListeners(all []Listener) error {
	if len(all) > maxListeners {
		return fmt.Errorf("sipstack: %d listeners; at most %d", len(all), maxListeners)
	}
	seen := map[string]bool{}
	for _, l := range all {
		if l.Name == "" || seen[l.Name] {
			return fmt.Errorf("sipstack: every listener needs a name of its own; %q is empty or taken", l.Name)
		}
		seen[l.Name] = true
		for _, t := range l.Transports {
			if _, ok := message.TransportOf(string(t)); !ok {
				return fmt.Errorf("sipstack: listener %s: transport %q is not udp, tcp or tls", l.Name, t)
			}
			if t == message.TLS && l.Certificate == nil {
				return fmt.Errorf(
					"sipstack: listener %s needs a certificate to listen for TLS (trunks over TLS work without)",
					l.Name)
			}
		}
	}
	return nil
}

// openListener opens the sockets of a listener.
func openListener(c Listener) (*Endpoint, error) {
	ln := &Endpoint{Name: c.Name, cert: c.Certificate, control: c.Control}
	ln.SetExternal(c.ExternalHost)
	if err := ln.open(c); err != nil {
		_ = ln.close()
		return nil, err
	}
	return ln, nil
}

func (ln *Endpoint) open(c Listener) error {
	want := c.Transports
	if len(want) == 0 {
		want = []message.Transport{message.UDP, message.TCP}
	}
	host, port, err := splitListen(c.Address)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil && !ip.IsUnspecified() {
		ln.bind = ip.Unmap()
		if ln.External() == "" {
			ln.SetExternal(ln.bind.String())
		}
	}
	udp, tcp := slices.Contains(want, message.UDP), slices.Contains(want, message.TCP)
	if err := ln.openPlain(host, port, udp, tcp); err != nil {
		return err
	}
	if !slices.Contains(want, message.TLS) {
		ln.tlsPort = ln.port
		return nil
	}
	if ln.port != 0 && port != 0 {
		port++
	}
	l, err := ln.bound().Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("sipstack: listener %s cannot listen on tls port %d, is another process using it? %w",
			c.Name, port, err)
	}
	ln.tls = l
	ln.tlsPort = l.Addr().(*net.TCPAddr).Port
	if ln.port == 0 {
		ln.port = ln.tlsPort
	}
	return nil
}

// bound opens sockets as the listener wants them.
func (ln *Endpoint) bound() *net.ListenConfig { return &net.ListenConfig{Control: ln.control} }

func splitListen(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("sipstack: listening address %q is not host:port: %w", address, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("sipstack: listening address %q has no port from 0 to 65535", address)
	}
	return host, port, nil
}

// openPlain opens UDP and TCP on the same port; port 0 picks one that is free for both.
func (ln *Endpoint) openPlain(host string, port int, udp, tcp bool) error {
	if !udp && !tcp {
		return nil
	}
	var last error
	for range 20 {
		try := port
		if tcp {
			l, err := ln.bound().Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(try)))
			if err != nil {
				return fmt.Errorf("sipstack: cannot listen on tcp %s, is another process using the port? %w",
					net.JoinHostPort(host, strconv.Itoa(try)), err)
			}
			ln.tcp = l
			try = l.Addr().(*net.TCPAddr).Port
		}
		if !udp {
			ln.port = try
			return nil
		}
		c, err := ln.bound().ListenPacket(context.Background(), "udp", net.JoinHostPort(host, strconv.Itoa(try)))
		if err == nil {
			ln.udp = c.(*net.UDPConn)
			ln.port = ln.udp.LocalAddr().(*net.UDPAddr).Port
			// The kernel may grant less (net.core.rmem_max); that is not an error.
			_ = ln.udp.SetReadBuffer(socketBuffer)
			_ = ln.udp.SetWriteBuffer(socketBuffer)
			return nil
		}
		if ln.tcp != nil {
			_ = ln.tcp.Close()
			ln.tcp = nil
		}
		if last = err; port != 0 {
			break
		}
	}
	return fmt.Errorf("sipstack: cannot listen on udp %s, is another process using the port? %w",
		net.JoinHostPort(host, strconv.Itoa(port)), last)
}

func (ln *Endpoint) close() (err error) {
	if ln.udp != nil {
		err = ln.udp.Close()
	}
	for _, l := range [...]net.Listener{ln.tcp, ln.tls} {
		if l != nil {
			if e := l.Close(); err == nil {
				err = e
			}
		}
	}
	return err
}

// addr is the host:port at which a transport is served; empty when it is not.
func (ln *Endpoint) addr(t message.Transport) string {
	switch {
	case t == message.UDP && ln.udp != nil:
		return ln.udp.LocalAddr().String()
	case t == message.TCP && ln.tcp != nil:
		return ln.tcp.Addr().String()
	case t == message.TLS && ln.tls != nil:
		return ln.tls.Addr().String()
	}
	return ""
}

func (ln *Endpoint) PortOf(t message.Transport) string {
	if t == message.TLS {
		return ":" + strconv.Itoa(ln.tlsPort)
	}
	return ":" + strconv.Itoa(ln.port)
}

// listen starts the goroutines that read a listener's sockets.
func (n *Sockets) listen(ln *Endpoint) {
	if ln.udp != nil {
		n.serving.Add(1)
		go func() { defer n.serving.Done(); n.served(ln, message.UDP, n.readUDP(ln)) }()
	}
	for t, l := range map[message.Transport]net.Listener{message.TCP: ln.tcp, message.TLS: ln.tls} {
		if l != nil {
			n.serving.Add(1)
			go func() { defer n.serving.Done(); n.served(ln, t, n.accept(ln, l, t)) }()
		}
	}
}

// served reports a read loop that ended unexpectedly.
func (n *Sockets) served(ln *Endpoint, t message.Transport, err error) {
	if !n.closed.Load() {
		n.log.Error().Err(err).Str("listener", ln.Name).Str("network", string(t)).Msg("sip socket is no longer served")
	}
}

// accept takes connections from trunks' addresses. It closes others, and those beyond the limit: a
// carrier's connections are few and long-lived.
func (n *Sockets) accept(ln *Endpoint, l net.Listener, t message.Transport) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || n.closed.Load() {
				return err
			}
			n.log.Warn().Err(err).Str("listener", ln.Name).Msg("a connection could not be accepted")
			<-time.After(acceptPause)
			continue
		}
		key := Target{Transport: t, From: ln}
		if a, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
			key.Addr = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		}
		if !n.isPeer(key.Addr.Addr()) {
			n.Counts.Strangers.Add(1)
			_ = conn.Close()
			continue
		}
		if n.inbound.Add(1) > maxInbound {
			n.inbound.Add(-1)
			n.Counts.RefusedConns.Add(1)
			_ = conn.Close()
			continue
		}
		if t == message.TLS {
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*ln.cert},
				MinVersion: tls.VersionTLS12})
		}
		n.open(key, conn, true)
	}
}

// Listener finds a listener by name; the empty name means the first.
func (n *Sockets) Listener(name string) *Endpoint {
	if name == "" {
		return n.listening[0]
	}
	for _, ln := range n.listening {
		if ln.Name == name {
			return ln
		}
	}
	return nil
}

// Addr is the host:port that the first listener is bound to.
func (n *Sockets) Addr() string {
	for _, t := range [...]message.Transport{message.UDP, message.TCP, message.TLS} {
		if a := n.listening[0].addr(t); a != "" {
			return a
		}
	}
	return ""
}

// ListenerAddr is the host:port at which a listener serves a transport; empty
// when it does not.
func (n *Sockets) ListenerAddr(name string, t message.Transport) string {
	if ln := n.Listener(name); ln != nil {
		return ln.addr(t)
	}
	return ""
}

// LocalHost is the host that we present to a far side at addr as our own: the configured one, or
// the source address of the route.
func (n *Sockets) LocalHost(ln *Endpoint, addr netip.Addr) string {
	if host := ln.External(); host != "" {
		return host
	}
	if v, ok := n.locals.Load(addr); ok {
		return v.(string)
	}
	host := "127.0.0.1"
	// Connecting a UDP socket only looks up the route; nothing is sent.
	if c, err := net.Dial("udp", netip.AddrPortFrom(addr, 5060).String()); err == nil {
		host = message.BracketHost(c.LocalAddr().(*net.UDPAddr).IP.String())
		_ = c.Close()
		n.locals.Store(addr, host)
	}
	return host
}

// From is the listener from which a message to a target is sent.
func (n *Sockets) From(to Target) *Endpoint {
	if to.From == nil {
		return n.listening[0]
	}
	return to.From
}

// First is the listener for trunks that choose none.
func (n *Sockets) First() *Endpoint { return n.listening[0] }

// External is the host for Via and Contact; empty means that of the route.
func (ln *Endpoint) External() string { return *ln.external.Load() }

// SetExternal changes it, for requests from now on.
func (ln *Endpoint) SetExternal(host string) {
	host = message.BracketHost(message.CleanHost(host))
	ln.external.Store(&host)
}

// HasUDP says whether the endpoint can send datagrams.
func (ln *Endpoint) HasUDP() bool { return ln.udp != nil }
