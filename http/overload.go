package http

import (
	nethttp "net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/http/contacts"
	"dialler/http/wire"
)

// Excess load is refused at once, not queued: a late answer is requested again, and makes
// everything later still. Requests that add calls are refused first. Results and exclusions from
// bots and CRMs have their own capacity; so do operators' commands, and so does reading: an
// operator who wants to pause a campaign because of overload must be able to.

// intake classifies what a route asks of the dialler.
type intake int

const (
	intakeNone     intake = iota // health, metrics, pages; streams and files have their own limits
	intakeCalls                  // adds calls: triggers, dialouts, lists of contacts
	intakeWords                  // results, exclusions, and everything else a machine may send
	intakeCommands               // what only people do: pausing a campaign, changing a trunk
	intakeLooks                  // reads
	intakeLogIns                 // log-ins by an identity provider, which strangers begin and which may wait for it
	intakesCount                 // number of intakes
)

// String returns the label of the intake in metrics.
func (i intake) String() string {
	return [...]string{"none", "calls", "reports", "commands", "reads", "log-ins"}[i]
}

const (
	// The maximum concurrent requests per intake, except for calls, which Config.IntakeCap limits.
	wordsCap    = 1024
	commandsCap = 128
	looksCap    = 64
	logInsCap   = 32
	// bodiesCap bounds the total size of bodies in memory that are longer than bodyKeep.
	bodiesCap = 48 << 20
)

// bodiesLabel is the metrics label of long bodies.
const bodiesLabel = "bodies"

// overloadRetry is when a refused request may be retried.
const overloadRetry = time.Second

var errOverloaded = engine.Unavailable("overloaded",
	"", overloadRetry)

// gates limit concurrent requests.
type gates struct {
	cap    [intakesCount]int64
	in     [intakesCount]atomic.Int64
	bodies atomic.Int64 // bytes
}

// pass admits a request, or refuses it; an admitted one calls leave.
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

// keep counts n more bytes of a body, or refuses them.
func (g *gates) keep(n int) error {
	if g.bodies.Add(int64(n)) <= bodiesCap {
		return nil
	}
	g.bodies.Add(int64(-n))
	return errOverloaded
}

// intakeOf classifies a route.
func intakeOf(rt *route) intake {
	switch {
	case rt.streams || !strings.HasPrefix(rt.path, "/api/v1/") && !strings.HasPrefix(rt.path, "/2010-04-01/") ||
		strings.HasSuffix(rt.path, "/live"):
		return intakeNone
	case strings.HasPrefix(rt.path, "/api/v1/oidc"):
		return intakeLogIns
	case rt.method == nethttp.MethodGet || rt.method == nethttp.MethodHead:
		return intakeLooks
	case strings.HasSuffix(rt.path, "/sip/dialout"), strings.HasSuffix(rt.path, "/campaigns/trigger"),
		strings.HasSuffix(rt.path, "/contacts"), strings.HasSuffix(rt.path, contacts.BatchSuffix):
		return intakeCalls
	case rt.access.Role != wire.RoleNone && !slices.Contains(wire.FirstScopes, rt.access.Scope):
		return intakeCommands
	}
	return intakeWords
}

// large says whether a body is so large that its sender is authenticated before it is read.
func large(r *wire.Request) bool {
	length := r.HTTP.Request.Header.ContentLength()
	return r.HTTP.RequestBodyStream() != nil && (length > wire.BodyKeep || length < 0)
}
