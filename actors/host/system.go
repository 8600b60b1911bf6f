package host

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"dialler/engine"
)

// Clock gives the wall time (with Go's monotonic reading) and the boot-time
// clock.
type Clock interface {
	Now() time.Time
	Boot() engine.BootTime
}

// System is the actors of a process, and what all of them share.
type System struct {
	Ctx   context.Context // ends when the actors must stop working
	Clock Clock
	Log   zerolog.Logger
	Root  *actor.RootContext
	Stats Stats

	system  *actor.ActorSystem
	workers workers
	options []actor.PropsOption
}

// Stats are metrics common to all actors.
type Stats struct {
	Restarts  atomic.Int64 // actors restarted after a panic
	Failing   atomic.Int64 // those of them that are delayed because of recurring faults
	Overloads atomic.Int64 // commands refused because too many were waiting
}

// New makes a system without actors. The options apply to every actor in it.
func New(ctx context.Context, clock Clock, log zerolog.Logger, options ...actor.PropsOption) *System {
	s := &System{Ctx: ctx, Clock: clock, Log: log, system: newActorSystem(), options: options}
	s.Root = s.system.Root
	return s
}

func newActorSystem() *actor.ActorSystem {
	s := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	shrinkRegistry(s)
	return s
}

// Close stops actors in the given order, then the system.
func (s *System) Close(pids ...*actor.PID) {
	for _, pid := range pids {
		if pid != nil {
			_ = s.Root.StopFuture(pid).Wait() // an actor that does not stop in time is left behind
		}
	}
	s.system.Shutdown()
	s.workers.close()
}

// Spawn starts a top-level actor. fault says whether it resumes after a fault of its own, children
// whether its children do.
func (s *System) Spawn(name string, producer actor.Producer, fault, children Resume,
	options ...actor.PropsOption) (*actor.PID, error) {
	options = append(options, actor.WithSupervisor(s.Guard(name+" child", children)),
		actor.WithGuardian(s.Guard(name, fault)))
	pid, err := s.Root.SpawnNamed(s.Props(producer, options...), name)
	if err != nil {
		return nil, fmt.Errorf("actors: spawn %s: %w", name, err)
	}
	return pid, nil
}

// After sends a message to an actor after a delay; the returned function cancels it.
func (s *System) After(wait time.Duration, to *actor.PID, msg any) func() {
	t := time.AfterFunc(max(wait, 0), func() {
		if s.Ctx.Err() == nil {
			s.Root.Send(to, msg)
		}
	})
	return func() { t.Stop() }
}

// Future makes an actor that waits for one answer.
func (s *System) Future(limit time.Duration) *actor.Future { return actor.NewFuture(s.system, limit) }

// Wait waits for a future, or for the end of ctx.
func Wait(ctx context.Context, f *actor.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PID returns the PID of the actor with a name.
func (s *System) PID(name string) *actor.PID { return actor.NewPID(s.system.Address(), name) }

// Request identifies, to the core, the actor that waits for an answer; Requester returns that
// actor.
func Request(pid *actor.PID) engine.Request {
	if pid == nil {
		return ""
	}
	return engine.Request(pid.Id)
}

// Requester returns the actor that a request identifies, or nil.
func (s *System) Requester(r engine.Request) *actor.PID {
	if r == "" {
		return nil
	}
	return s.PID(string(r))
}

// Answer is the reply to a request.
type Answer struct {
	Value any
	Err   error
}

// Reply answers the actor that asked, if there is one.
func (s *System) Reply(to *actor.PID, value any, err error) {
	if to != nil {
		s.Root.Send(to, &Answer{value, err})
	}
}

// Stashed is a postponed message, with its sender.
type Stashed struct {
	Msg    any
	Sender *actor.PID
}
