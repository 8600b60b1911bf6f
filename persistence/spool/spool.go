package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine/journal"
)

// Config is the configuration of a spool.
type Config struct {
	Dir   string // its folder; created if missing
	Size  int64  // bytes of all lanes together; results take an eighth of that on top
	Lanes int    // one per writer
	// Owner distinguishes installations; at least 16 bytes, from which no secret can be derived.
	Owner []byte
	Now   func() time.Time // nil: time.Now
	Log   zerolog.Logger
}

// MinLane is the minimum size of a lane.
const MinLane = 64 << 10

// Spool is a bounded spool of writes on disk. Its methods may be called from
// many goroutines and block on the disk.
type Spool struct {
	cfg   Config
	lock  *os.File
	lanes []*lane
	// results are the results of conversations that wait to be submitted.
	results results
	stats   counters
}

// counters are the figures that Stats returns.
type counters struct {
	records, bytes            atomic.Int64
	taken, replayed, rejected atomic.Int64
	full, broken              atomic.Bool
}

func (c *counters) add(records int, bytes int64) {
	c.records.Add(int64(records))
	c.bytes.Add(bytes)
}

// Stats are the figures of a spool.
type Stats struct {
	Records, Bytes int64     // that wait
	Size           int64     // bytes that it may hold
	Oldest         time.Time // arrival of the oldest waiting write, zero if none waits
	Taken          int64     // since the start
	Replayed       int64     // committed since the start, including those of earlier processes
	Rejected       int64     // those of them that the database refused
	// Full means that a write found no room; it lasts until the spool is empty again.
	Full bool
	// Broken means that a write to disk failed; it lasts until the spool could be emptied.
	Broken bool
}

var laneName = regexp.MustCompile(`^lane-(0|[1-9][0-9]{0,3})\.spool$`)

// Open opens the spool in a folder, creating it if necessary, and reserves its space.
func Open(cfg Config) (_ *Spool, err error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Owner) < len(owner{}) {
		return nil, errors.New("spool: an owner of at least 16 bytes is needed")
	}
	room := cfg.Size / int64(max(cfg.Lanes, 1)) &^ 4095
	if room < MinLane {
		return nil, fmt.Errorf("spool: %d bytes are too few for %d lanes of at least %d", cfg.Size, cfg.Lanes, MinLane)
	}
	// The parent folder may also be used by PostgreSQL, which runs as another user.
	if err := os.MkdirAll(filepath.Dir(cfg.Dir), 0o755); err != nil { //nolint:gosec // holds no secret itself
		return nil, fmt.Errorf("the folder of the spool cannot be made (see --spool-dir): %w", err)
	}
	if err := os.Mkdir(cfg.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("the folder of the spool cannot be made (see --spool-dir): %w", err)
	}
	s := &Spool{cfg: cfg}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if s.lock, err = os.OpenFile(filepath.Join(cfg.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("the spool cannot be opened (see --spool-dir): %w", err)
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another dialler uses the spool in %s: end it, or choose another folder with --spool-dir",
			cfg.Dir)
	}
	lanes := cfg.Lanes
	files, err := os.ReadDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("the spool cannot be read (see --spool-dir): %w", err)
	}
	for _, e := range files { // an earlier process may have had more writers
		if m := laneName.FindStringSubmatch(e.Name()); m != nil {
			n, _ := strconv.Atoi(m[1])
			lanes = max(lanes, n+1)
		}
	}
	var own owner
	copy(own[:], cfg.Owner)
	for i := range lanes {
		path := filepath.Join(cfg.Dir, "lane-"+strconv.Itoa(i)+".spool")
		want := room
		if i >= cfg.Lanes {
			want = 0 // just enough for what it holds
		}
		l, cut, err := openLane(path, max(want, MinLane), own, &s.stats)
		if err != nil {
			return nil, fmt.Errorf("the spool cannot be opened: %s: %w", path, err)
		}
		s.lanes = append(s.lanes, l)
		if cut > 0 {
			cfg.Log.Warn().Int("lane", i).Int64("bytes",
				cut).Msg("the spool ends with an incomplete record; it was never accepted and is cut")
		}
		if n := len(l.entries); n > 0 {
			s.stats.add(n, l.tail-l.head)
		}
	}
	return s, s.openResults(max(cfg.Size/resultsShare&^4095, MinLane), own)
}

// Append makes writes durable in order and returns how many of them, from the first on, it
// accepted: there is no room for the others. After an error none was accepted.
func (s *Spool) Append(lane int, writes []journal.Write) (n int, err error) {
	payloads := make([][]byte, 0, len(writes))
	for i := range writes {
		b, err := encode(&writes[i])
		if err != nil || len(b) > recordCap {
			// It waits in memory, and so does everything after it.
			s.cfg.Log.Error().Err(err).Int("bytes", len(b)).Msg("a write cannot be spooled")
			break
		}
		payloads = append(payloads, b)
	}
	n, err = s.lanes[lane].append(payloads, s.cfg.Now())
	s.stats.taken.Add(int64(n))
	if n < len(writes) {
		s.stats.full.Store(err == nil)
		s.stats.broken.Store(err != nil)
	}
	return n, err
}

// Release removes the oldest n writes of a lane, which the database has accepted or, in the case of
// refused many, refused for good.
func (s *Spool) Release(lane, n, refused int) error {
	s.stats.replayed.Add(int64(n))
	s.stats.rejected.Add(int64(refused))
	err := s.lanes[lane].release(n)
	if s.stats.records.Load() == 0 {
		s.stats.full.Store(false)
		s.stats.broken.Store(err != nil)
	}
	return err
}

// Replay passes to commit what an earlier process left uncommitted, in groups and in its original
// order, and removes what was committed.
func (s *Spool) Replay(most int, commit func(group []journal.Write) (refused int, err error)) error {
	for i, l := range s.lanes {
		place := l.head
		for left := len(l.entries); left > 0; {
			group := make([]journal.Write, 0, most)
			for range min(most, left) {
				b, size, ok, err := l.at(place)
				if err != nil || !ok {
					return fmt.Errorf("the spool cannot be read (lane %d): %w", i, errors.Join(err, errUnreadable))
				}
				w, err := decode(b[frameSize:])
				if err != nil {
					return err
				}
				group = append(group, w)
				place += size
			}
			refused, err := commit(group)
			if err != nil {
				return err
			}
			left -= len(group)
			if err := s.Release(i, len(group), refused); err != nil {
				return err
			}
		}
	}
	return nil
}

var errUnreadable = errors.New("a record that was whole no longer is")

// Stats returns the figures.
func (s *Spool) Stats() Stats {
	c := &s.stats
	st := Stats{Records: c.records.Load(), Bytes: c.bytes.Load(), Size: s.cfg.Size, Taken: c.taken.Load(),
		Replayed: c.replayed.Load(), Rejected: c.rejected.Load(), Full: c.full.Load(), Broken: c.broken.Load()}
	for _, l := range append(slices.Clone(s.lanes), s.results.lane) {
		if at := time.Unix(0, l.oldest.Load()); at.UnixNano() != 0 && (st.Oldest.IsZero() || at.Before(st.Oldest)) {
			st.Oldest = at
		}
	}
	return st
}

// Close leaves the waiting writes to the next process.
func (s *Spool) Close() error {
	var errs []error
	for _, l := range s.lanes {
		errs = append(errs, l.close())
	}
	if s.results.lane != nil {
		errs = append(errs, s.results.lane.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// fill reserves space on systems without a call for it: it writes zeros after the end.
func fill(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := info.Size(); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
