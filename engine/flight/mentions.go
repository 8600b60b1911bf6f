package flight

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
)

// Mentions says whether a text of at most 200 bytes is in a recording, by any version. A recording
// that was cut off is read to where it ends; an error says that it is damaged.
func Mentions(in io.Reader, text string) (bool, error) {
	f := frameReader{blocks: blockReader{in: in, sum: sha256.New()}}
	if err := f.blocks.magic(); err != nil {
		return false, whole(err)
	}
	for {
		frames, err := f.load()
		if err != nil {
			return false, whole(err)
		}
		if bytes.Contains(frames, []byte(text)) {
			return true, nil
		}
	}
}

// whole is nil for what ends a recording that is not damaged.
func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
