package gateway

import (
	"reflect"
	"testing"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/enginetest"

	"pgregory.net/rapid"
)

// crosses says that a filled and an empty value come out as they went in; local clears what never leaves its
// node.
func crosses[T any](t *testing.T, describe func(wire, *T), local ...func(*T)) {
	t.Helper()
	at := link.Moment{Now: time.Unix(1_700_000_000, 0).UTC(), Boot: 77}
	read := func(b []byte) (v T, whole bool) {
		r := link.Reader(b, at)
		describe(wire{r}, &v)
		return v, r.Whole()
	}
	for _, full := range []bool{true, false} {
		var in T
		if full {
			in = enginetest.Filled[T]()
			for _, clear := range local {
				clear(&in)
			}
		}
		b := link.Write(at, func(w *link.Wire) { describe(wire{w}, &in) })
		if out, whole := read(b); !whole || !reflect.DeepEqual(in, out) {
			t.Errorf("%T (full %v): sent %+v, got %+v (whole %v)", in, full, in, out, whole)
		}
		for cut := range b { // no truncated prefix is read beyond its end
			if _, whole := read(b[:cut]); whole {
				t.Fatalf("%T: %d of %d bytes were taken for all", in, cut, len(b))
			}
		}
	}
}

func TestEveryFieldCrossesTheWire(t *testing.T) {
	// A call that came in is answered by the node that it came to.
	crosses(t, wire.placeLeg, func(p *engine.PlaceLeg) { p.Incoming = false })
	crosses(t, wire.legEvent)
	crosses(t, wire.recoveredLeg)
	crosses(t, wire.hangUpCause)
	crosses(t, wire.profile)
	crosses(t, wire.openMedia, func(o *engine.OpenMedia) { o.Offered = nil })
	crosses(t, wire.attachAhead)
	crosses(t, wire.openSocket)
	crosses(t, wire.socketEvent)
	crosses(t, wire.mediaEvent)
	crosses(t, wire.quality)
}

func TestNoBytesBreakTheReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")
		r := func() wire { return wire{link.Reader(b, link.Moment{})} }
		r().legEvent(&engine.LegEvent{})
		r().mediaEvent(&engine.MediaEvent{})
		r().placeLeg(&engine.PlaceLeg{})
		r().attachAhead(&engine.AttachBot{})
		r().openSocket(&engine.OpenSocket{})
		r().socketEvent(&engine.SocketEvent{})
		r().quality(&engine.MediaQuality{})
	})
}

// A message that a node decodes, it can encode again.
func FuzzMessage(f *testing.F) {
	at := link.Moment{Now: time.Unix(1_700_000_000, 0).UTC(), Boot: 77}
	place, event := enginetest.Filled[engine.PlaceLeg](), enginetest.Filled[engine.LegEvent]()
	bot, heard := enginetest.Filled[engine.AttachBot](), enginetest.Filled[engine.MediaEvent]()
	for _, m := range []*message{
		{kind: kPlace, place: &place}, {kind: kLegEvent, onLeg: &event}, {kind: kAttachBot, bot: &bot},
		{kind: kMediaEvent, onMedia: &heard},
		{kind: kSendDigits, text: "12#"}, {kind: kAdopt, epoch: 3, legs: []engine.LegID{"a.1"}}, {kind: kForget},
	} {
		f.Add(link.Write(at, m.say))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(b []byte) (m message, whole bool) {
			r := link.Reader(b, at)
			wire{r}.message(&m)
			return m, r.Whole()
		}
		m, whole := read(b)
		if !whole {
			return
		}
		said := link.Write(at, m.say)
		again, whole := read(said)
		if !whole || len(link.Write(at, again.say)) != len(said) {
			t.Fatalf("read %+v, and again %+v (%v)", m, again, whole)
		}
	})
}
