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

// tlsKey is what makes two TLSPeers the same.
type tlsKey struct {
	from        *Endpoint
	name, roots string
	insecure    bool
}

var errRoots = errors.New("tls_roots holds no certificate in PEM")

// TLSPeer returns the TLSPeer for a server name. The certificate is checked as RFC 5922 §7
// requires: against the name in the trunk's configuration, not one that DNS led to.
func (n *Sockets) TLSPeer(ln *Endpoint, name, roots string, insecure bool) (*TLSPeer, error) {
	key := tlsKey{ln, strings.ToLower(strings.Trim(name, "[]")), roots, insecure}
	n.tlsMu.Lock()
	defer n.tlsMu.Unlock()
	if p := n.tlsPeers[key]; p != nil {
		return p, nil
	}
	conf := &tls.Config{
		ServerName: key.name, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: insecure, //nolint:gosec // what the operator asked for, by the name tls_insecure
	}
	if roots != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(roots)) {
			return nil, errRoots
		}
	}
	if ln.cert != nil {
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
