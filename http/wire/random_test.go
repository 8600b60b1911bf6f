package wire

import "testing"

func TestKeysAreDrawnEvenly(t *testing.T) {
	count := map[rune]int{}
	const draws = 62 * 2000
	for _, c := range RandomText(draws) {
		count[c]++
	}
	for _, c := range randomAlphabet {
		if n := count[c]; n < 1700 || n > 2300 { // over six sigma
			t.Errorf("%q came %d times", c, n)
		}
	}
}
