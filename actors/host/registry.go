package host

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// registryBuckets is the number of maps that hold the actors' names, each with 32 locks of its own.
const registryBuckets = 8

// shrinkRegistry replaces an actor system's registry with fewer maps. It has 32,768, each of which
// keeps the space of the first name that it held. With names that are never reused, as for contacts
// and futures, calls leave 12 MiB behind. It must be called before anything else uses the system.
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
