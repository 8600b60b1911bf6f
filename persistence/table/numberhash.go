package table

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"dialler/engine"
	"dialler/engine/journal"

	"github.com/jackc/pgx/v5"
)

// An erased person who must not be called again is on the suppression list as a hash of the number
// under a key of the installation: the list alone does not reveal the number. With the whole
// database, and so the key, one could try every possible number; see docs/privacy.md.

const (
	HashPrefix = "hmac:"
	hashBytes  = 16 // of the HMAC-SHA-256
)

// loadKey derives the key from the installation's secret.
func (d *DB) loadKey(ctx context.Context) error {
	secret, err := d.Secret(ctx, "installation")
	if err != nil {
		return err
	}
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("numbers of erased persons"))
	d.key = m.Sum(nil)
	return nil
}

// Hashed returns a number in the form that the suppression list has for an erased person.
func (d *DB) Hashed(n engine.PhoneNumber) string {
	m := hmac.New(sha256.New, d.key)
	m.Write([]byte(n))
	return HashPrefix + hex.EncodeToString(m.Sum(nil)[:hashBytes])
}

// HashInSQL is Hashed for a column, for many rows at once; the two parameters are the pads of
// HashPads.
func HashInSQL(column, inner, outer string) string {
	return "'" + HashPrefix + "' || left(encode(sha256(" + outer + "::bytea || sha256(" + inner +
		"::bytea || convert_to(" + column + ", 'UTF8'))), 'hex'), 32)"
}

// HashPads are the key's blocks of RFC 2104.
func (d *DB) HashPads() (inner, outer []byte) {
	inner, outer = make([]byte, sha256.BlockSize), make([]byte, sha256.BlockSize)
	copy(inner, d.key)
	copy(outer, d.key)
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	return inner, outer
}

func ScanSuppression(row pgx.CollectableRow) (x journal.Suppression, err error) {
	err = row.Scan(&x.Number, &x.Reason, &x.CreatedAt)
	return x, err
}
