package quota

import (
	"time"

	"dialler/engine"
)

// Stage is a node's progress in taking over a count.
type Stage string

const (
	Away     Stage = ""         // another node keeps it, or none does
	Settling Stage = "settling" // claimed; grants of the previous keeper may still be used
	Counting Stage = "counting" // the database is asked what is in use
	Keeping  Stage = "keeping"  // it grants
)

// Keeper is one node's part in keeping the count of one identity.
type Keeper struct {
	Stage Stage
	As    engine.Incarnation // incarnation of the claim
	At    engine.BootTime    // when settling ends
}

// Claimed says that the identity is this node's from now on, as an incarnation.
func (k *Keeper) Claimed(now engine.BootTime, as engine.Incarnation, settle time.Duration) {
	*k = Keeper{Stage: Settling, As: as, At: now.Add(settle)}
}

// Count says whether it is time to count, and if so starts counting.
func (k *Keeper) Count(now engine.BootTime) bool {
	if k.Stage != Settling || now < k.At {
		return false
	}
	k.Stage = Counting
	return true
}

// Counted says that the uses are known, or could not be read and must be read again.
func (k *Keeper) Counted(now engine.BootTime, known bool) {
	switch {
	case k.Stage != Counting:
	case known:
		k.Stage = Keeping
	default:
		k.Stage, k.At = Settling, now.Add(RetryAfter)
	}
}

// Lost says that another node may own the identity.
func (k *Keeper) Lost() { *k = Keeper{} }

// May says whether the node may grant: it keeps the count as its current incarnation (0 means that
// it has no lease).
func (k *Keeper) May(as engine.Incarnation) bool {
	return k.Stage == Keeping && as != 0 && k.As == as
}
