package codec

import (
	"testing"

	"dialler/media/g711"
)

func TestG711(t *testing.T) {
	// Corner values of the tables of ITU-T G.711.
	for code, want := range map[byte]int16{0x00: -32124, 0x80: 32124, 0xFF: 0, 0x7F: 0, 0xFE: 8,
		0x7E: -8, 0xF0: 120, 0xEF: 132} {
		if UlawToPCM[code] != want {
			t.Errorf("μ-law %#x is %d, want %d", code, UlawToPCM[code], want)
		}
	}
	for code, want := range map[byte]int16{0xD5: 8, 0x55: -8, 0xAA: 32256, 0x2A: -32256, 0xD4: 24, 0xC5: 264, 0x45: -264} {
		if AlawToPCM[code] != want {
			t.Errorf("A-law %#x is %d, want %d", code, AlawToPCM[code], want)
		}
	}
	for i := range 256 {
		if b := byte(i); b != 0x7F && g711.ToUlaw(UlawToPCM[b]) != b {
			t.Errorf("μ-law %#x does not come back", b)
		}
		if b := byte(i); g711.ToAlaw(AlawToPCM[b]) != b {
			t.Errorf("A-law %#x does not come back", b)
		}
	}
	for s := -32768; s <= 32767; s++ { // the nearest code is chosen, within half a step
		near := func(got int16, step int) bool { d := int(got) - s; return d <= step && d >= -step }
		if got := g711.FromUlaw(g711.ToUlaw(int16(s))); !near(got, max(4, (abs(s)+132)/32+1)) && abs(s) < 32124 {
			t.Fatalf("μ-law of %d is %d", s, got)
		}
		if got := g711.FromAlaw(g711.ToAlaw(int16(s))); !near(got, max(8, abs(s)/32+1)) && abs(s) < 32256 {
			t.Fatalf("A-law of %d is %d", s, got)
		}
	}
}

func abs(i int) int { return max(i, -i) }
