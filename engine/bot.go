package engine

import (
	"net/url"
	"strconv"
	"strings"
)

// EndpointsCap is how many endpoints a bot can have.
const EndpointsCap = 64

// URIs are the addresses of a bot that is called by SIP; nil when it uses sockets.
func (b *Bot) URIs() []string {
	if len(b.Endpoints) == 0 || !strings.HasPrefix(b.Endpoints[0], "sip:") {
		return nil
	}
	return b.Endpoints
}

// CheckEndpoints validates a bot's endpoints: they are all sockets (ws, wss) or all SIP addresses,
// since the two are called in different ways.
func CheckEndpoints(endpoints []string) (errs []FieldError) {
	fail := func(field, code, message string) {
		errs = append(errs, FieldError{Field: field, Code: code, Message: message})
	}
	if len(endpoints) == 0 {
		fail("endpoints", "required", "must name at least one ws://, wss:// or sip: address")
	}
	sip := (&Bot{Endpoints: endpoints}).URIs() != nil
	for i, e := range endpoints {
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
	return errs
}
