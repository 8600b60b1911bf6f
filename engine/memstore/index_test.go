package memstore

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAnIndexIsASortedListHoweverItGrew(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var x index[int]
	var want []item[int]
	check := func() {
		t.Helper()
		from := rnd.Int64N(100)
		var got []item[int]
		for e := range x.from(from) {
			got = append(got, *e)
		}
		slices.SortStableFunc(want, func(a, b item[int]) int {
			return cmp.Or(a.compare(b.at, b.place),
				cmp.Compare(a.of, b.of))
		})
		slices.SortStableFunc(got, func(a, b item[int]) int {
			return cmp.Or(a.compare(b.at, b.place),
				cmp.Compare(a.of, b.of))
		})
		i, _ := slices.BinarySearchFunc(want, from, func(e item[int], at int64) int { return cmp.Compare(e.at, at) })
		if x.size != len(want) || !slices.Equal(got, want[i:]) {
			t.Fatalf("%d entries of %d from %d, want %d of %d", len(got), x.size, from, len(want)-i, len(want))
		}
		for b := range x.blocks {
			if n := len(x.blocks[b]); n == 0 || n > blockCap {
				t.Fatalf("a block of %d", n)
			}
		}
	}
	for i := range 20_000 {
		if len(want) == 0 || rnd.IntN(5) < 3 {
			e := item[int]{rnd.Int64N(100), rnd.Int64N(40), i} // some have both keys in common
			if i < 3000 {
				e.at, e.place = 50, int64(i) // as when a list is loaded
			}
			x.add(e.at, e.place, e.of)
			want = append(want, e)
		} else {
			k := rnd.IntN(len(want))
			x.remove(want[k].at, want[k].place, want[k].of)
			want = slices.Delete(want, k, k+1)
		}
		if i%500 == 0 {
			check()
		}
	}
	for _, e := range want {
		x.remove(e.at, e.place, e.of)
	}
	if x.remove(1, 1, 1); x.size != 0 || x.first() != nil || len(x.blocks) != 0 {
		t.Errorf("%d are left in %d blocks", x.size, len(x.blocks))
	}
}
