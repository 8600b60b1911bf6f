package gateway

import (
	"time"

	"dialler/engine"
)

// Version is of the frames, and their first byte: nodes of different ones do not
// understand each other.
const Version = 3

const frameVersion = Version

// Bounds of a frame: what one is filled up to, and what is taken of another
// node.
const (
	frameFill = 64 << 10
	frameCap  = 1 << 20
)

// frame is one message between two nodes: a part of what one has to say to the
// other, and what it has got.
type frame struct {
	from, to engine.Incarnation
	// stamp is the sender's boot-time clock, echo the last stamp that it has got
	// (0: none), held how long ago.
	stamp, echo engine.BootTime
	held        time.Duration
	// hello asks for a frame in return; missing says that items are missing after
	// ack, which is the last one that was dealt with.
	hello, missing bool
	ack            uint64
	first          uint64 // number of the first item
	items          [][]byte
}

func (w *wire) frame(f *frame) {
	number(w, &f.from)
	number(w, &f.to)
	number(w, &f.stamp)
	number(w, &f.echo)
	number(w, &f.held)
	w.flag(&f.hello)
	w.flag(&f.missing)
	w.unsigned(&f.ack)
	w.unsigned(&f.first)
	n := w.size(len(f.items))
	if !w.reading {
		for _, item := range f.items {
			l := uint64(len(item))
			w.unsigned(&l)
			w.b = append(w.b, item...)
		}
		return
	}
	if n > windowItems { // no more is ever under way
		w.fail()
		return
	}
	for i := 0; i < n && !w.bad; i++ {
		var l uint64
		w.unsigned(&l)
		f.items = append(f.items, w.take(l))
	}
}

func (f *frame) encode() []byte {
	size := 64
	for _, i := range f.items {
		size += len(i) + 3
	}
	w := wire{b: append(make([]byte, 0, size), frameVersion)}
	w.frame(f)
	return w.b
}

// decodeFrame reads a frame; its items are parts of b.
func decodeFrame(b []byte) (f frame, err error) {
	if len(b) == 0 || len(b) > frameCap || b[0] != frameVersion {
		return frame{}, errMalformed
	}
	w := wire{b: b[1:], reading: true}
	w.frame(&f)
	if w.bad || len(w.b) > 0 || f.from <= 0 || f.to <= 0 || f.held < 0 {
		return frame{}, errMalformed
	}
	return f, nil
}
