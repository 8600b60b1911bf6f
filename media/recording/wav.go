package recording

import "encoding/binary"

// Layout of a file: RIFF header, fmt, fact, data.
const (
	headerBytes = 58
	frameBytes  = 160            // one side, 20 ms
	blockBytes  = 2 * frameBytes // both
	sampleRate  = 8000
	formatUlaw  = 7
	silence     = 0xFF // μ-law
)

// header is the file header for that many frames of audio. The number of frames is small enough for
// RIFF: 4 GiB are three days.
func header(frames int64) []byte {
	data := uint32(frames * blockBytes) //nolint:gosec // see above
	le := binary.LittleEndian
	b := append(make([]byte, 0, headerBytes), "RIFF"...)
	b = le.AppendUint32(b, headerBytes-8+data)
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 18)
	b = le.AppendUint16(b, formatUlaw)
	b = le.AppendUint16(b, 2) // channels
	b = le.AppendUint32(b, sampleRate)
	b = le.AppendUint32(b, 2*sampleRate) // bytes a second
	b = le.AppendUint16(b, 2)            // bytes of one sample of both sides
	b = le.AppendUint16(b, 8)            // bits
	b = le.AppendUint16(b, 0)            // no extension
	b = append(b, "fact"...)
	b = le.AppendUint32(b, 4)
	b = le.AppendUint32(b, data/2) // samples of each side
	b = append(b, "data"...)
	return le.AppendUint32(b, data)
}
