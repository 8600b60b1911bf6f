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
	Types       []string            // empty: every type
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

// Wants says whether a message is to be sent to the endpoint.
func (e *Endpoint) Wants(m *Message) bool {
	if !e.Active || len(e.Campaigns) > 0 && !slices.Contains(e.Campaigns, m.Campaign) {
		return false
	}
	return len(e.Types) == 0 || slices.Contains(e.Types, m.Type)
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
