package actors

import (
	"strings"
	"weak"

	"github.com/asynkron/protoactor-go/actor"
)

// Ended keeps an eye on actors without keeping them.
type Ended struct {
	t    *Tree
	seen map[string]weak.Pointer[actor.ActorProcess]
}

// Ends gives an eye on the actors of contacts and of calls outside campaigns.
func (t *Tree) Ends() *Ended {
	return &Ended{t: t, seen: map[string]weak.Pointer[actor.ActorProcess]{}}
}

// Look notes which of them there are now.
func (e *Ended) Look() {
	for _, bucket := range e.t.d.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		for name, p := range bucket.Items() {
			if p, ok := p.(*actor.ActorProcess); ok && (strings.Contains(name, "/contact-") || strings.Contains(name, "/call-")) {
				e.seen[name] = weak.Make(p)
			}
		}
	}
}

// Seen is how many were seen, Held how many of them somebody still holds.
func (e *Ended) Seen() int { return len(e.seen) }

func (e *Ended) Held() (n int) {
	live()
	for _, p := range e.seen {
		if p.Value() != nil {
			n++
		}
	}
	return n
}
