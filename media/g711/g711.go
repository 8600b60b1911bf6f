// Package g711 converts the two laws of telephone audio (ITU-T G.711), one byte per sample: for
// calls, for files and for data made from recordings.
package g711

// FromUlaw decodes a byte of μ-law to a sample.
func FromUlaw(u byte) int16 {
	u = ^u
	v := (int(u&0x0F)<<3+0x84)<<(u>>4&7) - 0x84
	if u&0x80 != 0 {
		v = -v
	}
	return int16(v) //nolint:gosec // at most 32124
}

// FromAlaw decodes a byte of A-law to a sample.
func FromAlaw(a byte) int16 {
	a ^= 0x55
	v := int(a&0x0F)<<4 + 8
	if seg := a >> 4 & 7; seg > 0 {
		v = (v + 0x100) << (seg - 1)
	}
	if a&0x80 == 0 {
		v = -v
	}
	return int16(v)
}

// ToUlaw encodes a sample as a byte of μ-law.
func ToUlaw(s int16) byte {
	const bias, clip = 0x84, 32635
	v, sign := int(s), byte(0)
	if v < 0 {
		v, sign = -v, 0x80
	}
	v = min(v, clip) + bias
	seg := byte(7)
	for mask := 0x4000; v&mask == 0 && seg > 0; mask >>= 1 {
		seg--
	}
	return ^(sign | seg<<4 | byte(v>>(seg+3)&0x0F))
}

// ToAlaw encodes a sample as a byte of A-law.
func ToAlaw(s int16) byte {
	v, sign := int(s), byte(0x80)
	if v < 0 {
		v, sign = -v-1, 0
	}
	v = min(v, 32767)
	seg := byte(7)
	for mask := 0x4000; v&mask == 0 && seg > 0; mask >>= 1 {
		seg--
	}
	var a byte
	if seg == 0 {
		a = byte(v >> 4) //nolint:gosec // below 16
	} else {
		a = seg<<4 | byte(v>>(seg+3)&0x0F)
	}
	return (a | sign) ^ 0x55
}
