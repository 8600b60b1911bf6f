package flight

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/klauspost/compress/s2"
)

const magic = "dialler flight 1\n"

// Kinds of blocks.
const (
	blockHeader = 'H'
	blockFrames = 'F'
	blockEnd    = 'E'
)

// partSize is how much is packed at once, so that a reader never needs more memory than that for what
// a length says.
const partSize = 1 << 20

const (
	headSize  = 1 + 4 + headCheck
	headCheck = 4
	bodyCheck = 16
)

// Blocks writes a recording. It is not safe for concurrent use.
type Blocks struct {
	to      io.Writer
	sum     hash.Hash // over all bytes so far
	size    int64
	packed  []byte
	part    []byte
	scratch []byte
}

// NewBlocks begins a recording.
func NewBlocks(to io.Writer, h *Header) (*Blocks, error) {
	b := &Blocks{to: to, sum: sha256.New()}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	b.sum.Write([]byte(magic)) // never fails
	n, err := io.WriteString(to, magic)
	if b.size += int64(n); err != nil {
		return nil, err
	}
	return b, b.block(blockHeader, text)
}

// Frames writes a block of whole frames.
func (b *Blocks) Frames(frames []byte) error {
	b.packed = b.packed[:0]
	for len(frames) > 0 {
		n := min(len(frames), partSize)
		b.part = s2.Encode(b.part[:cap(b.part)], frames[:n])
		b.packed = append(binary.AppendUvarint(b.packed, uint64(len(b.part))), b.part...)
		frames = frames[n:]
	}
	return b.block(blockFrames, b.packed)
}

// unpacked is what Frames packed.
func unpacked(b []byte) (frames []byte, err error) {
	var part []byte
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, s2.ErrCorrupt
		}
		packed := b[n : n+int(size)] //nolint:gosec // no more than there is
		if l, err := s2.DecodedLen(packed); err != nil || l > partSize {
			return nil, s2.ErrCorrupt
		}
		if part, err = s2.Decode(part[:cap(part)], packed); err != nil {
			return nil, err
		}
		frames, b = append(frames, part...), b[n+int(size):] //nolint:gosec // likewise
	}
	return frames, nil
}

// End writes the last block.
func (b *Blocks) End(why string) error { return b.block(blockEnd, []byte(why)) }

// Sum is the SHA-256 of all bytes so far, and how many they are.
func (b *Blocks) Sum() ([sha256.Size]byte, int64) { return [sha256.Size]byte(b.sum.Sum(nil)), b.size }

func (b *Blocks) block(kind byte, payload []byte) error {
	if len(payload) > math.MaxInt32 {
		return fmt.Errorf("flight: a block of %d bytes", len(payload))
	}
	s := append(b.scratch[:0], kind)
	s = binary.LittleEndian.AppendUint32(s, uint32(len(payload))) //nolint:gosec // it fits
	s = append(s, check(b.sum, s)[:headCheck]...)
	b.sum.Write(s[5:])
	s = append(s, payload...)
	s = append(s, check(b.sum, payload)[:bodyCheck]...)
	b.sum.Write(s[len(s)-bodyCheck:])
	b.scratch = s
	n, err := b.to.Write(s)
	b.size += int64(n)
	return err
}

// check adds bytes to a sum and returns it.
func check(sum hash.Hash, b []byte) []byte {
	sum.Write(b) // never fails
	return sum.Sum(nil)
}

// Damage is where bytes of a recording are not those that were written: between From and To, counted
// from 0.
type Damage struct {
	From, To int64
	What     string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("damaged between byte %d and byte %d: %s", d.From, d.To-1, d.What)
}

// blockReader reads what Blocks wrote.
type blockReader struct {
	in   io.Reader
	sum  hash.Hash
	size int64 // read so far
}

// magic reads the first bytes.
func (b *blockReader) magic() error {
	got := make([]byte, len(magic))
	n, err := io.ReadFull(b.in, got)
	if string(got[:n]) != magic[:n] {
		return &Damage{0, int64(n), "it does not begin like a recording of a run"}
	}
	if b.sum.Write(got); err != nil {
		return short(err)
	}
	b.size = int64(n)
	return nil
}

// next reads a block; io.ErrUnexpectedEOF says that the recording was cut off, there or before.
func (b *blockReader) next() (kind byte, payload []byte, err error) {
	at := b.size
	head := make([]byte, headSize)
	n, err := io.ReadFull(b.in, head)
	b.size += int64(n)
	if err != nil {
		return 0, nil, short(err)
	}
	if !bytes.Equal(check(b.sum, head[:5])[:headCheck], head[5:]) {
		return 0, nil, &Damage{at, b.size, "the head of a block does not match its check"}
	}
	b.sum.Write(head[5:])
	var body bytes.Buffer // grows with what there is, whatever the length says
	size := int64(binary.LittleEndian.Uint32(head[1:])) + bodyCheck
	got, err := io.CopyN(&body, b.in, size)
	b.size += got
	if err != nil {
		return 0, nil, short(err)
	}
	payload = body.Bytes()[:size-bodyCheck]
	if !bytes.Equal(check(b.sum, payload)[:bodyCheck], body.Bytes()[size-bodyCheck:]) {
		return 0, nil, &Damage{at + headSize, b.size, "a block does not match its check"}
	}
	b.sum.Write(body.Bytes()[size-bodyCheck:])
	return head[0], payload, nil
}

// short is what it means that bytes end.
func short(err error) error {
	if err == io.EOF { //nolint:errorlint // io returns it as it is
		return io.ErrUnexpectedEOF
	}
	return err
}
