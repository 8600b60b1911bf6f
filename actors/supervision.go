package actors

import (
	"fmt"
	"runtime/debug"
	"strings"
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
	d    *deps
	name string // of the kind of actor
	// resume: the actor goes on with what it knows, only the message that it
	// faulted on is lost; else it begins anew.
	resume func(child *actor.PID) bool
}

// crash is a fault injected by tests: at once, with every lease that is given back, or
// with what brings a writer's next result, at the onResult-th place of its handling.
type crash struct {
	onRelease bool
	onResult  int
}

// supervise restarts children that fault.
func supervise(d *deps, name string) actor.SupervisorStrategy { return guard(d, name, restarts) }

// guard does with those that fault what resume says.
func guard(d *deps, name string, resume func(*actor.PID) bool) actor.SupervisorStrategy {
	return &guardian{d: d, name: name, resume: resume}
}

func restarts(*actor.PID) bool { return false }

// resumes is for actors that own what only they know: leases, or children,
// whom a restart would stop.
func resumes(*actor.PID) bool { return true }

// runRestarts is for the children of a campaign: the run loads what is durable,
// the others have children.
func runRestarts(child *actor.PID) bool { return !strings.HasSuffix(child.Id, "/run") }

// HandleFailure implements actor.SupervisorStrategy.
func (g *guardian) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, rs *actor.RestartStatistics, reason, _ any) {
	if rs.NumberOfFailures(faultMemory) == 0 {
		rs.Reset()
	}
	rs.Fail()
	n := rs.FailureCount()
	g.d.stats.Restarts.Add(1)
	line := g.d.log.Error().Str("actor", g.name).Str("panic", fmt.Sprint(reason)).Int("faults", n)
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
	g.d.stats.Failing.Add(1)
	time.AfterFunc(wait, func() {
		g.d.stats.Failing.Add(-1)
		if g.d.ctx.Err() == nil {
			parent.RestartChildren(child)
		}
	})
}
