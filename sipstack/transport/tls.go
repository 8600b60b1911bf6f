package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// TLSPeer is how the far side of a connection has to prove who it is. Two
// connections with the same tlsPeer trust the same, so that trunks share them.
type TLSPeer struct{ conf *tls.Config }

// tlsKey is what makes two tlsPeers the same.
type tlsKey struct {
	from        *Endpoint
	name, roots string
	insecure    bool
}

var errRoots = errors.New("tls_roots holds no certificate in PEM")

// TLSPeer gives the one for a server name. It is checked against the
// certificate as RFC 5922 §7 asks: the name that the trunk is configured with,
// not one that DNS led to.
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

// maxTLSPeers bounds the names that connections are kept under: those of
// trunks and of the hosts that route sets of calls name.
const maxTLSPeers = 1000
