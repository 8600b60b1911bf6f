package cluster

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
)

// Config configures a node and its cluster.
type Config struct {
	// Membership is how nodes discover each other: etcd://host:port[,host:port]/prefix, or, for a
	// trial, automanaged://host:port,host:port with the Listen addresses of all nodes, each of
	// which also answers on the next port up.
	Membership string
	Name       string // of the node, for people
	Listen     string // host:port for messages between nodes; port 0 picks any
	Advertise  string // host:port where other nodes reach it; "" means Listen
	API        string // base URL of its HTTP API
	Terms      ownership.Terms
	// Secret is what nodes authenticate with, at least 16 bytes; "" means no authentication, only
	// the network keeps others out.
	Secret string
	// Begin and Fence report that the node may act as an incarnation, or no longer. They are called
	// one after the other, never concurrently, and must not block for long.
	Begin func(engine.Incarnation)
	Fence func(id engine.Incarnation, why string)
	// Links are the process's links; nil means the node makes its own.
	Links *link.Links
	// Requests limits how many requests of other nodes run concurrently, default 256; excess
	// requests are refused.
	Requests int
	// AskTimeout bounds a request whose context has no deadline, default 10 s.
	AskTimeout time.Duration
	Log        zerolog.Logger

	carry func(*Node, membership) (transport, error) // of tests
}

func (c Config) withDefaults() Config {
	c.Terms = c.Terms.WithDefaults()
	if c.Requests <= 0 {
		c.Requests = 256
	}
	if c.AskTimeout <= 0 {
		c.AskTimeout = 10 * time.Second
	}
	if c.Begin == nil {
		c.Begin = func(engine.Incarnation) {}
	}
	if c.Fence == nil {
		c.Fence = func(engine.Incarnation, string) {}
	}
	return c
}

// Scheme is the kind of membership that a URL names.
const (
	schemeEtcd        = "etcd"
	schemeAutomanaged = "automanaged"
)

// membership is a parsed Config.Membership.
type membership struct {
	scheme string
	hosts  []string // host:port
	prefix string   // of keys in etcd, with a leading slash and without a trailing one
}

func parseMembership(s string) (m membership, err error) {
	invalid := func(why string) error {
		return engine.Invalid("cluster_url_invalid",
			"the cluster's URL is etcd://host:port[,host:port]/prefix or automanaged://host:port,host:port: "+why)
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || len(s) > 4096 {
		return m, invalid("it has no scheme, or is over 4096 bytes")
	}
	hosts, prefix, _ := strings.Cut(rest, "/")
	m = membership{scheme: scheme, prefix: "/" + strings.Trim(prefix, "/")}
	for h := range strings.SplitSeq(hosts, ",") {
		host, port, err := net.SplitHostPort(h)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n == 0 || host == "" {
			return m, invalid("a host:port is missing or wrong")
		}
		m.hosts = append(m.hosts, h)
	}
	if _, err := url.PathUnescape(prefix); err != nil {
		return m, invalid("its prefix is not a path")
	}
	switch m.scheme {
	case schemeEtcd:
		if m.prefix == "/" {
			m.prefix = "/dialler"
		}
	case schemeAutomanaged:
		if m.prefix != "/" {
			return m, invalid("automanaged takes no prefix")
		}
	default:
		return m, invalid("unknown scheme")
	}
	return m, nil
}

// Check says what is wrong with the addresses of the node and of its cluster.
func (c *Config) Check() error {
	if _, err := parseMembership(c.Membership); err != nil {
		return err
	}
	host, _, err := splitAddress(c.Listen)
	if err != nil {
		return engine.Invalid("cluster_listen_invalid", "")
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() && c.Advertise == "" {
		return engine.Invalid("cluster_advertise_missing", "")
	}
	return nil
}

// above returns the address one port higher.
func above(hostport string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(p, 10, 16)
	return host, int(n) + 1, err
}
