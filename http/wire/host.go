package wire

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Host is what a request needs from its server.
type Host struct {
	// Base ends when the server has shut down, Closing when Shutdown begins: work that takes as
	// long as a client likes ends then.
	Base, Closing context.Context
	// CommandTimeout bounds the work of every request.
	CommandTimeout time.Duration
	ReadTimeout    time.Duration // between two parts of a body
	UploadRate     int           // minimum bytes per second of a file
	DrainCap       int           // bytes to read from a refused body
	Now            func() time.Time
	Log            zerolog.Logger
	Panics         prometheus.Counter
	Leisure        *Leisure
	// Proxies are trusted to say who sent a request.
	Proxies Proxies

	warned sync.Once
}

// warnOfProxy logs once that an unknown proxy seems to be in front of the API: all its clients then
// count as one address, in the audit log and in the log-in limits.
func (h *Host) warnOfProxy(peer string) {
	h.warned.Do(func() {
		h.Log.Warn().Str("peer", peer).
			Msg("ignored X-Forwarded-For from an address that --trusted-proxies does not name")
	})
}

// Masked returns a text for the log, with possible phone numbers masked.
func Masked(text string) string { return longDigits.ReplaceAllString(text, "***") }

// longDigits matches possible phone numbers, but not digits inside an identifier (hex, next to
// letters).
var longDigits = regexp.MustCompile(`\+[0-9]{5,}|\b[0-9]{7,}\b`)

// LogFailure logs an internal error; possible phone numbers are masked, because database errors
// quote values.
func (h *Host) LogFailure(r *Request, err error) {
	h.Log.Error().Str("route", r.template).Str("request_id", r.ID).
		Str("error", Masked(err.Error())).Msg("request failed")
}

// Panicked records a panic outside a request: a stream must not take the calls down with it.
func (h *Host) Panicked(p any) {
	h.Panics.Inc()
	h.Log.Error().Str("error", Masked(fmt.Sprintf("panic: %v", p))).Msg("stream failed")
}
