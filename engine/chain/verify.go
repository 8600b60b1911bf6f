package chain

import "fmt"

// Verifier follows one chain from its beginning. The zero value stands before
// the first batch; one that begins behind a batch whose hash is known (a
// checkpoint) has that in N and Hash.
type Verifier struct {
	N    int64
	Hash Hash
}

// Batch goes on to a batch of the chain, of which its number, the digests of its
// events and its hash are kept. It says what is wrong, "" when nothing is, and
// goes on from what is kept, so that each break is told once.
func (v *Verifier) Batch(n int64, digests []byte, hash Hash) (wrong string) {
	switch {
	case n != v.N+1:
		wrong = fmt.Sprintf("batches are missing: %d follows %d", n, v.N)
	case Link(v.Hash, digests) != hash:
		wrong = "its hash is not that of its events and of the batch before"
	}
	v.N, v.Hash = n, hash
	return wrong
}

// Head compares where the chain ends with what is kept as its end.
func (v *Verifier) Head(n int64, hash Hash) (wrong string) {
	switch {
	case n != v.N:
		return fmt.Sprintf("the chain ends with batch %d, its head says %d", v.N, n)
	case hash != v.Hash:
		return "the head is not the hash of the last batch"
	}
	return ""
}
