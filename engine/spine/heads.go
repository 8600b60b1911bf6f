package spine

import (
	"encoding/json"
	"slices"
	"strings"
)

// Heads are where chains stand.
type Heads map[Chain]Head

// Seen takes an entry's heads over: those of a seal, and from what is dropped that there are none.
func (h Heads) Seen(e *Entry) {
	sealed, dropped := e.Heads()
	for _, x := range sealed {
		h[x.Chain] = x
	}
	for _, x := range dropped {
		delete(h, x.Chain)
	}
}

// Moved returns those of now that are elsewhere than in h, in order.
func (h Heads) Moved(now []Head) (moved []Head) {
	for _, x := range now {
		if h[x.Chain] != x {
			moved = append(moved, x)
		}
	}
	slices.SortFunc(moved, func(a, b Head) int {
		if c := strings.Compare(string(a.Campaign), string(b.Campaign)); c != 0 {
			return c
		}
		return a.Run - b.Run
	})
	return moved
}

// Heads are the heads that an entry vouches for, and those of the chains whose end it explains.
func (e *Entry) Heads() (sealed, dropped []Head) {
	switch e.Kind {
	case KindGenesis:
		var g Genesis
		_ = json.Unmarshal(e.Data, &g) // without heads if it is not one
		return g.Before.Heads, nil
	case KindSeal:
		var s Seal
		_ = json.Unmarshal(e.Data, &s)
		return s.Heads, nil
	case KindRetention:
		var r Retention
		_ = json.Unmarshal(e.Data, &r)
		return nil, r.Chains
	case KindStart, KindCheckpoint, KindExport, KindKey, KindErasure, KindRestored, KindAnchor:
	}
	return nil, nil
}
