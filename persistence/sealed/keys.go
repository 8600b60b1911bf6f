// Package sealed encrypts secrets that must not appear in a dump of the database.
package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"dialler/engine"
	"dialler/persistence/failure"
)

// Passwords of trunks, tokens of bots and secrets of webhooks are sealed before they are stored,
// when there is a key: with AES-256-GCM, bound to the row that they belong to, as
//
//	sealed:1:<id of the key>:<nonce and ciphertext, base64>
//
// The key is not in the database, so a dump alone reveals nothing. Without a key they are stored in
// clear.
const Prefix = "sealed:1:"

// secretKeyBytes is the length of a key.
const secretKeyBytes = 32

// secretKeysCap bounds how many keys may be loaded at the same time.
const secretKeysCap = 16

// Keys are the keys for sealing secrets: the first seals, any of them opens. A nil *Keys has none.
type Keys struct {
	ids  []string
	aead map[string]cipher.AEAD
}

// ParseKeys reads keys, one per line: 32 bytes as base64. It skips empty lines and those that begin
// with #. It returns Invalid "secrets_key_invalid"; the error's text reveals nothing of a key.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{aead: map[string]cipher.AEAD{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != secretKeyBytes {
			return nil, engine.Invalid("secrets_key_invalid",
				fmt.Sprintf("line %d must be a key of 32 bytes as base64; make one with: openssl rand -base64 32", n))
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("dialler key "), key...))
		id := hex.EncodeToString(sum[:4])
		if k.aead[id] != nil {
			return nil, engine.Invalid("secrets_key_invalid", fmt.Sprintf("line %d repeats an earlier key", n))
		}
		k.ids, k.aead[id] = append(k.ids, id), aead
	}
	switch {
	case len(k.ids) == 0:
		return nil, engine.Invalid("secrets_key_invalid", "there is no key: give 32 bytes as base64, on a line of its own")
	case len(k.ids) > secretKeysCap:
		return nil, engine.Invalid("secrets_key_invalid", fmt.Sprintf("%d keys; at most %d are allowed",
			len(k.ids), secretKeysCap))
	}
	return k, nil
}

// Seal returns the stored form of a secret for a place; an empty one stays empty.
func (k *Keys) Seal(place, secret string) (string, error) {
	switch {
	case secret == "":
		return "", nil
	case k == nil && strings.HasPrefix(secret, Prefix):
		return "", engine.Invalid("secret_looks_sealed", "a password or token may not begin with "+Prefix)
	case k == nil:
		return secret, nil
	}
	aead := k.aead[k.ids[0]]
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return Prefix + k.ids[0] + ":" + base64.RawStdEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(secret),
		[]byte(place))), nil
}

// Open returns the secret in a stored value, or Unavailable "secrets_key_missing" when no key opens
// it.
func (k *Keys) Open(place, stored string) (string, error) {
	rest, sealed := strings.CutPrefix(stored, Prefix)
	if !sealed {
		return stored, nil
	}
	id, text, _ := strings.Cut(rest, ":")
	var aead cipher.AEAD
	if k != nil {
		aead = k.aead[id]
	}
	if aead == nil {
		return "", failure.New("secrets_key_missing", place+" is sealed with an unknown key (give the "+
			"key with --secrets-key-file)", errors.New("key "+id))
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil && len(b) < aead.NonceSize() {
		err = errors.New("too short")
	}
	var secret []byte
	if err == nil {
		secret, err = aead.Open(nil, b[:aead.NonceSize()], b[aead.NonceSize():], []byte(place))
	}
	if err != nil {
		return "", failure.New("secret_damaged", place+" cannot be opened: it was changed, or belongs to another "+
			"row; set it again", err)
	}
	return string(secret), nil
}

// Current says whether a stored value needs no sealing: it is empty, or sealed with the current
// key.
func (k *Keys) Current(stored string) bool {
	return stored == "" || k != nil && strings.HasPrefix(stored, Prefix+k.ids[0]+":")
}

// Tables lists where secrets are stored.
var Tables = []struct{ Table, Column string }{{"trunks", "password"}, {"trunks", "tls_key"}, {"bots", "auth_token"},
	{"bots", "headers"}, {"webhooks", "secret"}, {"webhooks", "old_secret"}}

// PlaceOf names the row of a secret; a sealed secret can only be opened there.
func PlaceOf(table, column, id string) string { return table + "." + column + " of " + id }

func TrunkPlace(id engine.TrunkID) string { return PlaceOf("trunks", "password", string(id)) }

// TrunkKeyPlace is the place of the key to a trunk's certificate.
func TrunkKeyPlace(id engine.TrunkID) string { return PlaceOf("trunks", "tls_key", string(id)) }
func BotPlace(id engine.BotID) string        { return PlaceOf("bots", "auth_token", string(id)) }

// BotHeadersPlace is the place of a bot's own headers.
func BotHeadersPlace(id engine.BotID) string { return PlaceOf("bots", "headers", string(id)) }
