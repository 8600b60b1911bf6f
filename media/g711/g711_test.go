package g711

import "testing"

// values of ITU-T G.711, tables 1a to 2b, at 16 bits.
func TestBytesStandForTheSamplesOfTheRecommendation(t *testing.T) {
	for b, want := range map[byte]int16{0x00: -32124, 0x80: 32124, 0xFF: 0, 0x7F: 0, 0xFE: 8, 0x0F: -16764} {
		if got := FromUlaw(b); got != want {
			t.Errorf("μ-law %#x is %d, want %d", b, got, want)
		}
	}
	for b, want := range map[byte]int16{0x2A: -32256, 0xAA: 32256, 0xD5: 8, 0x55: -8, 0x80: 5504} {
		if got := FromAlaw(b); got != want {
			t.Errorf("A-law %#x is %d, want %d", b, got, want)
		}
	}
}

func TestEverySampleIsCodedAsTheNearestOrItsNeighbour(t *testing.T) {
	for v := -32768; v <= 32767; v++ {
		for name, got := range map[string]int{"μ-law": int(FromUlaw(ToUlaw(int16(v)))),
			"A-law": int(FromAlaw(ToAlaw(int16(v))))} {
			if off := max(got-v, v-got); off > max(16, max(v, -v)/16)+8 {
				t.Fatalf("%s: %d is heard as %d", name, v, got)
			}
		}
	}
	for b := range 256 {
		if back := FromUlaw(ToUlaw(FromUlaw(byte(b)))); back != FromUlaw(byte(b)) {
			t.Errorf("μ-law %#x comes back as %d", b, back)
		}
		if back := FromAlaw(ToAlaw(FromAlaw(byte(b)))); back != FromAlaw(byte(b)) {
			t.Errorf("A-law %#x comes back as %d", b, back)
		}
	}
}
