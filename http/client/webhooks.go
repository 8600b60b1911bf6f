package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Event is the content of a webhook delivery.
type Event struct {
	ID   string          `json:"-"`    // of the message, the same in each of its deliveries
	Type string          `json:"type"` // attempt.ended, contact.completed, …
	At   time.Time       `json:"timestamp"`
	Data json.RawMessage `json:"data"` // depends on the type, see openapi.yaml
}

// ErrNotVerified means that a request is not a delivery of the dialler, or is an old one.
var ErrNotVerified = errors.New("the webhook is not verified: its signature or time is not valid")

// webhookAge is how much a delivery's time may differ from ours.
const webhookAge = 5 * time.Minute

// Verify verifies a delivery by the rules of Standard Webhooks and decodes it. It takes the
// endpoint's secret (whsec_…) and, during rotation, the previous one too. body is the unmodified
// request body.
func Verify(h http.Header, body []byte, secrets ...string) (Event, error) {
	return verify(h, body, time.Now(), secrets)
}

func verify(h http.Header, body []byte, now time.Time, secrets []string) (e Event, err error) {
	id, sent := h.Get("webhook-id"), h.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || id == "" || now.Sub(time.Unix(seconds, 0)).Abs() > webhookAge {
		return e, ErrNotVerified
	}
	good := false
	for _, secret := range secrets {
		raw, ok := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(raw)
		if !ok || err != nil || len(key) == 0 {
			return e, errors.New("a webhook secret is whsec_ and base64")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + sent + "."))
		mac.Write(body)
		want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, s := range strings.Fields(h.Get("webhook-signature")) {
			good = good || hmac.Equal([]byte(s), want)
		}
	}
	if !good {
		return e, ErrNotVerified
	}
	e.ID = id
	return e, json.Unmarshal(body, &e)
}
