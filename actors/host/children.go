package host

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// A PID finds its actor once and keeps it: whoever keeps the PID keeps the actor
// with all that it knows, also when it has ended. protoactor itself does so: the
// list in which a parent has its children never lets go of the places that were
// in use when there were most of them.

// Props are those of every actor.
func (s *System) Props(producer actor.Producer, options ...actor.PropsOption) *actor.Props {
	outer := func() actor.Actor { return telling{producer()} }
	options = slices.Concat(s.options, options,
		[]actor.PropsOption{actor.WithDispatcher(&s.workers), actor.WithSpawnFunc(spawnApart)})
	return actor.PropsFromProducer(outer, options...)
}

// spawnApart starts an actor whose parent lists it by a PID of its own, through
// which nothing is sent while it lives.
func spawnApart(s *actor.ActorSystem, name string, props *actor.Props,
	parent actor.SpawnerContext) (*actor.PID, error) {
	pid, err := actor.DefaultSpawner(s, name, props, parent)
	return FreshPID(pid), err
}

// FreshPID is another PID of the same actor, which has not found it yet.
func FreshPID(pid *actor.PID) *actor.PID { return actor.NewPID(pid.Address, pid.Id) }
