package engine

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// EndpointsCap is how many endpoints a bot can have.
	EndpointsCap = 64
	// BotHeadersCap is how many headers of its own a bot can have; BotHeaderCap bounds the bytes of a
	// value.
	BotHeadersCap = 16
	BotHeaderCap  = 4096
	// botHeaderNameCap bounds the bytes of a header's name, healthURLCap those of the health URL.
	botHeaderNameCap = 64
	healthURLCap     = 2048
)

// ownBotHeaders are written by the dialler itself, or by HTTP (RFC 9110, RFC 6455 §4.1).
var ownBotHeaders = []string{"connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
	"transfer-encoding", "upgrade", "x-twilio-signature", "sec-websocket-accept", "sec-websocket-extensions",
	"sec-websocket-key", "sec-websocket-version"}

// URIs are the addresses of a bot that is called by SIP; nil when it uses sockets.
func (b *Bot) URIs() []string {
	if len(b.Endpoints) == 0 || !strings.HasPrefix(b.Endpoints[0], "sip:") {
		return nil
	}
	return b.Endpoints
}

// Question is how one of the bot's sockets is probed.
func (b *Bot) Question(endpoint string) AskBot {
	q := AskBot{Endpoint: endpoint, HealthURL: b.HealthURL, Probe: cmp.Or(b.Probe, ProbeConnection),
		AuthToken: b.AuthToken, Headers: b.Headers}
	if strings.HasPrefix(q.HealthURL, "/") { // at the endpoint itself: ws:// is http://, wss:// is https://
		scheme, rest, _ := strings.Cut(endpoint, "://")
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			rest = rest[:end]
		}
		q.HealthURL = "http" + strings.TrimPrefix(scheme, "ws") + "://" + rest + q.HealthURL
	}
	return q
}

// CheckBot validates how a bot is reached: its endpoints are all sockets (ws, wss) or all SIP
// addresses, since the two are called in different ways; headers and probes are for sockets.
func CheckBot(b *Bot) (errs []FieldError) {
	fail := func(field, code, message string) {
		errs = append(errs, FieldError{Field: field, Code: code, Message: message})
	}
	if len(b.Endpoints) == 0 {
		fail("endpoints", "required", "must name at least one ws://, wss:// or sip: address")
	}
	sip := b.URIs() != nil
	for i, e := range b.Endpoints {
		field := "endpoints[" + strconv.Itoa(i) + "]"
		if strings.HasPrefix(e, "sip:") {
			if _, ok := ParseSIPURI(e); !ok {
				fail(field, "invalid_format", "must be sip:user@host[:port][;transport=udp|tcp|tls]")
			} else if !sip {
				fail(field, "mixed_endpoints",
					"must be a ws:// or wss:// address like the first one: a bot has one kind of address")
			}
			continue
		}
		u, err := url.Parse(e)
		switch {
		case err != nil || (u.Scheme != "ws" && u.Scheme != "wss") || u.Host == "":
			fail(field, "invalid_format", "must be a ws://, wss:// or sip: address")
		case sip:
			fail(field, "mixed_endpoints", "must be a sip: address like the first one: a bot has one kind of address")
		}
	}
	const sockets = "is for ws:// and wss:// endpoints; leave it out"
	switch {
	case b.HealthURL == "":
	case sip:
		fail("health_url", "not_for_sip", sockets)
	case !validHealthURL(b.HealthURL):
		fail("health_url", "invalid_format", "must be an http:// or https:// address, or a path that begins with /")
	case b.Probe == ProbeSession:
		fail("probe", "mutually_exclusive", "must not be session with a health_url, which is asked instead")
	}
	switch {
	case b.Probe != "" && b.Probe != ProbeConnection && b.Probe != ProbeSession:
		fail("probe", "unknown_value", "must be one of connection, session")
	case sip && b.Probe == ProbeSession:
		fail("probe", "not_for_sip", sockets)
	}
	if sip && len(b.Headers) > 0 {
		fail("headers", "not_for_sip", sockets)
	}
	return append(errs, checkBotHeaders(b.Headers)...)
}

func validHealthURL(s string) bool {
	u, err := url.Parse(s)
	switch {
	case err != nil || len(s) > healthURLCap || strings.ContainsAny(s, " #") || u.User != nil:
		return false
	case strings.HasPrefix(s, "/"):
		return u.Host == ""
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func checkBotHeaders(list []HTTPHeader) (errs []FieldError) {
	fail := func(field, code, message string) {
		errs = append(errs, FieldError{Field: field, Code: code, Message: message})
	}
	if len(list) > BotHeadersCap {
		fail("headers", "too_many", "must have at most "+strconv.Itoa(BotHeadersCap)+" entries")
		return errs
	}
	for i, h := range list {
		at := "headers[" + strconv.Itoa(i) + "]."
		lower := strings.ToLower(h.Name)
		switch {
		case h.Name == "" || len(h.Name) > botHeaderNameCap || strings.Trim(lower, headerLetters) != "":
			fail(at+"name", "invalid_format", "must be a header name: letters, digits and dashes, no colon, at most "+
				strconv.Itoa(botHeaderNameCap)+" bytes")
		case slices.Contains(ownBotHeaders, lower):
			fail(at+"name", "reserved_header", "is written by the dialler itself; leave it out")
		case slices.ContainsFunc(list[:i], func(o HTTPHeader) bool { return strings.EqualFold(o.Name, h.Name) }):
			fail(at+"name", "duplicate", "is already listed; name each header once")
		}
		switch {
		case strings.TrimSpace(h.Value) == "" || len(h.Value) > BotHeaderCap:
			fail(at+"value", "invalid_format", "must have 1 to "+strconv.Itoa(BotHeaderCap)+" bytes")
		case strings.ContainsFunc(h.Value, func(c rune) bool { return c < ' ' || c > '~' }):
			fail(at+"value", "invalid_format", "must be printable ASCII without line ends")
		}
	}
	return errs
}

// headerLetters are the bytes of header names that are accepted (RFC 9110 §5.6.2 allows more).
const headerLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
