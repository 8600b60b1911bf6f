package codec

// G.722 (ITU-T G.722, 64 kbit/s): 16 kHz in two sub-bands of 8 kHz each, the lower with six bits
// per sample and the upper with two. One byte holds a sample of each. Only the lower band is
// implemented: it is what a bot at 8 kHz hears and says. The names of the tables and blocks are
// those of the recommendation, and so is the 16-bit arithmetic.

// Tables of the lower band: decision levels (Q6), output codes for negative and positive
// differences, output levels of the quantiser with six bits (QM6) and four (QM4), and their effect
// on the scale factor (WL by RL42).
var (
	g722Q6 = [30]int32{0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940,
		1023, 1121, 1219, 1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919}
	g722ILN = [32]byte{0, 63, 62, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
		10, 9, 8, 7, 6, 5, 4}
	g722ILP = [32]byte{0, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39,
		38, 37, 36, 35, 34, 33, 32}
	g722QM6 = [64]int32{-136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232,
		-9360, -8576, -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688,
		-1360, -1040, -728, 24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576,
		6000, 5456, 4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136}
	g722QM4 = [16]int32{
		0,
		-20456,
		-12896,
		-8968,
		-6288,
		-4240,
		-2584,
		-1200,
		20456,
		12896,
		8968,
		6288,
		4240,
		2584,
		1200,
		0,
	}
	g722WL4 = [16]int32{-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60}
)

// g722ILB is the antilogarithm of the scale factor, in 32 steps an octave.
var g722ILB = [32]int32{2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834,
	2896, 2960, 3025, 3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008}

// Derived from the tables above, so that no sample needs a search, a shift by a variable or an
// unpredictable branch: these cost several times more than all the arithmetic.
var (
	// g722Level maps the ratio of difference and scale factor (Q12) to the first decision level
	// that is not below it; 30 means none.
	g722Level = func() (t [4096]byte) {
		for y := range t {
			m := 1
			for m < len(g722Q6) && int(g722Q6[m]) < y {
				m++
			}
			t[y] = byte(m)
		}
		return t
	}()
	// g722IL are the output codes: those of positive differences, then those of
	// negative ones.
	g722IL = func() (t [64]byte) {
		copy(t[:], g722ILP[:])
		copy(t[32:], g722ILN[:])
		return t
	}()
	// g722DetL maps the logarithm of the scale factor to the factor (SCALEL).
	g722DetL = antilogs(8)
)

func antilogs(shift int) (t [512]int32) {
	for i := range t {
		v := g722ILB[i&31]
		if n := shift - i>>5; n < 0 {
			v <<= min(-n, 2) // no more are in use
		} else {
			v >>= n
		}
		t[i] = v << 2
	}
	return t
}

func clip16(v int32) int32 { return min(max(v, -32768), 32767) }

// subband is the adaptive predictor and scale factor of one band; encoder and decoder keep the same
// state.
type subband struct {
	det    int32    // scale factor
	nb     int32    // its logarithm
	s      int32    // the predicted sample
	sz     int32    // its part from the zeros
	a1, a2 int32    // poles
	b      [6]int32 // zeros
	d      [6]int32 // differences, doubled, newest first
	r      int32    // the last reconstructed sample, doubled
	p1, p2 int32    // the last partially reconstructed samples
}

// signed returns v where mask is 0, and -v where it is -1.
func signed(v, mask int32) int32 { return v ^ mask - mask }

// adapt updates the predictor by the quantised difference d (block 4).
func (s *subband) adapt(d int32) {
	r := clip16(s.s + d)
	p := clip16(s.sz + d)
	// 0 where the signs are equal (0 counts as positive), otherwise -1.
	m1, m2 := (p^s.p1)>>31, (p^s.p2)>>31
	s.p1, s.p2 = p, s.p1

	// UPPOL2 and UPPOL1, which update the poles.
	w := min(signed(clip16(s.a1<<2), ^m1), 32767)
	a2 := min(max(w>>7+signed(128, m2)+s.a2*32512>>15, -12288), 12288)
	limit := 15360 - a2
	a1 := min(max(s.a1*32640>>15+signed(192, m1), -limit), limit)
	s.a1, s.a2 = a1, a2

	// UPZERO, which updates the zeros. The leak keeps them within 16 bits.
	step := (d | -d) >> 31 & 128
	d = clip16(2 * d)
	d0, d1, d2, d3, d4 := s.d[0], s.d[1], s.d[2], s.d[3], s.d[4]
	b0 := s.b[0]*255>>8 + signed(step, (d^d0)>>31)
	b1 := s.b[1]*255>>8 + signed(step, (d^d1)>>31)
	b2 := s.b[2]*255>>8 + signed(step, (d^d2)>>31)
	b3 := s.b[3]*255>>8 + signed(step, (d^d3)>>31)
	b4 := s.b[4]*255>>8 + signed(step, (d^d4)>>31)
	b5 := s.b[5]*255>>8 + signed(step, (d^s.d[5])>>31)
	// One by one: an array literal would be built elsewhere and copied.
	s.b[0], s.b[1], s.b[2], s.b[3], s.b[4], s.b[5] = b0, b1, b2, b3, b4, b5
	s.d[0], s.d[1], s.d[2], s.d[3], s.d[4], s.d[5] = d, d0, d1, d2, d3, d4

	// FILTEP, FILTEZ and PREDIC.
	r = clip16(2 * r)
	sp := clip16(a1*r>>15 + a2*s.r>>15)
	s.r = r
	s.sz = clip16(b0*d>>15 + b1*d0>>15 + b2*d1>>15 + b3*d2>>15 + b4*d3>>15 + b5*d4>>15)
	s.s = clip16(sp + s.sz)
}

func newLower() subband { return subband{det: 32} }

func clip15(v int32) int32 { return min(max(v, -16384), 16383) }

// quantise codes a sample of the lower band and adapts.
func (s *subband) quantise(low int32) (code byte) {
	// A difference w is below a level q when w < q·det/4096, rounded down; that is, when q is at
	// least (w+1)·4096/det, rounded up.
	e := clip16(low - s.s)
	w := e ^ e>>31                                                          // -(e+1) if e is negative
	y := (uint32(w+1)<<12 + uint32(s.det-1)) / uint32(s.det)                //nolint:gosec // not negative
	code = g722IL[uint32(e)>>26&32|uint32(g722Level[min(y, 4095)&4095])&31] //nolint:gosec // the sign
	s.lower(code)
	return code
}

// lower adapts the lower band by its code; the two least significant bits play no part in that, so
// that a network may drop them.
func (s *subband) lower(code byte) {
	code = code >> 2 & 15
	d := s.det * g722QM4[code] >> 15
	s.nb = min(max(s.nb*127>>7+g722WL4[code], 0), 18432)
	s.det = g722DetL[s.nb>>6&511]
	s.adapt(d)
}

// sample decodes a sample of the lower band.
func (s *subband) sample(code byte) int32 {
	v := clip15(s.s + s.det*g722QM6[code&63]>>15)
	s.lower(code & 63)
	return v
}
