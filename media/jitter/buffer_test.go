package jitter

import (
	"bytes"
	"cmp"
	"math/rand/v2"
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
		out, in, now := 0, 0, int64(0)
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
			now += int64(i%7) * 10 * millis
			switch {
			case step == 0:
				r.Flush(deliver)
				continue
			case step == 129:
				r.Expire(now, deliver)
				continue
			case step == 128: // a restart of the far side
				seq += 1000
			default:
				seq += uint16(int16(int8(step)))
			}
			in++
			r.Put(now, seq, uint32(seq), 0, bytes.Repeat([]byte{byte(seq)}, int(seq%7)), deliver)
			if len(r.held) > HeldCap || r.Holding() && r.since > now || r.patience > patienceCap {
				t.Fatalf("%d packets are held since %d at %d, for %d", len(r.held), r.since, now, r.patience)
			}
		}
		r.Flush(deliver)
		if r.Holding() || out > in || r.Received != uint64(in) {
			t.Fatalf("%d in, %d out, %d held", in, out, len(r.held))
		}
		r.Reset()
	})
}

// stream feeds packets of 20 ms to a buffer, as they are sent every 20 ms.
type stream struct {
	Buffer
	now int64
	got []uint16
}

func (s *stream) deliver(ts uint32, _ uint8, _ []byte) { s.got = append(s.got, uint16(ts)) }

func (s *stream) put(list ...uint16) {
	for _, seq := range list {
		s.Put(s.now, seq, uint32(seq), 0, []byte{1}, s.deliver)
	}
}

func TestReorder(t *testing.T) {
	f := func(in, want []uint16, lost, late uint64) {
		t.Helper()
		var s stream
		for _, seq := range in {
			s.put(seq)
			s.now += 20 * millis
		}
		s.Flush(s.deliver)
		if !slices.Equal(s.got, want) {
			t.Fatalf("%v gives %v", in, s.got)
		}
		if s.Lost != lost || s.Late != late || s.Holding() {
			t.Fatalf("%v: lost %d, late %d", in, s.Lost, s.Late)
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

func TestAPacketMayOvertakeManyOthers(t *testing.T) {
	var s stream
	s.put(1, 17, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	if len(s.got) != 17 || !slices.IsSorted(s.got) || s.Lost != 0 {
		t.Fatalf("%v, %d lost", s.got, s.Lost)
	}
}

// TestAMissingPacketIsWaitedForAsLongAsItsLikeTook delays packets by up to a time, any order.
func TestAMissingPacketIsWaitedForAsLongAsItsLikeTook(t *testing.T) {
	f := func(jitter int64, lossCap int) {
		t.Helper()
		const packets = 4000
		rng := rand.New(rand.NewPCG(7, uint64(jitter)))
		type arrival struct {
			at  int64
			seq uint16
		}
		list := make([]arrival, packets)
		for i := range list {
			list[i] = arrival{int64(i)*20*millis + rng.Int64N(jitter*millis+1), uint16(i)}
		}
		slices.SortFunc(list, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
		var s stream
		tick := int64(0)
		for _, a := range list {
			for ; tick <= a.at; tick += 20 * millis {
				s.Expire(tick, s.deliver)
			}
			s.now = a.at
			s.put(a.seq)
		}
		s.Flush(s.deliver)
		if s.Lost > uint64(lossCap) || !slices.IsSorted(s.got) {
			t.Fatalf("%d ms: %d lost of %d", jitter, s.Lost, packets)
		}
	}
	f(30, 0)
	f(80, 0)
	f(150, packetsLost)
	f(200, packetsLost)
}

// packetsLost is what it may cost to learn a jitter of more than the first patience.
const packetsLost = 4

func TestTheWaitFollowsTheNetwork(t *testing.T) {
	var s stream
	seq := uint16(0)
	lose := func(times int) {
		for range times { // one lost, ten received
			seq++
			s.now += 20 * millis
			for range 10 {
				s.put(seq)
				seq++
				s.now += 20 * millis
				s.Expire(s.now, s.deliver)
			}
		}
	}
	s.put(65535)
	if lose(2); s.wait() != patienceFirst {
		t.Fatalf("a wait of %d ms after a few losses", s.wait()/millis)
	}
	if lose(3 * futileWaits); s.wait() != patienceLeast {
		t.Fatalf("a wait of %d ms where what is lost never comes", s.wait()/millis)
	}
	lost := s.Lost
	late := func(times int, by int64) {
		for range times {
			s.put(seq+1, seq+2)
			s.now += by
			s.Expire(s.now, s.deliver)
			s.put(seq)
			seq += 3
			s.now += 60 * millis
		}
	}
	if late(40, 120*millis); s.Lost-lost > 1 || s.wait() != 140*millis {
		t.Fatalf("a wait of %d ms where packets come 120 ms late, %d lost", s.wait()/millis, s.Lost-lost)
	}
	lost = s.Lost
	if late(8*seasonWaits, 1*millis); s.Lost != lost || s.wait() > 25*millis {
		t.Fatalf("a wait of %d ms where they come 1 ms late", s.wait()/millis)
	}
}
