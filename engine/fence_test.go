package engine_test

import (
	"testing"
	"time"

	"dialler/engine"
)

type lease struct {
	since, until engine.BootTime
	without      time.Duration
}

func (l *lease) Until() engine.BootTime                { return l.until }
func (l *lease) Gap() (engine.BootTime, time.Duration) { return l.since, l.without }

type fence struct {
	now   engine.BootTime
	lease *lease
	kept  bool
}

func (f *fence) Boot() engine.BootTime      { return f.now }
func (f *fence) Lease() engine.NodeLease    { return f.lease }
func (f *fence) Kept(engine.AttemptID) bool { return f.kept }

// A conversation outlasts its lease by half a minute, if its node is not back; a node that was away for
// longer ends it when it is back.
func TestAConversationEndsHalfAMinuteAfterItsLease(t *testing.T) {
	const second = engine.BootTime(time.Second)
	f := func(name string, now engine.BootTime, back *lease, kept, want bool) {
		t.Helper()
		begun := &lease{until: 10 * second}
		present := begun
		if back != nil {
			present = back
		}
		if got := engine.LimboOver(begun, &fence{now: now * second, lease: present, kept: kept}, "a"); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	back := func(since engine.BootTime) *lease {
		return &lease{since: since * second, until: (since + 10) * second, without: time.Duration((since - 10) * second)}
	}
	f("under its lease", 5, nil, false, false)
	f("within its time", 39, nil, false, false)
	f("after it", 40, nil, false, true)
	f("another node has it", 40, nil, true, false)
	f("the node is back in time", 39, back(38), false, false)
	f("the node is back in time, and stays", 47, back(38), false, false)
	f("the node is back too late", 51, back(50), false, true)
	f("the node is back too late, another has it", 51, back(50), true, false)
	f("the node has been back for long", 55, back(50), false, false)
	if engine.LimboOver(nil, &fence{}, "a") {
		t.Error("without leases")
	}
}
