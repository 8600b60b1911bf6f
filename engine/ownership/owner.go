package ownership

import (
	"time"

	"dialler/engine"
)

// Kind says what an identity is. Kinds are coarse: contacts and attempts go
// with their campaign.
type Kind string

const (
	Campaign Kind = "campaign" // identity = CampaignID
	Trunk    Kind = "trunk"    // identity = TrunkID
	Fleet    Kind = "fleet"    // identity = BotID
	Number   Kind = "number"   // identity = the shard of outbound numbers (quota.Shard)
	Dialouts Kind = "dialouts" // identity = the incarnation that is gone, whose calls outside campaigns are closed
)

// Identity is something that one node at a time acts for.
type Identity struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"identity"`
}

// String masks what may be a phone number.
func (i Identity) String() string {
	if i.Kind == Number {
		return string(i.Kind) + "/" + engine.PhoneNumber(i.ID).String()
	}
	return string(i.Kind) + "/" + i.ID
}

// Limits of an identity and of what a node says of itself, in bytes.
const (
	MaxKind     = 32
	MaxIdentity = 128
	MaxName     = 128
	MaxAddress  = 256
	MaxAPI      = 512
)

// Valid says whether an identity can be owned.
func (i Identity) Valid() bool {
	return i.Kind != "" && len(i.Kind) <= MaxKind && i.ID != "" && len(i.ID) <= MaxIdentity
}

// Owner is who acts for an identity, as the database knows it.
type Owner struct {
	Identity
	Incarnation engine.Incarnation `json:"incarnation"` // 0: it was released
	// Epoch counts the claims of the identity, from 1; 0: it was never claimed.
	Epoch     int64     `json:"epoch"`
	ClaimedAt time.Time `json:"claimed_at"`
	Address   string    `json:"address"` // of the owner's node
	API       string    `json:"api"`
	// Live: the owner's lease had not run out when the database was asked, so
	// nobody else can claim the identity.
	Live bool `json:"live"`
}

// Errors that the database's refusals are told by.
var (
	// ErrFenced: the lease ran out, or the node was declared dead. It may join
	// again, as a new incarnation.
	ErrFenced = engine.Conflict("node_fenced", "")
	// ErrNotOwner: somebody else acts for the identity, or nobody.
	ErrNotOwner = engine.Conflict("not_owner", "")
)
