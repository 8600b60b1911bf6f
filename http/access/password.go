package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// argon2id with the parameters of OWASP's password storage guidance (19 MiB,
// two passes, one lane): about 30 ms on a small server.
const (
	argonMemoryKiB = 19 * 1024
	argonPasses    = 2
	argonLanes     = 1
	argonSaltBytes = 16
	argonHashBytes = 32
)

// HashPassword returns the PHC string of a password, with a fresh salt.
func HashPassword(password string) string {
	salt := make([]byte, argonSaltBytes)
	_, _ = rand.Read(salt) // never fails
	hash := argon2.IDKey([]byte(password), salt, argonPasses, argonMemoryKiB, argonLanes, argonHashBytes)
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKiB, argonPasses,
		argonLanes, enc.EncodeToString(salt), enc.EncodeToString(hash))
}

var errPasswordHash = errors.New("http: the stored password hash is not an argon2id PHC string")

// VerifyPassword says whether the password is the hashed one. It uses the parameters in the string,
// within bounds that keep a damaged row from exhausting memory.
func VerifyPassword(phc, password string) (bool, error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return false, errPasswordHash
	}
	var version int
	var memory, passes uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errPasswordHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil {
		return false, errPasswordHash
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(want) < 16 || len(want) > 128 || memory > 1<<20 ||
		passes < 1 || passes > 16 || lanes < 1 {
		return false, errPasswordHash
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(want))) //nolint:gosec // 16 to 128
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// hashing limits how many passwords are checked concurrently: each takes 19 MiB and a core.
var hashing = make(chan struct{}, 2)

// checkPassword verifies within that limit.
func checkPassword(ctx context.Context, phc, password string) (bool, error) {
	if err := hashingTurn(ctx); err != nil {
		return false, err
	}
	defer func() { <-hashing }()
	return VerifyPassword(phc, password)
}
