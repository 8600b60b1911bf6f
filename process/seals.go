package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/seal"
	"dialler/engine/spine"
	"dialler/persistence"
	"dialler/process/keys"
)

// SealsName is the file in the data folder that has every entry of the spine, one a line: whoever
// cuts the end of the spine off in the database does not reach it there.
const SealsName = "seals.jsonl"

// sealsFile is that file. Several processes may use it, one at a time.
type sealsFile struct {
	path string
	log  zerolog.Logger
}

// locked runs f with the file, which nobody else uses meanwhile. A last line that was not written
// completely is removed first: its entry is in the database.
func (s *sealsFile) locked(f func(*os.File) error) (err error) {
	// The private PostgreSQL's user must be able to reach its part of the folder.
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil { //nolint:gosec // see above
		return err
	}
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which unlocks it
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	whole, err := lineBefore(file, end)
	if err == nil && whole < end {
		err = file.Truncate(whole)
	}
	if err != nil {
		return err
	}
	return f(file)
}

// lineBefore returns where the last line that ends before or at a place ends: 0 if there is none.
func lineBefore(file io.ReaderAt, at int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for at > 0 {
		n := min(at, int64(len(buf)))
		if _, err := file.ReadAt(buf[:n], at-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return at - n + int64(i) + 1, nil
		}
		at -= n
	}
	return 0, nil
}

// lastEntry reads the last entry; false in an empty file.
func lastEntry(file *os.File) (e spine.Entry, ok bool, err error) {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return e, false, err
	}
	from, err := lineBefore(file, end-1)
	if err != nil {
		return e, false, err
	}
	line := make([]byte, end-1-from)
	if _, err := file.ReadAt(line, from); err != nil {
		return e, false, err
	}
	e, err = spine.ParseLine(line)
	return e, err == nil, err
}

// eachEntry calls f with every line of a file of seals; e is nil for one that is no entry.
func eachEntry(r io.Reader, f func(line int, e *spine.Entry) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var entry *spine.Entry
			if e, wrong := spine.ParseLine(bytes.TrimSuffix(line, []byte{'\n'})); wrong == nil {
				entry = &e
			}
			if err := f(n, entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errSealsAhead says what the database has lost.
func errSealsAhead(r spine.Restored) error {
	if r.Forked {
		return engine.Conflict("seals_ahead", fmt.Sprintf("after entry %d the database's record is another than that of %s, "+
			"which goes on to %d: see dialler db audit", r.After, SealsName, r.To))
	}
	return engine.Conflict("seals_ahead", fmt.Sprintf("the database had lost the entries %d to %d of its record, which "+
		"%s still has: it was put back by a backup, or cut. They were added again; see dialler db audit", r.After+1, r.To,
		SealsName))
}

// meet compares the end of the file with the database, and returns the last entry that both have. What
// the database has lost is added to it again, and an entry says so.
func (s *sealsFile) meet(ctx context.Context, file *os.File, store *persistence.Store, by seal.Signer) (int64, error) {
	end, ok, err := lastEntry(file)
	if err != nil || !ok {
		return 0, err
	}
	hash, err := store.Spine.HashAt(ctx, end.N)
	if err != nil || hash == end.Hash() {
		return end.N, err
	}
	last, err := store.Spine.Last(ctx)
	if err != nil {
		return 0, err
	}
	common, lost := int64(0), []spine.Entry(nil)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	err = eachEntry(file, func(_ int, e *spine.Entry) error {
		if e == nil {
			return nil
		}
		if e.N <= last {
			h, err := store.Spine.HashAt(ctx, e.N)
			if err == nil && h == e.Hash() {
				common, lost = e.N, nil
				return nil
			}
			if err != nil {
				return err
			}
		}
		lost = append(lost, *e)
		return nil
	})
	if err != nil {
		return 0, err
	}
	r, err := store.Spine.Readd(ctx, by, common, lost)
	if err != nil {
		return 0, err
	}
	s.log.Error().Str("code", "seals_ahead").Err(errSealsAhead(r)).Msg("the database and seals.jsonl differ")
	if r.Forked {
		return common, nil
	}
	return end.N, nil
}

// catchUp appends the entries after a number, so that they are on disk when it returns.
func (s *sealsFile) catchUp(ctx context.Context, file *os.File, store *persistence.Store, after int64) error {
	const page = 500
	for wrote := false; ; wrote = true {
		list, err := store.Spine.After(ctx, after, page)
		if err != nil {
			return err
		}
		for i := range list {
			line, err := list[i].Line()
			if err == nil {
				_, err = file.Write(append(line, '\n'))
			}
			if err != nil {
				return err
			}
			after = list[i].N
		}
		if len(list) < page {
			if wrote || len(list) > 0 {
				return file.Sync()
			}
			return nil
		}
	}
}

// step brings file and database together.
func (s *sealsFile) step(ctx context.Context, store *persistence.Store, by seal.Signer) error {
	return s.locked(func(file *os.File) error {
		common, err := s.meet(ctx, file, store, by)
		if err != nil {
			return err
		}
		return s.catchUp(ctx, file, store, common)
	})
}

// own puts the file of another installation aside: the folder was used with another database before.
func (s *sealsFile) own(ctx context.Context, store *persistence.Store) error {
	mine, err := store.Spine.Installation(ctx)
	if err != nil {
		return err
	}
	aside := func(installation string) string {
		return filepath.Join(filepath.Dir(s.path), "seals."+installation[:min(8, len(installation))]+".jsonl")
	}
	var first *spine.Entry
	file, err := os.Open(s.path)
	if err == nil {
		err = eachEntry(file, func(_ int, e *spine.Entry) error { first = e; return io.ErrUnexpectedEOF })
		_ = file.Close()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if first != nil {
		g, _, err := first.Genesis()
		if err != nil || g.Installation == mine {
			return nil // not begun by a genesis: what is wrong with it, the audit says
		}
		s.log.Warn().Str("file", aside(g.Installation)).Msg("seals.jsonl is of another installation's database, with which " +
			"this folder was used before: it is put aside")
		if err := os.Rename(s.path, aside(g.Installation)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(aside(mine), s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// OpenSpine makes the signer sign for the installation, and keeps the spine and the file in the data
// folder in step. It returns Conflict "signing_key_other" for another key than the installation's. A
// file that cannot be written is only logged: the entries are in the database.
func OpenSpine(ctx context.Context, store *persistence.Store, by seal.Signer, dir string, log zerolog.Logger) (
	step func(context.Context) error, err error) {
	file := &sealsFile{path: filepath.Join(dir, SealsName), log: log}
	key, ok, err := store.Spine.InForce(ctx)
	if err != nil {
		return nil, err
	}
	if !ok || key.Fingerprint() == by.Public().Fingerprint() {
		// Before the genesis: a database that has lost it gets it back.
		err := file.own(ctx, store)
		if err == nil {
			err = file.step(ctx, store, by)
		}
		if err != nil && !ok {
			return nil, fmt.Errorf("%s cannot be compared with the database: %w", file.path, err)
		}
		if err != nil {
			file.failed(err)
		}
	}
	rowKey, err := store.Spine.Open(ctx, by)
	if err != nil {
		return nil, err
	}
	store.UseRowKey(rowKey)
	return func(ctx context.Context) error { return file.step(ctx, store, store.Spine.Signer()) }, nil
}

// RotateKey puts another signing key in force, that of a file or a new one: in the spine first, signed
// by the present one, and then in the file of the key.
func RotateKey(ctx context.Context, store *persistence.Store, path, from, dir string, log zerolog.Logger) (
	next seal.Key, former string, err error) {
	r, err := keys.Rotate(path, from)
	if err != nil {
		return next, "", err
	}
	in, ok, err := store.Spine.InForce(ctx)
	if err != nil {
		return next, "", err
	}
	if !ok || in.Fingerprint() != r.Next.Public().Fingerprint() { // else it was interrupted after this
		if _, err := OpenSpine(ctx, store, r.Former, dir, log); err != nil {
			return next, "", err
		}
		if err := store.Spine.Rotate(ctx, r.Former, r.Next); err != nil {
			return next, "", err
		}
	}
	if former, err = r.Finish(); err != nil {
		return next, "", err
	}
	step, err := OpenSpine(ctx, store, r.Next, dir, log)
	if err == nil {
		err = step(ctx)
	}
	return r.Next, former, err
}

// CompleteRotation exchanges the file of the key when a rotation was interrupted after the new key was
// in force: else nothing could sign.
func CompleteRotation(ctx context.Context, store *persistence.Store, path string, log zerolog.Logger) error {
	r, ok, err := keys.Interrupted(path)
	if err != nil || !ok {
		return err
	}
	in, ok, err := store.Spine.InForce(ctx)
	if err != nil || !ok || in.Fingerprint() != r.Next.Public().Fingerprint() {
		return err
	}
	former, err := r.Finish()
	if err != nil {
		return fmt.Errorf("the signing key %s is in force and cannot take its place in %s: run dialler key rotate again "+
			"where that can be written: %w", in.Fingerprint(), path, err)
	}
	log.Warn().Str("key", in.Fingerprint()).Str("former", former).
		Msg("a change of the signing key was interrupted: it is completed")
	return nil
}

func (s *sealsFile) failed(err error) {
	s.log.Error().Err(err).Str("file", s.path).Msg("the file of seals is not in step with the database; it is tried again")
}
