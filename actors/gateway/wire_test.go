package gateway

import (
	"bytes"
	"reflect"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/enginetest"
)

// crosses says that a filled and an empty value come out as they went in.
func crosses[T any](t *testing.T, describe func(*wire, *T)) {
	t.Helper()
	at := reading{now: time.Unix(1_700_000_000, 0).UTC(), boot: 77}
	for _, full := range []bool{true, false} {
		var in, out T
		if full {
			in = enginetest.Filled[T]()
		}
		w := wire{clock: at}
		describe(&w, &in)
		whole := w.b
		r := wire{b: whole, reading: true, clock: at}
		describe(&r, &out)
		if r.bad || len(r.b) > 0 || !reflect.DeepEqual(in, out) {
			t.Errorf("%T (full %v): sent %+v, got %+v (bad %v, %d bytes left)", in, full, in, out, r.bad, len(r.b))
		}
		for cut := range whole { // none of its beginnings is read beyond its end
			var part T
			p := wire{b: whole[:cut], reading: true, clock: at}
			describe(&p, &part)
			if !p.bad {
				t.Fatalf("%T: %d of %d bytes were taken for all", in, cut, len(whole))
			}
		}
	}
}

func TestEveryFieldCrossesTheWire(t *testing.T) {
	crosses(t, (*wire).placeLeg)
	crosses(t, (*wire).legEvent)
	crosses(t, (*wire).recoveredLeg)
	crosses(t, (*wire).hangUpCause)
	crosses(t, (*wire).profile)
	crosses(t, (*wire).openMedia)
	crosses(t, (*wire).attachBot)
	crosses(t, (*wire).mediaEvent)
	crosses(t, (*wire).quality)
}

func TestNoBytesBreakTheReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")
		_, _ = decodeFrame(append([]byte{frameVersion}, b...))
		r := func() *wire { return &wire{b: b, reading: true} }
		r().legEvent(&engine.LegEvent{})
		r().mediaEvent(&engine.MediaEvent{})
		r().placeLeg(&engine.PlaceLeg{})
		r().attachBot(&engine.AttachBot{})
		r().quality(&engine.MediaQuality{})
	})
}

// What a node makes of a frame, it can say again.
func FuzzFrame(f *testing.F) {
	at := reading{now: time.Unix(1_700_000_000, 0).UTC(), boot: 77}
	place, event := enginetest.Filled[engine.PlaceLeg](), enginetest.Filled[engine.LegEvent]()
	bot, heard := enginetest.Filled[engine.AttachBot](), enginetest.Filled[engine.MediaEvent]()
	whole := frame{from: 3, to: 4, stamp: 5, echo: 6, held: 7, hello: true, missing: true, ack: 8, first: 9}
	for _, m := range []*message{
		{kind: kPlace, place: &place}, {kind: kLegEvent, onLeg: &event}, {kind: kAttachBot, bot: &bot}, {kind: kMediaEvent, onMedia: &heard},
		{kind: kSendDigits, text: "12#"}, {kind: kAdopt, epoch: 3, legs: []engine.LegID{"a.1"}}, {kind: kForget},
	} {
		whole.items = append(whole.items, m.encode(at))
		one := whole
		one.items = whole.items[len(whole.items)-1:]
		f.Add(one.encode())
	}
	f.Add(whole.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeFrame(b)
		if err != nil {
			return
		}
		if again, err := decodeFrame(got.encode()); err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("read %+v, and again %+v (%v)", got, again, err)
		}
		for _, item := range got.items {
			m, err := decodeMessage(item, at)
			if err != nil {
				continue
			}
			said := m.encode(at)
			again, err := decodeMessage(said, at)
			if err != nil || len(again.encode(at)) != len(said) {
				t.Fatalf("read %+v, and again %+v (%v)", m, again, err)
			}
		}
	})
}

// A length that another node claims costs nothing: memory is taken for what was
// read.
func TestAClaimedLengthTakesNoMemory(t *testing.T) {
	const claimed = 1 << 19 // as many bytes follow, none of which is an element
	hostile := func(describe func(*wire)) []byte {
		w := wire{}
		describe(&w)
		n := uint64(claimed)
		w.unsigned(&n)
		return append(w.b, bytes.Repeat([]byte{0xff}, claimed)...)
	}
	read := map[string]func(){}
	add := func(name string, b []byte, f func(*wire)) {
		read[name] = func() { f(&wire{b: b, reading: true}) }
	}
	bare := hostile(func(*wire) {})
	add("list", bare, func(w *wire) { list(w, new([]engine.SIPHeader), func(h *engine.SIPHeader) { text(w, &h.Name) }) })
	add("table", bare, func(w *wire) { table(w, new(map[string]string), func(s *string) { text(w, s) }) })
	head := frame{from: 3, to: 4}
	body := head.encode()
	framed := append(body[:len(body)-1:len(body)-1], bare...)
	read["frame"] = func() { _, _ = decodeFrame(framed) }
	for name, f := range read {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 {
			t.Errorf("%s: %d bytes were taken for a claim of %d elements", name, took, claimed)
		}
	}
}

func TestAFrameHasNoMoreItemsThanAreEverUnderWay(t *testing.T) {
	f := frame{from: 3, to: 4, items: make([][]byte, windowItems)}
	if _, err := decodeFrame(f.encode()); err != nil {
		t.Errorf("a full frame: %v", err)
	}
	f.items = append(f.items, nil)
	if _, err := decodeFrame(f.encode()); err == nil {
		t.Error("a frame with more items was read")
	}
}

func TestAFrameIsWhatWasSentOrNothing(t *testing.T) {
	f := frame{from: 3, to: 4, stamp: 5, echo: 6, held: 7, hello: true, missing: true, ack: 8, first: 9, items: [][]byte{{1, 2}, {}, {3}}}
	b := f.encode()
	got, err := decodeFrame(b)
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Fatalf("sent %+v, got %+v (%v)", f, got, err)
	}
	for cut := range b {
		if _, err := decodeFrame(b[:cut]); err == nil {
			t.Fatalf("%d of %d bytes were taken for a frame", cut, len(b))
		}
	}
	if _, err := decodeFrame(make([]byte, frameCap+1)); err == nil {
		t.Fatal("a frame over the cap was read")
	}
}

// Whatever the delays and the clocks are, the bounds hold the true difference,
// and a send-by time is never later on the node that sends than on the one that
// gave it.
func TestASendByTimeIsNeverLaterOnAnotherNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := engine.BootTime(rapid.Int64Range(-1e15, 1e15).Draw(t, "truth")) // ours − theirs
		delay := rapid.Int64Range(0, 2e9)
		var o offset
		now := engine.BootTime(1e16)
		for range rapid.IntRange(1, 20).Draw(t, "frames") {
			// We send, they get it, hold it, answer.
			echo := now
			got := echo + engine.BootTime(delay.Draw(t, "there"))
			held := time.Duration(delay.Draw(t, "held"))
			theirs := got.Add(held)
			now = theirs + engine.BootTime(delay.Draw(t, "back"))
			o.observe(now, theirs-truth, echo, held)
			now += engine.BootTime(rapid.Int64Range(0, 60e9).Draw(t, "pause"))
			r := o.read(time.Unix(0, 0), now)
			if !o.known || o.least > time.Duration(truth) || o.most < time.Duration(truth) {
				t.Fatalf("the difference %d is not within %d … %d", truth, o.least, o.most)
			}
			w := wire{}
			sendBy := now - truth + 5e9 // on their clock
			w.sendBy(&sendBy)
			in := wire{b: w.b, reading: true, clock: r}
			var here engine.BootTime
			in.sendBy(&here)
			if here > now+5e9 {
				t.Fatalf("the send-by time moved from %d to %d", now+5e9, here)
			}
		}
	})
}
