package calls

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	nethttp "net/http"
	"strings"

	"dialler/engine"
	"dialler/http/wire"
)

// Bots that speak Twilio Media Streams end a call by its REST route (INTERFACES §1): HTTP Basic
// with the account and its token, and a form with Status=completed. Success is 200; an ended call
// is 404 with code 20404. Errors have that API's format, because its clients parse them.

type twilioCall struct {
	SID        string `json:"sid"`
	AccountSID string `json:"account_sid"`
	Status     string `json:"status"`
	URI        string `json:"uri"`
}

func twilioFail(r *wire.Request, status, code int, message string) error {
	if status == nethttp.StatusUnauthorized {
		r.HTTP.Response.Header.Set("WWW-Authenticate", `Basic realm="dialler"`)
	}
	r.Send(status, wire.ContentJSON, wire.TwilioBody(status, code, message))
	return nil
}

func (s *API) TwilioUpdate(r *wire.Request) error {
	account := r.Param("account")
	call := engine.CallID(strings.TrimSuffix(r.Param("call"), ".json"))
	user, password, ok := basicAuth(r.HTTP.Request.Header.PeekAll("Authorization"))
	if !ok || user != account {
		return twilioFail(r, nethttp.StatusUnauthorized, 20003, "Authenticate")
	}
	bots, err := s.Bots.Bots(r.Ctx())
	if err != nil {
		return err
	}
	var allowed []engine.BotID // bots may share an account
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
		return twilioFail(r, nethttp.StatusUnauthorized, 20003, "Authenticate")
	}
	switch status := string(r.HTTP.PostArgs().Peek("Status")); status {
	case "completed", "canceled":
	default:
		return twilioFail(
			r,
			nethttp.StatusBadRequest,
			20001,
			"Status must be completed; calls cannot be changed otherwise",
		)
	}
	gone := func() error {
		return twilioFail(r, nethttp.StatusNotFound, 20404, "The requested call was not found or has ended")
	}
	if _, ok := call.Attempt(); !ok {
		return gone()
	}
	a, err := s.Calls.Call(r.Ctx(), call)
	if err == nil {
		if !hasBot(allowed, a.Bot) || !a.Live() {
			return gone()
		}
		err = s.Calls.HangUp(r.Ctx(), call, r.Who())
	}
	var e *engine.Error
	if errors.As(err, &e) && e.Kind == engine.KindNotFound {
		return gone()
	}
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, twilioCall{
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
