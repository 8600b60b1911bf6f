package history

import (
	"hash/maphash"
	"io"
	"os"
	"slices"
)

// ledger sorts records by their row in bounded memory: they are dealt out to buckets by their row, and
// written to files when there are many.
type ledger struct {
	seed    maphash.Seed
	buckets [ledgerBuckets][]byte
	files   [ledgerBuckets]*os.File
	size    int // of all buckets in memory
}

const (
	ledgerBuckets = 64
	ledgerCap     = 24 << 20 // bytes in memory before they go to files
)

func (l *ledger) add(r *record) error {
	if l.seed == (maphash.Seed{}) {
		l.seed = maphash.MakeSeed()
	}
	n := maphash.Bytes(l.seed, r.ID[:]) % ledgerBuckets
	l.buckets[n] = r.appendTo(l.buckets[n])
	if l.size += recordSize; l.size > ledgerCap {
		return l.spill()
	}
	return nil
}

func (l *ledger) spill() (err error) {
	for n, b := range l.buckets {
		if l.files[n] == nil {
			if l.files[n], err = os.CreateTemp("", "dialler-audit"); err != nil {
				return err
			}
			if err = os.Remove(l.files[n].Name()); err != nil { // gone with the process, whatever happens
				return err
			}
		}
		if _, err = l.files[n].Write(b); err != nil {
			return err
		}
		l.buckets[n] = b[:0]
	}
	l.size = 0
	return nil
}

func (l *ledger) close() {
	for _, f := range l.files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// each calls f with all records of every row.
func (l *ledger) each(f func([]record)) error {
	for n, b := range l.buckets {
		if file := l.files[n]; file != nil {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			kept, err := io.ReadAll(file)
			if err != nil {
				return err
			}
			b = append(kept, b...)
		}
		list := make([]record, len(b)/recordSize)
		for i := range list {
			list[i].read(b[i*recordSize:])
		}
		slices.SortFunc(list, func(x, y record) int { return x.compare(&y) })
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n].Row == list[0].Row {
				n++
			}
			f(list[:n])
			list = list[n:]
		}
	}
	return nil
}
