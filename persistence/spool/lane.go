package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	layoutVersion = 1
	headerSize    = 4096
	frameSize     = 16 // length, checksum, time
	// recordCap bounds one record; a contact's variables are 16 KiB at most.
	recordCap = 1 << 20
)

var (
	magic = [8]byte{'D', 'L', 'R', 'S', 'P', 'O', 'O', 'L'}
	table = crc32.MakeTable(crc32.Castagnoli)
)

// owner identifies the database that the records are for.
type owner [16]byte

// file is the part of a file that a lane needs; tests inject faults here.
type file interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

// entry is a record that was not released.
type entry struct {
	size int64 // in the file
	at   int64 // Unix ns of its arrival
}

// lane is one file of the spool.
type lane struct {
	mu         sync.Mutex
	f          file
	room       int64 // size of the file
	owner      owner
	generation uint64
	head, tail int64 // range of the records that were not released
	reach      int64 // highest offset ever written in this generation
	entries    []entry
	dirty      bool  // records were written since the last overwrite
	broken     error // a disk error; cleared by emptying the lane
	stats      *counters
	oldest     atomic.Int64 // Unix ns of the first entry's arrival, 0 if none
}

// openLane opens a file, creating it if necessary, and finds its records. cut is how many bytes
// after the last whole record were dropped.
func openLane(path string, room int64, own owner, stats *counters) (l *lane, cut int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator's folder
	if err != nil {
		return nil, 0, err
	}
	l = &lane{f: f, owner: own, stats: stats}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	l.room = max(info.Size(), room)
	if err := allocate(f, l.room); err != nil {
		return nil, 0, fmt.Errorf("no room for %d MiB: %w", l.room>>20, err)
	}
	if err := l.readHeader(); err != nil {
		return nil, 0, err
	}
	if cut, err = l.find(); err != nil {
		return nil, 0, err
	}
	taken := l.owner != own
	if taken {
		if len(l.entries) > 0 {
			return nil, 0, fmt.Errorf("%d writes wait here for another installation's database: start with that database "+
				"once, or choose another folder with --spool-dir", len(l.entries))
		}
		l.owner = own
	}
	if l.room > room && len(l.entries) == 0 && room > headerSize {
		l.room = room
		if err := f.Truncate(room); err != nil {
			return nil, 0, err
		}
	}
	if len(l.entries) == 0 {
		if clean := l.generation > 0 && !l.dirty && cut == 0 && !taken; clean {
			return l, 0, nil
		}
		if l.dirty || cut > 0 {
			l.reach = l.room // whatever is there
		}
		return l, cut, l.empty()
	}
	l.oldest.Store(l.entries[0].at)
	l.reach = l.tail
	return l, cut, nil
}

// readHeader accepts a file of zeros as a new one.
func (l *lane) readHeader() error {
	l.head, l.tail = headerSize, headerSize
	var b [48]byte
	if _, err := l.f.ReadAt(b[:], 0); err != nil {
		return err
	}
	if b == [48]byte{} {
		return nil // created, but never written to
	}
	switch {
	case !bytes.Equal(b[:8], magic[:]):
		return errors.New("this is not a spool file; choose another folder with --spool-dir")
	case crc32.Checksum(b[:40], table) != binary.LittleEndian.Uint32(b[40:]):
		return errors.New("the header is damaged; move the file away to start without what it holds")
	case binary.LittleEndian.Uint32(b[8:]) > layoutVersion:
		return errors.New("a newer version of the program wrote this file: start that version once, so that it writes " +
			"what waits here to the database")
	}
	l.dirty = b[12] != 0
	copy(l.owner[:], b[16:32])
	l.generation = binary.LittleEndian.Uint64(b[32:])
	return nil
}

func (l *lane) header() []byte {
	b := make([]byte, 48)
	copy(b, magic[:])
	binary.LittleEndian.PutUint32(b[8:], layoutVersion)
	if l.dirty {
		b[12] = 1
	}
	copy(b[16:], l.owner[:])
	binary.LittleEndian.PutUint64(b[32:], l.generation)
	binary.LittleEndian.PutUint32(b[40:], crc32.Checksum(b[:40], table))
	return b
}

// find scans the records up to the last whole one.
func (l *lane) find() (cut int64, err error) {
	l.entries, l.head, l.tail = nil, headerSize, headerSize
	if l.generation == 0 {
		return 0, nil
	}
	for {
		b, size, ok, err := l.at(l.tail)
		if err != nil {
			return 0, err
		}
		if !ok {
			return size, nil
		}
		l.entries = append(l.entries, entry{size: size,
			at: int64(binary.LittleEndian.Uint64(b[8:]))}) //nolint:gosec // a time
		l.tail += size
	}
}

// at reads the record at a position. ok is false when there is no whole one; size is then what the
// record claims.
func (l *lane) at(place int64) (b []byte, size int64, ok bool, err error) {
	if place+frameSize > l.room {
		return nil, 0, false, nil
	}
	var frame [frameSize]byte
	if _, err := l.f.ReadAt(frame[:], place); err != nil {
		return nil, 0, false, err
	}
	n := int64(binary.LittleEndian.Uint32(frame[:]))
	if n == 0 {
		return nil, 0, false, nil
	}
	if n > recordCap || place+sizeOf(n) > l.room {
		return nil, n, false, nil
	}
	b = make([]byte, frameSize+n)
	if _, err := l.f.ReadAt(b, place); err != nil {
		return nil, 0, false, err
	}
	if l.sum(b) != binary.LittleEndian.Uint32(b[4:]) {
		return nil, n, false, nil
	}
	return b, sizeOf(n), true, nil
}

// sizeOf is the size in the file of a record with a payload of n bytes.
func sizeOf(n int64) int64 { return (frameSize + n + 7) &^ 7 }

// sum is the checksum of a framed record, excluding the checksum field.
func (l *lane) sum(b []byte) uint32 {
	var generation [8]byte
	binary.LittleEndian.PutUint64(generation[:], l.generation)
	c := crc32.Checksum(generation[:], table)
	c = crc32.Update(c, table, b[:4])
	return crc32.Update(c, table, b[8:])
}

// append writes records and makes them durable: as many, from the first on, as
// there is room for.
func (l *lane) append(payloads [][]byte, now time.Time) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return 0, l.broken
	}
	var b []byte
	var entries []entry
	for _, p := range payloads {
		size := sizeOf(int64(len(p)))
		if l.tail+int64(len(b))+size > l.room {
			break
		}
		at := len(b)
		b = append(b, make([]byte, size)...)
		r := b[at : at+frameSize+len(p)]
		binary.LittleEndian.PutUint32(r, uint32(len(p))) //nolint:gosec // at most recordCap
		binary.LittleEndian.PutUint64(r[8:], uint64(now.UnixNano()))
		copy(r[frameSize:], p)
		binary.LittleEndian.PutUint32(r[4:], l.sum(r))
		entries = append(entries, entry{size: size, at: now.UnixNano()})
	}
	if len(entries) == 0 {
		return 0, nil
	}
	if !l.dirty {
		l.dirty = true
		_, err = l.f.WriteAt(l.header(), 0)
	}
	if err == nil {
		l.reach = l.tail + int64(len(b))
		_, err = l.f.WriteAt(b, l.tail)
	}
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		// The contents of the disk are now unknown; nothing of this was accepted, and nothing more
		// is until the lane is emptied.
		l.broken = fmt.Errorf("the spool cannot be written: %w", err)
		return 0, l.broken
	}
	l.entries = append(l.entries, entries...)
	l.oldest.Store(l.entries[0].at)
	l.tail += int64(len(b))
	l.stats.add(len(entries), int64(len(b)))
	return len(entries), nil
}

// release removes the oldest n records; when none is left the file is emptied.
func (l *lane) release(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries[:n] {
		l.head += e.size
		l.stats.add(-1, -e.size)
	}
	l.entries = l.entries[n:]
	if len(l.entries) > 0 {
		l.oldest.Store(l.entries[0].at)
		return nil
	}
	return l.empty()
}

// empty overwrites the old records and begins another generation. After a crash in the middle, the
// first records may be found again, which does no harm, and the rest is overwritten then.
func (l *lane) empty() error {
	l.entries = nil
	l.oldest.Store(0)
	end := min(max(l.reach, headerSize)+frameSize, l.room)
	zeros := make([]byte, min(end-headerSize, 1<<20))
	var err error
	for at := int64(headerSize); err == nil && at < end; at += int64(len(zeros)) {
		_, err = l.f.WriteAt(zeros[:min(int64(len(zeros)), end-at)], at)
	}
	if err == nil && l.dirty {
		err = l.f.Sync()
	}
	if err == nil {
		l.generation++
		l.dirty = false
		if _, err = l.f.WriteAt(l.header(), 0); err == nil {
			err = l.f.Sync()
		}
	}
	l.head, l.tail, l.reach, l.broken = headerSize, headerSize, headerSize, nil
	if err != nil {
		l.broken = fmt.Errorf("the spool cannot be emptied: %w", err)
	}
	return l.broken
}

// mend empties a lane after a disk failure, once nothing waits in it: half-written records must not
// be found.
func (l *lane) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil && len(l.entries) == 0 {
		_ = l.empty() // it stays broken, and reports that
	}
}

func (l *lane) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
