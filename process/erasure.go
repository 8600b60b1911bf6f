package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"dialler/actors"
	"dialler/engine"
	"dialler/media/recording"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/process/flights"
)

// holdForErasure bounds how long a number is held while its person is erased, in case this process
// dies meanwhile.
const holdForErasure = 2 * time.Minute

// errSpoolWaits means that the spool contains records that would bring a person back.
var errSpoolWaits = engine.Unavailable("spool_waiting", "", 5*time.Second)

// spoolPatience is how long an erasure waits for the spool: after a short delay of the database it
// is soon empty.
const spoolPatience = 5 * time.Second

// spoolWritten waits until the spool is empty.
func spoolWritten(ctx context.Context, records func() int64) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	late := time.After(spoolPatience)
	for records() > 0 {
		select {
		case <-look.C:
		case <-late:
			return errSpoolWaits
		case <-ctx.Done():
			return errSpoolWaits
		}
	}
	return nil
}

// Eraser erases persons.
type Eraser struct {
	Store *persistence.Store
	Files *recording.Recorder
	// Flights are the recordings of runs.
	Flights *flights.Keeper
	// running is what runs and may know the person, nil if no dialler runs in this process.
	running erasing
	// CalleePeriod is the longest period of --call-frequency and --callee-cap, 0 without one.
	CalleePeriod time.Duration
}

// erasing is what runs: one tree, or those of all nodes.
type erasing interface {
	// Begin removes the person from campaigns and blocks triggers for the number; it fails while a
	// recording of the person is being written.
	Begin(ctx context.Context, n engine.PhoneNumber, found *history.Traces) error
	RemoveFiles(ctx context.Context, n engine.PhoneNumber, found *history.Traces) error
	// End makes every tree forget the person.
	End(
		ctx context.Context,
		n, tombstone engine.PhoneNumber,
		found *history.Traces,
		matches map[engine.CampaignID][]map[string]string,
	) error
}

// places returns the locations of the recordings.
func places(found *history.Traces) []string {
	ids := make([]string, len(found.Recordings))
	for i, r := range found.Recordings {
		ids[i] = r.ID
	}
	return ids
}

// inProgress fails while one of the recordings is being written here.
func inProgress(files *recording.Recorder, ids []string) error {
	for _, id := range ids {
		f, err := files.Open(id)
		if err == nil {
			err = f.Close()
		}
		if err != nil && engine.ErrorCode(err) == "recording_in_progress" {
			return err
		}
	}
	return nil
}

// removeFiles deletes the recordings that are here.
func removeFiles(files *recording.Recorder, ids []string) error {
	for _, id := range ids {
		if err := files.Remove(id); err != nil {
			return err
		}
	}
	return nil
}

// erasure is what an Eraser needs in a single process: the tree, nil if no dialler runs, and the
// files.
type erasure struct {
	files   *recording.Recorder
	flights *flights.Keeper
	tree    *actors.Tree
}

// Begin implements erasing.
func (e erasure) Begin(ctx context.Context, n engine.PhoneNumber, found *history.Traces) error {
	if err := inProgress(e.files, places(found)); err != nil || e.tree == nil {
		return err
	}
	return e.tree.BeginErasure(ctx, n, found.Campaigns, found.Open, history.ErasedReason)
}

// RemoveFiles implements erasing.
func (e erasure) RemoveFiles(_ context.Context, n engine.PhoneNumber, found *history.Traces) error {
	if err := e.flights.Forget(n); err != nil {
		return err
	}
	return removeFiles(e.files, places(found))
}

// End implements erasing.
func (e erasure) End(
	ctx context.Context,
	n, tombstone engine.PhoneNumber,
	found *history.Traces,
	matches map[engine.CampaignID][]map[string]string,
) error {
	if e.tree == nil {
		return nil
	}
	if err := e.tree.EndErasure(ctx, n, tombstone, found.Campaigns, matches); err != nil {
		return err
	}
	return e.flights.Forget(n) // the end names it once more
}

// Erase erases a person, whichever of the person's numbers is given, and with the person all numbers.
func (e *Eraser) Erase(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson,
	error) {
	var sum engine.ErasedPerson
	persons, err := e.Store.Records.Persons(ctx, n)
	for i := 0; i < len(persons) && err == nil; i++ {
		var one engine.ErasedPerson
		if one, err = e.erase(ctx, persons[i], suppress, who); err == nil {
			sum.Add(one)
		}
	}
	return sum, err
}

// erase erases a person by the first number from everything that is stored. The number is held until every component
// has forgotten it, so that nobody dials it meanwhile; after an error the person may be partly
// erased, and erasing again does the rest.
func (e *Eraser) erase(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson,
	error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	hold := engine.AttemptID(hex.EncodeToString(id[:]))
	if err := e.Store.Records.HoldPerson(ctx, n, hold, holdForErasure); err != nil {
		return engine.ErasedPerson{}, err
	}
	out, err := e.held(ctx, n, suppress, who)
	if releaseErr := e.Store.Records.ReleasePerson(context.WithoutCancel(ctx), n, hold); err == nil {
		err = releaseErr
	}
	return out, err
}

func (e *Eraser) held(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson,
	error) {
	found, err := e.Store.Records.Traces(ctx, n)
	if err != nil {
		return engine.ErasedPerson{}, err
	}
	if suppress == nil {
		suppress = &found.Asked
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	gone := history.Erasure{
		Number:       n,
		Tombstone:    engine.ErasedNumber(random),
		Suppress:     *suppress,
		CalleePeriod: e.CalleePeriod,
		Who:          who,
		At:           time.Now(),
	}
	running := e.running
	if running == nil {
		running = erasure{files: e.Files, flights: e.Flights}
	}
	if err := running.Begin(ctx, n, &found); err != nil {
		return engine.ErasedPerson{}, err
	}
	// The files are deleted first, because a file without a row would never be found.
	if err := running.RemoveFiles(ctx, n, &found); err != nil {
		return engine.ErasedPerson{}, err
	}
	for _, other := range found.Numbers {
		if err := running.RemoveFiles(ctx, other, &history.Traces{}); err != nil {
			return engine.ErasedPerson{}, err
		}
	}
	done, err := e.Store.Records.ErasePerson(ctx, gone)
	if err == nil {
		err = running.End(ctx, n, gone.Tombstone, &found, done.Matches)
	}
	return done.ErasedPerson, err
}
