package http

import (
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/http/contacts"
	"dialler/http/wire"
)

// More than the dialler can take is refused at once, not queued: an answer that
// comes late is asked for again, and makes everything later still. What adds
// work is refused first; what bots and CRMs have to say has room of its own, so
// have the commands of operators, and so has looking: who wants to pause a
// campaign because there is too much of everything must be able to.

// intake is what a route asks of the dialler.
type intake int

const (
	intakeNone     intake = iota // health, figures, pages; streams and files have bounds of their own
	intakeCalls                  // adds calls: triggers, dialouts, lists of contacts
	intakeWords                  // results, exclusions, and all else that a machine may send
	intakeCommands               // what only people do: a campaign is paused, a trunk is changed
	intakeLooks                  // reads
	intakesCount                 // how many there are
)

// String names the intake as figures do.
func (i intake) String() string {
	return [...]string{"none", "calls", "reports", "commands", "reads"}[i]
}

const (
	// How many requests of an intake may be under way, but for calls, which
	// Config.IntakeCap bounds.
	wordsCap    = 1024
	commandsCap = 128
	looksCap    = 64
	// bodiesCap bounds the bytes of the bodies that are in memory and longer than
	// bodyKeep.
	bodiesCap = 48 << 20
)

// bodiesLabel is how figures name long bodies.
const bodiesLabel = "bodies"

// overloadRetry is when a refused request may come again.
const overloadRetry = time.Second

var errOverloaded = engine.Unavailable("overloaded",
	"", overloadRetry)

// gates bound what is under way.
type gates struct {
	cap    [intakesCount]int64
	in     [intakesCount]atomic.Int64
	bodies atomic.Int64 // bytes
}

// pass lets a request in, or refuses it; leave follows in the first case.
func (g *gates) pass(i intake) bool {
	if i == intakeNone || g.in[i].Add(1) <= g.cap[i] {
		return true
	}
	g.in[i].Add(-1)
	return false
}

func (g *gates) leave(i intake) {
	if i != intakeNone {
		g.in[i].Add(-1)
	}
}

// keep counts n bytes more of a body, or refuses them.
func (g *gates) keep(n int) error {
	if g.bodies.Add(int64(n)) <= bodiesCap {
		return nil
	}
	g.bodies.Add(int64(-n))
	return errOverloaded
}

// intakeOf says what a route asks of the dialler.
func intakeOf(rt *route) intake {
	switch {
	case rt.streams || !strings.HasPrefix(rt.path, "/api/v1/") && !strings.HasPrefix(rt.path, "/2010-04-01/") ||
		strings.HasSuffix(rt.path, "/live"):
		return intakeNone
	case rt.method == nethttp.MethodGet || rt.method == nethttp.MethodHead:
		return intakeLooks
	case strings.HasSuffix(rt.path, "/sip/dialout"), strings.HasSuffix(rt.path, "/campaigns/trigger"),
		strings.HasSuffix(rt.path, "/contacts"), strings.HasSuffix(rt.path, contacts.BatchSuffix):
		return intakeCalls
	case rt.access.Role != wire.RoleNone && rt.access.Scope == "":
		return intakeCommands
	}
	return intakeWords
}

// large says whether a body is worth knowing its sender before it is read.
func large(r *wire.Request) bool {
	length := r.HTTP.Request.Header.ContentLength()
	return r.HTTP.RequestBodyStream() != nil && (length > wire.BodyKeep || length < 0)
}
