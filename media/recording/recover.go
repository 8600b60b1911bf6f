package recording

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dialler/engine"
)

// Recovered is a recording left behind by a crash.
type Recovered struct {
	Attempt   engine.AttemptID
	Recording engine.Recording
}

// Recover completes the files left behind by an earlier process, up to their last frame, and
// removes those without one; found is called for each. It walks the whole folder and counts its
// size. It may run while calls are recorded.
func (r *Recorder) Recover(found func(Recovered)) error {
	return filepath.WalkDir(r.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return nil
		}
		select {
		case <-r.stop:
			return filepath.SkipAll
		default:
		}
		if strings.HasSuffix(path, suffix) {
			if info, err := d.Info(); err == nil && info.ModTime().Before(r.since) {
				r.stats.bytes.Add(info.Size()) // newer ones are counted already
			}
			return nil
		}
		whole, ok := strings.CutSuffix(path, partial)
		if !ok {
			return nil
		}
		rel, err := filepath.Rel(r.cfg.Dir, whole)
		if id := filepath.ToSlash(rel); err == nil && idPattern.MatchString(id) && !r.isLive(id) {
			r.recover(whole, id, found)
		}
		return nil
	})
}

func (r *Recorder) isLive(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[id] != nil
}

func (r *Recorder) recover(path, id string, found func(Recovered)) {
	info, err := os.Stat(path + partial)
	if err != nil {
		return // whole meanwhile
	}
	frames := (info.Size() - headerBytes) / blockBytes
	if frames <= 0 {
		_ = os.Remove(path + partial)
		return
	}
	if err := mend(path, frames); err != nil {
		r.cfg.Log.Error().Err(err).Str("recording",
			id).Msg("a partial recording cannot be completed; it is tried again at the next start")
		return
	}
	r.stats.files.Add(1)
	r.stats.bytes.Add(offset(frames))
	length := time.Duration(frames) * frameTime
	found(Recovered{Attempt: engine.AttemptID(filepath.Base(path)), Recording: engine.Recording{
		ID: id, StartedAt: info.ModTime().Add(-length), Duration: length, Bytes: offset(frames), Incomplete: true,
	}})
}

// mend cuts a partial file after its last frame and completes it.
func mend(path string, frames int64) (err error) {
	f, err := os.OpenFile(path+partial, os.O_WRONLY, 0o600) //nolint:gosec // a path of ours
	if err != nil {
		return err
	}
	_, err = f.WriteAt(header(frames), 0)
	err = errors.Join(err, f.Truncate(offset(frames)), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(path+partial, path+suffix)
}

// listBatch is how many names of a folder are read at a time.
const listBatch = 500

// Days returns the days (UTC) that have a folder, oldest first.
func (r *Recorder) Days() (days []time.Time, err error) {
	dirs, err := fs.Glob(os.DirFS(r.cfg.Dir), "*/*/*")
	for _, dir := range dirs {
		if day, err := time.Parse("2006/01/02", dir); err == nil {
			days = append(days, day)
		}
	}
	return days, err
}

// Day returns, in batches, the attempts whose complete recordings are stored under a day (UTC).
func (r *Recorder) Day(day time.Time, batch func(ids []string) error) error {
	prefix := day.UTC().Format("2006/01/02/")
	dir, err := os.Open(filepath.Join(r.cfg.Dir, filepath.FromSlash(prefix)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		names, err := dir.Readdirnames(listBatch)
		ids := make([]string, 0, len(names))
		for _, n := range names {
			if a, ok := strings.CutSuffix(n, suffix); ok && idPattern.MatchString(prefix+a) {
				ids = append(ids, prefix+a)
			}
		}
		if len(ids) > 0 {
			if err := batch(ids); err != nil {
				return err
			}
		}
		if err != nil || len(names) == 0 {
			return nil // the end of the folder
		}
	}
}

// Attempt returns the attempt to which a recording belongs.
func Attempt(id string) engine.AttemptID {
	return engine.AttemptID(id[strings.LastIndexByte(id, '/')+1:])
}

// Describe returns the description of a complete file.
func (r *Recorder) Describe(id string) (engine.Recording, error) {
	path, err := r.path(id)
	if err != nil {
		return engine.Recording{}, err
	}
	info, err := os.Stat(path + suffix)
	if errors.Is(err, os.ErrNotExist) {
		return engine.Recording{}, errNotFound
	}
	if err != nil {
		return engine.Recording{}, err
	}
	length := time.Duration(max(0, info.Size()-headerBytes)/blockBytes) * frameTime
	return engine.Recording{ID: id, StartedAt: info.ModTime().Add(-length), Duration: length, Bytes: info.Size(),
		Incomplete: true}, nil
}
