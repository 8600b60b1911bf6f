package host

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// A PID finds its actor once and keeps it: holding the PID holds the actor with all its state, even
// after it has ended. protoactor itself does so: a parent's list of children never frees the places
// it needed at its largest.

// Props are the props of every actor.
func (s *System) Props(producer actor.Producer, options ...actor.PropsOption) *actor.Props {
	outer := func() actor.Actor { return telling{producer()} }
	options = slices.Concat(s.options, options,
		[]actor.PropsOption{actor.WithDispatcher(&s.workers), actor.WithSpawnFunc(spawnApart)})
	return actor.PropsFromProducer(outer, options...)
}

// spawnApart starts an actor whose parent lists it by a separate PID, through which nothing is sent
// while it lives.
func spawnApart(s *actor.ActorSystem, name string, props *actor.Props,
	parent actor.SpawnerContext) (*actor.PID, error) {
	pid, err := actor.DefaultSpawner(s, name, props, parent)
	return FreshPID(pid), err
}

// FreshPID returns another PID of the same actor, which has not resolved it yet.
func FreshPID(pid *actor.PID) *actor.PID { return actor.NewPID(pid.Address, pid.Id) }
