package media

// G.722 (ITU-T G.722, 64 kbit/s): 16 kHz in two sub-bands of 8 kHz each, the
// lower with six bits a sample and the upper with two. One byte is two samples
// of 16 kHz. The names of the tables and of the blocks are those of the
// recommendation; all arithmetic is its 16-bit arithmetic.

// qmf are the 24 taps of the filter that splits and joins the bands: every
// second one, the others are the same in reverse (table 11).
var qmf = [12]int32{3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11}

// Of the lower band: decision levels (Q6), output codes for negative and
// positive differences, output levels of the quantiser with six bits (QM6) and
// four (QM4), and what they do to the scale factor (WL by RL42).
var (
	g722Q6 = [30]int32{0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940,
		1023, 1121, 1219, 1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919}
	g722ILN = [31]byte{0, 63, 62, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
		10, 9, 8, 7, 6, 5, 4}
	g722ILP = [31]byte{0, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39,
		38, 37, 36, 35, 34, 33, 32}
	g722QM6 = [64]int32{-136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232,
		-9360, -8576, -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688,
		-1360, -1040, -728, 24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576,
		6000, 5456, 4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136}
	g722QM4 = [16]int32{0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0}
	g722WL4 = [16]int32{-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60}
)

// Of the upper band, by output code.
var (
	g722QM2 = [4]int32{-7408, -1616, 7408, 1616}
	g722WH2 = [4]int32{798, -214, 798, -214}
)

// g722ILB is the antilogarithm of the scale factor, in 32 steps an octave.
var g722ILB = [32]int32{2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834,
	2896, 2960, 3025, 3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008}

func clip16(v int32) int32 { return min(max(v, -32768), 32767) }

// subband is the adaptive predictor and scale factor of one band; encoder and
// decoder keep the same.
type subband struct {
	det int32 // scale factor
	nb  int32 // its logarithm
	s   int32 // the predicted sample
	sz  int32 // its part from the zeros
	a   [2]int32
	b   [6]int32
	d   [6]int32 // differences, newest first
	r   [2]int32 // reconstructed samples
	p   [2]int32 // partially reconstructed ones
}

// scale adapts the scale factor: LOGSCL and SCALEL, or LOGSCH and SCALEH.
func (s *subband) scale(step, limit, shift int32) {
	s.nb = min(max(s.nb*127>>7+step, 0), limit)
	v := g722ILB[s.nb>>6&31]
	if n := shift - s.nb>>11; n < 0 {
		v <<= -n
	} else {
		v >>= n
	}
	s.det = v << 2
}

// adapt moves the predictor on by the quantised difference d (block 4).
func (s *subband) adapt(d int32) {
	r := clip16(s.s + d)
	p := clip16(s.sz + d)
	same := func(a, b int32) bool { return a>>15 == b>>15 } // in sign, 0 being positive

	// UPPOL2 and UPPOL1, the poles.
	w := clip16(s.a[0] << 2)
	if same(p, s.p[0]) {
		w = min(-w, 32767)
	}
	a2 := w >> 7
	if same(p, s.p[1]) {
		a2 += 128
	} else {
		a2 -= 128
	}
	a2 = min(max(a2+s.a[1]*32512>>15, -12288), 12288)
	a1 := s.a[0] * 32640 >> 15
	if same(p, s.p[0]) {
		a1 += 192
	} else {
		a1 -= 192
	}
	limit := 15360 - a2
	s.a = [2]int32{min(max(a1, -limit), limit), a2}

	// UPZERO, the zeros.
	step := int32(128)
	if d == 0 {
		step = 0
	}
	for i := range s.b {
		v := s.b[i] * 32640 >> 15
		if same(d, s.d[i]) {
			v += step
		} else {
			v -= step
		}
		s.b[i] = clip16(v)
	}

	copy(s.d[1:], s.d[:5])
	s.d[0] = d
	s.r[1], s.r[0] = s.r[0], r
	s.p[1], s.p[0] = s.p[0], p

	// FILTEP, FILTEZ and PREDIC.
	sp := clip16(s.a[0]*clip16(2*s.r[0])>>15 + s.a[1]*clip16(2*s.r[1])>>15)
	var sz int32
	for i := range s.b {
		sz += s.b[i] * clip16(2*s.d[i]) >> 15
	}
	s.sz = clip16(sz)
	s.s = clip16(sp + s.sz)
}

// g722 is one direction of a stream.
type g722 struct {
	low, high subband
	delay     [24]int32 // of the filter, oldest first
}

func newG722() g722 { return g722{low: subband{det: 32}, high: subband{det: 8}} }

// push takes the two newest samples of the filter and gives the sums over the
// older and the newer of each pair.
func (g *g722) push(a, b int32) (older, newer int32) {
	copy(g.delay[:22], g.delay[2:])
	g.delay[22], g.delay[23] = a, b
	for i := range qmf {
		older += g.delay[2*i] * qmf[i]
		newer += g.delay[2*i+1] * qmf[11-i]
	}
	return older, newer
}

// encode codes pairs of 16 kHz samples, one byte a pair; dst has room for half
// as many bytes as there are samples.
func (g *g722) encode(dst []byte, pcm []int16) int {
	n := len(pcm) / 2
	for i := range n {
		older, newer := g.push(int32(pcm[2*i]), int32(pcm[2*i+1]))
		dst[i] = g.quantise(clip15((newer+older)>>14), clip15((newer-older)>>14))
	}
	return n
}

func clip15(v int32) int32 { return min(max(v, -16384), 16383) }

// quantise codes one sample of each band and adapts.
func (g *g722) quantise(low, high int32) byte {
	l, h := &g.low, &g.high
	e := clip16(low - l.s)
	w := e
	if e < 0 {
		w = -(e + 1)
	}
	// The first decision level above; the levels rise.
	from, to := 1, 30
	for from < to {
		m := (from + to) / 2
		if w < g722Q6[m]*l.det>>12 {
			to = m
		} else {
			from = m + 1
		}
	}
	il := g722ILP[from]
	if e < 0 {
		il = g722ILN[from]
	}
	l.lower(il)

	e = clip16(high - h.s)
	w, ih := e, byte(3)
	if e < 0 {
		w, ih = -(e + 1), 1
	}
	if w >= 564*h.det>>12 {
		ih--
	}
	h.upper(ih)
	return ih<<6 | il
}

// lower adapts the lower band by its code; the two least bits have no part in
// that, so that a network may take them away.
func (s *subband) lower(code byte) {
	d := s.det * g722QM4[code>>2] >> 15
	s.scale(g722WL4[code>>2], 18432, 8)
	s.adapt(d)
}

func (s *subband) upper(code byte) (d int32) {
	d = s.det * g722QM2[code] >> 15
	s.scale(g722WH2[code], 22528, 10)
	s.adapt(d)
	return d
}

// decode gives two samples of 16 kHz for every byte; dst has room for them.
func (g *g722) decode(dst []int16, src []byte) int {
	for i, c := range src {
		low := clip15(g.low.s + g.low.det*g722QM6[c&63]>>15)
		g.low.lower(c & 63)
		predicted := g.high.s
		high := clip15(predicted + g.high.upper(c>>6))
		older, newer := g.push(low+high, low-high)
		dst[2*i] = int16(clip16(newer >> 11))   //nolint:gosec // clipped
		dst[2*i+1] = int16(clip16(older >> 11)) //nolint:gosec // clipped
	}
	return 2 * len(src)
}
