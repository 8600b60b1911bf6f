package actortest

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/inbound"
)

// CallIn implements dialout.Store, without campaigns: the last dialout from the number to the caller.
func (s *Store) CallIn(_ context.Context, to, from []engine.PhoneNumber, since time.Time) (*inbound.Called, error) {
	c := &inbound.Called{}
	s.View(func() {
		for _, n := range s.Nums {
			if slices.Contains(to, n.Number) {
				c.Number = n.Number
				c.Rule = inbound.Rule{Policy: inbound.Policy(n.CallbackPolicy), Bot: n.CallbackBot, Message: n.CallbackMessage}
			}
		}
	})
	return c, nil
}
