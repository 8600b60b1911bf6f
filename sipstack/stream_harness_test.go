package sipstack_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// authority is the certificate authority of one test.
type authority struct {
	t     testing.TB
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	roots string // PEM
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t)}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.roots = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// certify makes a certificate for names and addresses.
func (a *authority) certify(names ...string) *tls.Certificate {
	a.t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, n)
		}
	}
	key := newKey(a.t)
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM([]byte(a.roots))
	return p
}

// flows are the connections of a far side that also listens on TCP or TLS.
type flows struct {
	mu       sync.Mutex
	open     map[netip.AddrPort]net.Conn
	accepted int
	pings    int      // keep-alives (CRLFCRLF) received
	sni      string   // of the last handshake
	shown    []string // names of the certificates that clients showed
}

func (f *flows) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accepted
}

// closeAll breaks every connection.
func (f *flows) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.open {
		_ = c.Close()
	}
}

// newStreamUAS is a far side on UDP and TCP at the same port; with a certificate, on TLS, and with
// clients for those alone who show a certificate of theirs.
func newStreamUAS(t testing.TB, cert *tls.Certificate, s script, clients ...*authority) (*uas, *flows) {
	t.Helper()
	f := &flows{open: map[netip.AddrPort]net.Conn{}}
	for range 50 {
		u := s.start(t)
		l, err := net.Listen("tcp", u.conn.LocalAddr().String())
		if err != nil {
			continue
		}
		if cert != nil {
			conf := &tls.Config{Certificates: []tls.Certificate{*cert},
				GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.sni = h.ServerName
					return nil, nil
				}}
			for _, a := range clients {
				conf.ClientAuth, conf.ClientCAs = tls.RequireAndVerifyClientCert, a.pool()
				conf.VerifyConnection = func(c tls.ConnectionState) error {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.shown = append(f.shown, c.PeerCertificates[0].DNSNames...)
					return nil
				}
			}
			l = tls.NewListener(l, conf)
		}
		u.flows.Store(f)
		var serving sync.WaitGroup
		serving.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				f.mu.Lock()
				f.accepted++
				f.open[netip.MustParseAddrPort(c.RemoteAddr().String())] = c
				f.mu.Unlock()
				serving.Go(func() { u.readFlow(c) })
			}
		})
		t.Cleanup(func() { _ = l.Close(); f.closeAll(); serving.Wait() })
		return u, f
	}
	t.Fatal("no port that is free for UDP and TCP")
	return nil, nil
}

func (u *uas) readFlow(c net.Conn) {
	defer func() { _ = c.Close() }()
	src := netip.MustParseAddrPort(c.RemoteAddr().String())
	buf := make([]byte, 65535)
	p := sip.NewParser().NewSIPStream()
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if strings.Trim(string(buf[:n]), "\r\n") == "" {
			f := u.flows.Load()
			f.mu.Lock()
			if n == 4 {
				f.pings++
			}
			f.mu.Unlock()
			continue
		}
		_ = p.ParseSIPStream(buf[:n], func(m sip.Message) {
			u.take(m, src)
		})
	}
}

func overTLS(roots string) func(*sipstack.TrunkConfig) {
	return func(c *sipstack.TrunkConfig) { c.Transport, c.TLSRoots = sipstack.TLS, roots }
}

// identified shows a far side that asks for one a certificate of the authority.
func identified(t testing.TB, a *authority, name string) func(*sipstack.TrunkConfig) {
	t.Helper()
	cert := a.certify(name)
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *sipstack.TrunkConfig) {
		c.TLSCertificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))
		c.TLSKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	}
}
