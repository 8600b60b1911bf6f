package snapshot

import "encoding/binary"

// dictionary numbers the texts of a stream, so that one that was written lately is only referred to.
// Writer and reader keep the same last ones, each at its place.
type dictionary struct {
	list []string
	next int // the oldest of a full list
	// slots are where a writer looks for a text: by its length and its ends, so that a text may be
	// written again, but not taken for another.
	slots []uint32 // place in the list, plus 1
}

// Bounds of a dictionary: short texts are as short as their place, and long ones hardly come twice.
const (
	leastWord = 3
	mostWord  = 200
	mostWords = 1 << 13
	slotCount = 1 << 14
)

// slot is where a text of at least leastWord bytes is looked for.
func slot(s string) uint64 {
	n := len(s)
	h := uint64(n)
	if n < 8 {
		for i := range n {
			h = h<<8 | uint64(s[i])
		}
	} else {
		h ^= eight(s) * 0x9e3779b97f4a7c15
		h ^= eight(s[n-8:]) * 0xd6e8feb86659fd93
		h ^= eight(s[n/2-4:])
	}
	h *= 0x9e3779b97f4a7c15
	return h >> (64 - 14)
}

func eight(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 |
		uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (d *dictionary) write(b []byte, s string) []byte {
	n := len(s)
	if n < leastWord || n > mostWord {
		return append(binary.AppendUvarint(b, uint64(n)<<1), s...)
	}
	if d.slots == nil {
		d.slots = make([]uint32, slotCount)
	}
	at := &d.slots[slot(s)]
	if *at > 0 && d.list[*at-1] == s {
		return binary.AppendUvarint(b, uint64(*at-1)<<1|1)
	}
	*at = uint32(d.add(string([]byte(s)))) + 1 //nolint:gosec // small; a copy, since it may be part of something large
	return append(binary.AppendUvarint(b, uint64(n)<<1), s...)
}

// add keeps a text, in the place of the oldest when there are too many, and returns its place.
func (d *dictionary) add(s string) int {
	if len(d.list) < mostWords {
		d.list = append(d.list, s)
		return len(d.list) - 1
	}
	at := d.next
	d.list[at] = s
	d.next = (d.next + 1) % mostWords
	return at
}

func (d *dictionary) read(r *reader) string {
	n := r.uint()
	if n&1 != 0 {
		if n>>1 >= uint64(len(d.list)) {
			r.fail(errShort)
			return ""
		}
		return d.list[n>>1]
	}
	if n>>1 > uint64(len(r.b)) {
		r.fail(errShort)
		return ""
	}
	s := string(r.take(int(n >> 1)))
	if len(s) >= leastWord && len(s) <= mostWord {
		d.add(s)
	}
	return s
}
