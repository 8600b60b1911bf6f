package link

import (
	"time"

	"dialler/engine"
)

// Versions of what nodes say to each other. Two nodes speak the later one that both
// know; those that know none in common do not speak at all.
const (
	// Version is the latest that this program speaks, Oldest the first.
	Version = 1
	Oldest  = 1
)

// mark is the first byte of every frame of every version; the four numbers after it
// are so in all of them too: from, to, and the versions that the sender speaks.
const mark = 'L'

// Bounds of a frame: what one is filled up to, and what is taken of another node. An
// item that is larger than the first has a frame of its own.
const (
	frameFill = 64 << 10
	FrameCap  = 6 << 20
	itemCap   = FrameCap - 128<<10
)

// frame is one message between two nodes: a part of what one has to say to the
// other, and what it has got.
type frame struct {
	from, to      engine.Incarnation
	speaks, since uint64 // the latest and the oldest version of the sender
	// stamp is the sender's boot-time clock, echo the last stamp that it has got
	// (0: none), held how long ago.
	stamp, echo engine.BootTime
	held        time.Duration
	// hello asks for a frame in return; missing says that items are missing after
	// ack, which is the last one that was dealt with. over says that the process is
	// not, or no longer, the incarnation that it was sent something for.
	hello, missing, over bool
	ack                  uint64
	first                uint64 // number of the first item
	items                [][]byte
}

// common is the version that this program and the sender of the frame speak, 0: none.
func (f *frame) common() uint64 {
	if v := min(f.speaks, Version); v >= max(f.since, Oldest) {
		return v
	}
	return 0
}

func (w *Wire) frame(f *frame) {
	Number(w, &f.from)
	Number(w, &f.to)
	w.Unsigned(&f.speaks)
	w.Unsigned(&f.since)
	if w.reading && f.common() == 0 {
		w.b = nil // nothing more of it is understood
		return
	}
	Number(w, &f.stamp)
	Number(w, &f.echo)
	Number(w, &f.held)
	w.Flag(&f.hello)
	w.Flag(&f.missing)
	w.Flag(&f.over)
	w.Unsigned(&f.ack)
	w.Unsigned(&f.first)
	n := w.size(len(f.items))
	if !w.reading {
		for _, item := range f.items {
			l := uint64(len(item))
			w.Unsigned(&l)
			w.b = append(w.b, item...)
		}
		return
	}
	if n > windowItems { // no more is ever under way
		w.Fail()
		return
	}
	for i := 0; i < n && !w.bad; i++ {
		var l uint64
		w.Unsigned(&l)
		f.items = append(f.items, w.take(l))
	}
}

func (f *frame) encode() []byte {
	size := 64
	for _, i := range f.items {
		size += len(i) + 3
	}
	w := Wire{b: append(make([]byte, 0, size), mark)}
	w.frame(f)
	return w.b
}

// decodeFrame reads a frame; its items are parts of b.
func decodeFrame(b []byte) (f frame, err error) {
	if len(b) == 0 || len(b) > FrameCap || b[0] != mark {
		return frame{}, ErrMalformed
	}
	w := Wire{b: b[1:], reading: true}
	w.frame(&f)
	if !w.Whole() || f.from <= 0 || f.to <= 0 || f.held < 0 {
		return frame{}, ErrMalformed
	}
	return f, nil
}
