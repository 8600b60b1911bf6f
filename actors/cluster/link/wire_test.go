package link

import (
	"bytes"
	"dialler/engine"
	"reflect"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAClaimedLengthTakesNoMemory(t *testing.T) {
	const claimed = 1 << 19 // as many bytes follow, none of them a valid element
	hostile := func(describe func(*Wire)) []byte {
		w := Wire{}
		describe(&w)
		n := uint64(claimed)
		w.Unsigned(&n)
		return append(w.b, bytes.Repeat([]byte{0xff}, claimed)...)
	}
	read := map[string]func(){}
	add := func(name string, b []byte, f func(*Wire)) {
		read[name] = func() { f(&Wire{b: b, reading: true}) }
	}
	bare := hostile(func(*Wire) {})
	add(
		"list",
		bare,
		func(w *Wire) { List(w, new([]engine.SIPHeader), func(h *engine.SIPHeader) { Text(w, &h.Name) }) },
	)
	add("table", bare, func(w *Wire) { Table(w, new(map[string]string), func(s *string) { Text(w, s) }) })
	head := frame{from: 3, to: 4, speaks: Version, since: Oldest}
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
	f := frame{from: 3, to: 4, speaks: Version, since: Oldest, items: make([][]byte, windowItems)}
	if _, err := decodeFrame(f.encode()); err != nil {
		t.Errorf("a full frame: %v", err)
	}
	f.items = append(f.items, nil)
	if _, err := decodeFrame(f.encode()); err == nil {
		t.Error("a frame with more items was read")
	}
}

func TestAFrameIsWhatWasSentOrNothing(t *testing.T) {
	f := frame{
		from:    3,
		to:      4,
		speaks:  Version,
		since:   Oldest,
		stamp:   5,
		echo:    6,
		held:    7,
		hello:   true,
		missing: true,
		ack:     8,
		first:   9,
		items:   [][]byte{{1, 2}, {}, {3}},
	}
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
	if _, err := decodeFrame(make([]byte, FrameCap+1)); err == nil {
		t.Fatal("a frame over the cap was read")
	}
}

func TestASendByTimeIsNeverLaterOnAnotherNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := engine.BootTime(rapid.Int64Range(-1e15, 1e15).Draw(t, "truth")) // ours − theirs
		delay := rapid.Int64Range(0, 2e9)
		var o offset
		now := engine.BootTime(1e16)
		for range rapid.IntRange(1, 20).Draw(t, "frames") {
			// We send; they receive, hold, and answer.
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
			w := Wire{}
			sendBy := now - truth + 5e9 // on their clock
			w.SendBy(&sendBy)
			in := Wire{b: w.b, reading: true, clock: r}
			var here engine.BootTime
			in.SendBy(&here)
			if here > now+5e9 {
				t.Fatalf("the send-by time moved from %d to %d", now+5e9, here)
			}
		}
	})
}

func TestNoBytesBreakTheReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes")
		_, _ = decodeFrame(append([]byte{mark}, b...))
		_ = Decode(b, &engine.LegEvent{})
		_ = Decode(b, &engine.Error{})
	})
}

// A frame that a node decodes, it can encode again.
func FuzzFrame(f *testing.F) {
	whole := frame{
		from:    3,
		to:      4,
		speaks:  Version,
		since:   Oldest,
		stamp:   5,
		echo:    6,
		held:    7,
		hello:   true,
		missing: true,
		over:    true,
		ack:     8,
		first:   9,
		items:   [][]byte{{1, 2}, {}, {3}},
	}
	f.Add(whole.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeFrame(b)
		if err != nil || got.common() == 0 {
			return
		}
		if again, err := decodeFrame(got.encode()); err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("read %+v, and again %+v (%v)", got, again, err)
		}
	})
}
