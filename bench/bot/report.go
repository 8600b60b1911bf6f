package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// errNotLoopback keeps a misconfigured load run from posting to third parties.
var errNotLoopback = errors.New("result_url is not a loopback address; set allow_remote if that is wanted")

const maxBackoffSteps = 5 // 32 times the first wait

type resultBody struct {
	Disposition    string            `json:"disposition"`
	SubDisposition string            `json:"sub_disposition,omitempty"`
	Summary        string            `json:"summary,omitempty"`
	Callback       *callbackBody     `json:"callback,omitempty"`
	Variables      map[string]string `json:"variables,omitempty"`
	DoNotCall      bool              `json:"do_not_call,omitempty"`
}

type callbackBody struct {
	Requested bool   `json:"requested"`
	At        string `json:"at,omitempty"` // RFC 3339 with offset
	Reason    string `json:"reason,omitempty"`
}

// report posts the result of an ended session. The engine may be down for a while, so connection
// errors, 429 and 5xx are retried.
func (s *session) report() {
	s.mu.Lock()
	result, params := s.plan.result, s.row.Parameters
	if result == nil || result.None || params["result_url"] == "" {
		s.row.Result.State = ReportNone
		s.mu.Unlock()
		return
	}
	s.row.Result.Disposition, s.row.Result.DoNotCall = result.Disposition, result.DoNotCall
	s.row.Result.Callback = result.Callback
	seconds := int(s.row.EndedAt.Sub(s.row.StartedAt).Seconds())
	wait := result.Delay.Draw(s.rng)
	body := resultBody{
		Disposition: result.Disposition, SubDisposition: result.SubDisposition, DoNotCall: result.DoNotCall,
		Variables: result.Variables, Summary: "Talked for " + strconv.Itoa(seconds) + " s.",
	}
	if result.Callback {
		body.Callback = &callbackBody{Requested: true, Reason: "asked for it"}
		if !result.CallbackIn.IsZero() {
			body.Callback.At = time.Now().Add(result.CallbackIn.Draw(s.rng)).Format(time.RFC3339)
		}
	}
	s.mu.Unlock()

	raw, err := json.Marshal(body)
	if err == nil {
		err = s.bot.mayPost(params["result_url"])
	}
	state := ReportGivenUp
	for try := 1; err == nil && try <= s.bot.cfg.ResultTries && s.pause(wait); try++ {
		status, postErr := s.bot.poster.post(params["result_url"], params["result_token"], raw)
		s.mu.Lock()
		r := &s.row.Result
		r.Tries, r.Status, r.At, r.Error = try, status, time.Now(), ""
		if postErr != nil {
			r.Error = postErr.Error()
		}
		s.mu.Unlock()
		if status >= 200 && status < 300 {
			state = ReportTaken
			break
		}
		if postErr == nil && status < 500 && status != http.StatusTooManyRequests {
			state = ReportRefused
			break
		}
		wait = s.bot.cfg.ResultBackoff << min(try-1, maxBackoffSteps)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.row.Result.State = state
	if err != nil {
		s.row.Result.Error = err.Error()
	}
}

// pause waits; it returns false if the bot closes meanwhile.
func (s *session) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.bot.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (b *Bot) mayPost(to string) error {
	u, err := url.Parse(to)
	if err != nil {
		return fmt.Errorf("result_url: %w", err)
	}
	if b.cfg.AllowRemote || u.Hostname() == "localhost" {
		return nil
	}
	host := u.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return errNotLoopback
	}
	return nil
}
