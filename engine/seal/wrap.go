package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"slices"

	"dialler/engine"
)

// WrapNonceSize is how many random bytes Wrap needs.
const WrapNonceSize = 12

var errWrapped = engine.Conflict("row_key_unreadable", "")

// Wrap encrypts a secret so that only the signer opens it: with AES-256-GCM, under the SHA-256 of
// its signature of the purpose. That works with every Signer, also one that only signs. The nonce
// must be random.
func Wrap(by Signer, purpose string, secret, nonce []byte) ([]byte, error) {
	aead, err := wrapping(by, purpose)
	if err != nil {
		return nil, err
	}
	return aead.Seal(slices.Clone(nonce), nonce, secret, []byte(purpose)), nil
}

// Unwrap opens what Wrap made for the same signer and purpose.
func Unwrap(by Signer, purpose string, wrapped []byte) ([]byte, error) {
	aead, err := wrapping(by, purpose)
	if err != nil {
		return nil, err
	}
	if len(wrapped) < WrapNonceSize {
		return nil, errWrapped
	}
	secret, err := aead.Open(nil, wrapped[:WrapNonceSize], wrapped[WrapNonceSize:], []byte(purpose))
	if err != nil {
		return nil, errWrapped
	}
	return secret, nil
}

func wrapping(by Signer, purpose string) (cipher.AEAD, error) {
	signature, err := by.Sign([]byte(purpose))
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(signature)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
