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

// System is where the actors of a process live, and what every one of them has.
type System struct {
	Ctx   context.Context // ends when the actors are to do nothing more
	Clock Clock
	Log   zerolog.Logger
	Root  *actor.RootContext
	Stats Stats

	system  *actor.ActorSystem
	workers workers
	options []actor.PropsOption
}

// Stats are figures of the actors, whatever they do.
type Stats struct {
	Restarts  atomic.Int64 // actors restarted after a panic
	Failing   atomic.Int64 // of them, those that wait because they fault again and again
	Overloads atomic.Int64 // commands refused because too many waited
}

// New gives a system without actors. The options are those of every actor in it.
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

// Close stops actors, in their order, and then the system.
func (s *System) Close(pids ...*actor.PID) {
	for _, pid := range pids {
		if pid != nil {
			_ = s.Root.StopFuture(pid).Wait() // an actor that does not stop in time is left behind
		}
	}
	s.system.Shutdown()
	s.workers.close()
}

// Spawn starts an actor at the top. A fault of its own, and one of its children, ends as
// fault and children say.
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

// After sends a message to an actor once some time has passed; the returned function
// stops it.
func (s *System) After(wait time.Duration, to *actor.PID, msg any) func() {
	t := time.AfterFunc(max(wait, 0), func() {
		if s.Ctx.Err() == nil {
			s.Root.Send(to, msg)
		}
	})
	return func() { t.Stop() }
}

// Future is an actor that waits for one answer.
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

// PID is that of the actor with a name.
func (s *System) PID(name string) *actor.PID { return actor.NewPID(s.system.Address(), name) }

// Request names an actor that waits for an answer, for the core, and Requester is the
// actor that is meant.
func Request(pid *actor.PID) engine.Request {
	if pid == nil {
		return ""
	}
	return engine.Request(pid.Id)
}

// Requester is the actor that a request names, nil when it names none.
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

// Reply answers an actor that asked, if one did.
func (s *System) Reply(to *actor.PID, value any, err error) {
	if to != nil {
		s.Root.Send(to, &Answer{value, err})
	}
}

// Stashed is a message that waits, with its sender.
type Stashed struct {
	Msg    any
	Sender *actor.PID
}
