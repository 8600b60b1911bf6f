package process

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"dialler/actors/cluster"
	"dialler/engine"
	"dialler/engine/ownership"
)

// joins admits every node.
type joins struct {
	cluster.Owners
	last engine.Incarnation
}

func (j *joins) Join(_ context.Context, n ownership.Node, _ time.Duration) (ownership.Node, error) {
	j.last++
	n.Incarnation = j.last
	return n, nil
}

// A node sends nothing before others could cancel it in its name: its Via is in the database when
// its lease begins, for each of its incarnations.
func TestWhatANodeWritesIntoItsViaIsKnownBeforeItActs(t *testing.T) {
	told := map[engine.Incarnation]map[engine.TrunkID]string{}
	var away error
	by := map[engine.TrunkID]string{"a": "192.0.2.1:5060"}
	j := joiner{Owners: &joins{}, now: func() map[engine.TrunkID]string { return by },
		put: func(_ context.Context, id engine.Incarnation, by map[engine.TrunkID]string) error {
			if away == nil {
				told[id] = by
			}
			return away
		}}
	for range 2 {
		n, err := j.Join(t.Context(), ownership.Node{}, time.Second)
		if err != nil || !maps.Equal(told[n.Incarnation], by) {
			t.Errorf("as %d it has told %v: %v", n.Incarnation, told[n.Incarnation], err)
		}
	}
	away = errors.New("away")
	if _, err := j.Join(t.Context(), ownership.Node{}, time.Second); !errors.Is(err, away) {
		t.Errorf("it acts although nobody knows its Via: %v", err)
	}
	by, away = nil, nil
	if n, err := j.Join(t.Context(), ownership.Node{}, time.Second); err != nil || told[n.Incarnation] != nil {
		t.Errorf("without a trunk it has told %v: %v", told[n.Incarnation], err)
	}
}
