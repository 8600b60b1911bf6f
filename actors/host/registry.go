package host

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// registryBuckets is into how many parts the names of actors are divided, each
// with 32 locks of its own.
const registryBuckets = 8

// shrinkRegistry replaces the maps in which an actor system finds its actors by
// fewer ones. There are 32,768 of them, and each keeps the room of the first
// name that fell into it: with names that never come again, as those of
// contacts and of questions, that is 12 MiB that calls leave behind. It must be
// called before anything else knows of the system.
func shrinkRegistry(s *actor.ActorSystem) {
	all := s.ProcessRegistry.LocalPIDs.LocalPIDs
	few := slices.Clone(all[:min(registryBuckets, len(all))])
	s.ProcessRegistry.LocalPIDs.LocalPIDs = few
	found := map[string]any{}
	for i, bucket := range all {
		clear(found)
		bucket.IterCb(func(name string, process any) { found[name] = process }) // Items would start 33 goroutines
		for name, process := range found {
			if i < len(few) {
				bucket.Remove(name)
			}
			s.ProcessRegistry.LocalPIDs.GetBucket(name).Set(name, process)
		}
	}
}
