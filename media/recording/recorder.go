package recording

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
)

// Config says where recordings are kept.
type Config struct {
	// Dir is the folder; it is created with the first recording.
	Dir string
	// Writers is the number of writer goroutines; default 2.
	Writers int
	Log     zerolog.Logger

	create func(path string) (file, error) // for tests
	queue  int                             // maximum queue of a writer in chunks, default queueCap
}

const (
	// queueCap is how many chunks may wait for one writer: 8 MiB of audio. It covers a second of
	// 512 calls while the disk is stalled.
	queueCap = 512
	// sweepEvery is how often a writer looks for recordings whose end did not
	// fit into its queue.
	sweepEvery = time.Second
	// closeLimit is how long Close waits for the disk.
	closeLimit = 5 * time.Second
	// damagedCap bounds the list of recordings that became incomplete after their end.
	damagedCap = 10_000
	// completedCap bounds the list of files that became whole.
	completedCap = 10_000

	suffix  = ".wav"
	partial = suffix + ".part"
)

// file is the part of a file that a writer needs.
type file interface {
	WriteAt(b []byte, offset int64) (int, error)
	Close() error
}

// Recorder writes the recordings of all calls. Its methods are safe for
// concurrent use.
type Recorder struct {
	cfg    Config
	queues []chan message
	turn   atomic.Uint32
	late   atomic.Bool // an end did not fit into a queue
	stop   chan struct{}
	tasks  sync.WaitGroup
	once   sync.Once

	since   time.Time
	mu      sync.Mutex
	live    map[string]*Recording // by id, until the file is complete
	damaged []engine.AttemptID
	// completed are files that became whole; missed says that there were more than it holds.
	completed []string
	missed    bool

	stats stats
}

type stats struct {
	files, framesDropped, writeErrors atomic.Uint64
	bytes                             atomic.Int64
}

// Stats are counters since New.
type Stats struct {
	Live          int    // recordings whose file is not complete yet
	Files         uint64 // files made whole
	Bytes         int64  // of the folder, without partial files
	FramesDropped uint64 // 20 ms of both sides for which the disk was too slow or full
	WriteErrors   uint64
}

// message is a chunk, or without one the end of a recording.
type message struct {
	t *Recording
	c *chunk
}

// New starts the writers.
func New(cfg Config) *Recorder {
	if cfg.Writers <= 0 {
		cfg.Writers = 2
	}
	if cfg.queue <= 0 {
		cfg.queue = queueCap
	}
	if cfg.create == nil {
		cfg.create = func(path string) (file, error) {
			return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // a path of ours
		}
	}
	r := &Recorder{cfg: cfg, since: time.Now(), stop: make(chan struct{}), live: map[string]*Recording{}}
	for range cfg.Writers {
		r.queues = append(r.queues, make(chan message, cfg.queue))
	}
	for i := range r.queues {
		r.tasks.Add(1)
		go (&writer{r: r, queue: i, open: map[*Recording]*tape{}}).run()
	}
	return r
}

// Close ends the writers; by then every Recording must have ended. Whatever the disk does not
// accept within five seconds is left to Recover.
func (r *Recorder) Close() {
	r.once.Do(func() {
		close(r.stop)
		done := make(chan struct{})
		go func() { r.tasks.Wait(); close(done) }()
		limit := time.NewTimer(closeLimit)
		defer limit.Stop()
		select {
		case <-done:
		case <-limit.C:
			r.cfg.Log.Error().Msg("recordings cannot be written to disk; they are completed at the next start")
		}
	})
}

// Start begins the recording of a call that was answered at at.
func (r *Recorder) Start(a engine.AttemptID, at time.Time) *Recording {
	t := &Recording{
		r: r, attempt: a, id: at.UTC().Format("2006/01/02/") + string(a), started: at,
		queue: int(r.turn.Add(1)) % len(r.queues),
	}
	r.mu.Lock()
	r.live[t.id] = t
	r.mu.Unlock()
	return t
}

// send hands a chunk to the recording's writer; false when there is no room.
func (r *Recorder) send(t *Recording, c *chunk) bool {
	t.queued.Add(1)
	select {
	case r.queues[t.queue] <- message{t, c}:
		return true
	default:
		t.queued.Add(-1)
		r.stats.framesDropped.Add(uint64(c.frames)) //nolint:gosec // at most 50
		return false
	}
}

// end notifies the writer; when there is no room, a sweep finds out.
func (r *Recorder) end(t *Recording) {
	select {
	case r.queues[t.queue] <- message{t: t}:
	default:
		r.late.Store(true)
	}
}

// Stats returns a snapshot.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	live := len(r.live)
	r.mu.Unlock()
	return Stats{
		Live: live, Files: r.stats.files.Load(), Bytes: r.stats.bytes.Load(),
		FramesDropped: r.stats.framesDropped.Load(), WriteErrors: r.stats.writeErrors.Load(),
	}
}

// Damaged returns, once, the attempts whose recordings turned out incomplete after their end had
// been reported.
func (r *Recorder) Damaged() []engine.AttemptID {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.damaged
	r.damaged = nil
	return list
}

// Completed returns, once, the recordings whose files became whole; missed says that there were more.
func (r *Recorder) Completed() (ids []string, missed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids, missed = r.completed, r.missed
	r.completed, r.missed = nil, false
	return ids, missed
}

var idPattern = regexp.MustCompile(`^\d{4}/\d{2}/\d{2}/[0-9A-Za-z-]{1,64}$`)

var errNotFound = engine.NotFound("recording_not_found", "")

// path returns the path of a recording without its suffix.
func (r *Recorder) path(id string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", errNotFound
	}
	return filepath.Join(r.cfg.Dir, filepath.FromSlash(id)), nil
}

// Open opens a complete recording for reading. It returns NotFound "recording_not_found" when there
// is none, and Conflict "recording_in_progress" while it is being written.
func (r *Recorder) Open(id string) (*os.File, error) {
	path, err := r.path(id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path + suffix) //nolint:gosec // checked
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("recording not opened: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[id] != nil {
		return nil, engine.Conflict("recording_in_progress", "")
	}
	return nil, errNotFound
}

// Hash returns the SHA-256 of a complete recording's file; errors are those of Open.
func (r *Recorder) Hash(id string) (sum [sha256.Size]byte, err error) {
	f, err := r.Open(id)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, fmt.Errorf("recording not read: %w", err)
	}
	h.Sum(sum[:0])
	return sum, nil
}

// Has says whether a complete recording is here.
func (r *Recorder) Has(id string) bool {
	path, err := r.path(id)
	if err != nil {
		return false
	}
	_, err = os.Stat(path + suffix)
	return err == nil
}

// Remove deletes a recording; a missing one is no error.
func (r *Recorder) Remove(id string) error {
	path, err := r.path(id)
	if err != nil {
		return err
	}
	info, err := os.Stat(path + suffix)
	if err == nil {
		err = os.Remove(path + suffix)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("recording not deleted: %w", err)
	}
	r.stats.bytes.Add(-info.Size())
	// An empty folder of a day, month or year is removed; others stay.
	for dir, n := filepath.Dir(path), 0; n < 3 && os.Remove(dir) == nil; n++ {
		dir = filepath.Dir(dir)
	}
	return nil
}
