package process

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/bench/ports"
	"dialler/persistence/storetest"
)

// certificate makes a root and a certificate from it for carrier.test at 127.0.0.1: file contains
// it with its key, roots the root, both in PEM.
func certificate(t *testing.T) (file, roots string) {
	t.Helper()
	now := time.Now()
	sign := func(c, by *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	newKey := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	rootKey, key := newKey(), newKey()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test root"},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "carrier.test"},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(time.Hour), DNSNames: []string{"carrier.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth}}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	write := func(kind string, der []byte) {
		if err := pem.Encode(&b, &pem.Block{Type: kind, Bytes: der}); err != nil {
			t.Fatal(err)
		}
	}
	rootDER := sign(root, root, rootKey, rootKey)
	write("CERTIFICATE", rootDER)
	roots = b.String()
	b.Reset()
	write("CERTIFICATE", sign(leaf, root, key, rootKey))
	write("PRIVATE KEY", private)
	file = filepath.Join(t.TempDir(), "carrier.pem")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, roots
}

func TestACallOverTLSWithSRTPIsHeardAtBothEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	b := w.startToneBot("tone", 1200*time.Millisecond)
	to := newNumber()
	file, roots := certificate(t)
	phone := startSoftphone(t, to, ";mediaenc=srtp-mand", "sip_certificate "+file)
	w.trunk("phone", "127.0.0.1", phone.port+1, map[string]any{"transport": "tls", "tls_roots": roots,
		"media": map[string]any{"srtp": "required"}})
	c := w.talkedWith(b, to)
	heardEachOther(t, b, phone)
	if said := phone.said(); !strings.Contains(said, "RTP/SAVP") || !strings.Contains(said, "SIP/2.0/TLS") {
		t.Error("baresip saw no TLS, or no SRTP")
	}
	if q := c.row.Quality; q.SRTP != "AEAD_AES_256_GCM" {
		t.Errorf("encrypted by %q", q.SRTP)
	}
}

// TestACallOverIPv6IsHeardAtBothEnds places calls to a phone that has IPv6 alone, from a dialler that
// has both: one phone takes the keys that it may leave out, the other does not.
func TestACallOverIPv6IsHeardAtBothEnds(t *testing.T) {
	t.Parallel()
	if conn, err := net.ListenPacket("udp6", "[::1]:0"); err != nil {
		t.Skip("no IPv6 here: ", err)
	} else {
		_ = conn.Close()
	}
	listeners := fmt.Sprintf("sip-listeners:\n  - {name: four, address: '%s'}\n  - {name: six, address: '[::1]:%d'}\n",
		ports.AddressOf(t), ports.Of(t))
	url := storetest.URL(t)
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, ConfigPath: trunksFile(t, listeners)}}, tuning{}, 0)
	f := func(name, account, want string) {
		b := w.startToneBot(name, 1200*time.Millisecond)
		to := newNumber()
		phone := startSoftphoneAt(t, "::1", to, account, "")
		w.trunk("phone", "::1", phone.port, map[string]any{"listener": "six", "media": map[string]any{"srtp": "optional"}})
		c := w.talkedWith(b, to)
		heardEachOther(t, b, phone)
		if said := phone.said(); c.row.Quality.SRTP != want || !strings.Contains(said, "c=IN IP6 ::1") {
			t.Errorf("%s: %+v", name, c.row.Quality)
		}
	}
	f("plain", "", "")
	f("encrypted", ";mediaenc=srtp", "AEAD_AES_256_GCM")
}

func TestACallOverTLSThroughAProxyIsHeardAtBothEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	b := w.startToneBot("tone", 1200*time.Millisecond)
	file, roots := certificate(t)
	phone := startSoftphone(t, "desk", ";mediaenc=srtp-mand", "")
	p := startProxy(t, phone.user, fmt.Sprintf("127.0.0.1:%d", phone.port), file)
	trunk := map[string]any{"transport": "tls", "username": alice, "password": alicesPassword,
		"tls_server_name": "carrier.test",
		"tls_roots":       roots, "media": map[string]any{"srtp": "required"}}
	w.trunk("proxy", "127.0.0.1", p.port+1, trunk)
	w.talkedWith(b, newNumber())
	heardEachOther(t, b, phone)
}

// A certificate with another name, or from a root that the trunk does not trust, is refused:
// nothing is sent, and the next trunk is tried.
func TestACarrierWithAnotherCertificateIsNotCalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	file, roots := certificate(t)
	_, others := certificate(t)
	phone := startSoftphone(t, "desk", "", "sip_certificate "+file)
	for name, trunk := range map[string]map[string]any{
		"name":  {"tls_server_name": "elsewhere.test", "tls_roots": roots},
		"roots": {"tls_roots": others},
	} {
		trunk["transport"], trunk["priority"] = "tls", 0
		w.trunk(name, "127.0.0.1", phone.port+1, trunk)
	}
	s := play(t, &sipCase{file: "answer-bot-hangs-up"})
	w.trunk("next", "127.0.0.1", s.port, map[string]any{"priority": 1})
	id := w.dialout(newNumber())
	w.ended(id, servedRow.outcome)
	s.satisfied()
	a := w.stored(id)
	for _, l := range a.Legs[:len(a.Legs)-1] {
		if l.SentAt != nil {
			t.Errorf("sent to %s", l.Trunk)
		}
	}
	if a.Trunk != "next" {
		t.Errorf("legs %+v", a.Legs)
	}
	if strings.Contains(phone.said(), "INVITE") {
		t.Error("the INVITE reached a carrier whose certificate is wrong")
	}
	w.quiet()
}
