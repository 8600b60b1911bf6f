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

// TwilioPrefix is where that API's clients look for everything.
const TwilioPrefix = "/2010-04-01/"

// ofTwilio says whether a request is of a client of that API, whether or not
// there is such a route: it reads every refusal in that shape.
func (r *Request) ofTwilio() bool {
	return bytes.HasPrefix(r.HTTP.URI().PathOriginal(), []byte(TwilioPrefix))
}

// twilioCode is that API's code for a status that has no better one.
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

// TwilioBody renders an error as clients of that API read it.
func TwilioBody(status, code int, message string) []byte {
	// of numbers and texts
	body, _ := json.Marshal(twilioError{Code: code, Message: message, MoreInfo: "/api/docs", Status: status})
	return body
}
