package sipstack

import (
	"context"

	"dialler/engine"
)

// The commands for trunks; trunk.Set documents what each guarantees.

// SetTrunk adds a trunk or changes it.
func (s *Stack) SetTrunk(c TrunkConfig) { s.trunks.Put(c) }

// RemoveTrunk removes a trunk.
func (s *Stack) RemoveTrunk(id engine.TrunkID) { s.trunks.Remove(id) }

// Health lists the health of every trunk for which it is known.
func (s *Stack) Health() []engine.TrunkHealth { return s.trunks.Health() }

// Unusable lists the trunks over which no call may be placed from here now.
func (s *Stack) Unusable() []engine.TrunkID { return s.trunks.Unusable() }

// SentBy returns the host:port that requests over each trunk have in their Via.
func (s *Stack) SentBy() map[engine.TrunkID]string { return s.trunks.SentBy() }

// Registrations lists the state of every registered trunk.
func (s *Stack) Registrations() []Registration { return s.trunks.Registrations() }

// Ask probes whether a SIP address accepts calls: nil when it answers OPTIONS. It blocks until
// then; ctx bounds the time.
func (s *Stack) Ask(ctx context.Context, uri string) error { return s.trunks.Ask(ctx, uri) }
