package carrier

import (
	"bytes"
	"errors"
	"strconv"
)

// message is one parsed SIP message. Its slices point into the read buffer and are valid until the
// next read; anything kept longer is copied.
type message struct {
	request bool
	method  string // of a request; for a response, that of the CSeq
	uri     []byte
	code    int

	vias        [][]byte // values in order, one per hop
	recordRoute [][]byte
	from, to    []byte
	callID      []byte
	contact     []byte
	cseq        uint32
	cseqMethod  string
	maxForwards bool
	auth        []byte // Authorization or Proxy-Authorization
	contentType []byte
	rack        []byte
	supported   []byte
	require     []byte
	expires     []byte
	reason      []byte
	raw         []byte // the whole message
	body        []byte
	length      int // Content-Length, -1 when absent
}

var (
	errNotSIP    = errors.New("not a SIP message")
	errTruncated = errors.New("the body is shorter than its Content-Length")
)

// parse reads one whole message. A missing header is not an error here: the
// caller decides what to answer.
func (m *message) parse(data []byte) error {
	vias, rr := m.vias[:0], m.recordRoute[:0]
	*m = message{vias: vias, recordRoute: rr, length: -1, raw: data}
	head, body, ok := bytes.Cut(data, []byte("\r\n\r\n"))
	if !ok {
		return errNotSIP
	}
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if err := m.startLine(line); err != nil {
		return err
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		// RFC 3261 §7.3.1: a line that begins with white space continues the previous one.
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			next, after, _ := bytes.Cut(rest, []byte("\r\n"))
			line = append(append(bytes.Clone(line), ' '), bytes.TrimSpace(next)...)
			rest = after
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return errNotSIP
		}
		if err := m.header(bytes.TrimSpace(name), bytes.TrimSpace(value)); err != nil {
			return err
		}
	}
	m.body = body
	if m.length >= 0 {
		if m.length > len(body) {
			return errTruncated
		}
		m.body = body[:m.length]
	}
	return nil
}

func (m *message) startLine(line []byte) error {
	first, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return errNotSIP
	}
	second, third, _ := bytes.Cut(rest, []byte(" "))
	if bytes.Equal(first, []byte("SIP/2.0")) {
		code, err := strconv.Atoi(string(second))
		if err != nil || code < 100 || code > 699 {
			return errNotSIP
		}
		m.code = code
		return nil
	}
	if !bytes.Equal(third, []byte("SIP/2.0")) || len(second) == 0 {
		return errNotSIP
	}
	m.request, m.method, m.uri = true, methodName(first), second
	return nil
}

func (m *message) header(name, value []byte) error {
	var low [32]byte
	if len(name) > len(low) {
		return nil
	}
	for i, b := range name {
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		low[i] = b
	}
	switch string(low[:len(name)]) {
	case "via", "v":
		m.vias = splitList(m.vias, value)
	case "record-route":
		m.recordRoute = splitList(m.recordRoute, value)
	case "from", "f":
		m.from = value
	case "to", "t":
		m.to = value
	case "call-id", "i":
		m.callID = value
	case "contact", "m":
		m.contact = value
	case "cseq":
		number, method, _ := bytes.Cut(value, []byte(" "))
		n, err := strconv.ParseUint(string(number), 10, 32)
		if err != nil {
			return errNotSIP
		}
		m.cseq, m.cseqMethod = uint32(n), methodName(bytes.TrimSpace(method))
		if !m.request {
			m.method = m.cseqMethod
		}
	case "max-forwards":
		m.maxForwards = true
	case "authorization", "proxy-authorization":
		m.auth = value
	case "content-type", "c":
		m.contentType = value
	case "content-length", "l":
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 {
			return errNotSIP
		}
		m.length = n
	case "rack":
		m.rack = value
	case "supported", "k":
		m.supported = value
	case "require":
		m.require = value
	case "expires":
		m.expires = value
	case "reason":
		m.reason = value
	}
	return nil
}

// missing names the first header that RFC 3261 §8.1.1 requires in every request and this one lacks.
func (m *message) missing() string {
	switch {
	case len(m.vias) == 0:
		return "Via"
	case len(m.from) == 0:
		return "From"
	case len(m.to) == 0:
		return "To"
	case len(m.callID) == 0:
		return "Call-ID"
	case m.cseqMethod == "":
		return "CSeq"
	case m.request && m.cseqMethod != m.method:
		return "CSeq method"
	}
	return ""
}

// methodName avoids an allocation for the usual methods.
func methodName(b []byte) string {
	switch string(b) {
	case "INVITE":
		return "INVITE"
	case "ACK":
		return "ACK"
	case "BYE":
		return "BYE"
	case "CANCEL":
		return "CANCEL"
	case "OPTIONS":
		return "OPTIONS"
	case "REGISTER":
		return "REGISTER"
	case "PRACK":
		return "PRACK"
	case "UPDATE":
		return "UPDATE"
	case "INFO":
		return "INFO"
	}
	return string(b)
}

// splitList splits a comma-separated header outside quotes and angle brackets.
func splitList(dst [][]byte, value []byte) [][]byte {
	start, quoted, angle := 0, false, false
	for i, b := range value {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '<':
			angle = true
		case b == '>':
			angle = false
		case b == ',' && !angle:
			dst = append(dst, bytes.TrimSpace(value[start:i]))
			start = i + 1
		}
	}
	return append(dst, bytes.TrimSpace(value[start:]))
}

// param returns a header parameter's value; ok is also true when it has none (";rport"). Parameters
// inside angle brackets belong to the URI, not to the header.
func param(value []byte, name string) (v []byte, ok bool) {
	if i := bytes.LastIndexByte(value, '>'); i >= 0 {
		value = value[i+1:]
	}
	return uriParam(value, name)
}

func uriParam(value []byte, name string) (v []byte, ok bool) {
	for {
		i := bytes.IndexByte(value, ';')
		if i < 0 {
			return nil, false
		}
		value = value[i+1:]
		one := value
		if j := bytes.IndexByte(value, ';'); j >= 0 {
			one = value[:j]
		}
		key, val, _ := bytes.Cut(one, []byte("="))
		if bytes.EqualFold(bytes.TrimSpace(key), []byte(name)) {
			return bytes.TrimSpace(val), true
		}
	}
}

// addrURI extracts the URI from a name-addr or addr-spec.
func addrURI(value []byte) []byte {
	if i := bytes.IndexByte(value, '<'); i >= 0 {
		if j := bytes.IndexByte(value[i:], '>'); j >= 0 {
			return value[i+1 : i+j]
		}
	}
	uri, _, _ := bytes.Cut(value, []byte(";"))
	return bytes.TrimSpace(uri)
}

// uriUser returns the user part of a sip, sips or tel URI, without parameters.
func uriUser(uri []byte) []byte {
	_, rest, ok := bytes.Cut(uri, []byte(":"))
	if !ok {
		return nil
	}
	if user, _, ok := bytes.Cut(rest, []byte("@")); ok {
		rest = user
	} else if !bytes.HasPrefix(bytes.ToLower(uri[:min(4, len(uri))]), []byte("tel:")) {
		return nil // the URI has only a host
	}
	if i := bytes.IndexAny(rest, ";:"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// uriHostPort gives host:port of a URI; the port is 5060 when absent.
func uriHostPort(uri []byte) string {
	_, rest, _ := bytes.Cut(uri, []byte(":"))
	if i := bytes.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if i := bytes.IndexAny(rest, ";?>"); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.LastIndexByte(rest, ':'); i >= 0 && bytes.IndexByte(rest[i:], ']') < 0 {
		return string(rest)
	}
	return string(rest) + ":5060"
}
