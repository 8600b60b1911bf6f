package link

import (
	"time"

	"dialler/engine"
)

// Protocol versions between nodes. Two nodes speak the latest version that both know; without one
// in common they do not communicate.
const (
	// Version is the latest that this program speaks, Oldest the earliest. 2: a call's quality says
	// where it was heard from, and calls are heard before they are answered. 3: by which suite it was
	// encrypted; a trunk's profile has the family of its media. 4: the silence of a call says whether it
	// was on hold; bots have headers of their own. 5: nothing new on the link; the node knows calendars,
	// further numbers, callback policies, the best hour, and the scopes and second secrets of API keys. 6:
	// nothing new on the link; the node knows the progress of calls and addresses that requests name for it.
	Version = 6
	Oldest  = 1
)

// mark is the first byte of every frame in every version. The four numbers after it are also common
// to all versions: from, to, and the sender's two versions.
const mark = 'L'

// Bounds of a frame: the size up to which it is filled, and the size accepted from another node. An
// item larger than the first bound has a frame of its own.
const (
	frameFill = 64 << 10
	FrameCap  = 6 << 20
	itemCap   = FrameCap - 128<<10
)

// frame is one transmission between two nodes: some of the sender's items, and an acknowledgement.
type frame struct {
	from, to      engine.Incarnation
	speaks, since uint64 // the sender's latest and oldest version
	// stamp is the sender's boot-time clock; echo the last stamp it received (0 means none), held
	// how long ago.
	stamp, echo engine.BootTime
	held        time.Duration
	// hello asks for a frame in return. missing says that items are missing after ack, the last one
	// processed. over says that the process is not, or no longer, the incarnation that the frame
	// was for.
	hello, missing, over bool
	ack                  uint64
	first                uint64 // number of the first item
	items                [][]byte
}

// common returns the latest version that this program and the frame's sender both speak; 0 means
// none.
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
		w.b = nil // the rest cannot be understood
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
	if n > windowItems { // never more in flight
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

// decodeFrame decodes a frame; its items alias b.
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
