package snapshot

import (
	"fmt"
	"time"
)

// Writer writes variants one after the other, as a Reader reads them: texts that were written before
// are only referred to, times keep their monotonic readings. It is not safe for concurrent use.
type Writer struct {
	w     writer
	clock clock
}

// Writer begins a stream, whose times are near the given one.
func (c *Codec) Writer(near time.Time) *Writer {
	w := &Writer{w: writer{c: c, words: &wordWriter{}, err: c.problem},
		clock: clock{base: near.UnixNano()}}
	w.w.clock = &w.clock
	return w
}

// Variant appends a variant. After an error the stream is of no use.
func (w *Writer) Variant(b []byte, v any) ([]byte, error) {
	w.w.b = b
	if v == nil {
		w.w.fail(fmt.Errorf("snapshot: nil is none of the variants"))
	} else {
		w.w.held(v)
	}
	return w.w.b, w.w.err
}

// Text appends a text.
func (w *Writer) Text(b []byte, s string) []byte { return w.w.words.write(b, s) }

// Time appends a time, relative to the one before.
func (w *Writer) Time(b []byte, before, t time.Time) []byte {
	base := w.clock.base
	w.clock.base = before.UnixNano()
	w.w.b = b
	w.w.time(t)
	w.clock.base = base
	return w.w.b
}

// Reader reads what a Writer wrote.
type Reader struct {
	r     reader
	clock clock
}

// Reader begins to read a stream that is near the same time. Without join, its times have no
// monotonic readings.
func (c *Codec) Reader(near time.Time, join Join) *Reader {
	r := &Reader{r: reader{c: c, words: &wordReader{}},
		clock: clock{base: near.UnixNano(), join: join}}
	r.r.clock = &r.clock
	return r
}

// Give appends bytes that can be read from now on.
func (r *Reader) Give(b []byte) { r.r.b = append(r.r.b, b...) }

// Left is how many bytes are not read yet.
func (r *Reader) Left() int { return len(r.r.b) }

// Err says what is wrong with the bytes, nil if nothing is; nothing more is read then.
func (r *Reader) Err() error {
	if r.r.err == nil {
		return r.r.c.problem
	}
	return r.r.err
}

// Uint, Int and Byte read a number.
func (r *Reader) Uint() uint64 { return r.r.uint() }

// Int reads a number that may be negative.
func (r *Reader) Int() int64 { return r.r.int() }

// Byte reads a byte.
func (r *Reader) Byte() byte { return r.r.take(1)[0] }

// Bytes reads n bytes, at most 8; any when the bytes are wrong.
func (r *Reader) Bytes(n int) []byte { return r.r.take(n) }

// Peek is the next byte, which stays; 0 if there is none.
func (r *Reader) Peek() byte {
	if len(r.r.b) == 0 {
		return 0
	}
	return r.r.b[0]
}

// Text reads a text.
func (r *Reader) Text() string { return r.r.words.read(&r.r) }

// Time reads a time.
func (r *Reader) Time(before time.Time) time.Time {
	base := r.clock.base
	r.clock.base = before.UnixNano()
	t := r.r.time()
	r.clock.base = base
	return t
}

// Variant reads a variant; nil when the bytes are wrong.
func (r *Reader) Variant() any {
	if held := r.r.held(); held.IsValid() && r.r.err == nil {
		return held.Interface()
	}
	return nil
}
