// Package flights keeps the recordings of campaigns' runs in a folder: a file for each life of a
// run. What is in a file, and how it is replayed, is package engine/flight's; when one is begun,
// the tree of actors says.
//
// A run never waits for its file. Files are readable by their owner only, since they contain phone
// numbers and variables: they are deleted after their retention, when they take too much of the
// disk, and when a person who is in them is erased.
package flights

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/flight"
	"dialler/engine/run"
)

// Suffix is the end of the files' names.
const Suffix = ".flight"

// Config configures a Keeper.
type Config struct {
	Dir     string
	Program string // version
	Keep    func() time.Duration
	Size    int64 // bytes that all files may take
	Now     func() time.Time
	Log     zerolog.Logger
	// Closed is told the SHA-256 of a recording's bytes so far when a run ends, and when the
	// recording does, with run 0; nil: nobody.
	Closed func(of engine.CampaignID, run int, file string, bytes int64, sum [32]byte)
}

// Keeper keeps the recordings of one process. Close ends those under way.
type Keeper struct {
	cfg Config

	mu     sync.Mutex
	open   map[string]*recording // by the name of the file
	closed bool
	writes sync.WaitGroup
}

// recording is one that is under way.
type recording struct {
	*flight.Recorder
	file *file
}

// New returns the keeper of a folder, which is made when the first run is recorded.
func New(cfg Config) *Keeper { return &Keeper{cfg: cfg, open: map[string]*recording{}} }

// Record begins a recording of a campaign's run; nil when it cannot be begun.
func (k *Keeper) Record(id engine.CampaignID, cfg run.Config) *flight.Recorder {
	now := k.cfg.Now()
	h := flight.NewHeader(id, cfg, k.cfg.Program, now)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	name := fmt.Sprintf("%s-%s%s", filepath.Base(string(id)), now.UTC().Format("20060102T150405.000000"), Suffix)
	f, err := begin(filepath.Join(k.cfg.Dir, name), &h)
	if err != nil {
		k.cfg.Log.Error().Err(err).Str("campaign_id", string(id)).Msg("the run is not recorded")
		return nil
	}
	r := &recording{flight.Record(now, f), f}
	k.open[name] = r
	f.over = func(run int) { k.tell(id, run, name, f) }
	k.writes.Go(func() {
		why := f.write()
		k.mu.Lock()
		delete(k.open, name)
		k.mu.Unlock()
		log := k.cfg.Log.Info()
		if why != flight.EndClosed {
			log = k.cfg.Log.Warn()
		}
		log.Str("campaign_id", string(id)).Str("file", name).Str("why", why).Msg("recording of the run ended")
	})
	return r.Recorder
}

// tell says what the sum of a recording is.
func (k *Keeper) tell(id engine.CampaignID, run int, name string, f *file) {
	sum, size := f.blocks.Sum()
	k.cfg.Log.Info().Str("campaign_id", string(id)).Int("run", run).Str("file", name).Int64("bytes", size).
		Str("sha256", hex.EncodeToString(sum[:])).Msg("recording of the run sealed")
	if k.cfg.Closed != nil {
		k.cfg.Closed(id, run, name, size, sum)
	}
}

// Intervals of Run.
const (
	flushEvery = time.Second
	tidyEvery  = time.Minute
)

// Run writes what runs have recorded to their files, and tidies the folder, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	flush, tidy := time.NewTicker(flushEvery), time.NewTicker(tidyEvery)
	defer flush.Stop()
	defer tidy.Stop()
	k.Tidy()
	for {
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			for _, r := range k.recordings() {
				r.Flush()
			}
		case <-tidy.C:
			k.Tidy()
		}
	}
}

func (k *Keeper) recordings() (list []*recording) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.open {
		list = append(list, r)
	}
	return list
}

// Close ends all recordings and waits until they are on disk.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	for _, r := range k.recordings() {
		r.Close()
	}
	k.writes.Wait()
}

// kept is a file of the folder.
type kept struct {
	name string
	size int64
	at   time.Time // last written
}

// list returns the files, oldest first.
func (k *Keeper) list() ([]kept, error) {
	entries, err := os.ReadDir(k.cfg.Dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var list []kept
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), Suffix) {
			list = append(list, kept{e.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b kept) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.name, b.name)) })
	return list, nil
}

// Tidy deletes the files past their retention, and the oldest ones while all take more than they
// may. If those under way alone do, they end.
func (k *Keeper) Tidy() {
	list, err := k.list()
	if err != nil {
		k.cfg.Log.Error().Err(err).Msg("the folder of recordings of runs cannot be read")
		return
	}
	var total int64
	for _, f := range list {
		total += f.size
	}
	now, keep, dropped := k.cfg.Now(), k.cfg.Keep(), 0
	for _, f := range list {
		old := keep > 0 && now.Sub(f.at) > keep
		if !old && total <= k.cfg.Size || k.underWay(f.name) != nil {
			continue
		}
		if err := os.Remove(filepath.Join(k.cfg.Dir, f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.cfg.Log.Error().Err(err).Str("file", f.name).Msg("a recording of a run was not deleted; it is tried again")
			continue
		}
		total -= f.size
		dropped++
	}
	if dropped > 0 {
		k.cfg.Log.Info().Int("files", dropped).Msg("recordings of runs deleted")
	}
	if total > k.cfg.Size {
		for _, r := range k.recordings() {
			r.Stop(flight.EndFull)
		}
	}
}

func (k *Keeper) underWay(name string) *recording {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[name]
}

// Forget deletes every recording in which a number is; one that is under way ends. Afterwards no
// file that was there has it.
func (k *Keeper) Forget(n engine.PhoneNumber) error {
	list, err := k.list()
	if err != nil {
		return err
	}
	for _, f := range list {
		path := filepath.Join(k.cfg.Dir, f.name)
		r := k.underWay(f.name)
		if r != nil {
			r.Flush()
			r.file.settle()
		}
		has, err := mentions(path, string(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil && r == nil || has { // what cannot be read to its end may have it
			if r != nil {
				r.Stop(flight.EndErased)
				<-r.file.done
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// mentions says whether a text is in a recording.
func mentions(path, text string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // a file of our own folder
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	return flight.Mentions(f, text)
}
