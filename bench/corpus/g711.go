package corpus

import "dialler/media/g711"

// nearest returns, for every 16-bit value, the closest one that a law can represent.
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
			out[k] = int16(i - 32768)
			if last >= 0 && k-last < i-k {
				out[k] = int16(last - 32768)
			}
		}
		last = i
	}
	for k := last + 1; k < len(out); k++ {
		out[k] = int16(last - 32768)
	}
	return &out
}

var ulawTrip, alawTrip = nearest(g711.FromUlaw), nearest(g711.FromAlaw)

func trip(x []int16, table *[65536]int16) {
	for i, v := range x {
		x[i] = table[int(v)+32768]
	}
}
