package spine

import (
	"encoding/json"
	"fmt"

	"dialler/engine/chain"
	"dialler/engine/seal"
)

// Wrong is something that is wrong with an entry, as a kind and in words; Kind is "" if nothing is.
type Wrong struct{ Kind, What string }

// What can be wrong with an entry.
const (
	GenesisMissing = "genesis_missing"
	EntryRemoved   = "spine_entry_removed"
	EntryChanged   = "spine_entry_changed"
	UnknownSigner  = "unknown_signer"
)

// Follower follows the spine from its beginning. The zero value stands before the genesis.
type Follower struct {
	N    int64
	Hash chain.Hash
	// Genesis is the data of the first entry; nil until it was seen.
	Genesis *Genesis
	At      Entry // the genesis

	keys []seal.Public
}

// Keys are the keys that were in force, the last is.
func (f *Follower) Keys() []seal.Public { return f.keys }

// InForce is the key that signs now; false before the genesis.
func (f *Follower) InForce() (seal.Public, bool) {
	if len(f.keys) == 0 {
		return seal.Public{}, false
	}
	return f.keys[len(f.keys)-1], true
}

// Next advances to an entry and returns what is wrong with it. It goes on from the entry as it is, so
// that each break is named once.
func (f *Follower) Next(e *Entry) (w Wrong) {
	after, n := f.Hash, f.N
	f.N, f.Hash = e.N, e.Hash()
	key, known := f.InForce()
	if !known {
		return f.begin(e, n, after)
	}
	switch {
	case e.N != n+1:
		w = Wrong{EntryRemoved, fmt.Sprintf("entries of the spine are missing: %d follows %d", e.N, n)}
	case e.Previous != after:
		w = Wrong{EntryChanged, e.String() + " does not name the entry before as it is: one of the two was changed"}
	}
	if e.SignedBy != key.Fingerprint() {
		return Wrong{UnknownSigner, e.String() + " is signed with the key " + e.SignedBy + ", which was not in force; " +
			key.Fingerprint() + " was"}
	}
	if !e.SignedWith(key) {
		return Wrong{EntryChanged, e.String() + " does not match its signature: it was changed or made up"}
	}
	if e.Kind == KindKey {
		next, err := e.NextKey(e.Previous, key) // which is wrong by itself if it is not after
		if err != nil {
			return Wrong{UnknownSigner, e.String() + " names a new key that does not vouch for the entries before"}
		}
		f.keys = append(f.keys, next)
	}
	return w
}

func (f *Follower) begin(e *Entry, n int64, after chain.Hash) Wrong {
	g, key, err := e.Genesis()
	switch {
	case err != nil:
		if n == 0 {
			return Wrong{GenesisMissing, "the spine begins with " + e.String() + " instead of its genesis: that was removed " +
				"or changed"}
		}
		return Wrong{}
	case e.N != 1 || e.Previous != chain.Hash{} || after != chain.Hash{}:
		return Wrong{GenesisMissing, "the genesis of the spine is not its first entry"}
	case !e.SignedWith(key):
		return Wrong{EntryChanged, e.String() + " does not match its signature: it was changed"}
	}
	f.Genesis, f.At, f.keys = &g, *e, []seal.Public{key}
	return Wrong{}
}

// Genesis reads the data of a genesis, and its key.
func (e *Entry) Genesis() (g Genesis, key seal.Public, err error) {
	if e.Kind != KindGenesis {
		return g, key, errLine
	}
	if err = json.Unmarshal(e.Data, &g); err == nil {
		key, err = seal.ParsePublic([]byte(g.Key))
	}
	return g, key, err
}

// NextKey is the key that a key entry puts in force, if that key vouches for the entry before it.
func (e *Entry) NextKey(previous chain.Hash, former seal.Public) (key seal.Public, err error) {
	var k Key
	if err = json.Unmarshal(e.Data, &k); err == nil {
		key, err = seal.ParsePublic([]byte(k.Key))
	}
	if err == nil && !key.Verify(proof(previous, former, key), k.Proof) {
		err = errLine
	}
	return key, err
}

// Prove is the proof that a new key gives for the entry before the one that puts it in force.
func Prove(next seal.Signer, previous chain.Hash, former seal.Public) ([]byte, error) {
	return next.Sign(proof(previous, former, next.Public()))
}

func proof(previous chain.Hash, former, next seal.Public) []byte {
	return []byte("dialler spine key 1\n" + previous.String() + "\n" + former.Fingerprint() + "\n" + next.Fingerprint())
}
