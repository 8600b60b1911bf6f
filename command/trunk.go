package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

type trunkCmd struct {
	Check trunkCheckCmd `cmd:"" help:"${help_trunk_check}"`
	Test  trunkTestCmd  `cmd:"" help:"Place one call through a trunk and explain every step of it."`
}

// trunkTestCmd asks a running dialler for a call and follows it.
type trunkTestCmd struct {
	Trunk    string        `arg:"" help:"Trunk to use; no other is tried."`
	Number   string        `arg:"" help:"Number to call, in E.164 form: +49301234567."`
	Bot      string        `help:"Bot that answers the call; the first active one when empty." placeholder:"BOT"`
	From     string        `help:"Outbound number to show; any configured one when empty." placeholder:"NUMBER"`
	API      string        `name:"api" help:"${help_trunk_test_api}" default:"http://127.0.0.1:8080" placeholder:"URL"`
	Email    string        `help:"Administrator to log in as." default:"${first_admin}" placeholder:"EMAIL"`
	Password string        `help:"${help_trunk_test_password}" env:"DIALLER_PASSWORD" secret:""`
	Talk     time.Duration `help:"How long an answered call is kept up." default:"10s"`
	Timeout  time.Duration `help:"How long the whole test may take." default:"2m"`
}

// errTrunkTest is the error of a test that found the trunk unfit; the details were printed already.
var errTrunkTest = errors.New("the call was not answered")

// Run places the call. The exit code says whether it was answered.
func (t *trunkTestCmd) Run() error {
	ctx, cancel := context.WithTimeout(context.Background(), t.Timeout)
	defer cancel()
	if t.Password == "" {
		fmt.Fprintf(os.Stderr, "Password of %s: ", t.Email)
		if _, err := fmt.Fscanln(os.Stdin, &t.Password); err != nil {
			return fmt.Errorf("no password: give it on standard input or in DIALLER_PASSWORD: %w", err)
		}
	}
	return t.follow(ctx, os.Stdout)
}

// apiClient is a client of a running dialler.
type apiClient struct {
	base, token string
	http        *nethttp.Client
}

// ask sends one request; v receives the answer. A refusal becomes an error in the API's own words.
func (c *apiClient) ask(ctx context.Context, method, path string, body, v any) error {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(b)
	}
	req, err := nethttp.NewRequestWithContext(ctx, method, c.base+path, r)
	if err != nil {
		return fmt.Errorf("--api is not a URL: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the dialler does not answer (is it running, and is --api right?): %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode < 300 {
		return json.Unmarshal(b, v)
	}
	var problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
		Errors []struct{ Field, Message string }
	}
	if json.Unmarshal(b, &problem) != nil || problem.Code == "" {
		return fmt.Errorf("%s %s was refused with status %d", method, path, resp.StatusCode)
	}
	text := problem.Detail + " (" + problem.Code + ")"
	for _, e := range problem.Errors {
		text += "; " + e.Field + " " + e.Message
	}
	return errors.New(text)
}

// testedCall is what the test needs to know of a call.
type testedCall struct {
	ID         string     `json:"call_id"`
	From       string     `json:"from_number"`
	State      string     `json:"state"`
	Outcome    string     `json:"outcome"`
	AnsweredAt *time.Time `json:"answered_at"`
	Connected  *time.Time `json:"connected_at"`
	EndedAt    *time.Time `json:"ended_at"`
	HungUpBy   string     `json:"hung_up_by"`
	SIPReason  string     `json:"sip_reason"`
}

// follow places the call and prints each step as it happens, and how the call ended.
func (t *trunkTestCmd) follow(ctx context.Context, out io.Writer) error {
	c := &apiClient{base: strings.TrimSuffix(t.API, "/"), http: &nethttp.Client{}}
	var login struct {
		Token string `json:"token"`
	}
	if err := c.ask(ctx, "POST", "/api/v1/auth/token", map[string]string{"email": t.Email, "password": t.Password},
		&login); err != nil {
		return err
	}
	c.token = login.Token
	if t.Bot == "" {
		if err := t.chooseBot(ctx, c); err != nil {
			return err
		}
	}
	want := map[string]string{"bot_id": t.Bot, "to_number": t.Number}
	if t.From != "" {
		want["from_number"] = t.From
	}
	var call testedCall
	if err := c.ask(ctx, "POST", "/api/v1/trunks/"+url.PathEscape(t.Trunk)+"/test", want, &call); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Calling by trunk %s from %s, bot %s; call %s\n\n", t.Trunk, call.From, t.Bot, call.ID)
	return t.watch(ctx, c, call.ID, out)
}

func (t *trunkTestCmd) chooseBot(ctx context.Context, c *apiClient) error {
	var list struct {
		Bots []struct {
			ID     string `json:"id"`
			Active bool   `json:"active"`
		} `json:"bots"`
	}
	if err := c.ask(ctx, "GET", "/api/v1/bots", nil, &list); err != nil {
		return err
	}
	for _, b := range list.Bots {
		if b.Active {
			t.Bot = b.ID
			return nil
		}
	}
	return errors.New("there is no active bot to answer the call; create one, or name one with --bot")
}

type testedLadder struct {
	Messages []struct {
		At          time.Time `json:"at"`
		Sent        bool      `json:"sent"`
		Title       string    `json:"title"`
		Note        string    `json:"note"`
		Peer        string    `json:"peer"`
		Explanation string    `json:"explanation"`
	} `json:"messages"`
	Drawing string `json:"drawing"`
}

// watch prints the steps of a call until it has ended.
func (t *trunkTestCmd) watch(ctx context.Context, c *apiClient, id string, out io.Writer) error {
	var call testedCall
	var ladder testedLadder
	said, connected, hungUp := 0, false, false
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		// The call first: a ladder read later includes its end.
		if err := c.ask(ctx, "GET", "/api/v1/calls/"+id, nil, &call); err != nil {
			return err
		}
		ladder = testedLadder{}
		if err := c.ask(ctx, "GET", "/api/v1/calls/"+id+"/ladder", nil, &ladder); err != nil {
			return err
		}
		for ; said < len(ladder.Messages); said++ {
			m := &ladder.Messages[said]
			way := "<-"
			if m.Sent {
				way = "->"
			}
			if m.Note != "" {
				m.Title += " (" + m.Note + ")"
			}
			_, _ = fmt.Fprintf(out, "%s  %s %-40s %s\n", m.At.Local().Format("15:04:05.000"), way, m.Title, m.Explanation)
		}
		if call.Connected != nil && !connected {
			connected = true
			_, _ = fmt.Fprintf(out, "%s     the bot is connected, %d ms after the answer\n",
				call.Connected.Local().Format("15:04:05.000"),
				call.Connected.Sub(*call.AnsweredAt).Milliseconds())
		}
		if call.EndedAt != nil {
			break
		}
		if call.AnsweredAt != nil && !hungUp && time.Since(*call.AnsweredAt) > t.Talk {
			hungUp = true
			if err := c.ask(ctx, "POST", "/api/v1/calls/"+id+"/hang-up", nil, &struct{}{}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the call has not ended within %s; its state is %s", t.Timeout, call.State)
		case <-tick.C:
		}
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", ladder.Drawing)
	switch {
	case call.AnsweredAt != nil:
		_, _ = fmt.Fprintf(out, "Answered: the trunk carries calls. Outcome %s, ended by %s after %s.\n", call.Outcome,
			call.HungUpBy, call.EndedAt.Sub(*call.AnsweredAt).Round(100*time.Millisecond))
		return nil
	case len(ladder.Messages) == 0:
		_, _ = fmt.Fprintf(out, "Nothing left this machine: outcome %s (%s). Is the trunk's host resolved, its port open, "+
			"the trunk up?\n", call.Outcome, call.SIPReason)
	default:
		_, _ = fmt.Fprintf(out, "Not answered: outcome %s (%s).\n", call.Outcome, call.SIPReason)
	}
	return errTrunkTest
}
