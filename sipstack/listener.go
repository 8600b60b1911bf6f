package sipstack

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"dialler/sipstack/message"
)

const (
	// maxInbound bounds the connections that far sides have open to us.
	maxInbound = 1000
	// maxListeners bounds Config.Listeners.
	maxListeners = 16
	// acceptPause is how long a listener rests when the process has no more
	// file descriptors.
	acceptPause = 100 * time.Millisecond
)

// Listener is one address at which far sides reach us, and from which trunks
// that choose it send.
type Listener struct {
	Name string
	// Address is host:port. UDP and TCP share the port; port 0 takes one that
	// is free for both. TLS takes the next port when TCP is there too, else
	// this one; with port 0 any free one.
	Address    string
	Transports []message.Transport // none: UDP and TCP
	// ExternalHost is written into Via and Contact when carriers see another
	// address than ours (NAT). Empty: the host of Address, or for a wildcard
	// one the address that the route to the far side leaves from.
	ExternalHost string
	// Certificate is what the TLS listener shows, and what connections to
	// trunks show to a far side that asks for one. TLS cannot be listened for
	// without it; trunks over TLS need none.
	Certificate *tls.Certificate
}

// listener is an open Listener. It does not change.
type listener struct {
	name     string
	external string     // host for Via and Contact; empty: by route
	bind     netip.Addr // where connections leave from; invalid: by route
	udp      *net.UDPConn
	tcp, tls net.Listener
	cert     *tls.Certificate
	// Port for Via and Contact; that of TLS is the plain one when nothing
	// listens for TLS: requests are expected on our own connection then.
	port, tlsPort int
}

// listeners are the listeners of a configuration, checked.
func (c *Config) listeners() ([]Listener, error) {
	all := c.Listeners
	if len(all) == 0 {
		all = []Listener{{Name: "default", Address: c.Listen, ExternalHost: c.ExternalHost}}
	}
	if len(all) > maxListeners {
		return nil, fmt.Errorf("sipstack: %d listeners; at most %d", len(all), maxListeners)
	}
	seen := map[string]bool{}
	for _, l := range all {
		if l.Name == "" || seen[l.Name] {
			return nil, fmt.Errorf("sipstack: every listener needs a name of its own; %q is empty or taken", l.Name)
		}
		seen[l.Name] = true
		for _, t := range l.Transports {
			if _, ok := message.TransportOf(string(t)); !ok {
				return nil, fmt.Errorf("sipstack: listener %s: transport %q is none of udp, tcp, tls", l.Name, t)
			}
			if t == message.TLS && l.Certificate == nil {
				return nil, fmt.Errorf("sipstack: listener %s needs a certificate to listen for TLS (trunks over TLS work without)", l.Name)
			}
		}
	}
	return all, nil
}

// openListener opens the sockets of a listener.
func openListener(c Listener) (*listener, error) {
	ln := &listener{name: c.Name, external: message.BracketHost(message.CleanHost(c.ExternalHost)), cert: c.Certificate}
	if err := ln.open(c); err != nil {
		_ = ln.close()
		return nil, err
	}
	return ln, nil
}

func (ln *listener) open(c Listener) error {
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
		if ln.external == "" {
			ln.external = message.BracketHost(ln.bind.String())
		}
	}
	if err := ln.openPlain(host, port, slices.Contains(want, message.UDP), slices.Contains(want, message.TCP)); err != nil {
		return err
	}
	if !slices.Contains(want, message.TLS) {
		ln.tlsPort = ln.port
		return nil
	}
	if ln.port != 0 && port != 0 {
		port++
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("sipstack: listener %s cannot listen on tls port %d, is another process using it? %w", c.Name, port, err)
	}
	ln.tls = l
	ln.tlsPort = l.Addr().(*net.TCPAddr).Port
	if ln.port == 0 {
		ln.port = ln.tlsPort
	}
	return nil
}

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

// openPlain opens UDP and TCP on the same port; port 0 takes a port that is
// free for both.
func (ln *listener) openPlain(host string, port int, udp, tcp bool) error {
	if !udp && !tcp {
		return nil
	}
	var last error
	for range 20 {
		try := port
		if tcp {
			l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(try)))
			if err != nil {
				return fmt.Errorf("sipstack: cannot listen on tcp %s, is another process using the port? %w", net.JoinHostPort(host, strconv.Itoa(try)), err)
			}
			ln.tcp = l
			try = l.Addr().(*net.TCPAddr).Port
		}
		if !udp {
			ln.port = try
			return nil
		}
		c, err := net.ListenPacket("udp", net.JoinHostPort(host, strconv.Itoa(try)))
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
	return fmt.Errorf("sipstack: cannot listen on udp %s, is another process using the port? %w", net.JoinHostPort(host, strconv.Itoa(port)), last)
}

func (ln *listener) close() (err error) {
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

// addr is the host:port that a transport is served at; empty when it is not.
func (ln *listener) addr(t message.Transport) string {
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

func (ln *listener) portOf(t message.Transport) string {
	if t == message.TLS {
		return ":" + strconv.Itoa(ln.tlsPort)
	}
	return ":" + strconv.Itoa(ln.port)
}

// serve starts the goroutines that read a listener's sockets.
func (s *Stack) serve(ln *listener) {
	if ln.udp != nil {
		s.serving.Add(1)
		go func() { defer s.serving.Done(); s.served(ln, message.UDP, s.readUDP(ln)) }()
	}
	for t, l := range map[message.Transport]net.Listener{message.TCP: ln.tcp, message.TLS: ln.tls} {
		if l != nil {
			s.serving.Add(1)
			go func() { defer s.serving.Done(); s.served(ln, t, s.accept(ln, l, t)) }()
		}
	}
}

// served reports the end of a read loop that nobody asked to end.
func (s *Stack) served(ln *listener, t message.Transport, err error) {
	if !s.closed.Load() {
		s.log.Error().Err(err).Str("listener", ln.name).Str("network", string(t)).Msg("sip socket is no longer served")
	}
}

// accept takes connections of trunks' addresses. Others are closed, and those
// beyond the bound: a carrier's connections are few and stay.
func (s *Stack) accept(ln *listener, l net.Listener, t message.Transport) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || s.closed.Load() {
				return err
			}
			s.log.Warn().Err(err).Str("listener", ln.name).Msg("a connection could not be taken")
			<-time.After(acceptPause)
			continue
		}
		key := target{transport: t, from: ln}
		if a, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
			key.addr = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		}
		if !s.isPeer(key.addr.Addr()) {
			s.count.strangers.Add(1)
			_ = conn.Close()
			continue
		}
		if s.inbound.Add(1) > maxInbound {
			s.inbound.Add(-1)
			s.count.refusedConns.Add(1)
			_ = conn.Close()
			continue
		}
		if t == message.TLS {
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*ln.cert}, MinVersion: tls.VersionTLS12})
		}
		s.open(key, conn, true)
	}
}

// listener finds one by name; empty is the first.
func (s *Stack) listener(name string) *listener {
	if name == "" {
		return s.listening[0]
	}
	for _, ln := range s.listening {
		if ln.name == name {
			return ln
		}
	}
	return nil
}

// Addr is the host:port that the first listener is bound to.
func (s *Stack) Addr() string {
	for _, t := range [...]message.Transport{message.UDP, message.TCP, message.TLS} {
		if a := s.listening[0].addr(t); a != "" {
			return a
		}
	}
	return ""
}

// ListenerAddr is the host:port at which a listener serves a transport; empty
// when it does not.
func (s *Stack) ListenerAddr(name string, t message.Transport) string {
	if ln := s.listener(name); ln != nil {
		return ln.addr(t)
	}
	return ""
}

// localHost is the host that we give a far side at addr as our own: what is
// configured, or the address that the route to it leaves from.
func (s *Stack) localHost(ln *listener, addr netip.Addr) string {
	if ln.external != "" {
		return ln.external
	}
	if v, ok := s.locals.Load(addr); ok {
		return v.(string)
	}
	host := "127.0.0.1"
	// Connecting a UDP socket only looks up the route; nothing is sent.
	if c, err := net.Dial("udp", netip.AddrPortFrom(addr, 5060).String()); err == nil {
		host = message.BracketHost(c.LocalAddr().(*net.UDPAddr).IP.String())
		_ = c.Close()
		s.locals.Store(addr, host)
	}
	return host
}

// localHost is our host as the trunk's far side at to knows it.
func (t *trunk) localHost(to target) string {
	if t.external != "" {
		return t.external
	}
	return t.s.localHost(t.s.from(to), to.addr.Addr())
}

// sentBy is our host:port in Via and Contact.
func (t *trunk) sentBy(to target) string {
	return t.localHost(to) + t.s.from(to).portOf(to.transport)
}

// from is the listener that a message to a target leaves from.
func (s *Stack) from(to target) *listener {
	if to.from == nil {
		return s.listening[0]
	}
	return to.from
}
