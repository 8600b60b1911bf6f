package botlink

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the algorithm of X-Twilio-Signature
	"encoding/base64"
)

// signatureHeader proves that the upgrade request comes from a platform that knows the bot's auth
// token.
const signatureHeader = "X-Twilio-Signature"

// Sign returns the value of X-Twilio-Signature: base64 of HMAC-SHA1 over the full URL with the
// bot's auth token as key.
func Sign(authToken, url string) string {
	mac := hmac.New(sha1.New, []byte(authToken))
	mac.Write([]byte(url))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
