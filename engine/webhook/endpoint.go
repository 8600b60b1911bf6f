package webhook

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// EndpointID names an endpoint: "whk_" and lower-case letters and digits.
type EndpointID string

// Limits.
const (
	EndpointCap    = 32   // endpoints of an installation
	URLCap         = 2048 // bytes
	DescriptionCap = 500  // characters
	CampaignCap    = 200  // campaigns that an endpoint may be bound to
	// Overlap is how long the previous secret is also used to sign.
	Overlap = 24 * time.Hour
)

// Reasons why the dialler itself disabled an endpoint.
const (
	DisabledGone    = "gone"    // its server answered 410
	DisabledFailing = "failing" // nothing could be delivered during all tries of a message
)

// Endpoint is a URL that receives messages.
type Endpoint struct {
	ID          EndpointID
	URL         string
	Types       []string            // empty: the Usual types
	Campaigns   []engine.CampaignID // empty means all, and messages of no campaign
	Description string
	Active      bool
	// Disabled is why the dialler deactivated it, "" if it did not.
	Disabled   string
	DisabledAt *time.Time
	// OldSecretUntil is until when the previous secret is also used to sign.
	OldSecretUntil  *time.Time
	LastDeliveredAt *time.Time
	CreatedAt       time.Time
	CreatedBy       string
}

// Wants says whether messages of a type and a campaign are to be sent to the endpoint.
func (e *Endpoint) Wants(kind string, c engine.CampaignID) bool {
	if !e.Active || !e.isToldOf(c) {
		return false
	}
	if len(e.Types) == 0 {
		return usual[kind]
	}
	return slices.Contains(e.Types, kind)
}

// Problem is why a message that waited for the endpoint is not sent to it as it is now, "" if it is.
func (e *Endpoint) Problem(m *Message) string {
	switch {
	case m.Type == Ping:
		return ""
	case !e.isToldOf(m.Campaign): // whoever may see or change the endpoint now may not know of it
		return ProblemCampaign
	case !e.Active:
		return ProblemInactive
	case m.URL != "" && !e.Covers(m.URL, m.Campaign):
		return ProblemAddress
	}
	return ""
}

func (e *Endpoint) isToldOf(id engine.CampaignID) bool {
	return len(e.Campaigns) == 0 || slices.Contains(e.Campaigns, id)
}

// Asked lists the types that it, or an address on its behalf, is told of.
func (e *Endpoint) Asked() []string {
	switch {
	case len(e.Types) == 0:
		return Usual()
	case slices.Contains(e.Types, StatusCallback):
		return append(slices.Clone(e.Types), Progress()...)
	}
	return e.Types
}

// Covers says whether a call of a campaign, "" for a dialout, may have its progress sent to an address on behalf of
// the endpoint: it is active and permits it.
func (e *Endpoint) Covers(address string, c engine.CampaignID) bool {
	return e.Active && e.permits(address, c)
}

// permits leaves open whether it is active: it allows addresses of requests, for that campaign, and the address has
// its scheme, host and port, and a path that begins with its own.
func (e *Endpoint) permits(address string, c engine.CampaignID) bool {
	if !e.isToldOf(c) || !slices.Contains(e.Types, StatusCallback) {
		return false
	}
	own, err := url.Parse(e.URL)
	other, wrong := url.Parse(address)
	return err == nil && wrong == nil && origin(own) == origin(other) && below(own, other)
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// below says whether the path of an address begins with another's, by whole segments. One that a server may take for
// the path of somewhere else ("..", however it is written) does not.
func below(own, other *url.URL) bool {
	prefix := segments(own)
	if len(prefix) == 0 {
		return true
	}
	path := segments(other)
	for _, s := range path {
		for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part, _, _ = strings.Cut(part, ";"); part == "." || part == ".." {
				return false
			}
		}
	}
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// segments are those of a path, none for "/"; a slash at its end makes no difference.
func segments(u *url.URL) []string {
	path := strings.TrimSuffix(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	if path == "" {
		return nil
	}
	list := strings.Split(path, "/")
	for i, s := range list {
		if plain, err := url.PathUnescape(s); err == nil { // it was parsed
			list[i] = plain
		}
	}
	return list
}

// Covering finds the endpoint on whose behalf a request's address is told of the calls of a campaign: the first that
// covers it. Without one, paused says that an endpoint would if it were active.
func Covering(list []Endpoint, address string, c engine.CampaignID) (found *Endpoint, paused bool) {
	for i := range list {
		if e := &list[i]; e.permits(address, c) {
			if e.Active {
				return e, false
			}
			paused = true
		}
	}
	return nil, paused
}

// Callback is an address that a request named for the progress of its calls.
type Callback struct {
	Subject  string // of messages
	Endpoint EndpointID
	URL      string
	Types    []string // empty: all of Progress
}

// Through returns the endpoint on whose behalf the address is told of a campaign's calls now: the one that the request
// found, or if that covers it no more another that does; nil without one.
func (c *Callback) Through(list []Endpoint, of engine.CampaignID) *Endpoint {
	for i := range list {
		if e := &list[i]; e.ID == c.Endpoint && e.Covers(c.URL, of) {
			return e
		}
	}
	other, _ := Covering(list, c.URL, of)
	return other
}

// Wants says whether it is to be sent a message.
func (c *Callback) Wants(m *Message) bool {
	types := c.Types
	if len(types) == 0 {
		types = Progress()
	}
	return c.Subject == m.Subject && slices.Contains(types, m.Type)
}

// Enable activates or deactivates it; its server gets another chance.
func (e *Endpoint) Enable(active bool) {
	if active && !e.Active {
		e.Disabled, e.DisabledAt = "", nil
	}
	e.Active = active
}

// Errors of a URL.
var (
	ErrURL    = errors.New("must be an absolute https URL without user, password and fragment")
	ErrScheme = errors.New("must be https: messages hold personal data; http is only for labs run with " +
		"--webhook-allow-private")
)

// CheckURL says whether messages may be sent to an address; plain allows http.
func CheckURL(address string, plain bool) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > URLCap || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsAny(address, " \t\r\n"):
		return ErrURL
	case u.Scheme == "https", u.Scheme == "http" && plain:
		return nil
	case u.Scheme == "http":
		return ErrScheme
	}
	return ErrURL
}

const secretPrefix = "whsec_"

// The length of a secret in bytes, as limited by the specification.
const (
	SecretBytes    = 32 // for secrets made here
	secretBytesMin = 24
	secretBytesMax = 64
)

// WriteSecret returns a secret in the form that is shown.
func WriteSecret(b []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(b) }

// ErrSecret says that a text is not a valid secret.
var ErrSecret = errors.New("must be whsec_ and the base64 of 24 to 64 bytes")

// ReadSecret returns the bytes of a secret.
func ReadSecret(s string) ([]byte, error) {
	rest, ok := strings.CutPrefix(s, secretPrefix)
	b, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(b) < secretBytesMin || len(b) > secretBytesMax {
		return nil, ErrSecret
	}
	return b, nil
}
