package flight

import (
	"dialler/engine/call"
	"dialler/engine/journal"
	"dialler/engine/run"
	"dialler/engine/snapshot"
)

// digestSize is how many bytes of a digest are recorded.
const digestSize = 4

// digest digests effects, without what a run only passes on. Each digest contains those before, so
// that a difference which the few bytes of one do not show is in the next.
type digest struct {
	sum     *snapshot.Digest
	so      uint64 // far
	persist call.Persist
	write   journal.Write
}

// newDigest returns a digest. Rules stay as they were made.
func newDigest() *digest { return &digest{sum: snapshot.NewDigest(&call.Rules{})} }

// next is the digest of an input's effects.
func (d *digest) next(effects []run.Effect) uint32 {
	d.sum.Begin(d.so)
	for _, e := range effects {
		if p, ok := e.(run.PassOn); ok {
			e = run.PassOn{Persist: d.seen(p.Persist)}
		}
		d.sum.Add(e)
	}
	d.so = d.sum.Sum()
	return uint32(d.so) //nolint:gosec // its lower half
}

// seen is what a run looks at, or changes, of a contact's write. The rest it passes on as it is
// (TestWhatARunReadsOfAContactsWriteIsRecorded): rows, which the database has. It is valid until the
// next call.
func (d *digest) seen(p *call.Persist) *call.Persist {
	w := p.Write
	d.write = journal.Write{Campaign: w.Campaign, Epoch: w.Epoch, Events: w.Events, Bulk: w.Bulk, Retune: w.Retune}
	d.persist = call.Persist{Contact: p.Contact, Step: p.Step, Write: &d.write}
	return &d.persist
}
