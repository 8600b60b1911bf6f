package history

import (
	"hash/maphash"
	"os"
	"slices"
)

// ledger sorts records by their row in bounded memory: they are dealt out to buckets by their row, and
// written to a file when there are many.
type ledger struct {
	seed    maphash.Seed
	buckets [ledgerBuckets][]byte
	size    int // of all buckets in memory
	file    *os.File
	end     int64                   // of the file
	written [ledgerBuckets][]extent // in it
}

// extent is a part of the file.
type extent struct {
	at     int64
	length int
}

const (
	ledgerBuckets = 256
	ledgerCap     = 24 << 20 // bytes in memory before they go to the file
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
	if l.file == nil {
		if l.file, err = os.CreateTemp("", "dialler-audit"); err != nil {
			return err
		}
		if err = os.Remove(l.file.Name()); err != nil { // gone with the process, whatever happens
			return err
		}
	}
	for n, b := range l.buckets {
		if _, err = l.file.WriteAt(b, l.end); err != nil {
			return err
		}
		l.written[n] = append(l.written[n], extent{l.end, len(b)})
		l.end += int64(len(b))
		l.buckets[n] = b[:0]
	}
	l.size = 0
	return nil
}

func (l *ledger) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// each calls f with all records of every row; f must not keep them.
func (l *ledger) each(f func([]record)) error {
	var kept []byte
	var list []record
	for n, b := range l.buckets {
		kept = kept[:0]
		for _, x := range l.written[n] {
			kept = slices.Grow(kept, x.length)[:len(kept)+x.length]
			if _, err := l.file.ReadAt(kept[len(kept)-x.length:], x.at); err != nil {
				return err
			}
		}
		kept = append(kept, b...)
		list = slices.Grow(list[:0], len(kept)/recordSize)[:len(kept)/recordSize]
		for i := range list {
			list[i].read(kept[i*recordSize:])
		}
		slices.SortFunc(list, func(x, y record) int { return x.compare(&y) })
		for rest := list; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Row == rest[0].Row {
				n++
			}
			f(rest[:n])
			rest = rest[n:]
		}
	}
	return nil
}
