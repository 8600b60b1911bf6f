package sipstack

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// tlsPeer is how the far side of a connection has to prove who it is. Two
// connections with the same tlsPeer trust the same, so that trunks share them.
type tlsPeer struct{ conf *tls.Config }

// tlsKey is what makes two tlsPeers the same.
type tlsKey struct {
	from        *listener
	name, roots string
	insecure    bool
}

var errRoots = errors.New("tls_roots holds no certificate in PEM")

// tlsPeer gives the one for a server name. It is checked against the
// certificate as RFC 5922 §7 asks: the name that the trunk is configured with,
// not one that DNS led to.
func (s *Stack) tlsPeer(ln *listener, name, roots string, insecure bool) (*tlsPeer, error) {
	key := tlsKey{ln, strings.ToLower(strings.Trim(name, "[]")), roots, insecure}
	s.tlsMu.Lock()
	defer s.tlsMu.Unlock()
	if p := s.tlsPeers[key]; p != nil {
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
	p := &tlsPeer{conf}
	if len(s.tlsPeers) < maxTLSPeers {
		s.tlsPeers[key] = p
	}
	return p, nil
}

// maxTLSPeers bounds the names that connections are kept under: those of
// trunks and of the hosts that route sets of calls name.
const maxTLSPeers = 1000
