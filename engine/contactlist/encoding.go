package contactlist

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder gives the text of a file as UTF-8. A byte order mark says UTF-16. Otherwise it is UTF-8 up
// to the first byte that is none; if nothing before was beyond ASCII, the file is Windows-1252, in
// which spreadsheets save CSV. If something was, it is UTF-8 with a fault, which is passed on.
type decoder struct {
	from io.Reader
	err  error  // of from, once it has come
	in   []byte // read, not decoded
	out  []byte // decoded, not passed on
	all  []byte // the memory of out
	room [4 << 10]byte

	beyond bool                 // UTF-8 beyond ASCII was seen
	step   func(*decoder, bool) // decodes what it can of in; true: nothing follows
}

func newDecoder(r io.Reader) *decoder { return &decoder{from: r, step: (*decoder).begin} }

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

// begin looks for a byte order mark of UTF-16; that of UTF-8 is a rune like others.
func (d *decoder) begin(last bool) {
	if len(d.in) < 2 && !last {
		return
	}
	d.step = (*decoder).utf8
	if len(d.in) >= 2 {
		switch binary.BigEndian.Uint16(d.in) {
		case 0xfffe:
			d.step = func(d *decoder, last bool) { d.utf16(binary.LittleEndian, last) }
			d.taken(2)
		case 0xfeff:
			d.step = func(d *decoder, last bool) { d.utf16(binary.BigEndian, last) }
			d.taken(2)
		}
	}
	d.step(d, last)
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
			d.step, goes = (*decoder).windows1252, false
		}
	}
	d.all = append(d.all, d.in[:n]...)
	d.taken(n)
}

func (d *decoder) pass(bool) {
	d.all = append(d.all, d.in...)
	d.taken(len(d.in))
}

func (d *decoder) windows1252(bool) {
	for _, b := range d.in {
		switch {
		case b < 0x80:
			d.all = append(d.all, b)
		case b < 0xa0:
			d.all = utf8.AppendRune(d.all, windows1252[b-0x80])
		default: // as in ISO 8859-1
			d.all = utf8.AppendRune(d.all, rune(b))
		}
	}
	d.taken(len(d.in))
}

// windows1252 are the characters of 0x80 to 0x9f; five have none.
var windows1252 = [32]rune{'€', utf8.RuneError, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', utf8.RuneError,
	'Ž', utf8.RuneError, utf8.RuneError, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', utf8.RuneError, 'ž',
	'Ÿ'}

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
