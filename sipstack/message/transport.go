package message

import "strings"

// Transport is the transport of a trunk.
type Transport string

const (
	UDP Transport = "udp" // the default
	TCP Transport = "tcp"
	TLS Transport = "tls" // over TCP
)

func (t Transport) Reliable() bool { return t == TCP || t == TLS }

// via is the transport's name in a Via header (RFC 3261 §20.42).
func (t Transport) via() string {
	switch t {
	case TCP:
		return "TCP"
	case TLS:
		return "TLS"
	case UDP:
	}
	return "UDP"
}

// TransportOf reads a transport's name as written in URIs and Via headers; ok is false when we do
// not support it.
func TransportOf(name string) (t Transport, ok bool) {
	t = Transport(strings.ToLower(name))
	return t, t == UDP || t == TCP || t == TLS
}
