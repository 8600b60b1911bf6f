package chain

import "fmt"

// Verifier follows one chain from its beginning. The zero value stands before the first batch; to
// begin after a batch with a known hash (a checkpoint), set N and Hash to that batch.
type Verifier struct {
	N    int64
	Hash Hash
}

// Batch advances to the next batch of the chain, given its stored number, the digests of its events,
// its entries of rows and its hash. It returns what is wrong, "" if nothing is, and continues from the stored values,
// so that each break is reported once.
func (v *Verifier) Batch(n int64, digests, rows []byte, hash Hash) (wrong string) {
	switch {
	case n != v.N+1:
		wrong = fmt.Sprintf("batches are missing: %d follows %d", n, v.N)
	case Link(v.Hash, digests, rows) != hash:
		wrong = "its hash does not match its events, its rows and the batch before"
	}
	v.N, v.Hash = n, hash
	return wrong
}

// Head compares the end of the chain with its stored head.
func (v *Verifier) Head(n int64, hash Hash) (wrong string) {
	switch {
	case n != v.N:
		return fmt.Sprintf("the chain ends with batch %d, its head says %d", v.N, n)
	case hash != v.Hash:
		return "the head is not the hash of the last batch"
	}
	return ""
}
