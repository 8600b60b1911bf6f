package draw

import "math/rand/v2"

// Rand returns the generator of the n-th thing called name under a seed. Equal arguments give equal
// sequences.
func Rand(seed uint64, name string, n int) *rand.Rand {
	h := Hash(seed, name, n)
	return rand.New(rand.NewPCG(h, mix(h^0x9e3779b97f4a7c15))) //nolint:gosec // drawn again from the seed, no secret
}

// Hash folds a seed, a name and a count into 64 well-mixed bits: FNV-1a over
// the name, finished with the splitmix64 finaliser, because neighbouring
// telephone numbers differ in one digit only.
func Hash(seed uint64, name string, n int) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := 0; i < len(name); i++ {
		h ^= uint64(name[i])
		h *= 0x100000001b3
	}
	return mix(mix(h^mix(seed)) + uint64(n)) //nolint:gosec // wrapping is intended
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Index picks an index with a probability in proportion to its weight; -1
// when no weight is above zero.
func Index(r *rand.Rand, n int, weight func(i int) float64) int {
	var total float64
	for i := range n {
		total += max(0, weight(i))
	}
	if total <= 0 {
		return -1
	}
	at := r.Float64() * total
	last := -1
	for i := range n {
		w := max(0, weight(i))
		if w == 0 {
			continue
		}
		last = i
		if at < w {
			return i
		}
		at -= w
	}
	return last
}
