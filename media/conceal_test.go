package media

import (
	"math"
	"testing"

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
		said := vowel(8*frameBytes, period)
		var p past
		for i := range 4 {
			p.keep(said[i*frameBytes:(i+1)*frameBytes], codecUlaw)
		}
		var made [5][frameBytes]byte
		for i := range made {
			if ok := p.lose(made[i][:]); ok != (i < pastFrames) {
				t.Fatalf("frame %d of the loss is made up: %v", i+1, ok)
			}
		}
		if p.pitch%period != 0 {
			t.Errorf("a pitch of %d is taken for %d", period, p.pitch)
		}
		var s, e float64
		for i := range fadeFrom { // at full level what would have come
			x, y := float64(ulawToPCM[said[4*frameBytes+i]]), float64(ulawToPCM[made[0][i]])
			s, e = s+x*x, e+(x-y)*(x-y)
		}
		if snr := 10 * math.Log10(s/e); snr < 20 {
			t.Errorf("pitch %d: %.1f dB of what was lost", period, snr)
		}
		power := func(b []byte) (sum float64) {
			for _, u := range b {
				sum += math.Pow(float64(ulawToPCM[u]), 2)
			}
			return sum
		}
		if a, b, c := power(made[0][:]), power(made[1][:]), power(made[2][:]); b >= a || c >= b/2 || c == 0 {
			t.Errorf("it fades from %.0f over %.0f to %.0f", a, b, c)
		}
	}
}

func TestWhatIsHeardAgainBeginsWithoutAStep(t *testing.T) {
	var p past
	said := vowel(6*frameBytes, 64)
	for i := range 3 {
		p.keep(said[i*frameBytes:(i+1)*frameBytes], codecUlaw)
	}
	var made [frameBytes]byte
	p.lose(made[:])
	again := vowel(frameBytes, 50) // elsewhere in its period
	first := again[0]
	p.join(again, codecUlaw)
	last, now := int(ulawToPCM[made[frameBytes-1]]), int(ulawToPCM[again[0]])
	if step := abs(now - last); step > 3000 {
		t.Errorf("a step of %d, from %d to %d where %d came", step, last, now, ulawToPCM[first])
	}
	if b := append([]byte(nil), again...); p.made != 0 {
		t.Errorf("the loss is not over: %v", b[0])
	}
	untouched := append([]byte(nil), again...)
	if p.join(again, codecUlaw); string(untouched) != string(again) {
		t.Error("without a loss audio is changed")
	}
}

func TestAfterNothingHeardALossIsSilence(t *testing.T) {
	var p past
	var frame [frameBytes]byte
	if p.lose(frame[:]) {
		t.Error("something was made of nothing")
	}
	p.keep(frame[:], codecUlaw)
	p.keep(frame[:], codecAlaw) // the other law begins anew
	if p.lose(frame[:]) {
		t.Error("20 ms are no period of a pitch")
	}
}

func TestConcealmentDoesNotAllocate(t *testing.T) {
	var p past
	frame := vowel(frameBytes, 64)
	var made [frameBytes]byte
	if n := testing.AllocsPerRun(100, func() {
		p.keep(frame, codecUlaw)
		p.keep(frame, codecUlaw)
		p.lose(made[:])
		p.join(made[:], codecUlaw)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkConceal(b *testing.B) {
	var p past
	frame := vowel(frameBytes, 64)
	p.keep(frame, codecUlaw)
	p.keep(frame, codecUlaw)
	for b.Loop() {
		p.made = 0
		p.lose(frame)
	}
}
