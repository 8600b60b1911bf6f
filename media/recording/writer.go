package recording

import (
	"os"
	"path/filepath"
	"time"
)

// writer writes the recordings of one queue.
type writer struct {
	r     *Recorder
	queue int
	open  map[*Recording]*tape
	block [chunkFrames * blockBytes]byte
}

// tape is a file being written.
type tape struct {
	f    file
	next int64 // the first second not written yet
}

func (w *writer) run() {
	defer w.r.tasks.Done()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case m := <-w.r.queues[w.queue]:
			w.take(m)
		case <-sweep.C:
			if w.r.late.Load() {
				w.sweep()
			}
		case <-w.r.stop:
			for {
				select {
				case m := <-w.r.queues[w.queue]:
					w.take(m)
				default:
					w.sweep()
					return
				}
			}
		}
	}
}

func (w *writer) take(m message) {
	if m.c == nil {
		w.finish(m.t)
		return
	}
	if err := w.write(m.t, m.c); err != nil {
		w.failed(m.t, m.c.frames, err)
	}
	free(m.c)
	m.t.queued.Add(-1)
}

// failed counts frames that the disk did not accept. Each later second is tried again: a disk that
// has room again continues.
func (w *writer) failed(t *Recording, frames int, err error) {
	t.damaged.Store(true)
	w.r.stats.framesDropped.Add(uint64(frames)) //nolint:gosec // at most 50
	if n := w.r.stats.writeErrors.Add(1); n&(n-1) == 0 {
		w.r.cfg.Log.Error().Err(err).Str("attempt_id", string(t.attempt)).Uint64("errors", n).
			Msg("a recording cannot be written; it stays incomplete (is the disk full?)")
	}
}

// tape opens the file of a recording.
func (w *writer) tape(t *Recording) (*tape, error) {
	if p := w.open[t]; p != nil {
		return p, nil
	}
	path, err := w.r.path(t.id)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := w.r.cfg.create(path + partial)
	if err != nil {
		return nil, err
	}
	p := &tape{f: f}
	w.open[t] = p
	_, err = f.WriteAt(header(0), 0)
	return p, err
}

func (w *writer) write(t *Recording, c *chunk) error {
	p, err := w.tape(t)
	if err != nil {
		return err
	}
	if err := p.quiet(c.index); err != nil {
		return err
	}
	l, r := &c.sound[left], &c.sound[right]
	for i := range c.frames * frameBytes {
		w.block[2*i], w.block[2*i+1] = l[i], r[i]
	}
	if _, err := p.f.WriteAt(w.block[:c.frames*blockBytes], offset(c.index*chunkFrames)); err != nil {
		return err
	}
	p.next = c.index + 1
	return nil
}

// quiet fills the seconds up to the given one with silence.
func (p *tape) quiet(before int64) error {
	for ; p.next < before; p.next++ {
		if _, err := p.f.WriteAt(silentSecond[:], offset(p.next*chunkFrames)); err != nil {
			return err
		}
	}
	return nil
}

// offset is the position of a frame in the file.
func offset(frame int64) int64 { return headerBytes + frame*blockBytes }

// finish completes a file.
func (w *writer) finish(t *Recording) {
	w.r.mu.Lock()
	known := w.r.live[t.id] == t
	w.r.mu.Unlock()
	if !known {
		return // a sweep did it already
	}
	total := t.total.Load()
	if total > 0 {
		if err := w.complete(t, total); err != nil {
			w.failed(t, 0, err)
		}
	}
	delete(w.open, t)
	w.r.mu.Lock()
	delete(w.r.live, t.id)
	if t.damaged.Load() && !t.told.Load() && len(w.r.damaged) < damagedCap {
		w.r.damaged = append(w.r.damaged, t.attempt)
	}
	w.r.mu.Unlock()
}

func (w *writer) complete(t *Recording, total int64) error {
	p, err := w.tape(t)
	if p == nil {
		return err
	}
	// The last second may be partial, and sound may be missing at the end.
	if err == nil {
		err = p.quiet(total / chunkFrames)
	}
	if part := total % chunkFrames; err == nil && part > 0 && p.next == total/chunkFrames {
		if _, err = p.f.WriteAt(silentSecond[:part*blockBytes], offset(p.next*chunkFrames)); err == nil {
			p.next++
		}
	}
	written := min(total, p.next*chunkFrames)
	if _, e := p.f.WriteAt(header(written), 0); err == nil {
		err = e
	}
	if e := p.f.Close(); err == nil {
		err = e
	}
	path, e := w.r.path(t.id)
	if e == nil {
		e = os.Rename(path+partial, path+suffix)
	}
	if e != nil {
		return e
	}
	w.r.stats.files.Add(1)
	w.r.stats.bytes.Add(offset(written))
	w.r.mu.Lock()
	if len(w.r.completed) < completedCap {
		w.r.completed = append(w.r.completed, t.id)
	} else {
		w.r.missed = true
	}
	w.r.mu.Unlock()
	return err
}

// sweep finishes recordings whose end did not fit into the queue.
func (w *writer) sweep() {
	var ended []*Recording
	w.r.mu.Lock()
	for _, t := range w.r.live {
		if t.queue == w.queue && t.done.Load() && t.queued.Load() == 0 {
			ended = append(ended, t)
		}
	}
	w.r.mu.Unlock()
	for _, t := range ended {
		w.finish(t)
	}
}
