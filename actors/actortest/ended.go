package actortest

import (
	"runtime"
	"slices"
	"strings"
	"weak"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
)

// Ended watches actors without keeping them in memory.
type Ended struct {
	f         *Faults
	campaigns []engine.CampaignID
	seen      map[string]weak.Pointer[actor.ActorProcess]
}

// Ends watches the actors of contacts, of calls outside campaigns, and of the given campaigns.
func (f *Faults) Ends(campaigns ...engine.CampaignID) *Ended {
	return &Ended{f: f, campaigns: campaigns, seen: map[string]weak.Pointer[actor.ActorProcess]{}}
}

func (e *Ended) concerns(name string) bool {
	return strings.Contains(name, "/contact-") || strings.Contains(name, "/call-") ||
		slices.ContainsFunc(e.campaigns, func(id engine.CampaignID) bool {
			return strings.Contains(name, "/campaign-"+string(id))
		})
}

// Look records the actors that exist now.
func (e *Ended) Look() {
	for _, bucket := range e.f.of().ProcessRegistry.LocalPIDs.LocalPIDs {
		for name, p := range bucket.Items() {
			if p, ok := p.(*actor.ActorProcess); ok && e.concerns(name) {
				e.seen[name] = weak.Make(p)
			}
		}
	}
}

// Seen returns how many were seen, Held how many of them are still referenced.
func (e *Ended) Seen() int { return len(e.seen) }

func (e *Ended) Held() (n int) {
	runtime.GC()
	runtime.GC()
	for _, p := range e.seen {
		if p.Value() != nil {
			n++
		}
	}
	return n
}
