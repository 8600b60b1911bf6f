package spine

import (
	"time"

	"dialler/engine"
)

// Chain identifies a chain of events: of a campaign's run, or of no campaign.
type Chain struct {
	Campaign engine.CampaignID `json:"campaign"` // "" for what belongs to none
	Run      int               `json:"run"`
}

// Head is where a chain stands: its last batch, with that batch's hash.
type Head struct {
	Chain
	N    int64  `json:"n"`
	Hash string `json:"hash"` // 64 hex digits
}

// Counts are how many rows there are.
type Counts struct {
	Events       int64 `json:"events"`
	Attempts     int64 `json:"attempts"`
	Contacts     int64 `json:"contacts"`
	Exclusions   int64 `json:"exclusions"`
	Suppressions int64 `json:"suppressions"`
}

// Before is what was there when the spine began: nothing vouches for how it came to be.
type Before struct {
	Heads  []Head `json:"heads"`
	Counts Counts `json:"counts"`
	// Unchained counts the events without a digest, by campaign; "" for those of none.
	Unchained map[engine.CampaignID]int `json:"unchained"`
	// Unsigned are the runs whose checkpoints have no signature.
	Unsigned []Chain `json:"unsigned"`
}

// Any says whether anything was there.
func (b *Before) Any() bool {
	return len(b.Heads) > 0 || b.Counts != Counts{} || len(b.Unchained) > 0 || len(b.Unsigned) > 0
}

// Genesis is the beginning.
type Genesis struct {
	// Installation distinguishes installations, and stays the same in every copy of the database.
	Installation string `json:"installation"`
	Schema       int64  `json:"schema"` // version of the database's
	Key          string `json:"key"`    // public, in PEM
	RowKey       []byte `json:"row_key"`
	Before       Before `json:"before"`
}

// Start is the start of a process.
type Start struct {
	Process string `json:"process"` // one life of it
	Version string `json:"version"`
	Key     string `json:"key"` // fingerprint
}

// Seal says where chains stood: those that moved since the process sealed before, all of them in its
// first seal.
type Seal struct {
	Heads      []Head    `json:"heads"`
	Chains     int64     `json:"chains"`  // how many there were in all
	Batches    int64     `json:"batches"` // in all of them
	DatabaseAt time.Time `json:"database_at"`
	Process    string    `json:"process"`
}

// Checkpoint says that what a run, or a month of no campaign, came to was signed in place of its
// calls or events.
type Checkpoint struct {
	Chain
	Hash         string `json:"hash"` // of the signed text
	AttemptsGone bool   `json:"attempts_gone"`
	EventsGone   bool   `json:"events_gone"`
}

// Export is a record of a run that left the installation.
type Export struct {
	Chain
	Manifest string `json:"manifest"` // SHA-256 of it, 64 hex digits
	Findings int    `json:"findings"`
	Signed   string `json:"signed"` // fingerprint of the key
}

// Key is the change to another key.
type Key struct {
	Key    string `json:"key"` // public, in PEM
	RowKey []byte `json:"row_key"`
	// Proof is the new key's signature over the hash of the entry before: it vouches for the past.
	Proof []byte `json:"proof"`
}

// Erasure is the erasure of a person, named by nothing but what stands in its place.
type Erasure struct {
	Tombstone string `json:"tombstone"` // SHA-256 of it, 64 hex digits
	Contacts  int    `json:"contacts"`
	Attempts  int    `json:"attempts"`
}

// Retention is what was dropped because its time had passed.
type Retention struct {
	Partition string `json:"partition"` // of events; "" if only calls were dropped
	Attempts  int    `json:"attempts"`
	// Chains are the dropped chains, as they ended.
	Chains []Head `json:"chains"`
}

// Restored says that the database had lost entries that the file outside still had: it was put back
// by a backup, or cut. They were added to it again; what they sealed may be gone.
type Restored struct {
	After  int64  `json:"after"` // the last entry that the database still had
	To     int64  `json:"to"`    // the last entry of the file
	Forked bool   `json:"forked"`
	By     string `json:"by"` // who accepted that; "" if nobody has
}
