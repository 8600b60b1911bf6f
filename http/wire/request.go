package wire

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/http/form"
)

// Handler does a route's work; a returned error becomes the answer.
type Handler func(r *Request) error

// Request is one request being handled. It and the RequestCtx are reused after
// the handler returns: nothing may keep them.
type Request struct {
	HTTP     *fasthttp.RequestCtx
	Host     *Host
	template string // of the route
	Access   Access
	ID       string
	start    time.Time
	context  context.Context
	cancel   context.CancelFunc

	// After authentication, exactly one is set.
	Key  *engine.APIKey
	User *engine.User

	// Set for a user whose browser sent a session cookie.
	Session    *engine.UserSession
	Token      string
	file       *upload // of a streaming route
	bodyBuffer []byte  // kept for reuse with the request
	kept       int     // counted bytes of a long body
}

// Begin reuses a request that has ended; template is the path of its route.
func (r *Request) Begin(h *Host, rc *fasthttp.RequestCtx, template string, a Access) {
	*r = Request{HTTP: rc, Host: h, template: template, Access: a, start: h.Now(), bodyBuffer: r.bodyBuffer}
	r.ID = RequestID(rc.Request.Header.Peek("X-Request-ID"))
}

// End releases what the request held, and returns the counted bytes of its body.
func (r *Request) End() (counted int) {
	if r.cancel != nil {
		r.cancel()
	}
	counted = r.kept
	*r = Request{bodyBuffer: r.bodyBuffer}
	return counted
}

// Ctx returns a context that ends with the command timeout.
func (r *Request) Ctx() context.Context {
	if r.context == nil {
		r.context, r.cancel = context.WithTimeout(r.Host.Base, r.Host.CommandTimeout)
	}
	return r.context
}

// Restart restarts the command timeout.
func (r *Request) Restart() {
	r.start = r.Host.Now()
	if r.cancel != nil {
		r.cancel()
		r.context, r.cancel = nil, nil
	}
}

// Began returns when the request came, by which its times are judged.
func (r *Request) Began() time.Time { return r.start }

// Deadline returns when the work must be done: an older command is dropped unexecuted.
func (r *Request) Deadline() time.Time { return r.start.Add(r.Host.CommandTimeout) }

// Reply answers with JSON.
func (r *Request) Reply(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r.Send(status, ContentJSON, body)
	return nil
}

// Send answers with bytes that nothing else will change.
func (r *Request) Send(status int, contentType string, body []byte) {
	resp := &r.HTTP.Response
	resp.SetStatusCode(status)
	resp.Header.SetContentType(contentType)
	resp.Header.Set("X-Request-ID", r.ID)
	resp.Header.Set("X-Content-Type-Options", "nosniff")
	resp.Header.Set("Cache-Control", "no-store")
	resp.SetBodyRaw(body)
}

// Param returns a decoded part of the path. Control characters and invalid UTF-8, which no name can
// contain, become U+FFFD: such a name does not exist, and PostgreSQL does not refuse to compare it.
func (r *Request) Param(name string) string {
	raw, _ := r.HTTP.UserValue(name).(string)
	if s, err := url.PathUnescape(raw); err == nil {
		raw = s
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return utf8.RuneError
		}
		return c
	}, strings.Clone(raw))
}

// Instance identifies the request that a problem is about: its path, as sent.
func (r *Request) Instance() string {
	return form.ClipName(string(r.HTTP.URI().PathOriginal()))
}

// From returns the sender's address, behind known proxies.
func (r *Request) From() string {
	at, ignored := r.Host.Proxies.client(r.HTTP)
	if ignored {
		r.Host.warnOfProxy(r.HTTP.RemoteIP().String())
	}
	return at.String()
}

// Who returns the origin of the request's command.
func (r *Request) Who() engine.Who {
	switch {
	case r.Key != nil:
		return engine.Who{Key: r.Key.ID, Name: r.Key.Name, From: r.From()}
	case r.User != nil:
		return engine.Who{User: r.User.ID, Name: r.User.Email, From: r.From()}
	}
	return engine.Who{Name: "anonymous", From: r.From()}
}

// Body reads the request's JSON object. The returned form's errors are what the parser found so
// far; the caller finishes with Done and Err.
func (r *Request) Body() (form.Form, error) {
	raw := r.HTTP.PostBody()
	// An empty body has no content type; its error is that it is empty (spec: "422 Body failed
	// validation").
	if len(raw) > 0 && !isJSON(r.HTTP.Request.Header.ContentType()) {
		return form.Form{}, &engine.Error{Kind: KindMediaType, Code: "unsupported_media_type",
			Detail: "Send the body as application/json."}
	}
	return ObjectOf(raw)
}

// ObjectOf reads a JSON object.
func ObjectOf(raw []byte) (form.Form, error) {
	var errs form.Errors
	v, e := form.Parse(raw, &errs)
	if e != nil {
		return form.Form{}, e
	}
	if v.Kind != form.Object {
		return form.Form{}, engine.Invalid(
			"validation_failed",
			"The body must be a JSON object, not "+v.Kind.String()+".",
		)
	}
	return form.Form{Value: &v, Errs: &errs}, nil
}

func isJSON(contentType []byte) bool {
	const want = "application/json"
	if len(contentType) < len(want) || !strings.EqualFold(string(contentType[:len(want)]), want) {
		return false
	}
	rest := strings.TrimLeft(string(contentType[len(want):]), " \t")
	return rest == "" || rest[0] == ';'
}

// RequestID adopts the caller's ID if it is fit to be logged and echoed.
func RequestID(given []byte) string {
	if len(given) > 0 && len(given) <= 128 {
		fit := true
		for _, c := range given {
			fit = fit && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
				c == '-' || c == '_' || c == '.' || c == ':' || c == '/')
		}
		if fit {
			return string(given)
		}
	}
	const hex = "0123456789abcdef"
	var b [20]byte
	hi, lo := rand.Uint64(), rand.Uint64() //nolint:gosec // names a request, no secret
	for i := range b {
		if i < 16 {
			b[i], hi = hex[hi&15], hi>>4
			continue
		}
		b[i], lo = hex[lo&15], lo>>4
	}
	return string(b[:])
}

// Sender returns the owner of an Idempotency-Key: the API key, or the user.
func (r *Request) Sender() engine.KeyID {
	if r.Key != nil {
		return r.Key.ID
	}
	return engine.KeyID(r.User.ID)
}

// Subject returns whose streams are counted together.
func (r *Request) Subject() string {
	if r.Key != nil {
		return "key " + string(r.Key.ID)
	}
	return "user " + string(r.User.ID)
}
