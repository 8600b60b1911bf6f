package http

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	nethttp "net/http"
	"strings"

	"dialler/engine"
)

// Bots that speak Twilio Media Streams end a call by its REST route
// (INTERFACES §1): HTTP Basic with the account and its token, a form with
// Status=completed. Success is 200; a call that is over is 404 with code 20404.
// The errors have that API's shape, since its clients read them.

type twilioError struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	MoreInfo string `json:"more_info"`
	Status   int    `json:"status"`
}

type twilioCall struct {
	SID        string `json:"sid"`
	AccountSID string `json:"account_sid"`
	Status     string `json:"status"`
	URI        string `json:"uri"`
}

// twilioPrefix is where that API's clients look for everything.
const twilioPrefix = "/2010-04-01/"

// ofTwilio says whether a request is of a client of that API, whether or not
// there is such a route: it reads every refusal in that shape.
func (r *request) ofTwilio() bool {
	return bytes.HasPrefix(r.rc.URI().PathOriginal(), []byte(twilioPrefix))
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

func twilioBody(status, code int, message string) []byte {
	body, _ := json.Marshal(twilioError{Code: code, Message: message, MoreInfo: "/api/docs", Status: status}) // of numbers and texts
	return body
}

func (r *request) twilioFail(status, code int, message string) error {
	if status == nethttp.StatusUnauthorized {
		r.rc.Response.Header.Set("WWW-Authenticate", `Basic realm="dialler"`)
	}
	r.send(status, contentJSON, twilioBody(status, code, message))
	return nil
}

func (s *Server) twilioUpdate(r *request) error {
	account := r.param("account")
	call := engine.CallID(strings.TrimSuffix(r.param("call"), ".json"))
	user, password, ok := basicAuth(r.rc.Request.Header.PeekAll("Authorization"))
	if !ok || user != account {
		return r.twilioFail(nethttp.StatusUnauthorized, 20003, "Authenticate")
	}
	bots, err := s.Bots.Bots(r.ctx())
	if err != nil {
		return err
	}
	var allowed []engine.BotID // an account may be shared by bots
	given := sha256.Sum256([]byte(password))
	for i := range bots {
		if bots[i].Account != account || bots[i].AuthToken == "" {
			continue
		}
		want := sha256.Sum256([]byte(bots[i].AuthToken))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			allowed = append(allowed, bots[i].ID)
		}
	}
	if len(allowed) == 0 {
		return r.twilioFail(nethttp.StatusUnauthorized, 20003, "Authenticate")
	}
	switch status := string(r.rc.PostArgs().Peek("Status")); status {
	case "completed", "canceled":
	default:
		return r.twilioFail(nethttp.StatusBadRequest, 20001, "Status must be completed; calls cannot be changed otherwise")
	}
	gone := func() error {
		return r.twilioFail(nethttp.StatusNotFound, 20404, "The requested call was not found or has ended")
	}
	if _, ok := call.Attempt(); !ok {
		return gone()
	}
	a, err := s.Calls.Call(r.ctx(), call)
	if err == nil {
		if !hasBot(allowed, a.Bot) || !a.Live() {
			return gone()
		}
		err = s.Calls.HangUp(r.ctx(), call)
	}
	var e *engine.Error
	if errors.As(err, &e) && e.Kind == engine.KindNotFound {
		return gone()
	}
	if err != nil {
		return err
	}
	return r.reply(nethttp.StatusOK, twilioCall{
		SID: string(call), AccountSID: account, Status: "completed",
		URI: "/2010-04-01/Accounts/" + account + "/Calls/" + string(call) + ".json",
	})
}

func hasBot(bots []engine.BotID, id engine.BotID) bool {
	for _, b := range bots {
		if b == id {
			return true
		}
	}
	return false
}

func basicAuth(given [][]byte) (user, password string, ok bool) {
	const scheme = "basic "
	if len(given) != 1 || len(given[0]) <= len(scheme) || !strings.EqualFold(string(given[0][:len(scheme)]), scheme) {
		return "", "", false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(given[0][len(scheme):])))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(raw), ":")
}
