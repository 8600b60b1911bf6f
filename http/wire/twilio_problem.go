package wire

import (
	"bytes"
	"encoding/json"
	nethttp "net/http"
)

type twilioError struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	MoreInfo string `json:"more_info"`
	Status   int    `json:"status"`
}

// TwilioPrefix is the base path of that API's clients.
const TwilioPrefix = "/2010-04-01/"

// ofTwilio says whether a request comes from a client of that API, even for an unknown route: the
// client reads every error in that API's format.
func (r *Request) ofTwilio() bool {
	return bytes.HasPrefix(r.HTTP.URI().PathOriginal(), []byte(TwilioPrefix))
}

// twilioCode returns that API's default code for a status.
func twilioCode(status int) int {
	switch status {
	case nethttp.StatusBadRequest:
		return 20001
	case nethttp.StatusUnauthorized:
		return 20003
	case nethttp.StatusMethodNotAllowed:
		return 20004
	}
	return 20000 + status
}

// TwilioBody renders an error for clients of that API.
func TwilioBody(status, code int, message string) []byte {
	// numbers and strings cannot fail
	body, _ := json.Marshal(twilioError{Code: code, Message: message, MoreInfo: "/api/docs", Status: status})
	return body
}
