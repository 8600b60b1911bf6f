package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// TLSPeer says how the far side of a connection has to prove its identity. Two connections with the
// same TLSPeer trust the same, so that trunks share them.
type TLSPeer struct{ conf *tls.Config }

// TLSTrust says what a far side has to show, and what it is shown. Certificates and the key are PEM.
type TLSTrust struct {
	Roots    string // trusted; empty: the system's
	Insecure bool   // whatever it shows is taken
	// Certificate and its Key are shown to a far side that asks for one; empty: the listener's.
	Certificate, Key string
}

// tlsKey is what makes two TLSPeers the same.
type tlsKey struct {
	from  *Endpoint
	name  string
	trust TLSTrust
}

var (
	errRoots       = errors.New("tls_roots holds no certificate in PEM")
	errCertificate = errors.New("tls_certificate and tls_key are no certificate in PEM with its private key")
)

// TLSPeer returns the TLSPeer for a server name. The certificate is checked as RFC 5922 §7
// requires: against the name in the trunk's configuration, not one that DNS led to.
func (n *Sockets) TLSPeer(ln *Endpoint, name string, trust TLSTrust) (*TLSPeer, error) {
	key := tlsKey{ln, strings.ToLower(strings.Trim(name, "[]")), trust}
	n.tlsMu.Lock()
	defer n.tlsMu.Unlock()
	if p := n.tlsPeers[key]; p != nil {
		return p, nil
	}
	conf := &tls.Config{
		ServerName: key.name, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: trust.Insecure, //nolint:gosec // what the operator asked for, by the name tls_insecure
	}
	if trust.Roots != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(trust.Roots)) {
			return nil, errRoots
		}
	}
	switch {
	case trust.Certificate != "":
		own, err := tls.X509KeyPair([]byte(trust.Certificate), []byte(trust.Key))
		if err != nil {
			return nil, errCertificate // without the reason, which might quote the key
		}
		conf.Certificates = []tls.Certificate{own}
	case ln.cert != nil:
		conf.Certificates = []tls.Certificate{*ln.cert}
	}
	p := &TLSPeer{conf}
	if len(n.tlsPeers) < maxTLSPeers {
		n.tlsPeers[key] = p
	}
	return p, nil
}

// maxTLSPeers bounds the names under which connections are kept: those of trunks, and of the hosts
// in calls' route sets.
const maxTLSPeers = 1000
