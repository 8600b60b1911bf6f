package sipstack

import (
	"context"

	"dialler/engine"
)

// The commands of trunks; trunk.Set says what each promises.

// SetTrunk adds a trunk or changes it.
func (s *Stack) SetTrunk(c TrunkConfig) { s.trunks.Put(c) }

// RemoveTrunk forgets a trunk.
func (s *Stack) RemoveTrunk(id engine.TrunkID) { s.trunks.Remove(id) }

// Health lists how every trunk is of which that is known.
func (s *Stack) Health() []engine.TrunkHealth { return s.trunks.Health() }

// Unusable lists the trunks over which no call is to be placed from here now.
func (s *Stack) Unusable() []engine.TrunkID { return s.trunks.Unusable() }

// SentBy gives what requests over each trunk have in their Via (host:port).
func (s *Stack) SentBy() map[engine.TrunkID]string { return s.trunks.SentBy() }

// Registrations lists the state of every registered trunk.
func (s *Stack) Registrations() []Registration { return s.trunks.Registrations() }

// Ask is the question whether a SIP address takes calls: nil when it answers
// OPTIONS. It blocks until then; ctx bounds the time.
func (s *Stack) Ask(ctx context.Context, uri string) error { return s.trunks.Ask(ctx, uri) }
