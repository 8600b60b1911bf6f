package codec

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"dialler/media/g711"
)

func tone16(n int, hz, level float64) []int16 {
	out := make([]int16, n)
	for i := range out {
		out[i] = int16(level * math.Sin(2*math.Pi*hz*float64(i)/16000))
	}
	return out
}

// snr is the signal-to-noise ratio in dB at the best of the delays.
func snr(in, out []int16, delays ...int) (best float64, delay int) {
	best = math.Inf(-1)
	for _, d := range delays {
		var s, e float64
		for i := 400; i+d < len(out) && i < len(in); i++ { // after the start
			x, y := float64(in[i]), float64(out[i+d])
			s += x * x
			e += (x - y) * (x - y)
		}
		if v := 10 * math.Log10(s/max(e, 1)); v > best {
			best, delay = v, d
		}
	}
	return best, delay
}

func through(pcm []int16) []int16 {
	e, d := newG722(), newG722()
	coded := make([]byte, len(pcm)/2)
	e.encode(coded, pcm)
	out := make([]int16, len(pcm))
	d.decode(out, coded)
	return out
}

func TestG722CarriesTonesOfBothBands(t *testing.T) {
	for hz, least := range map[float64]float64{200: 35, 1000: 35, 3000: 30, 5000: 15, 6500: 15} {
		in := tone16(16000, hz, 8000)
		if got, delay := snr(in, through(in), 20, 21, 22, 23, 24); got < least || delay != 22 {
			t.Errorf("%v Hz: %.1f dB at a delay of %d samples, want %v and 22", hz, got, delay, least)
		}
	}
}

func TestG722SilenceStaysSilent(t *testing.T) {
	for _, s := range through(make([]int16, 3200)) {
		if s > 4 || s < -4 {
			t.Fatalf("silence became %d", s)
		}
	}
}

// The filter alone: joined again, the bands equal the input, 22 samples later.
func TestG722BandsJoinToTheInput(t *testing.T) {
	var split, join [qmfTaps]int32
	push := func(x *[qmfTaps]int32, a, b int32) (older, newer int32) {
		copy(x[:], x[2:])
		x[qmfPast], x[qmfPast+1] = a, b
		return joined(x)
	}
	in := tone16(4000, 3900, 9000) // where the bands meet
	out := make([]int16, len(in))
	for i := 0; i < len(in); i += 2 {
		older, newer := push(&split, int32(in[i]), int32(in[i+1]))
		low, high := (newer+older)>>14, (newer-older)>>14
		older, newer = push(&join, low+high, low-high)
		out[i], out[i+1] = int16(newer>>11), int16(older>>11)
	}
	if got, delay := snr(in, out, 20, 21, 22, 23, 24); got < 50 || delay != 22 {
		t.Fatalf("%.1f dB at %d", got, delay)
	}
}

// A tone of the callee reaches the bot, and the bot's reaches the callee, at the same level;
// frequencies beyond 8 kHz sampling do not alias to lower tones.
func TestG722IsHeardAsNarrowBandAndBack(t *testing.T) {
	power := func(pcm []int16) (p float64) {
		for _, s := range pcm {
			p += float64(s) * float64(s) / float64(len(pcm))
		}
		return p
	}
	narrow := func(hz float64) float64 {
		far, us := newG722(), NewWideband()
		coded := make([]byte, 8000)
		far.encode(coded, tone16(16000, hz, 8000))
		var heard []int16
		for at := 0; at < len(coded); at += 240 { // 30 ms packets
			for _, u := range us.Decode(coded[at:min(at+240, len(coded))]) {
				heard = append(heard, UlawToPCM[u])
			}
		}
		return 10 * math.Log10(power(heard[800:])/(8000*8000/2))
	}
	for _, hz := range []float64{300, 1000, 3200} {
		if g := narrow(hz); math.Abs(g) > 0.5 {
			t.Errorf("%v Hz reach the bot at %.2f dB", hz, g)
		}
	}
	if g := narrow(5500); g > -35 {
		t.Errorf("5500 Hz reach the bot at %.1f dB", g)
	}
	us, far := NewWideband(), newG722()
	spoken := make([]byte, 8000)
	for i := range spoken {
		spoken[i] = g711.ToUlaw(int16(8000 * math.Sin(2*math.Pi*1000*float64(i)/8000)))
	}
	us.Encode(spoken)
	heard := make([]int16, 16000)
	far.decode(heard, spoken)
	var at1000, at7000 float64
	for hz, p := range map[float64]*float64{1000: &at1000, 7000: &at7000} {
		var re, im float64
		for i, s := range heard[1600:] {
			sin, cos := math.Sincos(2 * math.Pi * hz * float64(i) / 16000)
			re, im = re+float64(s)*cos, im+float64(s)*sin
		}
		*p = 2 * math.Hypot(re, im) / 14400
	}
	if math.Abs(at1000-8000) > 300 || at7000 > 40 {
		t.Errorf("the callee hears %.0f at 1 kHz and %.0f of its image at 7 kHz", at1000, at7000)
	}
}

// The codec's output for a given input must not change through optimisation.
func TestG722GivesTheSameBytes(t *testing.T) {
	var pcm []int16
	x := uint32(1)
	for i := range 32000 { // noise that swells and fades, beyond full scale at times
		x = x*1664525 + 1013904223
		pcm = append(pcm, int16(float64(int16(x>>16))*math.Abs(math.Sin(float64(i)/2000))))
	}
	e, d := newG722(), newG722()
	coded := make([]byte, len(pcm)/2)
	e.encode(coded, pcm)
	out := make([]int16, len(pcm))
	d.decode(out, coded)
	h := fnv.New64a()
	h.Write(coded)
	for _, s := range out {
		h.Write([]byte{byte(s), byte(s >> 8)})
	}
	if got := h.Sum64(); got != 0x6a77c41b363f0a6b {
		t.Fatalf("%#x", got)
	}
}

func TestG722DoesNotAllocate(t *testing.T) {
	w := NewWideband()
	b := make([]byte, FrameBytes)
	if n := testing.AllocsPerRun(200, func() {
		w.Encode(b)
		w.Decode(b)
	}); n != 0 {
		t.Fatalf("%v allocations a frame", n)
	}
}

func FuzzG722(f *testing.F) {
	f.Add([]byte{0, 255, 128, 127, 63, 192})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := NewWideband()
		if got := w.Decode(b); len(got) != min(len(b), payloadMost) {
			t.Fatalf("%d bytes of %d", len(got), len(b))
		}
	})
}

func BenchmarkG722Frame(b *testing.B) {
	w := NewWideband()
	frame := make([]byte, FrameBytes)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(frame)
	b.ReportAllocs()
	for b.Loop() {
		w.Encode(frame)
		copy(frame, w.Decode(frame))
	}
}
