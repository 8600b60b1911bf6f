package voice

// Codec is a G.711 law.
type Codec uint8

// The two laws of ITU-T G.711.
const (
	PCMU Codec = iota
	PCMA
)

// Rate is the sample rate of every signal, in Hz.
const Rate = 8000

// FrameSamples is the length of a 20 ms frame, in samples and, for G.711, in
// bytes.
const FrameSamples = Rate / 50

const (
	muBias = 0x84
	muClip = 32635
)

// Encode appends the G.711 octets of pcm to dst.
func (c Codec) Encode(dst []byte, pcm []int16) []byte {
	for _, s := range pcm {
		if c == PCMA {
			dst = append(dst, encodeA(s))
		} else {
			dst = append(dst, encodeMu(s))
		}
	}
	return dst
}

// Decode appends the samples of payload to dst.
func (c Codec) Decode(dst []int16, payload []byte) []int16 {
	t := &tables[c]
	for _, b := range payload {
		dst = append(dst, t[b])
	}
	return dst
}

// Level is the mean magnitude of a payload, on the scale of 16-bit samples.
func (c Codec) Level(payload []byte) int {
	if len(payload) == 0 {
		return 0
	}
	t := &tables[c]
	sum := 0
	for _, b := range payload {
		if s := int(t[b]); s < 0 {
			sum -= s
		} else {
			sum += s
		}
	}
	return sum / len(payload)
}

var tables = func() (t [2][256]int16) {
	for i := range 256 {
		t[PCMU][i] = decodeMu(byte(i))
		t[PCMA][i] = decodeA(byte(i))
	}
	return t
}()

// encodeMu follows G.711 §3.2: sign, 3-bit segment, 4-bit step, inverted.
func encodeMu(s int16) byte {
	v, sign := int(s), byte(0)
	if v < 0 {
		v, sign = -v, 0x80
	}
	v = min(v, muClip) + muBias
	segment := byte(7)
	for mask := 0x4000; v&mask == 0 && segment > 0; mask >>= 1 {
		segment--
	}
	return ^(sign | segment<<4 | byte(v>>(segment+3)&0x0f))
}

func decodeMu(b byte) int16 {
	b = ^b
	segment := b >> 4 & 7
	v := (int(b&0x0f)<<3 + muBias) << segment
	v -= muBias
	if b&0x80 != 0 {
		v = -v
	}
	return int16(v) //nolint:gosec // at most 32124
}

// encodeA follows G.711 §3.1 on 13-bit magnitudes; even bits are inverted.
func encodeA(s int16) byte {
	v, sign := int(s)>>3, byte(0x80)
	if v < 0 {
		v, sign = -v-1, 0
	}
	var out byte
	if v < 32 {
		out = byte(v >> 1) //nolint:gosec // below 16
	} else {
		segment := byte(1)
		for w := v >> 6; w > 0 && segment < 7; w >>= 1 {
			segment++
		}
		out = segment<<4 | byte(v>>segment&0x0f)
	}
	return (out | sign) ^ 0x55
}

func decodeA(b byte) int16 {
	b ^= 0x55
	segment := b >> 4 & 7
	v := int(b&0x0f)<<4 + 8
	if segment > 0 {
		v = (v + 0x100) << (segment - 1)
	}
	if b&0x80 == 0 {
		v = -v
	}
	return int16(v)
}
