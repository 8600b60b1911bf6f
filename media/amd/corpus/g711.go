package corpus

// G.711 (ITU-T G.711), the laws of files and of round trips.

func ulaw(u byte) int16 {
	u = ^u
	v := (int(u&0x0F)<<3+0x84)<<(u>>4&7) - 0x84
	if u&0x80 != 0 {
		v = -v
	}
	return int16(v) //nolint:gosec // at most 32124
}

func alaw(a byte) int16 {
	a ^= 0x55
	v := int(a&0x0F)<<4 + 8
	if seg := a >> 4 & 7; seg > 0 {
		v = (v + 0x100) << (seg - 1)
	}
	if a&0x80 == 0 {
		v = -v
	}
	return int16(v) //nolint:gosec // at most 32256
}

// nearest gives, for every 16-bit value, the closest that a law can say.
func nearest(decode func(byte) int16) *[65536]int16 {
	var said [65536]bool
	for i := range 256 {
		said[int(decode(byte(i)))+32768] = true
	}
	var out [65536]int16
	last := -1
	for i := range said {
		if !said[i] {
			continue
		}
		for k := last + 1; k <= i; k++ {
			out[k] = int16(i - 32768) //nolint:gosec // 16 bits
			if last >= 0 && k-last < i-k {
				out[k] = int16(last - 32768) //nolint:gosec // 16 bits
			}
		}
		last = i
	}
	for k := last + 1; k < len(out); k++ {
		out[k] = int16(last - 32768) //nolint:gosec // 16 bits
	}
	return &out
}

var ulawTrip, alawTrip = nearest(ulaw), nearest(alaw)

func trip(x []int16, table *[65536]int16) {
	for i, v := range x {
		x[i] = table[int(v)+32768]
	}
}
