package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"dialler/engine"
	"dialler/media/recording"
	"dialler/persistence"
)

// holdForErasure bounds how long a number is held while its person is erased,
// for the case that this process dies meanwhile.
const holdForErasure = 2 * time.Minute

// errSpoolWaits: what waits would bring a person back.
var errSpoolWaits = engine.Unavailable("spool_waiting", "writes of live calls wait on disk for the database; erase again when they are written", 5*time.Second)

// Eraser erases persons; tree is nil when no dialler runs in this process.
type Eraser struct {
	Store *persistence.Store
	Files *recording.Recorder
	tree  interface {
		BeginErasure(ctx context.Context, n engine.PhoneNumber, all, open []engine.CampaignID, reason string) error
		EndErasure(ctx context.Context, n, tombstone engine.PhoneNumber, all []engine.CampaignID, matches map[engine.CampaignID][]map[string]string) error
	}
	// CalleePeriod is that of --callee-cap, 0 without one.
	CalleePeriod time.Duration
}

// Erase takes a person out of everything that is stored. The number is held
// until everybody has forgotten it, so that nobody dials it meanwhile; after an
// error the person may be erased in part, and erasing again does the rest.
func (e *Eraser) Erase(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	hold := engine.AttemptID(hex.EncodeToString(id[:]))
	if err := e.Store.HoldPerson(ctx, n, hold, holdForErasure); err != nil {
		return engine.ErasedPerson{}, err
	}
	out, err := e.held(ctx, n, suppress, who)
	if releaseErr := e.Store.ReleasePerson(context.WithoutCancel(ctx), n, hold); err == nil {
		err = releaseErr
	}
	return out, err
}

func (e *Eraser) held(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error) {
	found, err := e.Store.Traces(ctx, n)
	if err != nil {
		return engine.ErasedPerson{}, err
	}
	if suppress == nil {
		suppress = &found.Asked
	}
	for _, r := range found.Recordings {
		f, err := e.Files.Open(r.ID)
		if err == nil {
			err = f.Close()
		}
		if err != nil && engine.ErrorCode(err) == "recording_in_progress" {
			return engine.ErasedPerson{}, err
		}
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	erasure := persistence.Erasure{Number: n, Tombstone: engine.ErasedNumber(random), Suppress: *suppress, CalleePeriod: e.CalleePeriod, Who: who, At: time.Now()}
	if e.tree != nil {
		if err := e.tree.BeginErasure(ctx, n, found.Campaigns, found.Open, persistence.ErasedReason); err != nil {
			return engine.ErasedPerson{}, err
		}
	}
	// The files go first: of a file without a row nobody would know.
	for _, r := range found.Recordings {
		if err := e.Files.Remove(r.ID); err != nil && engine.ErrorCode(err) != "recording_not_found" {
			return engine.ErasedPerson{}, err
		}
	}
	done, err := e.Store.ErasePerson(ctx, erasure)
	if err == nil && e.tree != nil {
		err = e.tree.EndErasure(ctx, n, erasure.Tombstone, found.Campaigns, done.Matches)
	}
	return done.ErasedPerson, err
}

// ErasePerson implements http.Persons.
func (f *Front) ErasePerson(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error) {
	if f.p.spool != nil && f.p.spool.Stats().Records > 0 {
		return engine.ErasedPerson{}, errSpoolWaits
	}
	e := Eraser{Store: f.Store, Files: f.p.recorder, tree: f.tree}
	if f.p.flags.CalleeCap > 0 {
		e.CalleePeriod = f.p.flags.CalleePeriod
	}
	return e.Erase(ctx, n, suppress, who)
}
