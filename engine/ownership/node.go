package ownership

import (
	"time"

	"dialler/engine"
)

// Node is one incarnation of a node as stored in the database. Its times are the database's.
type Node struct {
	Incarnation engine.Incarnation `json:"incarnation"`
	Name        string             `json:"name"`
	Address     string             `json:"address"` // host:port for messages between nodes
	API         string             `json:"api"`     // base URL of its HTTP API
	JoinedAt    time.Time          `json:"joined_at"`
	ExpiresAt   time.Time          `json:"expires_at"` // end of its lease
	Draining    bool               `json:"draining"`   // it claims nothing new
	LeftAt      *time.Time         `json:"left_at,omitempty"`
	// Live says that its lease had not expired and it had not left when the database was asked.
	Live bool `json:"live"`
}

// Load is a live node and how many identities of one kind it owns.
type Load struct {
	Node
	Owned int `json:"owned"`
}
