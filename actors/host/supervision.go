package host

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// A fault is a panic in Receive. What happens to the actor after it:
const (
	// restartsAtOnce is how many restarts within faultMemory are immediate. After that each restart
	// is delayed, so that a recurring fault floods neither the CPU nor the log, and does not affect
	// its siblings.
	restartsAtOnce = 20
	faultMemory    = 2 * time.Minute
	restartFirst   = time.Second
	restartLast    = 30 * time.Second
)

// fault records what an actor panicked with, and where, because its supervisor runs on a different
// stack.
type fault struct {
	reason any
	stack  []byte
}

func (f *fault) Error() string { return fmt.Sprint(f.reason) }

// telling is an actor that reports where it faults.
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

// guardian decides what happens to an actor that faulted, and to that actor only. Restarts are
// unlimited: giving up would leave calls without an owner.
type guardian struct {
	s      *System
	name   string // of the kind of actor
	resume Resume
}

// Resume says whether an actor that faulted keeps its state, so that only the message that caused
// the fault is lost; otherwise it starts from scratch.
type Resume func(child *actor.PID) bool

// Supervise restarts children that fault.
func (s *System) Supervise(name string) actor.SupervisorStrategy { return s.Guard(name, Restarts) }

// Guard resumes or restarts children that fault, as resume says.
func (s *System) Guard(name string, resume Resume) actor.SupervisorStrategy {
	return &guardian{s: s, name: name, resume: resume}
}

// Restarts is for actors that load durable state.
func Restarts(*actor.PID) bool { return false }

// Resumes is for actors that own state only they have: leases, or children, which a restart would
// stop.
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
		line.Msg("actor resumed after a fault")
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
	line.Dur("wait_ms", wait).Msg("actor keeps failing; it is restarted later")
	g.s.Stats.Failing.Add(1)
	time.AfterFunc(wait, func() {
		g.s.Stats.Failing.Add(-1)
		if g.s.Ctx.Err() == nil {
			parent.RestartChildren(child)
		}
	})
}
