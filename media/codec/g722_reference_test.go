package codec

// g722 is a whole codec, with both bands and the filter that splits and joins them (qmf): it is
// what the far side runs, and what the recommendation's figures apply to. Its lower band is ours.
type g722 struct {
	low, high subband
	past      [qmfPast]int32 // of the filter, oldest first
}

// qmf are every second of the 24 taps of the filter that splits and joins the bands; the others are
// the same in reverse (table 11).
var qmf = [12]int32{3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11}

// Tables of the upper band, by output code.
var (
	g722QM2 = [4]int32{-7408, -1616, 7408, 1616}
	g722WH2 = [4]int32{798, -214, 798, -214}
)

// qmfTaps is the length of the filter, qmfPast the number of earlier samples that it keeps,
// g722Part how many pairs are coded at a time.
const (
	qmfTaps  = 24
	qmfPast  = qmfTaps - 2
	g722Part = FrameBytes
)

func newG722() g722 { return g722{low: newLower(), high: subband{det: 8}} }

// joined returns the sums over the older and the newer samples of each pair.
func joined(x *[qmfTaps]int32) (older, newer int32) {
	older = x[0]*qmf[0] + x[2]*qmf[1] + x[4]*qmf[2] + x[6]*qmf[3] + x[8]*qmf[4] + x[10]*qmf[5] +
		x[12]*qmf[6] + x[14]*qmf[7] + x[16]*qmf[8] + x[18]*qmf[9] + x[20]*qmf[10] + x[22]*qmf[11]
	newer = x[1]*qmf[11] + x[3]*qmf[10] + x[5]*qmf[9] + x[7]*qmf[8] + x[9]*qmf[7] + x[11]*qmf[6] +
		x[13]*qmf[5] + x[15]*qmf[4] + x[17]*qmf[3] + x[19]*qmf[2] + x[21]*qmf[1] + x[23]*qmf[0]
	return older, newer
}

// encode codes pairs of 16 kHz samples, one byte per pair; dst needs half as many bytes as there
// are samples.
func (g *g722) encode(dst []byte, pcm []int16) int {
	n := len(pcm) / 2
	for at := 0; at < n; at += g722Part {
		to := min(at+g722Part, n)
		g.encodePart(dst[at:to], pcm[2*at:2*to])
	}
	return n
}

func (g *g722) encodePart(dst []byte, pcm []int16) {
	var x [qmfPast + 2*g722Part]int32
	copy(x[:], g.past[:])
	for i, v := range pcm {
		x[qmfPast+i] = int32(v)
	}
	for i := range dst {
		older, newer := joined((*[qmfTaps]int32)(x[2*i:]))
		dst[i] = g.quantise(clip15((newer+older)>>14), clip15((newer-older)>>14))
	}
	copy(g.past[:], x[2*len(dst):])
}

// quantise codes one sample of each band and adapts.
func (g *g722) quantise(low, high int32) byte {
	il := g.low.quantise(low)
	h := &g.high
	e := clip16(high - h.s)
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

var g722DetH = antilogs(10) // SCALEH

func (s *subband) upper(code byte) (d int32) {
	code &= 3
	d = s.det * g722QM2[code] >> 15
	s.nb = min(max(s.nb*127>>7+g722WH2[code], 0), 22528)
	s.det = g722DetH[s.nb>>6&511]
	s.adapt(d)
	return d
}

// decode writes two samples at 16 kHz for every byte; dst must have room for them.
func (g *g722) decode(dst []int16, src []byte) int {
	n := 2 * len(src)
	for len(src) > g722Part {
		g.decodePart(dst, src[:g722Part])
		dst, src = dst[2*g722Part:], src[g722Part:]
	}
	g.decodePart(dst, src)
	return n
}

func (g *g722) decodePart(dst []int16, src []byte) {
	var x [qmfPast + 2*g722Part]int32
	copy(x[:], g.past[:])
	for i, c := range src {
		low := g.low.sample(c)
		predicted := g.high.s
		high := clip15(predicted + g.high.upper(c>>6))
		x[qmfPast+2*i], x[qmfPast+2*i+1] = low+high, low-high
	}
	dst = dst[:2*len(src)]
	for i := range src {
		older, newer := joined((*[qmfTaps]int32)(x[2*i:]))
		dst[2*i] = int16(clip16(newer >> 11))
		dst[2*i+1] = int16(clip16(older >> 11))
	}
	copy(g.past[:], x[2*len(src):])
}
