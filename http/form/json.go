package form

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"dialler/engine"
)

// This file parses JSON (RFC 8259) strictly into a small tree. encoding/json would silently accept
// a repeated key, replace broken UTF-8, and stop at the first wrong type. An integration needs
// every error at once, with the name of the field (SEMANTICS §12), and the trigger's nested
// metadata must come out as it went in.

// Kind is the type of a JSON value.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one value of a body. raw points into the request and is invalid after it; text is a
// copy.
type Value struct {
	Kind    Kind
	raw     []byte
	Text    string // of a string, decoded
	Members []Member
	Items   []Value
}

// Member is one entry of an object.
type Member struct {
	Name  string
	Value Value
	used  bool
}

const (
	maxJSONDepth = 32
	// errorsCap bounds the response to a body full of errors.
	errorsCap = 100
	// linearMembers is the size up to which a repeated key is searched for linearly.
	linearMembers = 16
)

type parser struct {
	src   []byte
	pos   int
	depth int
	path  []pathPart
	errs  *Errors
	// why the text is not JSON; "" if it is
	broken string
}

type pathPart struct {
	name  string
	index int // when name is ""
}

// Parse reads exactly one value. Errors that leave the text readable (repeated keys, characters
// that cannot be stored) go to errs; a text that is not JSON is the returned error.
func Parse(src []byte, errs *Errors) (Value, *engine.Error) {
	p := parser{src: src, errs: errs}
	p.space()
	if p.pos == len(p.src) {
		return Value{}, engine.Invalid("empty_body", "")
	}
	v, ok := p.value()
	if ok {
		p.space()
		if p.pos != len(p.src) {
			p.fail("there is something after the end of the value")
		}
	}
	if p.broken != "" {
		return Value{}, engine.Invalid("malformed_json",
			"The body is not valid JSON: "+p.broken+" (byte "+strconv.Itoa(p.pos)+").")
	}
	return v, nil
}

func (p *parser) fail(why string) {
	if p.broken == "" {
		p.broken = why
	}
}

func (p *parser) fieldError(code, message string) {
	p.errs.Add(p.fieldPath(), code, message)
}

func (p *parser) fieldPath() string {
	var b strings.Builder
	for _, part := range p.path {
		if part.name == "" {
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(part.index))
			b.WriteByte(']')
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(ClipName(part.name))
	}
	return b.String()
}

// ClipName shortens a field's name for an error, because names come from the client.
func ClipName(name string) string {
	const limit = 80
	if len(name) <= limit {
		return name
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…"
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value() (Value, bool) {
	if p.pos == len(p.src) {
		p.fail("it ends too early")
		return Value{}, false
	}
	start := p.pos
	v := Value{}
	var ok bool
	switch c := p.src[p.pos]; {
	case c == '{':
		v, ok = p.object()
	case c == '[':
		v, ok = p.array()
	case c == '"':
		v.Kind = String
		v.Text, ok = p.str()
	case c == 't':
		v.Kind, ok = Bool, p.literal("true")
	case c == 'f':
		v.Kind, ok = Bool, p.literal("false")
	case c == 'n':
		v.Kind, ok = Null, p.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		v.Kind, ok = Number, p.number()
	default:
		p.fail("a value was expected")
		ok = false
	}
	v.raw = p.src[start:p.pos]
	return v, ok
}

func (p *parser) literal(word string) bool {
	if len(p.src)-p.pos < len(word) || string(p.src[p.pos:p.pos+len(word)]) != word {
		p.fail("a value was expected")
		return false
	}
	p.pos += len(word)
	return true
}

func (p *parser) number() bool {
	digits := func() bool {
		from := p.pos
		for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
			p.pos++
		}
		return p.pos > from
	}
	if p.src[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.src) && p.src[p.pos] == '0' {
		p.pos++
	} else if !digits() {
		p.fail("a digit was expected")
		return false
	}
	if p.pos < len(p.src) && p.src[p.pos] == '.' {
		p.pos++
		if !digits() {
			p.fail("a digit was expected")
			return false
		}
	}
	if p.pos < len(p.src) && (p.src[p.pos] == 'e' || p.src[p.pos] == 'E') {
		p.pos++
		if p.pos < len(p.src) && (p.src[p.pos] == '+' || p.src[p.pos] == '-') {
			p.pos++
		}
		if !digits() {
			p.fail("a digit was expected")
			return false
		}
	}
	return true
}

func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxJSONDepth {
		p.fail("it is nested too deeply")
		return false
	}
	p.pos++
	return true
}

func (p *parser) object() (Value, bool) {
	v := Value{Kind: Object}
	if !p.enter() {
		return v, false
	}
	defer func() { p.depth-- }()
	var names map[string]struct{}
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == '}' {
		p.pos++
		return v, true
	}
	for {
		p.space()
		if p.pos == len(p.src) || p.src[p.pos] != '"' {
			p.fail("a key in quotes was expected")
			return v, false
		}
		p.path = append(p.path, pathPart{name: "(key)"})
		name, ok := p.str()
		if !ok {
			return v, false
		}
		p.path[len(p.path)-1].name = name
		if name == "" {
			p.path[len(p.path)-1].name = `""`
		}
		p.space()
		if p.pos == len(p.src) || p.src[p.pos] != ':' {
			p.fail("a colon was expected")
			return v, false
		}
		p.pos++
		p.space()
		val, ok := p.value()
		if !ok {
			return v, false
		}
		repeated := false
		if len(v.Members) < linearMembers {
			for i := range v.Members {
				repeated = repeated || v.Members[i].Name == name
			}
		} else {
			if names == nil {
				names = make(map[string]struct{}, 2*linearMembers)
				for i := range v.Members {
					names[v.Members[i].Name] = struct{}{}
				}
			}
			if _, repeated = names[name]; !repeated {
				names[name] = struct{}{}
			}
		}
		if repeated {
			p.fieldError("duplicate_field", "is given more than once; send it once")
		} else {
			if v.Members == nil {
				v.Members = make([]Member, 0, 4)
			}
			v.Members = append(v.Members, Member{Name: name, Value: val})
		}
		p.path = p.path[:len(p.path)-1]
		p.space()
		if p.pos == len(p.src) {
			p.fail("it ends inside an object")
			return v, false
		}
		switch p.src[p.pos] {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return v, true
		default:
			p.fail("a comma or the end of the object was expected")
			return v, false
		}
	}
}

func (p *parser) array() (Value, bool) {
	v := Value{Kind: Array}
	if !p.enter() {
		return v, false
	}
	defer func() { p.depth-- }()
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == ']' {
		p.pos++
		return v, true
	}
	for {
		p.path = append(p.path, pathPart{index: len(v.Items)})
		p.space()
		item, ok := p.value()
		if !ok {
			return v, false
		}
		v.Items = append(v.Items, item)
		p.path = p.path[:len(p.path)-1]
		p.space()
		if p.pos == len(p.src) {
			p.fail("it ends inside an array")
			return v, false
		}
		switch p.src[p.pos] {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return v, true
		default:
			p.fail("a comma or the end of the array was expected")
			return v, false
		}
	}
}

// str reads a quoted string and returns a decoded copy of it.
func (p *parser) str() (string, bool) {
	p.pos++
	start := p.pos
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		if c == '"' {
			s := string(p.src[start:p.pos])
			p.pos++
			return s, true
		}
		if c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			return p.strSlow(start)
		}
		p.pos++
	}
	p.fail("it ends inside a string")
	return "", false
}

func (p *parser) strSlow(start int) (string, bool) {
	buf := make([]byte, 0, p.pos-start+64)
	buf = append(buf, p.src[start:p.pos]...)
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '"':
			p.pos++
			return string(buf), true
		case c == '\\':
			var ok bool
			if buf, ok = p.escape(buf); !ok {
				return "", false
			}
		case c < 0x20:
			p.fail("a control character in a string is not escaped")
			return "", false
		case c < utf8.RuneSelf:
			buf = append(buf, c)
			p.pos++
		default:
			r, n := utf8.DecodeRune(p.src[p.pos:])
			if r == utf8.RuneError && n <= 1 {
				p.fail("it is not UTF-8")
				return "", false
			}
			buf = append(buf, p.src[p.pos:p.pos+n]...)
			p.pos += n
		}
	}
	p.fail("it ends inside a string")
	return "", false
}

func (p *parser) escape(buf []byte) ([]byte, bool) {
	if p.pos+1 >= len(p.src) {
		p.fail("it ends inside a string")
		return nil, false
	}
	c := p.src[p.pos+1]
	p.pos += 2
	switch c {
	case '"', '\\', '/':
		return append(buf, c), true
	case 'b':
		return append(buf, '\b'), true
	case 'f':
		return append(buf, '\f'), true
	case 'n':
		return append(buf, '\n'), true
	case 'r':
		return append(buf, '\r'), true
	case 't':
		return append(buf, '\t'), true
	case 'u':
		r, ok := p.hex4()
		if !ok {
			return nil, false
		}
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if p.pos+1 < len(p.src) && p.src[p.pos] == '\\' && p.src[p.pos+1] == 'u' {
				p.pos += 2
				if low, ok = p.hex4(); !ok {
					return nil, false
				}
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				p.fail(`half a surrogate pair in a \u escape`)
				return nil, false
			}
		}
		if r == 0 {
			p.fieldError("invalid_character", "contains the character U+0000, which cannot be kept")
			return buf, true
		}
		return utf8.AppendRune(buf, r), true
	}
	p.fail("an unknown escape in a string")
	return nil, false
}

func (p *parser) hex4() (rune, bool) {
	if p.pos+4 > len(p.src) {
		p.fail("it ends inside a string")
		return 0, false
	}
	var r rune
	for _, c := range p.src[p.pos : p.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			p.fail(`four hex digits were expected after \u`)
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	p.pos += 4
	return r, true
}

// compactJSON returns the text of a value without insignificant space.
func compactJSON(raw []byte) string {
	out := make([]byte, 0, len(raw))
	inString := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inString && c == '\\':
			out = append(out, c, raw[i+1])
			i++
		case c == '"':
			inString = !inString
			out = append(out, c)
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
