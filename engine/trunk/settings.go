package trunk

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/number"
)

// Limits of a trunk's settings; sizes in bytes.
const (
	HostCap         = 253
	SecretCap       = 128 // username, password, from_user, user_agent
	RootsCap        = 64 << 10
	HeaderCountCap  = 20
	NetworksCap     = 32
	HeaderNameCap   = 64
	HeaderValueCap  = 512
	CPSLimit        = 10_000
	ChannelLimit    = 100_000
	OrderLimit      = 1000 // priority and weight
	RedirectLimit   = 5
	leastRegister   = 30
	leastSession    = 90 // RFC 4028 §5
	dayOfSeconds    = 86_400
	leastOptions    = 5
	mostOptions     = 3600
	identifierLimit = 64
)

// Defaults are the settings without any given values. The port is the default of the transport, or
// comes from the name server (see Complete).
func Defaults() engine.TrunkSettings {
	return engine.TrunkSettings{Transport: "udp", NumberFormat: string(number.E164), CPSCap: defaultCPS,
		ChannelCap: defaultChannels,
		Weight:     1, OptionsSec: 30, Active: true}
}

// Complete fills in what follows from other settings: how the carrier authenticates us, and the
// port of a trunk given by its address. A host name keeps port 0: SRV records give the port, or
// else it is the transport's default.
func Complete(s *engine.TrunkSettings) {
	switch {
	case s.Kind != "":
	case s.Username != "":
		s.Kind = engine.TrunkByPassword
	default:
		s.Kind = engine.TrunkByIP
	}
	if _, err := netip.ParseAddr(strings.Trim(s.Host, "[]")); err != nil || s.Port != 0 {
		return
	}
	s.Port = 5060
	if s.Transport == "tls" {
		s.Port = 5061
	}
}

// Profile is the media profile of a trunk, with the address that its SIP goes to: media follows the
// family of that, unless the settings name one.
func Profile(s *engine.TrunkSettings) *engine.MediaProfile {
	host := cmp.Or(s.OutboundProxy, s.Host)
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		var at netip.AddrPort
		at, err = netip.ParseAddrPort(host)
		a = at.Addr()
	}
	if err != nil || s.Media.Family != "" {
		return &s.Media
	}
	p := s.Media
	p.Reached = a.Unmap().String()
	return &p
}

// Validate reports what is wrong with completed settings, field by field. The adapters check
// whether TLS roots and the certificate are ones, and whether listener and family exist.
func Validate(s *engine.TrunkSettings) []engine.FieldError {
	var v validator
	v.identifier("id", string(s.ID), true)
	v.host("host", s.Host, true)
	v.within("port", s.Port, 0, 65535)
	v.oneOf("transport", s.Transport, "udp", "tcp", "tls")
	v.account(s)
	v.caller(s)
	if s.OutboundProxy != "" {
		v.proxy(s.OutboundProxy)
	}
	v.identifier("listener", s.Listener, false)
	v.host("external_host", s.ExternalHost, false)
	v.host("tls_server_name", s.TLSServerName, false)
	v.size("tls_roots", s.TLSRoots, RootsCap)
	v.certificate(s)
	v.text("user_agent", s.UserAgent, SecretCap)
	v.headers(s.ExtraHeaders)
	if s.RegisterSec != 0 {
		v.within("register_s", s.RegisterSec, leastRegister, dayOfSeconds)
	}
	if s.SessionSec > 0 || s.SessionSec < -1 {
		v.within("session_s", s.SessionSec, leastSession, dayOfSeconds)
	}
	v.within("redirects", s.Redirects, 0, RedirectLimit)
	v.oneOf("reliable_provisionals", s.ReliableProvisionals, "", "supported", "required", "off")
	v.oneOf("inbound", s.Inbound, "", "forbidden", "unavailable", "busy", "decline")
	v.media(s)
	v.within("cps_cap", s.CPSCap, 1, CPSLimit)
	v.within("channel_cap", s.ChannelCap, 1, ChannelLimit)
	v.within("priority", s.Priority, 0, OrderLimit)
	v.within("weight", s.Weight, 1, OrderLimit)
	if s.OptionsSec != 0 && (s.OptionsSec < leastOptions || s.OptionsSec > mostOptions) {
		v.fail("options_s", "out_of_range", fmt.Sprintf("must be 0, which asks nothing, or between %d and %d",
			leastOptions, mostOptions))
	}
	return v.list
}

type validator struct{ list []engine.FieldError }

func (v *validator) fail(field, code, message string) {
	v.list = append(v.list, engine.FieldError{Field: field, Code: code, Message: message})
}

func (v *validator) account(s *engine.TrunkSettings) {
	v.oneOf("kind", string(s.Kind), string(engine.TrunkByIP), string(engine.TrunkByPassword),
		string(engine.TrunkRegistered))
	v.text("username", s.Username, SecretCap)
	v.text("password", s.Password, SecretCap)
	switch s.Kind {
	case engine.TrunkByIP:
		if s.Username != "" {
			v.fail("username", "not_used",
				"a trunk of kind ip answers no challenge; make it kind credentials, or leave the username out")
		}
	case engine.TrunkByPassword, engine.TrunkRegistered:
		if s.Username == "" {
			v.fail("username", "required", "is required for a trunk of kind "+string(s.Kind))
		}
	}
}

func (v *validator) certificate(s *engine.TrunkSettings) {
	v.size("tls_certificate", s.TLSCertificate, RootsCap)
	v.size("tls_key", s.TLSKey, RootsCap)
	switch {
	case s.TLSCertificate != "" && s.TLSKey == "":
		v.fail("tls_key", "required", "is required with tls_certificate: its private key, as PEM")
	case s.TLSCertificate == "" && s.TLSKey != "":
		v.fail("tls_certificate", "required", "is required with tls_key: the certificate that belongs to it, as PEM")
	}
}

func (v *validator) caller(s *engine.TrunkSettings) {
	v.host("from_domain", s.FromDomain, false)
	v.text("from_user", s.FromUser, SecretCap)
	if strings.Contains(s.FromUser, "@") {
		v.fail("from_user", "invalid_format", "is the part before the @; the part after it is from_domain")
	}
	v.oneOf("caller_id_header", s.CallerIDHeader, "", "none", "p_asserted_identity", "p_preferred_identity")
	v.privacy(s.Privacy)
	v.oneOf("number_format", s.NumberFormat, string(number.E164), string(number.E164NoPlus), string(number.National),
		string(number.International))
	switch {
	case s.NumberCountry == "":
		if s.NumberFormat == string(number.National) {
			v.fail("number_country", "required",
				"is required with number_format national: the country in which numbers are dialled, for example DE")
		}
	case !number.SupportedRegion(s.NumberCountry):
		v.fail("number_country", "unknown_value", "must be an ISO 3166 country code of two capital letters, for example DE")
	}
}

// privacy checks a Privacy value (RFC 3323 §4.2).
func (v *validator) privacy(s string) {
	if s == "" {
		return
	}
	values := strings.Split(s, ";")
	for i, p := range values {
		if !slices.Contains([]string{"none", "id", "header", "user", "session", "critical"}, p) ||
			slices.Contains(values[:i], p) {
			v.fail("privacy", "unknown_value",
				"must be none, id, header, user, session, or several joined by ; and optionally critical, for example id;critical")
			return
		}
	}
	if slices.Contains(values, "none") && len(values) > 1 || s == "critical" {
		v.fail("privacy", "invalid_format", "none must stand alone, and critical must not")
	}
}

func (v *validator) proxy(s string) {
	host, port, ok := s, "", true
	if i := strings.LastIndexByte(s, ':'); i >= 0 && i > strings.IndexByte(s, ']') &&
		(s[0] == '[' || strings.Count(s, ":") == 1) {
		host, port = s[:i], s[i+1:]
		n, err := strconv.Atoi(port)
		ok = err == nil && n >= 1 && n <= 65535 && port[0] != '+'
	}
	if len(s) > HostCap+6 || !ok || !plainHost(host) {
		v.fail("outbound_proxy", "invalid_format", "must be host or host:port, for example proxy.example.org:5060")
	}
}

// ownHeaders are the headers that the dialler writes itself, and their short forms (RFC 3261
// §7.3.3).
var ownHeaders = []string{
	"via", "v", "from", "f", "to", "t", "call-id", "i", "cseq", "contact", "m", "route", "record-route", "max-forwards",
	"authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate", "authentication-info",
	"c", "e", "l", "mime-version", "allow", "supported", "k", "require", "proxy-require", "unsupported", "accept",
	"session-expires", "x", "min-se", "rack", "rseq", "replaces", "refer-to", "r", "event", "o", "reason", "timestamp",
	"user-agent", "server", "p-asserted-identity", "p-preferred-identity", "privacy", "identity", "y",
}

func (v *validator) headers(list []engine.SIPHeader) {
	if len(list) > HeaderCountCap {
		v.fail("extra_headers", "too_many", "must have at most "+strconv.Itoa(HeaderCountCap)+" entries")
		return
	}
	for i, h := range list {
		at := fmt.Sprintf("extra_headers[%d].", i)
		lower := strings.ToLower(h.Name)
		switch {
		case h.Name == "":
			v.fail(at+"name", "required", "is required")
		case len(h.Name) > HeaderNameCap:
			v.fail(at+"name", "too_long", "must have at most "+strconv.Itoa(HeaderNameCap)+" characters")
		case !token(h.Name):
			v.fail(at+"name", "invalid_format", "must be a header name: letters, digits and dashes, no colon")
		case slices.Contains(ownHeaders, lower) || strings.HasPrefix(lower, "content-"):
			v.fail(at+"name", "reserved_header",
				"is written by the dialler itself; use its own setting, or leave it out")
		}
		if strings.TrimSpace(h.Value) == "" {
			v.fail(at+"value", "required", "must not be empty")
		}
		v.text(at+"value", h.Value, HeaderValueCap)
	}
}

func (v *validator) media(s *engine.TrunkSettings) {
	if len(s.Media.Codecs) > 3 {
		v.fail("media.codecs", "too_many", "must have at most 3 entries")
	}
	for i, c := range s.Media.Codecs {
		switch {
		case i >= 3:
		case c != "PCMU" && c != "PCMA" && c != "G722":
			v.fail(fmt.Sprintf("media.codecs[%d]", i), "unknown_value", "must be one of PCMU, PCMA, G722")
		case slices.Contains(s.Media.Codecs[:i], c):
			v.fail(fmt.Sprintf("media.codecs[%d]", i), "duplicate", "is already listed; name each codec once")
		}
	}
	v.oneOf("media.srtp", s.Media.SRTP, "", engine.SRTPOff, engine.SRTPOptional, engine.SRTPRequired)
	v.oneOf("media.family", s.Media.Family, "", engine.IPv4, engine.IPv6)
	v.oneOf("media.dtmf", s.Media.DTMF, "", "rfc4733", "info")
	v.oneOf("media.symmetric", s.Media.Symmetric, "", engine.SymmetricOff, engine.SymmetricAuto, engine.SymmetricOn)
	if len(s.Media.Networks) > NetworksCap {
		v.fail("media.networks", "too_many", "must have at most "+strconv.Itoa(NetworksCap)+" entries")
		return
	}
	for i, n := range s.Media.Networks {
		if p, err := netip.ParsePrefix(n); err != nil || p.Addr().Is4In6() {
			v.fail(fmt.Sprintf("media.networks[%d]", i), "invalid_format",
				"must be a network such as 192.0.2.0/24 or 2001:db8::/32")
		}
	}
}

func (v *validator) oneOf(field, s string, values ...string) {
	if slices.Contains(values, s) {
		return
	}
	v.fail(field, "unknown_value", "must be one of "+strings.Join(
		slices.DeleteFunc(values, func(s string) bool { return s == "" }), ", "))
}

func (v *validator) within(field string, n, least, most int) {
	if n < least || n > most {
		v.fail(field, "out_of_range", fmt.Sprintf("must be between %d and %d", least, most))
	}
}

func (v *validator) size(field, s string, limit int) {
	if len(s) > limit {
		v.fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" bytes")
	}
}

// text checks text for a header line: a line break would begin another one.
func (v *validator) text(field, s string, limit int) {
	v.size(field, s, limit)
	control := func(c rune) bool { return c < 0x20 || c == 0x7f }
	if strings.ContainsFunc(s, control) || !utf8.ValidString(s) {
		v.fail(field, "invalid_format", "must have printable characters only, and no line breaks")
	}
}

func (v *validator) identifier(field, s string, required bool) {
	if s == "" && !required {
		return
	}
	ok := len(s) >= 1 && len(s) <= identifierLimit
	for i := 0; i < len(s) && ok; i++ {
		ok = alphanumeric(s[i]) || s[i] == '_' || s[i] == '-' || s[i] == '.'
	}
	if !ok {
		v.fail(field, "invalid_format", "must have 1 to 64 letters, digits, dots, dashes or underscores")
	}
}

func (v *validator) host(field, s string, required bool) {
	switch {
	case s == "" && required:
		v.fail(field, "required", "is required")
	case s == "":
	case len(s) > HostCap:
		v.fail(field, "too_long", "must have at most "+strconv.Itoa(HostCap)+" characters")
	case !plainHost(s):
		v.fail(field, "invalid_format", "must be a host name or an address, without scheme and port")
	}
}

// plainHost accepts host names, IPv4 and IPv6 addresses, the latter with or
// without brackets.
func plainHost(s string) bool {
	if strings.ContainsAny(s, ":[]") {
		inner := s
		if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
			inner = s[1 : len(s)-1]
		}
		a, err := netip.ParseAddr(inner)
		return err == nil && a.Is6() && a.Zone() == ""
	}
	for i := 0; i < len(s); i++ {
		if !alphanumeric(s[i]) && s[i] != '.' && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

func token(s string) bool {
	for i := 0; i < len(s); i++ {
		if !alphanumeric(s[i]) && strings.IndexByte("-.!%*_+`'~", s[i]) < 0 {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
