package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// Results of conversations that came while the database was unavailable have a lane of their own.
// They are not writes: no machine has judged them yet. They are submitted again until each is
// accepted or refused, and one that is not accepted does not block the others. Their space is freed
// from the oldest on.

// resultsShare is the divisor for the results' space, which is an eighth of the writes' and comes
// on top of it.
const resultsShare = 8

// resultRecord is a result as stored on disk.
type resultRecord struct {
	Version int            `json:"v"`
	Call    engine.CallID  `json:"call"`
	Result  attempt.Result `json:"result"`
}

// results is the lane of results.
type results struct {
	mu   sync.Mutex // for the fields below; taken before the lane's
	lane *lane
	kept []keptResult // as many as the lane has entries
	last uint64       // ID of the newest
}

type keptResult struct {
	id    uint64
	place int64 // in the file
	done  bool
}

// KeptResult is a waiting result. Its ID is valid until the process ends.
type KeptResult struct {
	ID uint64
	campaign.SubmitResult
}

func (s *Spool) openResults(room int64, own owner) (err error) {
	path := filepath.Join(s.cfg.Dir, "results.spool")
	l, cut, err := openLane(path, room, own, &s.stats)
	if err != nil {
		return fmt.Errorf("the spool cannot be opened: %s: %w", path, err)
	}
	s.results.lane = l
	if cut > 0 {
		s.cfg.Log.Warn().Int64("bytes", cut).
			Msg("the spooled results end with an incomplete one; it was never accepted and is cut")
	}
	place := l.head
	for _, e := range l.entries {
		if _, err := s.results.read(place); errors.Is(err, errNewer) {
			return err
		}
		s.results.add(place)
		place += e.size
	}
	s.stats.add(len(l.entries), l.tail-l.head)
	return nil
}

func (r *results) add(place int64) {
	r.last++
	r.kept = append(r.kept, keptResult{id: r.last, place: place})
}

// ErrNoRoom says that a result was not accepted.
var ErrNoRoom = errors.New("the spool has no room for a result")

var errNewer = errors.New("spool: a result was kept by a newer version of the program; start that version once, so " +
	"that it stores what waits here")

// KeepResult makes a result durable.
func (s *Spool) KeepResult(cmd campaign.SubmitResult) error {
	b, err := json.Marshal(resultRecord{recordVersion, cmd.Call, cmd.Result})
	if err != nil || len(b) > recordCap {
		return errors.New("spool: the result cannot be written as JSON") // the cause may contain a value
	}
	r := &s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lane.mend()
	place := r.lane.tail // nobody else appends
	n, err := r.lane.append([][]byte{b}, s.cfg.Now())
	s.stats.full.Store(err == nil && n == 0)
	s.stats.broken.Store(err != nil)
	switch {
	case err != nil:
		return err
	case n == 0:
		return ErrNoRoom
	}
	s.stats.taken.Add(1)
	r.add(place)
	return nil
}

// KeptResults returns at most so many waiting results, the oldest first. A result whose removal was
// lost in a crash is returned again by the next process.
func (s *Spool) KeptResults(most int) (list []KeptResult) {
	r := &s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lane.mend()
	for i := range r.kept {
		k := &r.kept[i]
		if k.done || len(list) == most {
			continue
		}
		cmd, err := r.read(k.place)
		if err != nil {
			s.cfg.Log.Error().Err(err).Msg("a kept result is lost")
			k.done = true
			s.stats.rejected.Add(1)
			continue
		}
		list = append(list, KeptResult{ID: k.id, SubmitResult: cmd})
	}
	return list
}

func (r *results) read(place int64) (campaign.SubmitResult, error) {
	b, _, ok, err := r.lane.at(place)
	if err != nil || !ok {
		return campaign.SubmitResult{}, fmt.Errorf("it cannot be read: %w", errors.Join(err, errUnreadable))
	}
	var x resultRecord
	if json.Unmarshal(b[frameSize:], &x) != nil {
		return campaign.SubmitResult{}, errors.New("it is not JSON")
	}
	if x.Version > recordVersion {
		return campaign.SubmitResult{}, errNewer
	}
	return campaign.SubmitResult{Call: x.Call, Result: x.Result, Late: true}, nil
}

// ResultDone removes a result that was accepted, or refused for good.
func (s *Spool) ResultDone(id uint64, refused bool) error {
	r := &s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(k keptResult) bool { return k.id == id })
	if i < 0 || r.kept[i].done {
		return nil
	}
	r.kept[i].done = true
	s.stats.replayed.Add(1)
	if refused {
		s.stats.rejected.Add(1)
	}
	n := slices.IndexFunc(r.kept, func(k keptResult) bool { return !k.done })
	if n < 0 {
		n = len(r.kept)
	}
	if n == 0 {
		return nil
	}
	r.kept = slices.Delete(r.kept, 0, n)
	err := r.lane.release(n)
	if len(r.kept) == 0 {
		s.stats.full.Store(false)
		s.stats.broken.Store(err != nil)
	}
	return err
}
