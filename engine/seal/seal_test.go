package seal_test

import (
	"bytes"
	"testing"

	"dialler/engine"
	"dialler/engine/seal"
)

func TestASignatureIsOfOneMessageByOneKey(t *testing.T) {
	k, other := seal.NewKey(make([]byte, seal.SeedSize)), seal.NewKey(bytes.Repeat([]byte{1}, seal.SeedSize))
	m := []byte("the manifest")
	s, _ := k.Sign(m)
	if !k.Public().Verify(m, s) {
		t.Error("the signature is not its own")
	}
	if k.Public().Verify([]byte("the manifesto"), s) || other.Public().Verify(m, s) || k.Public().Verify(m, nil) ||
		(seal.Public{}).Verify(m, s) {
		t.Error("the signature is of another message or key")
	}
}

func TestKeysComeBackFromTheirFiles(t *testing.T) {
	k := seal.NewKey(bytes.Repeat([]byte{7}, seal.SeedSize))
	again, err := seal.ParseKey(k.PEM())
	if err != nil || !bytes.Equal(again.PEM(), k.PEM()) {
		t.Errorf("%s %v", again.PEM(), err)
	}
	p, err := seal.ParsePublic(k.Public().PEM())
	if err != nil || p.Fingerprint() != k.Public().Fingerprint() || len(p.Fingerprint()) != 64 {
		t.Errorf("%s %v", p.Fingerprint(), err)
	}
	// As openssl writes the test key of RFC 8410, section 10.3.
	const ofPKCS8 = "-----BEGIN PRIVATE KEY-----\n" +
		"MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n"
	if _, err := seal.ParseKey([]byte(ofPKCS8)); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, []byte("x"), k.Public().PEM(),
		[]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")} {
		if _, err := seal.ParseKey(bad); engine.ErrorCode(err) != "signing_key_invalid" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range [][]byte{nil, k.PEM(), []byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")} {
		if _, err := seal.ParsePublic(bad); engine.ErrorCode(err) != "public_key_invalid" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
