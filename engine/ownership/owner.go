package ownership

import (
	"time"

	"dialler/engine"
)

// Kind is a kind of identity. Kinds are coarse: contacts and attempts belong to their campaign.
type Kind string

const (
	Campaign Kind = "campaign" // identity = CampaignID
	Trunk    Kind = "trunk"    // identity = TrunkID
	Fleet    Kind = "fleet"    // identity = BotID
	Number   Kind = "number"   // identity = the shard of outbound numbers (quota.Shard)
	Dialouts Kind = "dialouts" // identity = the incarnation that left, whose calls outside campaigns are closed
)

// Identity is something that one node at a time owns.
type Identity struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"identity"`
}

// String masks identities that may be phone numbers.
func (i Identity) String() string {
	if i.Kind == Number {
		return string(i.Kind) + "/" + engine.PhoneNumber(i.ID).String()
	}
	return string(i.Kind) + "/" + i.ID
}

// Limits of an identity and of a node's data about itself, in bytes.
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

// Owner is the owner of an identity according to the database.
type Owner struct {
	Identity
	Incarnation engine.Incarnation `json:"incarnation"` // 0 means that it was released
	// Epoch counts the claims of the identity, from 1; 0 means that it was never claimed.
	Epoch     int64     `json:"epoch"`
	ClaimedAt time.Time `json:"claimed_at"`
	Address   string    `json:"address"` // of the owner's node
	API       string    `json:"api"`
	// Live says that the owner's lease had not expired when the database was asked, so that no
	// other node can claim the identity.
	Live bool `json:"live"`
}

// Errors for the database's refusals.
var (
	// ErrFenced says that the lease expired, or that the node was declared dead. It may join again,
	// as a new incarnation.
	ErrFenced = engine.Conflict("node_fenced", "")
	// ErrNotOwner says that another node owns the identity, or none does.
	ErrNotOwner = engine.Conflict("not_owner", "")
)
