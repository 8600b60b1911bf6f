package trunk

import (
	"testing"
	"time"

	"dialler/engine"
)

// unused is how long another node may leave a grant unused.
const unused = 1600 * time.Millisecond

// Grants to other nodes count like those to this one: tokens and channels, but not its health.
func TestLegsOfOtherNodesShareTheCaps(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	k := proven(engine.TrunkSettings{ID: "a", Active: true, CPSCap: 10, ChannelCap: 3})
	if ok, _, _ := k.Admit(now, "one", time.Hour, unused); !ok {
		t.Fatal("the first is refused")
	}
	if ok, c, at := k.Acquire(now, "two", time.Hour); ok || c != engine.ConstraintTrunkCPS || !at.After(now) {
		t.Errorf("a second one at once: %v %s %v", ok, c, at)
	}
	if ok, _, _ := k.Admit(now, "one", time.Hour, unused); !ok || k.Held() != 1 {
		t.Error("a question that comes twice takes a second channel, or is refused")
	}
	k.Heard(engine.TrunkLost)
	for i, leg := range []engine.LegID{"two", "three"} {
		now = now.Add(time.Second)
		if ok, c, _ := k.Admit(now, leg, time.Hour, unused); !ok {
			t.Errorf("%d: another node is refused for what this one thinks of the trunk: %s", i, c)
		}
	}
	now = now.Add(time.Second)
	if ok, c, _ := k.Admit(now, "four", time.Hour, unused); ok || c != engine.ConstraintTrunkChannels {
		t.Errorf("beyond the channels: %v %s", ok, c)
	}
	if ok, c, _ := k.Allowed(now); ok || c != engine.ConstraintTrunkHealth {
		t.Errorf("this node may use a trunk that is down: %s", c)
	}
}

// A reset count contains only legs reported since, and waits as after a restart.
func TestACountThatBeginsAnewForgetsTheLastSecond(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	k := proven(engine.TrunkSettings{ID: "a", Active: true, CPSCap: 1, ChannelCap: 3})
	k.Admit(now, "old", time.Hour, unused)
	now = now.Add(time.Minute)
	k.Recount(now)
	k.Adopt(now, "live", time.Hour)
	if legs := k.Legs(); len(legs) != 1 || legs[0] != "live" {
		t.Errorf("legs: %v", legs)
	}
	if ok, c, at := k.Admit(now, "new", time.Hour, unused); ok || c != engine.ConstraintTrunkCPS ||
		at.Sub(now) < time.Second {
		t.Errorf("at once: %v %s, again in %v", ok, c, at.Sub(now))
	}
}

// Another node's leg slows the trunk down once, however often that is reported.
func TestThrottlingIsToldOfALegThatIsHeld(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	k := proven(engine.TrunkSettings{ID: "a", Active: true, CPSCap: 8, ChannelCap: 3})
	k.Admit(now, "one", time.Hour, unused)
	k.Throttled(now, "one", 0)
	slow := k.Rate(now)
	if slow > 4.1 {
		t.Errorf("%.1f a second after a refusal for too many calls", slow)
	}
	k.Release(now, "one")
	k.Throttled(now.Add(2*time.Second), "one", 0)
	if got := k.Rate(now.Add(2 * time.Second)); got < slow {
		t.Errorf("%.1f a second after it was told again", got)
	}
}
