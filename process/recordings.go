package process

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/media/recording"
	"dialler/persistence"
	"dialler/persistence/recordings"
)

const (
	// retentionEvery is the interval of checking recordings, retentionBatch how many are read at a
	// time.
	retentionEvery = 24 * time.Hour
	retentionBatch = 500
	// hashEvery is the interval of hashing the files that became whole; hashesCap bounds those whose
	// rows are awaited, and how many one event of the history names.
	hashEvery = 5 * time.Second
	hashesCap = 500
	// damagedEvery is the interval of recording which recordings turned out incomplete.
	damagedEvery = 30 * time.Second
)

// recordingRows is the database's knowledge of recordings.
type recordingRows interface {
	ExpiredRecordings(
		ctx context.Context,
		now time.Time,
		after recordings.KeptRecording,
		limit int,
	) ([]recordings.KeptRecording, error)
	RecordingsDeleted(ctx context.Context, attempts []engine.AttemptID, at time.Time) error
	RecordingsIncomplete(ctx context.Context, attempts []engine.AttemptID) error
	AddRecording(ctx context.Context, id engine.AttemptID, rec engine.Recording) (bool, error)
	UnknownRecordings(ctx context.Context, attempts []engine.AttemptID) ([]engine.AttemptID, error)
	DroppedRecordings(ctx context.Context, attempts []engine.AttemptID) ([]engine.AttemptID, error)
	UnhashedRecordings(
		ctx context.Context,
		after recordings.KeptRecording,
		limit int,
	) ([]recordings.KeptRecording, error)
	RecordingsHashed(ctx context.Context, sums map[engine.AttemptID]recordings.Hash) ([]engine.AttemptID, error)
	Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error)
}

// storedRecordings implements recordingRows.
type storedRecordings struct {
	*recordings.Recordings
	calls *persistence.Store
}

func (s storedRecordings) Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error) {
	return s.calls.Attempt(ctx, id)
}

// recordingKeeper keeps files and rows of recordings consistent, and deletes both after their
// retention.
type recordingKeeper struct {
	rows  recordingRows
	files *recording.Recorder
	now   func() time.Time
	log   zerolog.Logger
	// strays counts the files whose calls the database does not know, as the last look found them.
	strays *atomic.Int64
	// several says that other nodes may have files, each on its own disk.
	several bool
	damaged []engine.AttemptID
	// hashed are files whose hash is not stored yet: the rows of their recordings are not there, or
	// the database is away. late says that there were more, or that a pass over all is due.
	hashed map[engine.AttemptID]recordings.Hash
	late   bool
}

// sweep deletes the recordings past their retention.
func (k *recordingKeeper) sweep(ctx context.Context) (deleted int, err error) {
	now := k.now()
	var last recordings.KeptRecording
	for {
		list, err := k.rows.ExpiredRecordings(ctx, now, last, retentionBatch)
		if err != nil || len(list) == 0 {
			return deleted, err
		}
		last = list[len(list)-1]
		gone := make([]engine.AttemptID, 0, len(list))
		for _, r := range list {
			if k.several && !k.files.Has(r.ID) {
				continue // the node that has it deletes it
			}
			// One that cannot be deleted now is retried the next day. The file is deleted first,
			// because a file without a row would never be found.
			if err := k.files.Remove(r.ID); err != nil && engine.ErrorCode(err) != "recording_not_found" {
				k.log.Error().Err(err).Str("attempt_id",
					string(r.Attempt)).Msg("an expired recording cannot be deleted; it is tried again tomorrow")
				continue
			}
			gone = append(gone, r.Attempt)
		}
		if err := k.rows.RecordingsDeleted(ctx, gone, now); err != nil {
			return deleted, err
		}
		deleted += len(gone)
	}
}

// recover completes the files that a crash left behind, and records them in the database.
func (k *recordingKeeper) recover(ctx context.Context) error {
	var failed error
	err := k.files.Recover(func(f recording.Recovered) {
		_, err := k.adopt(ctx, f.Attempt, f.Recording)
		failed = errors.Join(failed, err)
	})
	return errors.Join(err, failed)
}

// adopt stores what is known of a file; ok is false for a stray.
func (k *recordingKeeper) adopt(ctx context.Context, a engine.AttemptID, rec engine.Recording) (ok bool, err error) {
	if ok, err = k.rows.AddRecording(ctx, a, rec); ok {
		k.log.Warn().Str("attempt_id", string(a)).
			Msg("a recording that an earlier process left behind is kept as incomplete")
	}
	return ok, err
}

// reconcile deletes files that must not be kept, because a person was erased or a recording deleted
// while this node was down, adopts those whose calls ended in a crash, and counts the strays. These stay,
// because they may be another database's.
func (k *recordingKeeper) reconcile(ctx context.Context) error {
	strays := 0
	err := eachBatch(k.files, func(attempts []engine.AttemptID, places map[engine.AttemptID]string) error {
		dropped, err := k.rows.DroppedRecordings(ctx, attempts)
		if err != nil {
			return err
		}
		for _, a := range dropped {
			if err := k.files.Remove(places[a]); err != nil {
				return err
			}
		}
		n, err := k.adoptUnknown(ctx, attempts, places)
		strays += n
		return err
	})
	if err != nil {
		return err
	}
	k.strays.Store(int64(strays))
	if strays > 0 {
		k.log.Warn().Int("recordings", strays).
			Msg("recordings belong to no call of this database, as after a restore; they are left where they are, and " +
				"dialler db stray-recordings names and deletes them")
	}
	return nil
}

// eachBatch calls f with the complete files of a folder: whose they are, and where.
func eachBatch(files *recording.Recorder,
	f func(of []engine.AttemptID, places map[engine.AttemptID]string) error) error {
	days, err := files.Days()
	if err != nil {
		return err
	}
	for _, day := range days {
		err := files.Day(day, func(ids []string) error {
			attempts, places := make([]engine.AttemptID, len(ids)), make(map[engine.AttemptID]string, len(ids))
			for j, id := range ids {
				attempts[j] = recording.Attempt(id)
				places[attempts[j]] = id
			}
			return f(attempts, places)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// adoptUnknown adopts files that the database does not know, and counts the strays among them.
func (k *recordingKeeper) adoptUnknown(
	ctx context.Context,
	of []engine.AttemptID,
	places map[engine.AttemptID]string,
) (strays int, err error) {
	unknown, err := k.rows.UnknownRecordings(ctx, of)
	if err != nil {
		return 0, err
	}
	for _, a := range unknown {
		row, ok, err := k.rows.Attempt(ctx, a)
		switch {
		case err != nil:
			return strays, err
		case ok && row.To.Erased(): // while this node was down
			if err := k.files.Remove(places[a]); err != nil {
				return strays, err
			}
			continue
		}
		rec, err := k.files.Describe(places[a])
		if err != nil {
			continue // deleted meanwhile
		}
		switch ok, err := k.adopt(ctx, a, rec); {
		case err != nil:
			return strays, err
		case !ok:
			strays++
		}
	}
	return strays, nil
}

// StrayRecordings calls found with each file of a folder whose call the database does not know. It deletes
// nothing.
func StrayRecordings(ctx context.Context, s *persistence.Store, files *recording.Recorder,
	found func(id string) error) error {
	return eachBatch(files, func(of []engine.AttemptID, places map[engine.AttemptID]string) error {
		unknown, err := s.Recordings.UnknownRecordings(ctx, of)
		if err != nil {
			return err
		}
		for _, a := range unknown {
			switch _, known, err := s.Attempt(ctx, a); {
			case err != nil:
				return err
			case known: // the dialler adopts it
				continue
			}
			if err := found(places[a]); err != nil {
				return err
			}
		}
		return nil
	})
}

// noteDamaged records in the database which recordings turned out incomplete.
func (k *recordingKeeper) noteDamaged(ctx context.Context) {
	k.damaged = append(k.damaged, k.files.Damaged()...)
	if len(k.damaged) == 0 || k.rows.RecordingsIncomplete(ctx, k.damaged) != nil {
		return // a database outage is logged elsewhere
	}
	k.damaged = nil
}

// hash hashes the files that became whole, and stores their hashes once their rows are there.
func (k *recordingKeeper) hash(ctx context.Context) error {
	ids, missed := k.files.Completed()
	k.late = k.late || missed
	for i, id := range ids {
		if len(k.hashed) >= hashesCap {
			if err := k.storeHashes(ctx); err != nil || len(k.hashed) >= hashesCap {
				k.late = true // the rest is found by its rows
				return err
			}
		}
		k.hashFile(ids[i], recording.Attempt(id))
	}
	if err := k.storeHashes(ctx); err != nil || !k.late {
		return err
	}
	k.late = false
	return k.hashAll(ctx)
}

// hashFile hashes a file that is here.
func (k *recordingKeeper) hashFile(id string, of engine.AttemptID) {
	sum, err := k.files.Hash(id)
	if err != nil {
		if !errors.Is(err, errNoRecording) { // deleted, or on another node
			k.log.Error().Err(err).Str("attempt_id", string(of)).
				Msg("a recording cannot be read for its hash; it is tried again tomorrow")
		}
		return
	}
	if k.hashed == nil {
		k.hashed = map[engine.AttemptID]recordings.Hash{}
	}
	k.hashed[of] = sum
}

func (k *recordingKeeper) storeHashes(ctx context.Context) error {
	if len(k.hashed) == 0 {
		return nil
	}
	absent, err := k.rows.RecordingsHashed(ctx, k.hashed)
	if err != nil {
		return err
	}
	left := make(map[engine.AttemptID]recordings.Hash, len(absent))
	for _, a := range absent {
		left[a] = k.hashed[a]
	}
	k.hashed = left
	return nil
}

// hashAll hashes every file here whose row has no hash: those of a crash, of a database that was
// away for long, and those from before there were hashes.
func (k *recordingKeeper) hashAll(ctx context.Context) error {
	var last recordings.KeptRecording
	for {
		list, err := k.rows.UnhashedRecordings(ctx, last, retentionBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		last = list[len(list)-1]
		for _, r := range list {
			if k.files.Has(r.ID) {
				k.hashFile(r.ID, r.Attempt)
			}
		}
		if err := k.storeHashes(ctx); err != nil {
			return err
		}
	}
}

func (k *recordingKeeper) daily(ctx context.Context) {
	if err := k.reconcile(ctx); err != nil && ctx.Err() == nil {
		k.log.Error().Err(err).Msg("the recordings folder could not be scanned; it is tried again tomorrow")
	}
	k.late = true
	switch n, err := k.sweep(ctx); {
	case err != nil && ctx.Err() == nil:
		k.log.Error().Err(err).Msg("not all expired recordings were deleted; it is tried again tomorrow")
	case n > 0:
		k.log.Info().Int("recordings", n).Msg("expired recordings deleted")
	}
}

func (k *recordingKeeper) run(ctx context.Context) {
	day, damaged, hash := time.NewTicker(retentionEvery), time.NewTicker(damagedEvery), time.NewTicker(hashEvery)
	defer day.Stop()
	defer hash.Stop()
	defer damaged.Stop()
	if err := k.recover(ctx); err != nil && ctx.Err() == nil {
		k.log.Error().Err(err).Msg("not all partial recordings were recovered; it is tried again at the next start")
	}
	k.daily(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hash.C:
			_ = k.hash(ctx) // a database outage is logged elsewhere; it is tried again
		case <-damaged.C:
			k.noteDamaged(ctx)
		case <-day.C:
			k.daily(ctx)
		}
	}
}
