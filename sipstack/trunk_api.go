package sipstack

import (
	"context"

	"dialler/engine"
	"dialler/sipstack/trunk"
)

// SetTrunk adds a trunk or changes it. Legs that exist keep the configuration
// that they were placed with. The same configuration again changes nothing.
func (s *Stack) SetTrunk(c trunk.Config) { s.trunks.Put(c) }

// RemoveTrunk forgets a trunk: further legs of it end with LegNotSent(trunk),
// present ones go on.
func (s *Stack) RemoveTrunk(id engine.TrunkID) { s.trunks.Remove(id) }

// Health lists how every trunk is of which that is known.
func (s *Stack) Health() []engine.TrunkHealth { return s.trunks.Health() }

// Unusable lists the trunks over which no call is to be placed from here now: their
// listener is missing, they are not registered, or they do not answer.
func (s *Stack) Unusable() []engine.TrunkID { return s.trunks.Unusable() }

// SentBy gives what requests over each trunk have in their Via (host:port), of
// those whose far side's address is known.
func (s *Stack) SentBy() map[engine.TrunkID]string { return s.trunks.SentBy() }

// Registrations lists the state of every registered trunk.
func (s *Stack) Registrations() []trunk.Registration { return s.trunks.Registrations() }

// Ask is the question whether a SIP address takes calls: nil when it answers
// OPTIONS. An answer that says that it is of no service now (408, 503) is none.
// It blocks until then; ctx bounds the time.
func (s *Stack) Ask(ctx context.Context, uri string) error { return s.trunks.Ask(ctx, uri) }
