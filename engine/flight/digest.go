package flight

import (
	"dialler/engine/call"
	"dialler/engine/journal"
	"dialler/engine/run"
	"dialler/engine/snapshot"
)

// digest digests effects, without what a run only passes on.
type digest struct {
	sum     *snapshot.Digest
	persist call.Persist
	write   journal.Write
}

// newDigest returns a digest. Rules are as they were made.
func newDigest() *digest { return &digest{sum: snapshot.NewDigest(&call.Rules{})} }

// of is the digest of effects.
func (d *digest) of(effects []run.Effect) uint64 {
	d.sum.Begin()
	for _, e := range effects {
		if p, ok := e.(run.PassOn); ok {
			d.seen(p.Persist)
			e = run.PassOn{Persist: &d.persist}
		}
		d.sum.Add(e)
	}
	return d.sum.Sum()
}

// seen is what a run looks at, or changes, of a contact's write. The rest it passes on as it is
// (TestARunPassesOnTheRowsOfContactsAsTheyAre): rows, which the database has. It is valid until the
// next call.
func (d *digest) seen(p *call.Persist) *call.Persist {
	w := p.Write
	d.write = journal.Write{Campaign: w.Campaign, Epoch: w.Epoch, Events: w.Events, Bulk: w.Bulk, Retune: w.Retune}
	d.persist = call.Persist{Contact: p.Contact, Step: p.Step, Write: &d.write}
	return &d.persist
}
