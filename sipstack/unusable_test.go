package sipstack_test

import (
	"slices"
	"testing"

	"dialler/engine"
	"dialler/sipstack"
)

// The trunks over which a node of a cluster reports that it cannot place calls.
func TestTrunksThatCannotBeUsedFromHereAreNamed(t *testing.T) {
	s := newStack(t, sipstack.Config{})
	s.SetTrunk(sipstack.TrunkConfig{ID: "whole", Host: "127.0.0.1", Port: 5999, OptionsInterval: -1})
	s.SetTrunk(sipstack.TrunkConfig{ID: "no listener", Host: "127.0.0.1", Port: 5999, Listener: "of another node",
		OptionsInterval: -1})
	s.SetTrunk(sipstack.TrunkConfig{ID: "not registered", Host: "127.0.0.1", Port: 5999, Kind: engine.TrunkRegistered,
		Username: "u", Password: "p"})
	got := s.Unusable()
	slices.Sort(got)
	if want := []engine.TrunkID{"no listener", "not registered"}; !slices.Equal(got, want) {
		t.Errorf("%v cannot be used, want %v", got, want)
	}
}
