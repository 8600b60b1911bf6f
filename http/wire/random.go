package wire

import "crypto/rand"

// randomAlphabet contains the characters of random texts.
const randomAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// RandomText draws characters without bias: bytes beyond the largest multiple of the alphabet's
// size are discarded.
func RandomText(n int) string {
	const fair = 256 - 256%len(randomAlphabet)
	out := make([]byte, 0, n)
	var pool [64]byte
	for len(out) < n {
		_, _ = rand.Read(pool[:]) // never fails
		for _, b := range pool {
			if int(b) < fair && len(out) < n {
				out = append(out, randomAlphabet[int(b)%len(randomAlphabet)])
			}
		}
	}
	return string(out)
}
