package botlink

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
)

// WebSocket framing of our messages (RFC 6455 §5). The library's writer allocates per message and
// may block; ours builds a masked frame in one pooled buffer that goes out in one write.

const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA

	// headRoom is the longest header of a client's frame: 2 + 8 + 4 for the mask.
	headRoom = 14
)

type scratch struct{ b []byte }

// scratches holds buffers for frames under construction.
var scratches = sync.Pool{New: func() any { return &scratch{b: make([]byte, 0, 512)} }}

// maxScratch is the largest buffer that is returned to the pool.
const maxScratch = 64 << 10

func getScratch() *scratch {
	s := scratches.Get().(*scratch)
	s.b = append(s.b[:0], make([]byte, headRoom)...)
	return s
}

func putScratch(s *scratch) {
	if cap(s.b) <= maxScratch {
		scratches.Put(s)
	}
}

// finish masks the payload after the head room in b and returns the complete frame. It changes b.
func finish(op byte, b []byte) []byte {
	payload := b[headRoom:]
	// The mask must not be predictable to whoever chose the payload (§5.3); the runtime's generator
	// is seeded from the system and is ChaCha8.
	key := rand.Uint32() //nolint:gosec // see above
	start := headRoom - 4
	binary.LittleEndian.PutUint32(b[start:], key)
	const final, masked = 0x80, 0x80
	switch n := len(payload); {
	case n < 126:
		start -= 2
		b[start], b[start+1] = final|op, masked|byte(n)
	case n <= 0xFFFF:
		start -= 4
		b[start], b[start+1] = final|op, masked|126
		binary.BigEndian.PutUint16(b[start+2:], uint16(n))
	default:
		start -= 10
		b[start], b[start+1] = final|op, masked|127
		binary.BigEndian.PutUint64(b[start+2:], uint64(n))
	}
	xor(payload, key)
	return b[start:]
}

func xor(b []byte, key uint32) {
	wide := uint64(key) | uint64(key)<<32
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= byte(wide >> (8 * i)) //nolint:gosec // the low byte is meant
	}
}
