package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// Config configures a client.
type Config struct {
	// Timeout bounds a request including its response body.
	Timeout time.Duration
	// AllowPrivate allows any address: for laboratories and tests.
	AllowPrivate bool
	// Redirects is how many are followed; with 0 a redirect is an ordinary response.
	Redirects int
	// KeepAlive keeps connections open for the next request.
	KeepAlive bool
}

// Reasons for refusing a request.
var (
	ErrForbidden = errors.New("the address is not on the public internet")
	ErrRedirects = errors.New("too many redirects")
	ErrScheme    = errors.New("a redirect to something that is neither http nor https")
)

const (
	dialTimeout   = 10 * time.Second
	headerCap     = 32 << 10 // bytes
	idleTimeout   = 60 * time.Second
	idleConns     = 128
	idleOfOneHost = 4
)

// New makes a client.
func New(cfg Config) *nethttp.Client {
	dialer, guarded := &net.Dialer{Timeout: dialTimeout}, Dialer(cfg.AllowPrivate)
	return &nethttp.Client{
		Timeout:   cfg.Timeout,
		Transport: &transport{direct: transportOf(cfg, guarded, false), proxied: transportOf(cfg, dialer, true)},
		CheckRedirect: func(r *nethttp.Request, via []*nethttp.Request) error {
			switch {
			case cfg.Redirects == 0:
				return nethttp.ErrUseLastResponse
			case len(via) > cfg.Redirects:
				return ErrRedirects
			case r.URL.Scheme != "http" && r.URL.Scheme != "https" || r.URL.Host == "":
				return ErrScheme
			}
			return nil
		},
	}
}

// Dialer makes connections of other protocols by the same rule.
func Dialer(allowPrivate bool) *net.Dialer {
	d := &net.Dialer{Timeout: dialTimeout}
	if !allowPrivate {
		d.Control = control
	}
	return d
}

func transportOf(cfg Config, d *net.Dialer, proxied bool) *nethttp.Transport {
	t := &nethttp.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: !cfg.KeepAlive,
		DisableCompression: true, MaxResponseHeaderBytes: headerCap, IdleConnTimeout: idleTimeout, MaxIdleConns: idleConns,
		MaxIdleConnsPerHost: idleOfOneHost, ForceAttemptHTTP2: true,
	}
	if proxied {
		t.Proxy = nethttp.ProxyFromEnvironment
	}
	return t
}

// transport uses the environment's proxy if there is one.
type transport struct{ direct, proxied *nethttp.Transport }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	if u, err := nethttp.ProxyFromEnvironment(r); err != nil || u != nil {
		return t.proxied.RoundTrip(r)
	}
	return t.direct.RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}

// control checks the address of a socket right before it connects.
func control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !Public(ap.Addr()) {
		return ErrForbidden
	}
	return nil
}

// Problem names a request's error with a stable code: address_forbidden, timeout, dns, tls,
// refused, broken.
func Problem(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.Is(err, ErrForbidden):
		return "address_forbidden"
	case errors.As(err, &dns):
		return "dns"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.As(err, &cert), errors.As(err, &record), errors.As(err, &alert):
		return "tls"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	}
	return "broken"
}

// retryAfterCap bounds the value of a Retry-After.
const retryAfterCap = 7 * 24 * time.Hour

// RetryAfter parses that header (RFC 9110 §10.2.3): seconds or a date; 0 if absent or invalid.
func RetryAfter(h nethttp.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return min(time.Duration(max(0, min(n, int64(retryAfterCap/time.Second))))*time.Second, retryAfterCap)
	}
	at, err := nethttp.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), retryAfterCap)
}
