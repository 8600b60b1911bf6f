package actortest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors"
	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/call"
)

// Faults makes actors of a tree panic. The tree gets them through Config.Actors.
type Faults struct {
	mu     sync.Mutex
	system *actor.ActorSystem
	// onRelease are the actors that panic whenever a lease is returned to them.
	onRelease map[string]bool
	held      map[string]chan struct{}
	// inCall is the type of the message with which a call outside campaigns panics, once.
	inCall string
	// place is where a writer panics while it handles a result.
	place ResultPlace
	nth   int // of the results that reach the place; 0 means none panics
}

// ResultPlace is a place in a writer's handling of a result at which it panics.
type ResultPlace string

// The places: before any of it is handled, after a caller has been told the outcome of a write, and
// when the next transaction begins.
const (
	ResultComes ResultPlace = "the result comes"
	ResultTold  ResultPlace = "it is told"
	NextBegins  ResultPlace = "the next begins"
)

// ResultPlaces lists all places.
var ResultPlaces = []ResultPlace{ResultComes, ResultTold, NextBegins}

// crash makes its receiver panic. It has a size, so that no two have the same address.
type crash struct{ _ byte }

// Inject makes the actors of a tree take their faults from f.
func (f *Faults) Inject(cfg *actors.Config) { cfg.Actors = f.Options() }

// Options are the options of every actor of the tree.
func (f *Faults) Options() []actor.PropsOption {
	decorate := func(next actor.ContextDecoratorFunc) actor.ContextDecoratorFunc {
		return func(ctx actor.Context) actor.Context {
			ctx = next(ctx)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.system = ctx.ActorSystem()
			return &faultyContext{Context: ctx, f: f}
		}
	}
	return []actor.PropsOption{actor.WithContextDecorator(decorate)}
}

// Crash makes an actor panic on a dedicated message. Target is "run", "contact", "campaign",
// "contacts", "pool" or "slot/<number>" of a campaign, the name of a top-level actor ("campaigns",
// "dialout", "fleet", "trunks", "numbers", "writer-0"), or a child of one: "trunks/trunk-<id>",
// "numbers/number-<number>".
func (f *Faults) Crash(target string, id engine.CampaignID, c engine.ContactID) {
	f.Send(name(target, id, c), &crash{})
}

// Send sends a message to an actor by name.
func (f *Faults) Send(name string, msg any) {
	system := f.of()
	system.Root.Send(actor.NewPID(system.Address(), name), msg)
}

// of returns the tree's actor system.
func (f *Faults) of() *actor.ActorSystem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.system
}

func name(target string, id engine.CampaignID, c engine.ContactID) string {
	below := "campaigns/campaign-" + string(id)
	switch {
	case target == "campaign":
		return below
	case target == "run" || target == "contacts":
		return below + "/" + target
	case target == "pool":
		return below + "/numbers"
	case len(target) > 5 && target[:5] == "slot/":
		return below + "/numbers/slot-" + target[5:]
	case target == "contact":
		return below + "/contacts/contact-" + string(c)
	}
	return target
}

// OnRelease makes the owners of a trunk or number panic whenever a lease is returned to them.
func (f *Faults) OnRelease(targets ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onRelease = map[string]bool{}
	for _, t := range targets {
		f.onRelease[t] = true
	}
}

// InCall makes a call outside campaigns panic with its next message of the type of an example.
func (f *Faults) InCall(example any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inCall = fmt.Sprintf("%T", example)
}

// OnResult makes a writer panic at a place in the handling of a result. It counts results, of
// commits and of the spool, that reach the place from now on; the nth panics.
func (f *Faults) OnResult(place ResultPlace, nth int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.place, f.nth = place, nth
}

// Hold blocks a run, with n messages waiting for it, until letGo is called.
func (f *Faults) Hold(id engine.CampaignID, n int) (letGo func()) {
	run, held := name("run", id, ""), make(chan struct{})
	f.mu.Lock()
	f.held = map[string]chan struct{}{run: held}
	f.mu.Unlock()
	for range n + 1 { // it holds one of them
		f.Send(run, &call.Durable{})
	}
	return func() {
		f.mu.Lock()
		f.held = nil
		f.mu.Unlock()
		close(held)
	}
}

// faultyContext is the context from which an actor gets its message and through which it sends; it
// panics there.
type faultyContext struct {
	actor.Context
	f     *Faults
	fault any // the message it has panicked on
	told  bool
}

// Message implements actor.Context.
func (c *faultyContext) Message() any {
	msg := c.Context.Message()
	c.told = false
	if c.fault != nil && msg == c.fault { // the fault handler reads the message again
		return msg
	}
	c.fault = msg
	c.f.mu.Lock()
	held := c.f.held[c.Self().Id]
	releasing := c.f.onRelease[c.Self().Id]
	hit := strings.Contains(c.Self().Id, "/call-") && c.f.inCall == fmt.Sprintf("%T", msg)
	if hit {
		c.f.inCall = ""
	}
	c.f.mu.Unlock()
	if held != nil {
		<-held
	}
	switch m := msg.(type) {
	case *crash:
		panic("fault injected")
	case *call.TrunkEvent:
		releasing = releasing && m.Over
	case *call.ReleaseNumber:
	default:
		releasing = false
	}
	if releasing || hit {
		panic("fault injected")
	}
	if slices.Contains(results, fmt.Sprintf("%T", msg)) {
		c.f.at(ResultComes)
	}
	c.fault = nil
	return msg
}

// results are the messages that bring a writer its results.
var results = []string{"*writer.committed", "*writer.replayed", "*writer.appended"}

// Send implements actor.Context.
func (c *faultyContext) Send(to *actor.PID, msg any) {
	c.Context.Send(to, msg)
	if m, is := msg.(*call.Durable); is && !m.Spooled && !c.told {
		c.told = true
		c.f.at(ResultTold)
	}
}

// at panics if a writer reaches the chosen place for the nth time.
func (f *Faults) at(p ResultPlace) {
	f.mu.Lock()
	hit := f.nth > 0 && f.place == p
	if hit {
		f.nth--
		hit = f.nth == 0
	}
	f.mu.Unlock()
	if hit {
		panic("fault injected")
	}
}

// Clock returns a clock that makes a writer panic when the next transaction begins.
func (f *Faults) Clock(c host.Clock) host.Clock { return faultyClock{c, f} }

type faultyClock struct {
	host.Clock
	f *Faults
}

// Boot implements host.Clock.
func (c faultyClock) Boot() engine.BootTime {
	c.f.mu.Lock()
	armed := c.f.nth > 0 && c.f.place == NextBegins
	c.f.mu.Unlock()
	if armed && ofResult() {
		c.f.at(NextBegins)
	}
	return c.Clock.Boot()
}

// ofResult says whether the caller is a writer that handles a result.
func ofResult() bool {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if _, method, ok := strings.Cut(f.Function, "writer.(*writer)."); ok &&
			slices.Contains([]string{"done", "replayed", "appended"}, method) {
			return true
		}
		if !more {
			return false
		}
	}
}
