package fleet

import (
	"cmp"
	"slices"
	"time"
)

// rotation is how long a seat left over by rounding stays with one holder.
const rotation = 5 * time.Minute

// claim is what one holder may claim in a division.
type claim struct {
	holder Holder
	want   int
	weight int
	share  int
}

// targets divides the seats: dialout first gets what it wants of its reserve or, if that is more,
// its fair share of all seats; the campaigns divide the rest, which excludes an unused reserve.
func (f *Fleet) targets(now time.Time) map[Holder]int {
	claims := make([]claim, 0, len(f.holders))
	for h, a := range f.holders {
		claims = append(claims, claim{holder: h, want: a.want, weight: a.weight})
	}
	turn := now.UnixNano() / int64(rotation)
	divide(claims, f.usable(), turn)
	if reserve := min(f.reserve, f.usable()); reserve > 0 {
		dialout := 0
		i := slices.IndexFunc(claims, func(c claim) bool { return c.holder == Dialout })
		var own claim
		if i >= 0 {
			own = claims[i]
			dialout = max(own.share, min(own.want, reserve))
			claims = slices.Delete(claims, i, i+1)
		}
		divide(claims, f.usable()-max(dialout, reserve), turn)
		if i >= 0 {
			own.share = dialout
			claims = append(claims, own)
		}
	}
	targets := make(map[Holder]int, len(claims))
	for _, c := range claims {
		targets[c.holder] = c.share
	}
	return targets
}

// divide sets the shares of a weighted max-min fair division of whole seats (progressive filling):
// claims below their part of what is left get what they want, the others divide the rest by weight.
func divide(claims []claim, seats int, turn int64) {
	// Sorted by want per weight, the next claim to be satisfied is the next in order.
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.want*b.weight, b.want*a.weight), cmp.Compare(a.holder, b.holder))
	})
	weights := 0
	for i := range claims {
		claims[i].share = 0
		weights += claims[i].weight
	}
	for i := range claims {
		c := &claims[i]
		if c.want*weights > seats*c.weight {
			divideRest(claims[i:], seats, weights, turn)
			return
		}
		c.share = c.want
		seats -= c.want
		weights -= c.weight
	}
}

// divideRest divides seats among claims that all want more than their part: whole parts first, then
// one more seat each to the largest remainders, ties by turns.
func divideRest(claims []claim, seats, weights int, turn int64) {
	type remainder struct{ i, rest, order int }
	left := seats
	rests := make([]remainder, len(claims))
	slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.holder, b.holder) })
	n := int64(len(claims))
	for i := range claims {
		c := &claims[i]
		c.share = seats * c.weight / weights
		left -= c.share
		rests[i] = remainder{i, seats * c.weight % weights, int((int64(i) - turn%n + n) % n)}
	}
	slices.SortFunc(rests, func(a, b remainder) int {
		return cmp.Or(cmp.Compare(b.rest, a.rest), cmp.Compare(a.order, b.order))
	})
	for _, r := range rests[:left] {
		claims[r.i].share++
	}
}
