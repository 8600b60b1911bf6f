package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Headers of a delivery.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Timestamp is a time as in its header: whole seconds since 1970.
func Timestamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// Sign returns the signature header of a delivery: one signature per secret, separated by spaces,
// each the HMAC-SHA256 of identifier, timestamp and body joined by full stops.
func Sign(id string, at time.Time, body []byte, secrets ...[]byte) string {
	signed := append([]byte(id+"."+Timestamp(at)+"."), body...)
	out := make([]string, len(secrets))
	for i, s := range secrets {
		mac := hmac.New(sha256.New, s)
		mac.Write(signed)
		out[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(out, " ")
}

// Request is one try to deliver a message.
type Request struct {
	URL       string
	ID        string
	At        time.Time // of the try
	Signature string
	Body      []byte
}

// NewRequest signs a message for one try.
func NewRequest(url, id string, body []byte, at time.Time, secrets ...[]byte) *Request {
	return &Request{URL: url, ID: id, At: at, Signature: Sign(id, at, body, secrets...), Body: body}
}
