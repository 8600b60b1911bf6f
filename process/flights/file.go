package flights

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine/flight"
)

// backlog is how many chunks may wait for the disk, 32 KiB each or more.
const backlog = 256

// file is the file of a recording. It implements flight.Sink.
type file struct {
	to     *os.File
	blocks *flight.Blocks
	over   func(run int)
	chunks chan chunk
	end    string
	done   chan struct{} // closed when nothing more is written
	once   sync.Once
	// given and written count the chunks.
	given, written atomic.Int64
}

// chunk is whole frames, and the run that ended with them.
type chunk struct {
	frames []byte
	over   int
}

// begin makes a file, which did not exist.
func begin(path string, h *flight.Header) (*file, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // a file of our own folder
	if err != nil {
		return nil, err
	}
	f := &file{to: to, chunks: make(chan chunk, backlog), done: make(chan struct{})}
	if f.blocks, err = flight.NewBlocks(to, h); err != nil {
		_ = to.Close()
		return nil, err
	}
	return f, nil
}

// Put implements flight.Sink.
func (f *file) Put(frames []byte, over int) bool {
	select {
	case f.chunks <- chunk{frames, over}:
		f.given.Add(1)
		return true
	default:
		return false
	}
}

// End implements flight.Sink.
func (f *file) End(why string) {
	f.once.Do(func() {
		f.end = why
		close(f.chunks)
	})
}

// settle waits until what was given so far is in the file.
func (f *file) settle() {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for given := f.given.Load(); f.written.Load() < given; {
		select {
		case <-look.C:
		case <-f.done:
			return
		}
	}
}

// write writes the chunks as they come and says why the recording ended. After an error of the disk
// nothing more is written: the file is one that was cut off.
func (f *file) write() (why string) {
	defer close(f.done)
	defer func() { _ = f.to.Close() }()
	var err error
	for c := range f.chunks {
		if err == nil {
			err = f.blocks.Frames(c.frames)
		}
		if err == nil && c.over > 0 {
			if err = f.to.Sync(); err == nil {
				f.over(c.over)
			}
		}
		f.written.Add(1)
	}
	if err == nil {
		err = f.blocks.End(f.end)
	}
	if err == nil {
		err = f.to.Sync()
	}
	if err != nil {
		return flight.EndFailed + ": " + err.Error()
	}
	f.over(0)
	return f.end
}
