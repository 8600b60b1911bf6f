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

// Host is what a request needs of the server that it came to.
type Host struct {
	// Base ends when the server has shut down, Closing when Shutdown begins: what
	// takes as long as a client likes ends then.
	Base, Closing context.Context
	// CommandTimeout bounds every request's work.
	CommandTimeout time.Duration
	ReadTimeout    time.Duration // of a body, between two parts of it
	UploadRate     int           // bytes a second that a client must send of a file
	DrainCap       int           // bytes that are taken of a body that was refused
	Now            func() time.Time
	Log            zerolog.Logger
	Panics         prometheus.Counter
	Leisure        *Leisure
	// Proxies may say who sent a request.
	Proxies Proxies

	warned sync.Once
}

// warnOfProxy says once that somebody in front of the API is not known as a proxy: all
// their clients count as one address then, in the audit and when log-ins are slowed down.
func (h *Host) warnOfProxy(peer string) {
	h.warned.Do(func() {
		h.Log.Warn().Str("peer", peer).
			Msg("ignored X-Forwarded-For of an address that --trusted-proxies does not name")
	})
}

// Masked is a text for the log: what could be a phone number is left out of it.
func Masked(text string) string { return longDigits.ReplaceAllString(text, "***") }

// longDigits finds what could be a phone number; digits inside an identifier
// (hex, next to letters) are left alone.
var longDigits = regexp.MustCompile(`\+[0-9]{5,}|\b[0-9]{7,}\b`)

// LogFailure writes what an internal error was; digits that could be a phone
// number are masked, since errors of the database quote values.
func (h *Host) LogFailure(r *Request, err error) {
	h.Log.Error().Str("route", r.template).Str("request_id", r.ID).
		Str("error", Masked(err.Error())).Msg("request failed")
}

// Panicked takes note of a panic beside a request: the calls must not end with
// a stream.
func (h *Host) Panicked(p any) {
	h.Panics.Inc()
	h.Log.Error().Str("error", Masked(fmt.Sprintf("panic: %v", p))).Msg("stream failed")
}
