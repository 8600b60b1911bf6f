package jitter

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzReorder checks that packets come out in the order of their numbers, each at most once and
// unchanged; few are held back, and none after a flush.
func FuzzReorder(f *testing.F) {
	f.Add([]byte{1, 1, 1, 3, 255, 1, 1, 200, 2, 254}, uint16(65530))
	f.Add([]byte{1, 250, 250, 250, 1, 128, 1, 128, 1}, uint16(3))
	f.Fuzz(func(t *testing.T, steps []byte, seq uint16) {
		var r Buffer
		last, began := uint16(0), false
		out, in := 0, 0
		deliver := func(ts uint32, _ uint8, payload []byte) {
			got := uint16(ts)
			if len(payload) != int(got%7) || len(payload) > 0 && payload[0] != byte(got) {
				t.Fatalf("packet %d holds %x", got, payload)
			}
			// Numbers go back only after a restart, which is a jump from the next expected one.
			if step := int16(got - last); began && step <= 0 && step > -RestartGap {
				t.Fatalf("packet %d after %d", got, last)
			}
			last, began = got, true
			out++
		}
		for i, step := range steps {
			switch {
			case step == 0:
				r.Flush(deliver)
				continue
			case step == 128: // a restart of the far side
				seq += 1000
			default:
				seq += uint16(int16(int8(step)))
			}
			r.Window = i % (WindowCap + 1)
			in++
			r.Put(seq, uint32(seq), 0, bytes.Repeat([]byte{byte(seq)}, int(seq%7)), deliver)
			held := 0
			for _, p := range r.held {
				if p != nil {
					held++
				}
			}
			if held != r.Holding || held > WindowCap {
				t.Fatalf("%d packets are held, %d counted", held, r.Holding)
			}
		}
		r.Flush(deliver)
		if r.Holding != 0 || out > in || r.Received != uint64(in) {
			t.Fatalf("%d in, %d out, %d held", in, out, r.Holding)
		}
		r.Reset()
	})
}

func TestAWindowThatBecomesSmallerLetsWhatIsHeldGo(t *testing.T) {
	var r Buffer
	var got []uint32
	put := func(seq uint16, most int) {
		r.Window = most
		r.Put(seq, uint32(seq), 0, []byte{1}, func(ts uint32, _ uint8, _ []byte) { got = append(got, ts) })
	}
	put(10, 3)
	put(13, 3) // waits for 11 and 12
	put(12, 1) // in longer packets: at most one may wait now
	if !slices.Equal(got, []uint32{10, 12, 13}) || r.Lost != 1 || r.Holding != 0 {
		t.Fatalf("%v, %d lost, %d held", got, r.Lost, r.Holding)
	}
}

func TestReorder(t *testing.T) {
	f := func(in, want []uint16, lost, late uint64) {
		t.Helper()
		var r Buffer
		var got []uint16
		for _, seq := range in {
			r.Put(seq, uint32(seq), 0, []byte{1}, func(ts uint32, _ uint8, _ []byte) { got = append(got, uint16(ts)) })
		}
		r.Flush(func(ts uint32, _ uint8, _ []byte) { got = append(got, uint16(ts)) })
		if len(got) != len(want) {
			t.Fatalf("%v gives %v", in, got)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v gives %v", in, got)
			}
		}
		if r.Lost != lost || r.Late != late || r.Holding != 0 {
			t.Fatalf("%v: lost %d, late %d", in, r.Lost, r.Late)
		}
	}
	type s = []uint16
	f(s{1, 2, 3}, s{1, 2, 3}, 0, 0)
	f(s{65534, 0, 65535, 1}, s{65534, 65535, 0, 1}, 0, 0)
	f(s{1, 3, 2, 5, 4}, s{1, 2, 3, 4, 5}, 0, 0)
	f(s{1, 4, 3, 2}, s{1, 2, 3, 4}, 0, 0)
	f(s{1, 3, 4, 5, 6, 2}, s{1, 3, 4, 5, 6}, 1, 1)
	f(s{1, 1, 2, 2}, s{1, 2}, 0, 2)
	f(s{1, 3, 3, 2}, s{1, 2, 3}, 0, 1)
	f(s{1, 50, 51}, s{1, 50, 51}, 48, 0)
	f(s{1, 3}, s{1, 3}, 1, 0)
	f(s{1, 9000, 9001, 9002}, s{1, 9001, 9002}, 0, 0) // a restart needs two consecutive packets
	f(s{1, 9000, 2, 3}, s{1, 2, 3}, 0, 0)
}

func TestTheReorderingWindowFollowsTheNetwork(t *testing.T) {
	var r Buffer
	seq := uint16(0)
	put := func(s uint16) { r.Put(s, 0, 0, []byte{1}, func(uint32, uint8, []byte) {}) }
	lose := func(times int) {
		for range times { // one lost, ten received
			seq++
			for range 10 {
				put(seq)
				seq++
			}
		}
	}
	put(65535)
	if lose(2); r.window() != defaultWindow {
		t.Fatalf("a window of %d after a few losses", r.window())
	}
	if lose(3 * futileWaits); r.window() != 1 {
		t.Fatalf("a window of %d where what is lost never comes", r.window())
	}
	lost := r.Lost
	for range 20 { // every second packet one place late
		for _, s := range []uint16{0, 3, 4, 2, 1, 5} {
			put(seq + s)
		}
		seq += 6
	}
	if r.window() != defaultWindow || r.Lost-lost > 8 {
		t.Fatalf("a window of %d where they come late, %d given up", r.window(), r.Lost-lost)
	}
}
