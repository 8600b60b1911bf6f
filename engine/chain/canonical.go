package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var (
	errJSON      = errors.New("not JSON")
	errDuplicate = errors.New("a JSON object has a key twice")
	errDeep      = errors.New("JSON nested too deep")
)

// depthCap bounds the nesting of a value.
const depthCap = 64

// AppendCanonical appends a JSON value in the form of RFC 8785. The form does not depend on the
// order of keys, white space or spelling of the value. A value with a duplicate key is an error.
func AppendCanonical(dst, value []byte) ([]byte, error) {
	p := parser{in: value}
	dst, err := p.value(dst, 0)
	if err != nil {
		return dst, err
	}
	if p.space(); p.at != len(p.in) {
		return dst, errJSON
	}
	return dst, nil
}

type parser struct {
	in    []byte
	at    int
	ascii bool // the last string is ASCII without escapes
}

func (p *parser) space() {
	for p.at < len(p.in) {
		switch p.in[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next is the next byte after white space, 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

func (p *parser) value(dst []byte, depth int) ([]byte, error) {
	if depth > depthCap {
		return dst, errDeep
	}
	switch c := p.next(); {
	case c == '{':
		return p.object(dst, depth)
	case c == '[':
		return p.array(dst, depth)
	case c == '"':
		return p.text(dst)
	case c == '-' || c >= '0' && c <= '9':
		return p.number(dst)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(p.in[p.at:], []byte(word)) {
			p.at += len(word)
			return append(dst, word...), nil
		}
	}
	return dst, errJSON
}

func (p *parser) array(dst []byte, depth int) (_ []byte, err error) {
	p.at++
	dst = append(dst, '[')
	if p.next() == ']' {
		p.at++
		return append(dst, ']'), nil
	}
	for {
		if dst, err = p.value(dst, depth+1); err != nil {
			return dst, err
		}
		c := p.next()
		p.at++
		switch c {
		case ',':
			dst = append(dst, ',')
		case ']':
			return append(dst, ']'), nil
		default:
			return dst, errJSON
		}
	}
}

// member is an object member as written to the output: the positions of its key and value, and whether
// the key is ASCII without escapes.
type member struct {
	from, colon, to int32
	ascii           bool
}

// fewMembers is how many members an object mostly has at most.
const fewMembers = 16

// object writes the members in the order of the input, and sorts them afterwards if necessary.
func (p *parser) object(dst []byte, depth int) (_ []byte, err error) {
	p.at++
	dst = append(dst, '{')
	if p.next() == '}' {
		p.at++
		return append(dst, '}'), nil
	}
	var few [fewMembers]member
	members, sorted := few[:0], true
	start := len(dst)
	for {
		if p.next() != '"' {
			return dst, errJSON
		}
		m := member{from: int32(len(dst))} //nolint:gosec // a row or an event has some KiB
		if dst, err = p.text(dst); err != nil {
			return dst, err
		}
		m.colon, m.ascii = int32(len(dst)), p.ascii //nolint:gosec // likewise
		if p.next() != ':' {
			return dst, errJSON
		}
		p.at++
		dst = append(dst, ':')
		if dst, err = p.value(dst, depth+1); err != nil {
			return dst, err
		}
		m.to = int32(len(dst)) //nolint:gosec // likewise
		if n := len(members); n > 0 && sorted {
			before := members[n-1]
			sorted = before.compare(&m, dst) < 0
		}
		members = append(members, m)
		dst = append(dst, ',')
		c := p.next()
		p.at++
		if c == '}' {
			break
		}
		if c != ',' {
			return dst, errJSON
		}
	}
	if !sorted {
		if dst, err = order(dst, start, members); err != nil {
			return dst, err
		}
	}
	dst[len(dst)-1] = '}'
	return dst, nil
}

// order sorts the members that were written from start on.
func order(dst []byte, start int, members []member) ([]byte, error) {
	if len(members) > fewMembers {
		slices.SortFunc(members, func(a, b member) int { return a.compare(&b, dst) })
	} else { // by insertion: they are mostly in runs that are sorted
		for i := 1; i < len(members); i++ {
			m, n := members[i], i
			for ; n > 0 && m.compare(&members[n-1], dst) < 0; n-- {
				members[n] = members[n-1]
			}
			members[n] = m
		}
	}
	end := len(dst)
	for i, m := range members {
		if i > 0 {
			before := members[i-1]
			if bytes.Equal(dst[before.from:before.colon], dst[m.from:m.colon]) {
				return dst, errDuplicate
			}
		}
		dst = append(append(dst, dst[m.from:m.to]...), ',')
	}
	n := copy(dst[start:], dst[end:])
	return dst[:start+n], nil
}

// compare compares two written keys by the UTF-16 code units of their values. Only escapes and
// characters beyond ASCII need decoding.
func (m *member) compare(n *member, dst []byte) int {
	a, b := dst[m.from:m.colon], dst[n.from:n.colon]
	if m.ascii && n.ascii {
		return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1])
	}
	var x, y string
	_ = json.Unmarshal(a, &x) // we wrote it, so it is valid
	_ = json.Unmarshal(b, &y)
	return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y)))
}

// text copies a string without escapes; any other is decoded and written again.
func (p *parser) text(dst []byte) ([]byte, error) {
	from := p.at
	escaped, high := false, byte(0)
	for p.at++; p.at < len(p.in); p.at++ {
		c := p.in[p.at]
		high |= c
		switch {
		case c > '\\', c >= ' ' && c < '\\' && c != '"':
		case c == '"':
			p.at++
			token := p.in[from:p.at]
			p.ascii = !escaped && high < utf8.RuneSelf
			if !escaped {
				if !p.ascii && !utf8.Valid(token) {
					return dst, errJSON
				}
				return append(dst, token...), nil
			}
			var s string
			if json.Unmarshal(token, &s) != nil {
				return dst, errJSON
			}
			return appendString(dst, s), nil
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			return dst, errJSON
		}
	}
	return dst, errJSON
}

// appendString writes a string with only the necessary escapes.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			dst = append(dst, '\\', "btn_fr"[c-'\b'])
		default:
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(dst, '"')
}

// exactDigits is up to how many digits a whole number is copied unchanged.
const exactDigits = 15

func (p *parser) number(dst []byte) ([]byte, error) {
	from, whole := p.at, true
	for ; p.at < len(p.in); p.at++ {
		switch c := p.in[p.at]; {
		case c >= '0' && c <= '9':
		case c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-':
			whole = false
		default:
			return appendNumber(dst, p.in[from:p.at], whole)
		}
	}
	return appendNumber(dst, p.in[from:p.at], whole)
}

func appendNumber(dst, token []byte, whole bool) ([]byte, error) {
	if whole && len(token) <= exactDigits && (token[0] != '0' || len(token) == 1) {
		return append(dst, token...), nil
	}
	if !json.Valid(token) {
		return dst, errJSON
	}
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		return dst, errJSON
	}
	if f == 0 {
		return append(dst, '0'), nil
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && n-from >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' &&
		dst[n-2] == '0' { // e-07 is written e-7
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, nil
}
