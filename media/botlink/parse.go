package botlink

import (
	"errors"
	"unicode/utf8"
)

// incoming is a frame of the bot. Its slices point into the message.
type incoming struct {
	event   []byte // raw JSON string without quotes
	payload []byte // base64 of media, raw JSON string without quotes
	name    []byte // of mark, raw JSON string without quotes
	verdict []byte // verdict name, raw JSON string without quotes
	result  []byte // JSON object
	escaped bool   // payload contains a backslash and must be unquoted first
}

var (
	errSyntax = errors.New("not a JSON object")
	errDepth  = errors.New("nested too deep")
)

// maxDepth bounds nesting in a frame.
const maxDepth = 32

// parse reads one frame without allocating. It accepts every JSON object and, because it does not
// validate numbers, some invalid ones; of a repeated key the last one counts.
func parse(b []byte) (incoming, error) {
	var in incoming
	s := scanner{b: b}
	err := s.object(func(key []byte) error {
		switch string(key) {
		case "event":
			in.event = nil
			if s.peek() == '"' {
				v, err := s.str()
				in.event = v
				return err
			}
		case "media":
			in.payload, in.escaped = nil, false
			if s.peek() == '{' {
				return s.object(func(key []byte) error {
					if string(key) == "payload" {
						in.payload, in.escaped = nil, false
						if s.peek() == '"' {
							v, err := s.str()
							in.payload, in.escaped = v, s.escape
							return err
						}
					}
					return s.skip(2)
				})
			}
		case "mark":
			return s.named(&in.name)
		case "verdict":
			return s.named(&in.verdict)
		case "result":
			in.result = nil
			if s.peek() == '{' {
				from := s.i
				if err := s.skip(1); err != nil {
					return err
				}
				in.result = b[from:s.i]
				return nil
			}
		}
		return s.skip(1)
	})
	if err != nil {
		return incoming{}, err
	}
	s.space()
	if s.i != len(b) {
		return incoming{}, errSyntax
	}
	return in, nil
}

// named reads the name of an object that has one, or skips any other value.
func (s *scanner) named(name *[]byte) error {
	*name = nil
	if s.peek() != '{' {
		return s.skip(1)
	}
	return s.object(func(key []byte) (err error) {
		if string(key) == "name" {
			*name = nil
			if s.peek() == '"' {
				*name, err = s.str()
				return err
			}
		}
		return s.skip(2)
	})
}

// scanner walks over JSON (RFC 8259).
type scanner struct {
	b      []byte
	i      int
	escape bool // the last string contained a backslash
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// peek returns the next non-space byte, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i == len(s.b) {
		return 0
	}
	return s.b[s.i]
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.i++
	return true
}

// object reads an object and calls member after each key's colon; member
// must consume the value.
func (s *scanner) object(member func(key []byte) error) error {
	if !s.take('{') {
		return errSyntax
	}
	if s.take('}') {
		return nil
	}
	for {
		if s.peek() != '"' {
			return errSyntax
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return errSyntax
		}
		if err := member(key); err != nil {
			return err
		}
		if s.take(',') {
			continue
		}
		if s.take('}') {
			return nil
		}
		return errSyntax
	}
}

// str reads a string and returns its raw content without the quotes.
func (s *scanner) str() ([]byte, error) {
	s.i++ // the quote
	start := s.i
	s.escape = false
	high := false
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			v := s.b[start:s.i]
			s.i++
			if high && !utf8.Valid(v) {
				return nil, errSyntax
			}
			return v, nil
		case c == '\\':
			s.escape = true
			s.i++
			if s.i == len(s.b) {
				return nil, errSyntax
			}
			switch s.b[s.i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if len(s.b)-s.i < 5 {
					return nil, errSyntax
				}
				for _, h := range s.b[s.i+1 : s.i+5] {
					if (h < '0' || h > '9') && (h < 'a' || h > 'f') && (h < 'A' || h > 'F') {
						return nil, errSyntax
					}
				}
				s.i += 4
			default:
				return nil, errSyntax
			}
		case c < 0x20:
			return nil, errSyntax
		case c >= utf8.RuneSelf:
			high = true
		}
		s.i++
	}
	return nil, errSyntax
}

// skip skips any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	switch c := s.peek(); {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{':
		return s.object(func([]byte) error { return s.skip(depth + 1) })
	case c == '[':
		s.i++
		if s.take(']') {
			return nil
		}
		for {
			if err := s.skip(depth + 1); err != nil {
				return err
			}
			if s.take(',') {
				continue
			}
			if s.take(']') {
				return nil
			}
			return errSyntax
		}
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	case c == '-' || (c >= '0' && c <= '9'):
		s.i++
		for s.i < len(s.b) {
			switch c := s.b[s.i]; {
			case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
				s.i++
			default:
				return nil
			}
		}
		return nil
	}
	return errSyntax
}

func (s *scanner) word(w string) error {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return errSyntax
	}
	s.i += len(w)
	return nil
}
