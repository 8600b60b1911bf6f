package keys

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/url"
	"os"
	"sync"
	"time"
)

// CertificateFiles is a certificate that may be renewed while the dialler runs.
type CertificateFiles struct {
	Cert, Key string

	mu      sync.Mutex
	changed [2]time.Time // of the files last read
	now     *tls.Certificate
}

// Get returns the certificate in its files. If they are incomplete or missing, the previous one
// stays in use.
func (c *CertificateFiles) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var changed [2]time.Time
	for i, name := range []string{c.Cert, c.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return c.or(err)
		}
		changed[i] = info.ModTime()
	}
	if c.now != nil && changed == c.changed {
		return c.now, nil
	}
	cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return c.or(err)
	}
	c.now, c.changed = &cert, changed
	return c.now, nil
}

func (c *CertificateFiles) or(err error) (*tls.Certificate, error) {
	if c.now != nil {
		return c.now, nil
	}
	return nil, err
}

// HostsOf returns the names under which the API is reached.
func HostsOf(listen, public string) (hosts []string) {
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if u, err := url.Parse(public); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	return append(hosts, "localhost", "127.0.0.1", "::1")
}

// ownLife is the validity of a self-signed certificate.
const ownLife = 397 * 24 * time.Hour

// OwnCertificate makes a self-signed certificate.
func OwnCertificate(hosts []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	of := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "dialler"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(ownLife),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			of.IPAddresses = append(of.IPAddresses, ip)
		} else {
			of.DNSNames = append(of.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
