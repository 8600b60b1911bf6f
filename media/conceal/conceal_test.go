package conceal

import (
	"math"
	"testing"

	"dialler/media/codec"
	"dialler/media/g711"
)

// vowel is n samples in μ-law with a pitch of period samples and overtones.
func vowel(n, period int) []byte {
	b := make([]byte, n)
	for i := range b {
		w := 2 * math.Pi * float64(i) / float64(period)
		b[i] = g711.ToUlaw(int16(4000*math.Sin(w) + 2000*math.Sin(2*w+1) + 1500*math.Sin(3*w+2)))
	}
	return b
}

func TestALostVowelGoesOnAtItsPitchAndFades(t *testing.T) {
	for _, period := range []int{45, 64, 80, 133} {
		said := vowel(8*codec.FrameBytes, period)
		var p Past
		for i := range 4 {
			p.Keep(said[i*codec.FrameBytes:(i+1)*codec.FrameBytes], codec.Ulaw)
		}
		var made [5][codec.FrameBytes]byte
		for i := range made {
			if ok := p.Lose(made[i][:]); ok != (i < Frames) {
				t.Fatalf("frame %d of the loss is made up: %v", i+1, ok)
			}
		}
		if p.pitch%period != 0 {
			t.Errorf("a pitch of %d is taken for %d", period, p.pitch)
		}
		var s, e float64
		for i := range fadeFrom { // at full level: the continuation
			x, y := float64(codec.UlawToPCM[said[4*codec.FrameBytes+i]]), float64(codec.UlawToPCM[made[0][i]])
			s, e = s+x*x, e+(x-y)*(x-y)
		}
		if snr := 10 * math.Log10(s/e); snr < 20 {
			t.Errorf("pitch %d: %.1f dB of what was lost", period, snr)
		}
		power := func(b []byte) (sum float64) {
			for _, u := range b {
				sum += math.Pow(float64(codec.UlawToPCM[u]), 2)
			}
			return sum
		}
		if a, b, c := power(made[0][:]), power(made[1][:]), power(made[2][:]); b >= a || c >= b/2 || c == 0 {
			t.Errorf("it fades from %.0f over %.0f to %.0f", a, b, c)
		}
	}
}

func TestWhatIsHeardAgainBeginsWithoutAStep(t *testing.T) {
	var p Past
	said := vowel(6*codec.FrameBytes, 64)
	for i := range 3 {
		p.Keep(said[i*codec.FrameBytes:(i+1)*codec.FrameBytes], codec.Ulaw)
	}
	var made [codec.FrameBytes]byte
	p.Lose(made[:])
	again := vowel(codec.FrameBytes, 50) // at another point of its period
	first := again[0]
	p.Join(again, codec.Ulaw)
	last, now := int(codec.UlawToPCM[made[codec.FrameBytes-1]]), int(codec.UlawToPCM[again[0]])
	if step := size(now - last); step > 3000 {
		t.Errorf("a step of %d, from %d to %d where %d came", step, last, now, codec.UlawToPCM[first])
	}
	if b := append([]byte(nil), again...); p.made != 0 {
		t.Errorf("the loss is not over: %v", b[0])
	}
	untouched := append([]byte(nil), again...)
	if p.Join(again, codec.Ulaw); string(untouched) != string(again) {
		t.Error("without a loss audio is changed")
	}
}

func TestAfterNothingHeardALossIsSilence(t *testing.T) {
	var p Past
	var frame [codec.FrameBytes]byte
	if p.Lose(frame[:]) {
		t.Error("something was made of nothing")
	}
	p.Keep(frame[:], codec.Ulaw)
	p.Keep(frame[:], codec.Alaw) // the other law starts afresh
	if p.Lose(frame[:]) {
		t.Error("20 ms are no period of a pitch")
	}
}

func TestConcealmentDoesNotAllocate(t *testing.T) {
	var p Past
	frame := vowel(codec.FrameBytes, 64)
	var made [codec.FrameBytes]byte
	if n := testing.AllocsPerRun(100, func() {
		p.Keep(frame, codec.Ulaw)
		p.Keep(frame, codec.Ulaw)
		p.Lose(made[:])
		p.Join(made[:], codec.Ulaw)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkConceal(b *testing.B) {
	var p Past
	frame := vowel(codec.FrameBytes, 64)
	p.Keep(frame, codec.Ulaw)
	p.Keep(frame, codec.Ulaw)
	for b.Loop() {
		p.made = 0
		p.Lose(frame)
	}
}

func size(i int) int { return max(i, -i) }
