package trunk

import (
	"reflect"
	"testing"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
)

func TestWhatNodesTellEachOtherOfATrunkIsReadAsItWasWritten(t *testing.T) {
	g := trunkGrant{got: []bool{true, false}, wait: []time.Duration{30 * time.Millisecond, 0},
		constraint: engine.ConstraintTrunkCPS, retryAt: time.Unix(1_000_000, 5).UTC()}
	if got, ok := readTrunkGrant(link.Pack(g.fields), 2); !ok || !reflect.DeepEqual(got, g) {
		t.Errorf("%+v, %v; want %+v", got, ok, g)
	}
	for _, n := range []trunkNotice{
		{legs: []engine.LegID{"a.1"}, sent: true}, {legs: []engine.LegID{"a.1", "b.2"}, over: true},
		{legs: []engine.LegID{"a.1"}, throttled: true, after: time.Second},
	} {
		b := link.Pack(n.fields)
		var got trunkNotice
		if ok := link.Unpack(b, got.fields); !ok || !reflect.DeepEqual(got, n) {
			t.Errorf("%+v, %v; want %+v", got, ok, n)
		}
		for i := range b {
			if link.Unpack(b[:i], new(trunkNotice).fields) {
				t.Errorf("%+v is read of %d of %d bytes", n, i, len(b))
			}
		}
	}
	for i, b := 0, link.Pack(g.fields); i < len(b); i++ {
		if _, ok := readTrunkGrant(b[:i], 2); ok {
			t.Errorf("a grant is read of %d of %d bytes", i, len(b))
		}
	}
}
