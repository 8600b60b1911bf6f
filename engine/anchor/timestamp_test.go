package anchor_test

import (
	"crypto/sha256"
	"crypto/x509"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"dialler/engine/anchor"
	"dialler/engine/enginetest/authority"
)

var hash anchor.Hash = sha256.Sum256([]byte("seven"))

func stamp(t *testing.T, a *authority.Authority) []byte {
	t.Helper()
	query, err := anchor.Request(hash, big.NewInt(1<<40))
	if err != nil {
		t.Fatal(err)
	}
	return a.Answer(query)
}

func roots(t *testing.T, a *authority.Authority) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(a.Roots())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// A time stamp is signed by a certificate for time stamps, and with roots by one that they vouch for. The
// authority is OpenSSL.
func TestATimeStampIsSignedByWhoeverTheRootsVouchFor(t *testing.T) {
	a := authority.New(t, "")
	answer := stamp(t, a)
	a.Verify(answer, hash.String())
	trusted := roots(t, a)
	first, err := anchor.Verify(answer, hash, nil, trusted)
	if err != nil || time.Since(first.At).Abs() > time.Hour || first.Signer == (anchor.Hash{}) {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := anchor.Verify(stamp(t, a), hash, nil, nil)
	if err != nil || again.Signer != first.Signer {
		t.Errorf("without roots: %+v, %v", again, err)
	}
	stranger := authority.New(t, "")
	if _, err := anchor.Verify(answer, hash, nil, roots(t, stranger)); err == nil ||
		!strings.Contains(err.Error(), "nobody among the trusted") {
		t.Errorf("roots of another authority: %v", err)
	}
	a.Renew("stamps")
	renewed, err := anchor.Verify(stamp(t, a), hash, nil, trusted)
	if err != nil || renewed.Signer == first.Signer {
		t.Errorf("after the authority's certificate was renewed: %+v, %v", renewed, err)
	}
	f := func(name string, answer []byte) {
		t.Helper()
		if got, err := anchor.Verify(answer, hash, nil, nil); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for i := range answer {
		f("cut off", answer[:i])
	}
	// What is signed, and the signature: whatever is changed there is noticed.
	info := strings.Index(string(answer), string(hash[:]))
	for _, at := range []int{info - 30, info, info + 40, len(answer) - 1, len(answer) - 20} {
		changed := append([]byte(nil), answer...)
		changed[at] ^= 1
		f("a changed byte", changed)
	}
	for i := range answer { // and whatever is changed anywhere, nothing panics
		changed := append([]byte(nil), answer...)
		changed[i] ^= 0x41
		_, _ = anchor.Verify(changed, hash, nil, trusted)
	}
}

// Whoever has another certificate of a trusted authority, for servers, cannot make time stamps with it.
func TestASignatureThatIsOfNoTimeStampIsRefused(t *testing.T) {
	a := authority.New(t, "")
	answer, trusted := stamp(t, a), roots(t, a)
	f := func(says string, options ...string) {
		t.Helper()
		_, err := anchor.Verify(a.Sign(answer, options...), hash, nil, trusted)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%v: %v, want %q", options, err, says)
		}
	}
	const stamps = "1.2.840.113549.1.9.16.1.4"
	f("", "-econtent_type", stamps, "-cades")
	f("what was signed is no time stamp", "-cades")
	f("names another certificate", "-econtent_type", stamps)
	f("certificate that signed it is not with it", "-econtent_type", stamps, "-cades", "-nocerts")
	f("what was signed is no time stamp", "-econtent_type", stamps, "-noattr")
	a.Renew("other")
	f("nobody among the trusted", "-econtent_type", stamps, "-cades")
}

// Older authorities name their certificate by its SHA-1.
func TestATimeStampNamesTheCertificateThatSignedIt(t *testing.T) {
	a := authority.New(t, "ess_cert_id_alg = sha1\n")
	if got, err := anchor.Verify(stamp(t, a), hash, nil, roots(t, a)); err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
