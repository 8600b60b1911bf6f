package contactlist

import (
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Encodings in which a file can be said to be written. Of these UTF-8, UTF-16 and Windows-1252 are found
// without being said.
const (
	UTF8        = "utf-8"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	Windows1252 = "windows-1252"
)

// tables are the encodings of one byte a character.
var tables = map[string]*charmap.Charmap{
	Windows1252:    charmap.Windows1252,
	"iso-8859-1":   charmap.Windows1252, // which has all of it
	"iso-8859-2":   charmap.ISO8859_2,
	"iso-8859-15":  charmap.ISO8859_15,
	"windows-1250": charmap.Windows1250,
	"windows-1251": charmap.Windows1251,
	"windows-1253": charmap.Windows1253,
	"windows-1254": charmap.Windows1254,
	"macintosh":    charmap.Macintosh,
}

// Encodings are the names of all encodings.
func Encodings() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, name := range []string{UTF8, UTF16LE, UTF16BE} {
			if !yield(name) {
				return
			}
		}
		maps.Keys(tables)(yield)
	})
}

// decoder gives the text of a file as UTF-8. Unless the encoding is given, a byte order mark says UTF-16,
// and so do zeros in place of every other one of the first bytes. Otherwise it is UTF-8 up
// to the first byte that is none; if nothing before was beyond ASCII, the file is Windows-1252, in
// which spreadsheets save CSV. If something was, it is UTF-8 with a fault, which is passed on.
type decoder struct {
	encoding string // given, or found so far

	from io.Reader
	err  error  // of from, once it has come
	in   []byte // read, not decoded
	out  []byte // decoded, not passed on
	all  []byte // the memory of out
	room [4 << 10]byte

	beyond bool                 // UTF-8 beyond ASCII was seen
	step   func(*decoder, bool) // decodes what it can of in; true: nothing follows
}

// newDecoder returns a decoder of a file in an encoding; "" has it found.
func newDecoder(r io.Reader, encoding string) *decoder {
	d := &decoder{from: r, encoding: encoding}
	switch encoding {
	case "":
		d.step = (*decoder).begin
	case UTF8:
		d.step = (*decoder).pass
	case UTF16LE:
		d.wide(binary.LittleEndian)
	case UTF16BE:
		d.wide(binary.BigEndian)
	default:
		d.step = (*decoder).narrow
	}
	return d
}

func (d *decoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.err != nil && len(d.in) == 0 {
			return 0, d.err
		}
		if d.err == nil {
			n, err := d.from.Read(d.room[:])
			d.in, d.err = append(d.in, d.room[:n]...), err
		}
		d.all = d.all[:0]
		d.step(d, d.err != nil)
		d.out = d.all
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// taken drops n bytes that were decoded.
func (d *decoder) taken(n int) { d.in = append(d.in[:0], d.in[n:]...) }

// begin looks for UTF-16; a byte order mark of UTF-8 is a rune like others.
func (d *decoder) begin(last bool) {
	if len(d.in) < 4 && !last {
		return
	}
	d.encoding, d.step = UTF8, (*decoder).utf8
	if len(d.in) >= 2 {
		switch mark := binary.BigEndian.Uint16(d.in); {
		case mark == 0xfffe:
			d.wide(binary.LittleEndian)
			d.taken(2)
		case mark == 0xfeff:
			d.wide(binary.BigEndian)
			d.taken(2)
		case len(d.in) >= 4 && d.in[0] != 0 && d.in[1] == 0 && d.in[2] != 0 && d.in[3] == 0:
			d.wide(binary.LittleEndian)
		case len(d.in) >= 4 && d.in[0] == 0 && d.in[1] != 0 && d.in[2] == 0 && d.in[3] != 0:
			d.wide(binary.BigEndian)
		}
	}
	d.step(d, last)
}

func (d *decoder) wide(order binary.ByteOrder) {
	d.encoding = UTF16BE
	if order == binary.LittleEndian {
		d.encoding = UTF16LE
	}
	d.step = func(d *decoder, last bool) { d.utf16(order, last) }
}

func (d *decoder) utf8(last bool) {
	n, goes := 0, true
	for goes && n < len(d.in) {
		switch r, size := utf8.DecodeRune(d.in[n:]); {
		case r != utf8.RuneError || size > 1:
			d.beyond = d.beyond || size > 1
			n += size
		case !last && !utf8.FullRune(d.in[n:]):
			goes = false // the rest of it follows
		case d.beyond:
			d.step, goes = (*decoder).pass, false
		default:
			d.encoding, d.step, goes = Windows1252, (*decoder).narrow, false
		}
	}
	d.all = append(d.all, d.in[:n]...)
	d.taken(n)
}

func (d *decoder) pass(bool) {
	d.all = append(d.all, d.in...)
	d.taken(len(d.in))
}

func (d *decoder) narrow(bool) {
	table := tables[d.encoding]
	for _, b := range d.in {
		r := table.DecodeByte(b)
		if r >= 0x80 && r < 0xa0 { // a control character, where the encoding has no character
			r = utf8.RuneError
		}
		d.all = utf8.AppendRune(d.all, r)
	}
	d.taken(len(d.in))
}

func (d *decoder) utf16(order binary.ByteOrder, last bool) {
	n := 0
	for len(d.in)-n >= 2 {
		r, size := rune(order.Uint16(d.in[n:])), 2
		if utf16.IsSurrogate(r) {
			if len(d.in)-n < 4 && !last {
				break // its other half follows
			}
			if len(d.in)-n >= 4 {
				if pair := utf16.DecodeRune(r, rune(order.Uint16(d.in[n+2:]))); pair != utf8.RuneError {
					r, size = pair, 4
				}
			}
		}
		d.all = utf8.AppendRune(d.all, r) // half a pair alone becomes U+FFFD
		n += size
	}
	if last && n < len(d.in) {
		d.all, n = utf8.AppendRune(d.all, utf8.RuneError), len(d.in)
	}
	d.taken(n)
}
