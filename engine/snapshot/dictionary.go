package snapshot

import "encoding/binary"

// The texts of a stream are numbered, so that one that was written lately is only referred to, by its
// number. Short texts are as short as that, and long ones hardly come twice.
const (
	leastWord = 3
	mostWord  = 55
	mostWords = 1 << 13 // that are referred to: the last ones
	slotCount = 1 << 14
)

// wordWriter finds texts by their length and their ends: one may be written again, but is not taken for
// another.
type wordWriter struct {
	count uint64
	slots []wordSlot
}

// wordSlot is a text in one line of the processor's cache.
type wordSlot struct {
	number uint64 // from 1; 0: none
	size   uint8
	text   [mostWord]byte
}

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

func (d *wordWriter) write(b []byte, s string) []byte {
	n := len(s)
	if n >= leastWord && n <= mostWord {
		if d.slots == nil {
			d.slots = make([]wordSlot, slotCount)
		}
		at := &d.slots[slot(s)]
		if at.number > 0 && d.count-at.number < mostWords && string(at.text[:at.size]) == s {
			return binary.AppendUvarint(b, (at.number-1)%mostWords<<1|1)
		}
		d.count++
		at.number, at.size = d.count, uint8(n) //nolint:gosec // small
		copy(at.text[:], s)
	}
	return append(binary.AppendUvarint(b, uint64(n)<<1), s...)
}

// wordReader has the last texts by their numbers.
type wordReader struct {
	count int
	list  []string
}

func (d *wordReader) read(r *reader) string {
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
		if len(d.list) < mostWords {
			d.list = append(d.list, s)
		} else {
			d.list[d.count%mostWords] = s
		}
		d.count++
	}
	return s
}
