package process

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/process/keys"
)

// written writes a certificate to files and returns the pool that trusts it.
func written(t *testing.T, cert, key string, hosts ...string) *x509.CertPool {
	t.Helper()
	made, err := keys.OwnCertificate(hosts, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made.Certificate[0]},
		key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaf, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return pool
}

func trusting(t *testing.T, pool *x509.CertPool) *nethttp.Client {
	c := &nethttp.Client{Timeout: patience,
		Transport: &nethttp.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestTheAPIIsServedByHTTPSAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	dir := t.TempDir()
	w.flags.TLSCert, w.flags.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	old := written(t, w.flags.TLSCert, w.flags.TLSKey, "127.0.0.1")
	plain := w.client
	w.client = trusting(t, old)
	w.restart()
	if !strings.HasPrefix(w.p.URL(), "https://") {
		t.Fatal(w.p.URL())
	}
	w.operator("GET", "/api/v1/campaigns", nil).expect(200)
	login := w.send("POST", "/api/v1/session", map[string]any{"email": FirstAdminEmail,
		"password": w.hidden[0]}).expect(200)
	if c := login.header.Get("Set-Cookie"); !strings.HasSuffix(c, "; Secure") {
		t.Errorf("the cookie is sent in clear, too: %s", c)
	}
	for _, path := range []string{"/api/v1/campaigns", "/dashboard/", "/api/v1/nowhere"} {
		if got := w.operator("GET", path, nil).header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("GET %s: Strict-Transport-Security %q", path, got)
		}
	}
	at := w.p.listener.Addr().String()
	if resp, err := plain.Get("http://" + at + "/healthz"); err == nil {
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Errorf("in clear it is answered %s", body)
		}
	}
	if _, err := tls.Dial("tcp", at, &tls.Config{RootCAs: old, MinVersion: tls.VersionTLS10,
		MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is taken")
	}
	// A client that connects and sends nothing holds up no other.
	silent, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	w.operator("GET", "/api/v1/campaigns", nil).expect(200)

	// A renewed certificate is used from the next connection; a broken file changes nothing.
	renewed := written(t, w.flags.TLSCert, w.flags.TLSKey, "127.0.0.1")
	later := time.Now().Add(time.Hour)
	for _, name := range []string{w.flags.TLSCert, w.flags.TLSKey} {
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := trusting(t, old).Get(w.p.URL() + "/healthz"); err == nil {
		t.Error("the old certificate is still shown")
	}
	w.client = trusting(t, renewed)
	w.operator("GET", "/api/v1/campaigns", nil).expect(200)
	if err := os.WriteFile(w.flags.TLSKey, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.client = trusting(t, renewed)
	w.operator("GET", "/api/v1/campaigns", nil).expect(200)
}

func TestACertificateOfOnesOwnIsNamedInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.flags.TLSOwn = true
	w.client = &nethttp.Client{Timeout: patience,
		Transport: &nethttp.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
			VerifyConnection: func(cs tls.ConnectionState) error {
				sum := sha256.Sum256(cs.PeerCertificates[0].Raw)
				if !strings.Contains(w.log.String(), hex.EncodeToString(sum[:])) {
					t.Error("its fingerprint is not in the log")
				}
				return cs.PeerCertificates[0].VerifyHostname("127.0.0.1")
			}}}}
	t.Cleanup(w.client.CloseIdleConnections)
	w.restart()
	if got := w.operator("GET", "/api/v1/campaigns", nil).expect(200).header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("Strict-Transport-Security %q with a certificate that browsers do not know", got)
	}
}

func TestFilesOfACertificateAreGivenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c"), filepath.Join(dir, "k")
	written(t, cert, key, "x")
	f := func(ok bool, flags Flags) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		p := &Process{flags: flags, listener: l}
		if err := p.secureAPI(p.URL()); (err == nil) != ok {
			t.Errorf("%+v: %v", flags, err)
		}
	}
	f(true, Flags{})
	f(true, Flags{TLSOwn: true})
	f(true, Flags{TLSCert: cert, TLSKey: key})
	f(false, Flags{TLSCert: cert})
	f(false, Flags{TLSKey: key})
	f(false, Flags{TLSOwn: true, TLSCert: cert, TLSKey: key})
	f(false, Flags{TLSCert: key, TLSKey: cert})
	f(false, Flags{TLSCert: filepath.Join(dir, "none"), TLSKey: key})
}
