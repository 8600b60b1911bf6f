package memstore

import (
	"cmp"
	"slices"
	"sort"
)

// item is one entry of an index: its two keys and its value.
type item[T comparable] struct {
	at, place int64
	of        T
}

func (i *item[T]) compare(at, place int64) int {
	return cmp.Or(cmp.Compare(i.at, at), cmp.Compare(i.place, place))
}

// blockCap is how many entries a block of an index holds: moving half of them
// costs less than following pointers would.
const blockCap = 512

// index is a sorted list of entries in blocks. Adding, removing and finding an entry cost a binary
// search and moving a part of one block.
type index[T comparable] struct {
	blocks [][]item[T]
	size   int
}

// find returns the place of the first entry that is not before the keys.
func (x *index[T]) find(at, place int64) (b, i int) {
	b = sort.Search(len(x.blocks), func(k int) bool {
		block := x.blocks[k]
		return block[len(block)-1].compare(at, place) >= 0
	})
	if b == len(x.blocks) {
		return b, 0
	}
	block := x.blocks[b]
	return b, sort.Search(len(block), func(k int) bool { return block[k].compare(at, place) >= 0 })
}

func (x *index[T]) add(at, place int64, of T) {
	x.size++
	b, i := x.find(at, place)
	if last := len(x.blocks) - 1; b > last {
		// Appending, as when a list is loaded: blocks are filled completely.
		if last < 0 || len(x.blocks[last]) == blockCap {
			x.blocks = append(x.blocks, nil)
			last++
		}
		x.blocks[last] = append(x.blocks[last], item[T]{at, place, of})
		return
	}
	if block := x.blocks[b]; len(block) == blockCap {
		const half = blockCap / 2
		x.blocks = slices.Insert(x.blocks, b+1, append(make([]item[T], 0, blockCap), block[half:]...))
		clear(block[half:])
		x.blocks[b] = block[:half]
		if i > half {
			b, i = b+1, i-half
		}
	}
	x.blocks[b] = slices.Insert(x.blocks[b], i, item[T]{at, place, of})
}

// remove removes an entry if it is there.
func (x *index[T]) remove(at, place int64, of T) {
	for b, i := x.find(at, place); b < len(x.blocks); b, i = b+1, 0 {
		block := x.blocks[b]
		for ; i < len(block); i++ {
			if block[i].compare(at, place) != 0 {
				return
			}
			if block[i].of != of {
				continue
			}
			x.size--
			if x.blocks[b] = slices.Delete(block, i, i+1); len(x.blocks[b]) == 0 {
				x.blocks = slices.Delete(x.blocks, b, b+1)
			}
			return
		}
	}
}

// first returns the first entry, nil if there is none.
func (x *index[T]) first() *item[T] {
	if len(x.blocks) == 0 {
		return nil
	}
	return &x.blocks[0][0]
}

// from yields, in order, the entries whose first key is not less than at. The index must not change
// meanwhile.
func (x *index[T]) from(at int64) func(yield func(*item[T]) bool) {
	return func(yield func(*item[T]) bool) {
		c := x.cursor(at)
		for e := c.next(); e != nil; e = c.next() {
			if !yield(e) {
				return
			}
		}
	}
}

// cursor iterates over an index from a first key on.
type cursor[T comparable] struct {
	blocks [][]item[T]
	i      int
}

func (x *index[T]) cursor(at int64) cursor[T] {
	b, i := x.find(at, minKey)
	return cursor[T]{x.blocks[b:], i}
}

const minKey = -1 << 63

// next returns the next entry, nil at the end.
func (c *cursor[T]) next() *item[T] {
	if len(c.blocks) == 0 {
		return nil
	}
	e := &c.blocks[0][c.i]
	if c.i++; c.i == len(c.blocks[0]) {
		c.blocks, c.i = c.blocks[1:], 0
	}
	return e
}
