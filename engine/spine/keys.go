package spine

import (
	"encoding/json"
	"fmt"

	"dialler/engine"
	"dialler/engine/seal"
)

// RowKeyPurpose is the purpose under which the row key is wrapped (seal.Wrap).
const RowKeyPurpose = "dialler row key 1"

// RowKeySize is the size of the key of the digests of rows.
const RowKeySize = 32

// Keyring is what a genesis and the key entries after it come to.
type Keyring struct {
	Genesis Genesis
	Keys    []seal.Public // in order; the last is in force
	RowKey  []byte        // wrapped for that one
}

// ReadKeyring checks the genesis and the key entries, without those in between.
func ReadKeyring(list []Entry) (k Keyring, err error) {
	broken := func(e *Entry) error {
		return engine.Conflict("spine_broken", e.String()+" of the installation's record is not as it was signed. See "+
			"dialler db audit, and put the database back from a backup")
	}
	for i := range list {
		e := &list[i]
		if i == 0 {
			g, key, err := e.Genesis()
			if err != nil || e.N != 1 || !e.SignedWith(key) {
				return k, broken(e)
			}
			k = Keyring{Genesis: g, Keys: []seal.Public{key}, RowKey: g.RowKey}
			continue
		}
		next, err := e.NextKey(e.Previous, k.InForce())
		var to Key
		if err != nil || !e.SignedWith(k.InForce()) || json.Unmarshal(e.Data, &to) != nil {
			return k, broken(e)
		}
		k.Keys, k.RowKey = append(k.Keys, next), to.RowKey
	}
	return k, nil
}

// InForce is the key that signs now; the zero key when there is no genesis.
func (k *Keyring) InForce() seal.Public {
	if len(k.Keys) == 0 {
		return seal.Public{}
	}
	return k.Keys[len(k.Keys)-1]
}

// Admit refuses a signer whose key is not in force.
func (k *Keyring) Admit(by seal.Public) error {
	if in := k.InForce().Fingerprint(); by.Fingerprint() != in {
		return engine.Conflict("signing_key_other", fmt.Sprintf("this installation's signing key is %s, this process was "+
			"given %s. Give it the installation's with --signing-key: every node has the same file, and after dialler key "+
			"rotate the new one", in, by.Fingerprint()))
	}
	return nil
}

// Wrapped is the row key, wrapped for a signer.
func Wrapped(by seal.Signer, rowKey [RowKeySize]byte, nonce [seal.WrapNonceSize]byte) ([]byte, error) {
	return seal.Wrap(by, RowKeyPurpose, rowKey[:], nonce[:])
}

// Unwrapped is the row key that was wrapped for a signer.
func Unwrapped(by seal.Signer, wrapped []byte) (rowKey [RowKeySize]byte, err error) {
	raw, err := seal.Unwrap(by, RowKeyPurpose, wrapped)
	if err == nil && len(raw) != RowKeySize {
		err = engine.Conflict("row_key_unreadable", "")
	}
	copy(rowKey[:], raw)
	return rowKey, err
}
