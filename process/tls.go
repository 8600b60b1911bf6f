package process

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"sync"
	"time"
)

// secureAPI has the API's listener speak TLS when the flags say so; public is
// where bots reach it.
func (p *Process) secureAPI(public string) error {
	f := &p.flags
	switch {
	case f.TLSOwn && f.TLSCert+f.TLSKey != "":
		return errors.New("give --tls-own, or --tls-cert with --tls-key, not both")
	case (f.TLSCert == "") != (f.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case f.TLSOwn:
		cert, err := ownCertificate(hostsOf(f.ListenHTTP, public), time.Now())
		if err != nil {
			return fmt.Errorf("--tls-own: %w", err)
		}
		fingerprint := sha256.Sum256(cert.Certificate[0])
		p.log.Info().Str("sha256", hex.EncodeToString(fingerprint[:])).Msg("the API's certificate is its own")
		p.listenTLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil })
	case f.TLSCert != "":
		files := &certificateFiles{cert: f.TLSCert, key: f.TLSKey}
		if _, err := files.get(nil); err != nil {
			return fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		p.listenTLS(files.get)
	}
	return nil
}

func (p *Process) listenTLS(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) {
	p.listener = tls.NewListener(p.listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get, NextProtos: []string{"http/1.1"}})
}

// certificateFiles is a certificate that may be renewed under a running dialler.
type certificateFiles struct {
	cert, key string

	mu      sync.Mutex
	changed [2]time.Time // of the files that were read
	now     *tls.Certificate
}

// get gives the certificate as its files have it. One that is half written, or
// gone, leaves the one before.
func (c *certificateFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var changed [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return c.or(err)
		}
		changed[i] = info.ModTime()
	}
	if c.now != nil && changed == c.changed {
		return c.now, nil
	}
	cert, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return c.or(err)
	}
	c.now, c.changed = &cert, changed
	return c.now, nil
}

func (c *certificateFiles) or(err error) (*tls.Certificate, error) {
	if c.now != nil {
		return c.now, nil
	}
	return nil, err
}

// hostsOf are the names under which the API is reached.
func hostsOf(listen, public string) (hosts []string) {
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if u, err := url.Parse(public); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	return append(hosts, "localhost", "127.0.0.1", "::1")
}

// ownLife is how long an own certificate is good for.
const ownLife = 397 * 24 * time.Hour

// ownCertificate makes a certificate that nobody has signed.
func ownCertificate(hosts []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	of := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "dialler"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(ownLife),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
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
