package spine

import (
	"context"
	"crypto/rand"

	"github.com/jackc/pgx/v5"

	"dialler/engine/seal"
	"dialler/engine/spine"
)

// Rotate puts another key in force: an entry that the former key signs has it, with the row key
// wrapped for it.
func (s *Spine) Rotate(ctx context.Context, former, next seal.Signer) error {
	err := s.db.InTx(ctx, "the signing key not changed", func(tx pgx.Tx) error {
		if err := Lock(ctx, tx); err != nil {
			return err
		}
		ring, err := Keyring(ctx, tx)
		if err == nil {
			err = ring.Admit(former.Public())
		}
		if err != nil {
			return err
		}
		rowKey, err := spine.Unwrapped(former, ring.RowKey)
		if err != nil {
			return err
		}
		var nonce [seal.WrapNonceSize]byte
		_, _ = rand.Read(nonce[:]) // never fails
		to := spine.Key{Key: string(next.Public().PEM())}
		if to.RowKey, err = spine.Wrapped(next, rowKey, nonce); err != nil {
			return err
		}
		_, previous, err := last(ctx, tx)
		if err != nil {
			return err
		}
		if to.Proof, err = spine.Prove(next, previous, former.Public()); err != nil {
			return err
		}
		_, err = s.add(ctx, tx, former, spine.KindKey, to)
		return err
	})
	if err == nil {
		s.Written()
	}
	return err
}

// InForce is the key that signs for the installation; false before the genesis.
func (s *Spine) InForce(ctx context.Context) (key seal.Public, ok bool, err error) {
	err = s.db.InTx(ctx, "the spine not read", func(tx pgx.Tx) error {
		ring, err := Keyring(ctx, tx)
		key, ok = ring.InForce(), len(ring.Keys) > 0
		return err
	})
	return key, ok, err
}
