package host

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// A fault is a panic in Receive. What an actor that faulted does next:
const (
	// restarts it has at once within faultMemory; then it waits before each one,
	// so that a fault that comes again and again takes neither the processor nor
	// the log, and its siblings notice nothing.
	restartsAtOnce = 20
	faultMemory    = 2 * time.Minute
	restartFirst   = time.Second
	restartLast    = 30 * time.Second
)

// fault is what an actor panicked with, and where: its supervisor decides with a
// stack of its own.
type fault struct {
	reason any
	stack  []byte
}

func (f *fault) Error() string { return fmt.Sprint(f.reason) }

// telling is an actor that says where it faults.
type telling struct{ actor.Actor }

// Receive implements actor.Actor.
func (t telling) Receive(ctx actor.Context) {
	defer func() {
		if reason := recover(); reason != nil {
			panic(&fault{reason: reason, stack: debug.Stack()})
		}
	}()
	t.Actor.Receive(ctx)
}

// guardian decides what becomes of an actor that faulted: it alone, never its
// siblings. There is no end to restarts: giving up would leave calls without an
// owner.
type guardian struct {
	s      *System
	name   string // of the kind of actor
	resume Resume
}

// Resume says of an actor that faulted whether it goes on with what it knows, so that
// only the message that it faulted on is lost; else it begins anew.
type Resume func(child *actor.PID) bool

// Supervise restarts children that fault.
func (s *System) Supervise(name string) actor.SupervisorStrategy { return s.Guard(name, Restarts) }

// Guard does with those that fault what resume says.
func (s *System) Guard(name string, resume Resume) actor.SupervisorStrategy {
	return &guardian{s: s, name: name, resume: resume}
}

// Restarts is for actors that load what is durable.
func Restarts(*actor.PID) bool { return false }

// Resumes is for actors that own what only they know: leases, or children,
// whom a restart would stop.
func Resumes(*actor.PID) bool { return true }

// HandleFailure implements actor.SupervisorStrategy.
func (g *guardian) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID,
	rs *actor.RestartStatistics, reason, _ any) {
	if rs.NumberOfFailures(faultMemory) == 0 {
		rs.Reset()
	}
	rs.Fail()
	n := rs.FailureCount()
	g.s.Stats.Restarts.Add(1)
	line := g.s.Log.Error().Str("actor", g.name).Str("panic", fmt.Sprint(reason)).Int("faults", n)
	if at, ok := reason.(*fault); ok {
		line = line.Bytes("stack", at.stack)
	}
	if g.resume(child) {
		line.Msg("actor goes on after a fault")
		parent.ResumeChildren(child)
		return
	}
	if n <= restartsAtOnce {
		line.Msg("actor restarted")
		parent.RestartChildren(child)
		return
	}
	wait := restartLast
	if k := n - restartsAtOnce - 1; k < 5 {
		wait = min(restartFirst<<k, restartLast)
	}
	line.Dur("wait_ms", wait).Msg("actor faults again and again; it is restarted later")
	g.s.Stats.Failing.Add(1)
	time.AfterFunc(wait, func() {
		g.s.Stats.Failing.Add(-1)
		if g.s.Ctx.Err() == nil {
			parent.RestartChildren(child)
		}
	})
}
