package trunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// Finding is what one step of a check came to.
type Finding struct {
	// Step is settings, dns, connection, tls, options, register or nat.
	Step string `json:"step"`
	// Fault is the code of what is wrong, "" if nothing is. A warning does not keep calls from being placed.
	Fault   string `json:"fault,omitempty"`
	Warning bool   `json:"warning,omitempty"`
	Detail  string `json:"detail"` // a sentence
}

// The faults of a check.
const (
	FaultSettings    = "trunk_unusable"
	FaultDNS         = "trunk_dns"
	FaultUnreachable = "trunk_unreachable"
	FaultTLS         = "trunk_tls"
	FaultSilent      = "trunk_silent"
	FaultCredentials = "trunk_credentials"
	FaultRefused     = "trunk_refused"
	FaultNAT         = "trunk_nat"
)

// certificateEnds is how long before its end a certificate is warned of.
const certificateEnds = 14 * 24 * time.Hour

// check is one check of a trunk, which is not one of the set's.
type check struct {
	*Trunk
	patience time.Duration // for each answer
	found    []Finding
}

// Check asks a trunk's far side, without a call, whether calls can be placed: its name is resolved; each
// address is connected to, where its transport has connections, and sent OPTIONS; the registrar of an account
// that registers is sent a REGISTER without Contact (RFC 3261 §10.2.3), which changes none of its addresses;
// and the answers tell at which address the far side sees us (RFC 3581). The trunk need not be one of the
// set, and nothing is remembered of it. patience is how long each answer may take.
func (k *Set) Check(ctx context.Context, conf Config, patience time.Duration) []Finding {
	c := &check{Trunk: k.New(conf), patience: patience}
	if why := cmp.Or(c.fault, c.Unusable()); why != "" {
		c.add("settings", FaultSettings, "%s", why)
		return c.found
	}
	to, err := c.resolvedWithin(ctx)
	if err != nil || len(to) == 0 {
		c.add("dns", FaultDNS, "%s has no address: %s", c.hopHost, cmp.Or(lookUpError(err), "DNS has none"))
		return c.found
	}
	if _, literal := transport.Literal(c.hopHost, 1); !literal {
		var list []string
		for _, t := range to {
			list = append(list, t.Addr.String())
		}
		c.add("dns", "", "%s is %s", c.hopHost, strings.Join(list, ", "))
	}
	c.addresses(ctx, to)
	return c.found
}

// addresses checks each address. While one is fit, what is wrong with others only makes calls slower.
func (c *check) addresses(ctx context.Context, to []transport.Target) {
	from, fit := len(c.found), false
	for _, t := range to {
		fit = c.address(ctx, t) || fit
	}
	if !fit {
		return
	}
	for i := from; i < len(c.found); i++ {
		if f := &c.found[i]; f.Fault != "" && f.Fault != FaultNAT {
			f.Fault, f.Warning = "", true
		}
	}
}

// address checks one address, and says whether it is fit for calls.
func (c *check) address(ctx context.Context, to transport.Target) (fit bool) {
	ctx, cancel := context.WithTimeout(ctx, 3*c.patience)
	defer cancel()
	if to.Reliable() && !c.reach(ctx, to) {
		return false
	}
	answered, fit := c.askOptions(ctx, to)
	if c.Conf.Kind == engine.TrunkRegistered {
		if by := c.askRegistrar(ctx, to); by != nil {
			fit = by.StatusCode < 300
			answered = cmp.Or(answered, by)
		} else {
			fit = false
		}
	}
	if answered != nil {
		c.seenAs(to, answered)
	}
	return fit
}

// reach connects.
func (c *check) reach(ctx context.Context, to transport.Target) bool {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	shown, reached, err := c.set.net.Reach(ctx, to)
	switch {
	case err != nil && !reached:
		c.add("connection", FaultUnreachable, "%s cannot be connected to: %s", to.Addr, dialError(err))
		return false
	case err != nil:
		c.add("tls", FaultTLS, "%s: no connection over TLS: %s", to.Addr, strings.TrimPrefix(err.Error(), "tls: "))
		return false
	}
	c.add("connection", "", "%s can be connected to", to.Addr)
	if shown == nil {
		return true
	}
	c.add("tls", "", "%s shows a certificate of %s, valid until %s", to.Addr,
		cmp.Or(strings.Join(shown.DNSNames, ", "), shown.Subject.CommonName), shown.NotAfter.UTC().Format(time.DateOnly))
	last := &c.found[len(c.found)-1]
	switch {
	case c.Conf.TLSInsecure:
		last.Warning, last.Detail = true, last.Detail+"; it is not checked (tls_insecure)"
	case time.Until(shown.NotAfter) < certificateEnds:
		last.Warning = true
	}
	return true
}

// askOptions sends OPTIONS, with the account's credentials when they are asked for.
func (c *check) askOptions(ctx context.Context, to transport.Target) (answer *sip.Response, fit bool) {
	if c.Conf.OptionsInterval < 0 {
		c.add("options", "", "%s is not asked (options_s: 0): whether it takes calls, only a call shows", to.Addr)
		return nil, true
	}
	uri, callID := "sip:"+c.HostPort+c.Params, c.set.newCallID()
	account := auth.Of(c.Conf.Username, c.Conf.Password)
	began := time.Now()
	answer, err := c.ask(ctx, to, callID, &account, "OPTIONS", uri, func(cseq uint32) []byte {
		return c.options(to, uri, callID, cseq, &account)
	})
	switch {
	case errors.Is(err, errNoAnswer):
		c.add("options", FaultSilent, "%s answers no OPTIONS within %s: it does not know our address, a firewall is in "+
			"between, or it ignores OPTIONS (options_s: 0)", to.Addr, c.patience)
		return nil, false
	case err != nil:
		c.add("options", FaultUnreachable, "%s: %s", to.Addr, err)
		return nil, false
	}
	took := time.Since(began).Round(time.Millisecond)
	switch code := answer.StatusCode; {
	case challenged(code) && account.Known():
		c.add("options", FaultCredentials, "%s refuses user name and password of the trunk (%s)", to.Addr, status(answer))
		return answer, false
	case !engine.SignOfLife(code):
		c.add("options", FaultRefused, "%s says that it is out of service (%s)", to.Addr, status(answer))
		return answer, false
	case c.Conf.Kind == engine.TrunkByPassword && account.Tries() == 0:
		c.add("options", "", "%s answers (%s) after %s; whether user name and password are right, only a call shows",
			to.Addr, status(answer), took)
	default:
		c.add("options", "", "%s answers (%s) after %s", to.Addr, status(answer), took)
	}
	return answer, true
}

// askRegistrar asks which addresses the account has; nil without an answer.
func (c *check) askRegistrar(ctx context.Context, to transport.Target) *sip.Response {
	callID, uri := c.set.newCallID(), c.registrar()
	account := auth.Of(c.Conf.Username, c.Conf.Password)
	answer, err := c.ask(ctx, to, callID, &account, "REGISTER", uri, func(cseq uint32) []byte {
		return message.AppendContent(account.AppendTo(c.registerLines(to, callID, cseq)), nil)
	})
	if err != nil {
		fault := FaultUnreachable
		if errors.Is(err, errNoAnswer) {
			fault = FaultSilent
		}
		c.add("register", fault, "%s: the registrar is not reached: %s", to.Addr, err)
		return nil
	}
	switch code := answer.StatusCode; {
	case challenged(code) && !account.Known():
		c.add("register", FaultCredentials, "the registrar asks for a user name and password, and the trunk has none")
	case challenged(code):
		c.add("register", FaultCredentials, "the registrar refuses user name and password (%s)", status(answer))
	case code >= 300:
		c.add("register", FaultRefused, "the registrar refuses the account (%s)", status(answer))
	default:
		uris, ours := message.ContactURIs(answer), ":"+c.registeredUser()+"@"
		is := "none is a running dialler's"
		for _, u := range uris {
			if strings.Contains(u, ours) {
				is = "one is a running dialler's"
			}
		}
		c.add("register", "", "the registrar takes user name and password; addresses of the account: %d, %s", len(uris), is)
	}
	return answer
}

// ask sends a request, and again with credentials while they are asked for.
func (c *check) ask(ctx context.Context, to transport.Target, callID string, account *auth.Credentials, method,
	uri string, request func(cseq uint32) []byte) (answer *sip.Response, err error) {
	for cseq := uint32(1); ; cseq++ {
		within, cancel := context.WithTimeout(ctx, c.patience)
		answer, err = c.set.exchange(within, to, callID, cseq, request(cseq))
		cancel()
		if err != nil || !challenged(answer.StatusCode) || !account.Answer(answer, method, uri) {
			return answer, err
		}
	}
}

// seenAs compares the address that an answer was sent to with the one that we say.
func (c *check) seenAs(to transport.Target, answer *sip.Response) {
	via := answer.Via()
	if via == nil {
		return
	}
	host, port, _ := net.SplitHostPort(c.SentBy(to))
	received, _ := via.Params.Get("received")
	received = strings.Trim(received, "[]")
	rport, _ := via.Params.Get("rport")
	switch {
	case received != "" && received != host:
		c.add("nat", FaultNAT, "the far side sees us at %s, and we say %s: give --sip-external %s, or external_host of "+
			"the trunk", received, host, received)
	case rport == "":
		c.add("nat", "", "the far side does not say at which address it sees us (RFC 3581)")
	case !to.Reliable() && rport != port:
		c.add("nat", "", "the far side sees our port %s as %s: a NAT that translates ports is in between", port, rport)
		c.found[len(c.found)-1].Warning = true
	default:
		c.add("nat", "", "the far side sees us at the address that we say, %s", host)
	}
}

func (c *check) add(step, fault, detail string, args ...any) {
	c.found = append(c.found, Finding{Step: step, Fault: fault, Detail: fmt.Sprintf(detail, args...)})
}

func challenged(code int) bool { return code == 401 || code == 407 }

// status is the code and the phrase of a response.
func status(r *sip.Response) string {
	return strconv.Itoa(r.StatusCode) + " " + message.Truncate(message.Clean(r.Reason), 100)
}

// lookUpError is why a name was not resolved, in a few words.
func lookUpError(err error) string {
	var dns *net.DNSError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &dns):
		return dns.Err
	case errors.Is(err, context.DeadlineExceeded):
		return "DNS does not answer"
	}
	return err.Error()
}

// dialError is why a connection failed, in a few words.
func dialError(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		if op.Timeout() {
			return "no answer"
		}
		return op.Err.Error()
	}
	return err.Error()
}
