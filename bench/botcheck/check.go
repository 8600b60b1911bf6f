// Package botcheck holds one conversation with a bot, as a call would, and says what is wrong with
// it. It opens one session; the callee is a voice that speaks twice and presses a key.
//
// It must not know: a running dialler, carriers, the database.
package botcheck

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	mrand "math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"dialler/bench/voice"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/media/botlink"
)

// Level says how bad a finding is.
type Level string

const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning" // calls work, but not as well as they could
	LevelFault   Level = "fault"   // calls with this bot fail
)

// Finding is what one step of the check showed.
type Finding struct {
	Step  string `json:"step"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// Config says which bot is checked and how.
type Config struct {
	Bot       engine.Bot        // its endpoint, token, headers, health URL
	Variables map[string]string // of the contact
	// Talk is how long the conversation lasts unless the bot ends it, Patience how long its result is
	// awaited afterwards.
	Talk, Patience time.Duration
	TLS            *tls.Config // nil means the system's certificates
}

const (
	openTimeout = 10 * time.Second
	frame       = 20 * time.Millisecond
	// linger is how long a bot may take to close its side after stop.
	linger = 2 * time.Second
)

// check is one check under way.
type check struct {
	cfg     Config
	endings chan ending

	mu     sync.Mutex
	say    func(Finding)
	faults int
}

// ending is how the bot ended its session.
type ending struct {
	reason string
	normal bool
}

// Run checks a bot and tells each finding. It returns how many of them are faults.
func Run(ctx context.Context, cfg Config, say func(Finding)) (faults int) {
	c := &check{cfg: cfg, say: say, endings: make(chan ending, 4)}
	if c.address() && c.health(ctx) {
		c.session(ctx)
	}
	return c.faults
}

func (c *check) tell(step string, level Level, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if level == LevelFault {
		c.faults++
	}
	c.say(Finding{step, level, fmt.Sprintf(format, args...)})
}

// address checks what was given before anything is sent.
func (c *check) address() bool {
	wrong := engine.CheckBot(&c.cfg.Bot)
	for _, e := range wrong {
		c.tell("address", LevelFault, "%s %s", e.Field, e.Message)
	}
	if len(wrong) > 0 {
		return false
	}
	u, err := url.Parse(c.cfg.Bot.Endpoints[0])
	switch {
	case err != nil || c.cfg.Bot.URIs() != nil:
		c.tell("address", LevelFault, "a bot that is called by SIP is tested by a call: dialler trunk test, or a dialout")
		return false
	case u.Scheme == "ws" && !private(u.Hostname()):
		c.tell("address", LevelWarning, "audio and signature go in clear; use wss:// outside private networks")
	default:
		c.tell("address", LevelOK, "%s to %s", u.Scheme, u.Host)
	}
	return true
}

func private(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (a.IsLoopback() || a.IsPrivate())
}

// health asks the health URL, if there is one.
func (c *check) health(ctx context.Context) bool {
	q := c.cfg.Bot.Question(c.cfg.Bot.Endpoints[0])
	if q.HealthURL == "" {
		return true
	}
	client := botlink.New(botlink.Config{TLS: c.cfg.TLS})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := client.Ask(ctx, q); err != nil {
		c.tell("health", LevelFault, "%s. While it answers anything but 2xx, nothing is dialled with the bot", err)
		return false
	}
	c.tell("health", LevelOK, "the health URL answers")
	return true
}

// session opens the one session and follows it to its end.
func (c *check) session(ctx context.Context) {
	id := newCall()
	results, err := listen(id, c.cfg.Bot.Endpoints[0])
	if err != nil {
		c.tell("result", LevelWarning, "no address for results by HTTP: %s", err)
	}
	defer results.close()
	client := botlink.New(botlink.Config{TLS: c.cfg.TLS, LingerTimeout: linger,
		Result: func(_ engine.CallID, body []byte) []byte { return results.onSocket(body) }})
	defer client.Close()

	link := c.open(ctx, client, id, results)
	if link == nil {
		return
	}
	over := c.converse(ctx, link)
	c.frames(client.Stats())
	c.end(link, over)
	c.result(ctx, results)
}

// open opens the socket and sends start; nil means that it could not.
func (c *check) open(ctx context.Context, client *botlink.Client, id identity, results *results) *botlink.Link {
	b := &c.cfg.Bot
	opened := make(chan engine.SocketEvent, 2)
	began := time.Now()
	client.OpenAhead(engine.OpenSocket{Socket: "check/1", Endpoints: b.Endpoints[:1], AuthToken: b.AuthToken,
		Headers: b.Headers, Timeout: openTimeout, Limit: openTimeout}, func(e engine.SocketEvent) { opened <- e })
	var e engine.SocketEvent
	select {
	case e = <-opened:
	case <-ctx.Done():
		e.Reason = "the check was ended"
	}
	if !e.Stands {
		c.tell("session", LevelFault, "%s. %s", e.Reason, remedy(e.Reason))
		return nil
	}
	switch took := time.Since(began).Round(time.Millisecond); {
	case took > attempt.BridgeBudget:
		c.tell("session", LevelFault, "the upgrade took %s. A callee waits %s for the bot: such calls are abandoned unless "+
			"their sockets are opened before somebody answers", took, attempt.BridgeBudget)
	case took > attempt.BridgeBudget/2:
		c.tell("session", LevelWarning, "the upgrade took %s of the %s that a callee waits for the bot", took,
			attempt.BridgeBudget)
	default:
		c.tell("session", LevelOK, "the upgrade took %s", took)
	}
	account := b.Account
	if account == "" {
		account = "AC" + id.attempt
	}
	return client.Connect(botlink.Request{AuthToken: b.AuthToken, Account: account, Session: id.session(),
		Call: id.id(), Parameters: id.parameters(c.cfg.Variables, results.base()),
		Deadline: time.Now().Add(attempt.BridgeBudget), Socket: "check/1"}, c)
}

// remedies say what to do about a session that was not opened, by what its reason contains.
var remedies = []struct{ text, remedy string }{
	{"HTTP 401", "Check the auth token, with which the bot verifies X-Twilio-Signature, and the headers"},
	{"HTTP 403", "Check the auth token, with which the bot verifies X-Twilio-Signature, and the headers. What is signed " +
		"is the endpoint as configured here: behind a proxy the bot must not compose it from Host and path"},
	{"HTTP 404", "Check the path of the endpoint"},
	{"HTTP 2", "This is a web page, not a WebSocket: check the path"},
	{"HTTP 3", "Redirects are not followed: give the address that it redirects to"},
	{"HTTP 429", "The bot is full: seats must not be more than it can hold at once"},
	{"HTTP 4", "The server refused the upgrade: check that a proxy passes Upgrade and Connection on"},
	{"HTTP 503", "The bot is full or not ready: seats must not be more than it can hold at once"},
	{"connection refused", "Nothing listens there: start the bot, or correct the port"},
	{"no such host", "Correct the host name"},
	{"certificate", "The certificate does not fit the host, or its issuer is not known here"},
	{"", "Check address, firewall and proxy"},
}

func remedy(reason string) string {
	i := slices.IndexFunc(remedies, func(r struct{ text, remedy string }) bool {
		return strings.Contains(reason, r.text)
	})
	return remedies[i].remedy
}

// converse is the callee's side: a hello after the bot began, a sentence later, a key in between.
func (c *check) converse(ctx context.Context, link *botlink.Link) (over *ending) {
	var heard time.Duration
	var first time.Duration = -1
	speech := callee(c.cfg.Talk)
	tick := time.NewTicker(frame)
	defer tick.Stop()
	began := time.Now()
	buf := make([]byte, botlink.FrameBytes)
	defer func() {
		switch {
		case first < 0:
			c.tell("audio", LevelFault, "the bot said nothing in %s: the callee hears silence. It sends media frames with "+
				"base64 of 8 kHz μ-law, without any header", time.Since(began).Round(100*time.Millisecond))
		case first > 2*time.Second:
			c.tell("audio", LevelWarning, "the bot said nothing for %s; people hang up", first.Round(100*time.Millisecond))
		default:
			c.tell("audio", LevelOK, "the bot spoke after %s, for %s", first.Round(10*time.Millisecond),
				heard.Round(100*time.Millisecond))
		}
	}()
	for n := 0; time.Since(began) < c.cfg.Talk; n++ {
		select {
		case <-tick.C:
		case e := <-c.endings:
			return &e
		case <-ctx.Done():
			return nil
		}
		link.WriteFrame(speech(n))
		if n == int(c.cfg.Talk/frame)/2 {
			link.WriteDigit('5')
		}
		if got, _ := link.ReadFrame(buf); got > 0 && voice.PCMU.Level(buf[:got]) > audible {
			if heard += frame; first < 0 {
				first = time.Since(began)
			}
		}
	}
	return nil
}

// audible is the level above which a person hears a frame.
const audible = 180

// callee returns the n-th frame of what the callee says: it speaks in the second quarter and in the
// last of the conversation.
func callee(talk time.Duration) func(n int) []byte {
	r := mrand.New(mrand.NewPCG(1, 2)) //nolint:gosec // a voice, the same each time
	pcm := voice.Utterance(r, talk/4)
	said := voice.PCMU.Encode(make([]byte, 0, len(pcm)), pcm)
	silence := make([]byte, botlink.FrameBytes)
	for i := range silence {
		silence[i] = 0xff
	}
	all := int(talk / frame)
	return func(n int) []byte {
		for _, from := range []int{all / 4, all * 3 / 4} {
			if at := (n - from) * botlink.FrameBytes; at >= 0 && at+botlink.FrameBytes <= len(said) {
				return said[at : at+botlink.FrameBytes]
			}
		}
		return silence
	}
}

// frames tells what was wrong with the bot's frames.
func (c *check) frames(s *botlink.Stats) {
	bad := false
	for _, k := range []struct {
		n    uint64
		what string
	}{
		{s.Malformed.Load(), "frames could not be read: they are not JSON objects, or lack what their event needs " +
			"(media.payload as base64, mark.name)"},
		{s.Unknown.Load(), "frames are none that the dialler knows: media, mark, clear, verdict and result are, as text"},
		{s.Oversized.Load(), "frames were larger than 256 KiB"},
		{s.OverflowBytes.Load(), "bytes of audio were more than a minute ahead of what was played, and dropped"},
		{s.MarksDropped.Load(), "marks were too long or too many"},
	} {
		if k.n > 0 {
			bad = true
			c.tell("frames", LevelWarning, "%d %s", k.n, k.what)
		}
	}
	if !bad {
		c.tell("frames", LevelOK, "every frame of the bot was understood")
	}
}

// end ends the session unless the bot did.
func (c *check) end(link *botlink.Link, over *ending) {
	switch {
	case over != nil && over.normal:
		c.tell("end", LevelOK, "the bot closed its socket, which hangs up")
		return
	case over != nil:
		c.tell("end", LevelFault, "%s in the middle of the conversation; the call ends as if the bot had died", over.reason)
		return
	}
	link.Stop()
	began := time.Now()
	<-link.Done()
	if took := time.Since(began); took >= linger {
		c.tell("end", LevelWarning, "the bot did not close its socket within %s after stop; until it does, a seat is taken",
			linger)
		return
	}
	c.tell("end", LevelOK, "the bot closed its socket after stop")
}

// result waits for the bot's result and tells what became of it.
func (c *check) result(ctx context.Context, results *results) {
	timer := time.NewTimer(c.cfg.Patience)
	defer timer.Stop()
	select {
	case <-results.first:
	case <-timer.C:
	case <-ctx.Done():
	}
	list := results.all()
	if len(list) == 0 {
		c.tell("result", LevelWarning, "no result came within %s. Without one a conversation ends as connected_no_result",
			c.cfg.Patience)
	}
	for _, f := range list {
		c.tell(f.Step, f.Level, "%s", f.Text)
	}
}

// BotConnected implements botlink.Handler.
func (c *check) BotConnected(*botlink.Link, time.Time) {}

// BotFailed implements botlink.Handler.
func (c *check) BotFailed(_ *botlink.Link, _ time.Time, reason string, _ bool) {
	c.endings <- ending{reason: reason}
}

// BotVerdict implements botlink.Handler.
func (c *check) BotVerdict(_ *botlink.Link, _ time.Time, v engine.Verdict) {
	c.tell("verdict", LevelOK, "the bot takes the callee for a %s; a call would be over now", v)
}

// BotClosed implements botlink.Handler.
func (c *check) BotClosed(_ *botlink.Link, _ time.Time, reason string, normal bool) {
	c.endings <- ending{reason, normal}
}

// identity is a call that does not exist.
type identity struct{ attempt, token string }

func newCall() identity {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return identity{hex.EncodeToString(b[:16]), hex.EncodeToString(b[16:])}
}

func (i identity) id() engine.CallID         { return engine.CallID("CA" + i.attempt) }
func (i identity) session() engine.SessionID { return engine.SessionID("MZ" + i.attempt) }

// parameters are what a call outside campaigns has, with numbers that nobody has.
func (i identity) parameters(variables map[string]string, base string) map[string]string {
	return call.Parameters(&attempt.Attempt{ID: engine.AttemptID(i.attempt), From: fromNobody, To: toNobody, Number: 1},
		variables, base, i.token)
}

// fromNobody and toNobody are numbers that nobody has.
const fromNobody, toNobody engine.PhoneNumber = "+15005550006", "+15005550010"

func resultPath(id engine.CallID) string { return "/api/v1/calls/" + string(id) + "/result" }

// localHost is the address from which this machine reaches the endpoint.
func localHost(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	c, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), "9")) // nothing is sent
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return host, err
}
