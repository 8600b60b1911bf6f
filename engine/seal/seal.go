// Package seal signs what leaves the dialler as evidence, with the Ed25519 key of the installation
// (RFC 8032), and verifies such signatures. A signed message must begin with its kind, so that a
// signature of one kind cannot pass for another.
//
// Keys are PEM: the private one PKCS 8, the public one SubjectPublicKeyInfo, which every tool
// reads.
//
// It must not know where the key is stored: main does. The key is never in the database, since it
// exists to detect tampering by those who can write there. Whoever signs is a Signer: Key, which is
// a file, is one; a token (PKCS #11) or a key management service is another, as long as it signs with
// Ed25519, whose signatures are the same every time: Wrap depends on that.
package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"

	"dialler/engine"
)

// SeedSize is how many random bytes make a key.
const SeedSize = ed25519.SeedSize

// Signer signs with the key of the installation, wherever that is kept.
type Signer interface {
	Public() Public
	// Sign returns the 64 bytes of the signature. It fails only where the key is out of reach.
	Sign(message []byte) ([]byte, error)
}

// Key is the Signer whose key is in memory.
type Key struct{ private ed25519.PrivateKey }

// Public checks signatures.
type Public struct{ key ed25519.PublicKey }

var (
	errKey    = engine.Invalid("signing_key_invalid", "")
	errPublic = engine.Invalid("public_key_invalid", "")
)

// NewKey makes a key from SeedSize random bytes.
func NewKey(seed []byte) Key { return Key{ed25519.NewKeyFromSeed(seed)} }

// ParseKey reads a private key.
func ParseKey(text []byte) (Key, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return Key{}, errKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return Key{}, errKey
	}
	return Key{private}, nil
}

// PEM is the format that ParseKey reads.
func (k Key) PEM() []byte {
	der, _ := x509.MarshalPKCS8PrivateKey(k.private) // never fails for an Ed25519 key
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Sign implements Signer; it never fails.
func (k Key) Sign(message []byte) ([]byte, error) { return ed25519.Sign(k.private, message), nil }

// Public is the public half of the key.
func (k Key) Public() Public {
	public, _ := k.private.Public().(ed25519.PublicKey)
	return Public{public}
}

// ParsePublic reads a public key.
func ParsePublic(text []byte) (Public, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return Public{}, errPublic
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return Public{}, errPublic
	}
	return Public{public}, nil
}

// PEM is the format that ParsePublic reads.
func (p Public) PEM() []byte {
	der, _ := x509.MarshalPKIXPublicKey(p.key) // never fails for an Ed25519 key
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// Fingerprint is the SHA-256 of the key's SubjectPublicKeyInfo, 64 hex digits, for comparison by
// people.
func (p Public) Fingerprint() string {
	der, _ := x509.MarshalPKIXPublicKey(p.key)
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// Verify says whether the signature is for this message and by this key.
func (p Public) Verify(message, signature []byte) bool {
	return len(p.key) == ed25519.PublicKeySize && ed25519.Verify(p.key, message, signature)
}
