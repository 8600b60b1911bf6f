package writer

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"dialler/actors/host"
	"dialler/engine/call"
	"dialler/engine/journal"
)

// Standalone is the writers of a process that has nothing else, for measurements.
type Standalone struct {
	g        *Group
	cancel   context.CancelFunc
	listener *actor.PID
}

// durableListener gets the results of writes.
type durableListener struct{ durable func(step int, err error) }

func (l *durableListener) Receive(ctx actor.Context) {
	if m, ok := ctx.Message().(*call.Durable); ok {
		l.durable(m.Step, m.Err)
	}
}

// Start starts writers on a store; durable is called for each write, one at a time, once it is in
// the database or was refused.
func Start(cfg Config, store Store, clock host.Clock, durable func(step int, err error)) (*Standalone, error) {
	ctx, cancel := context.WithCancel(context.Background())
	g := New(host.New(ctx, clock, zerolog.Nop()), cfg, store, nil)
	s := &Standalone{g: g, cancel: cancel}
	s.listener = g.Root.Spawn(g.Props(func() actor.Actor { return &durableListener{durable} }))
	if err := g.Start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Persist passes a write to the writer that keeps the order of an identity.
func (s *Standalone) Persist(id string, write journal.Write, step int) {
	s.g.Root.Send(s.g.For(id), &Persist{Write: write, ReplyTo: s.listener, Step: step})
}

// Close stops them; writes that are not durable by then are not reported.
func (s *Standalone) Close() {
	s.cancel()
	s.g.System.Close(append(s.g.pids, s.listener)...)
}
