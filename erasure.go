package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"dialler/engine"
	"dialler/engine/number"
	"dialler/media/recording"
	"dialler/persistence"
)

// holdForErasure bounds how long a number is held while its person is erased,
// for the case that this process dies meanwhile.
const holdForErasure = 2 * time.Minute

// errSpoolWaits: what waits would bring a person back.
var errSpoolWaits = engine.Unavailable("spool_waiting", "writes of live calls wait on disk for the database; erase again when they are written", 5*time.Second)

// eraser erases persons; tree is nil when no dialler runs in this process.
type eraser struct {
	store *persistence.Store
	files *recording.Recorder
	tree  interface {
		BeginErasure(ctx context.Context, n engine.PhoneNumber, all, open []engine.CampaignID, reason string) error
		EndErasure(ctx context.Context, n, tombstone engine.PhoneNumber, all []engine.CampaignID, matches map[engine.CampaignID][]map[string]string) error
	}
	calleePeriod time.Duration
}

// erase takes a person out of everything that is stored. The number is held
// until everybody has forgotten it, so that nobody dials it meanwhile; after an
// error the person may be erased in part, and erasing again does the rest.
func (e *eraser) erase(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	hold := engine.AttemptID(hex.EncodeToString(id[:]))
	if err := e.store.HoldPerson(ctx, n, hold, holdForErasure); err != nil {
		return engine.ErasedPerson{}, err
	}
	out, err := e.held(ctx, n, suppress, who)
	if releaseErr := e.store.ReleasePerson(context.WithoutCancel(ctx), n, hold); err == nil {
		err = releaseErr
	}
	return out, err
}

func (e *eraser) held(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error) {
	found, err := e.store.Traces(ctx, n)
	if err != nil {
		return engine.ErasedPerson{}, err
	}
	if suppress == nil {
		suppress = &found.Asked
	}
	for _, r := range found.Recordings {
		f, err := e.files.Open(r.ID)
		if err == nil {
			err = f.Close()
		}
		if err != nil && engine.ErrorCode(err) == "recording_in_progress" {
			return engine.ErasedPerson{}, err
		}
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	erasure := persistence.Erasure{Number: n, Tombstone: engine.ErasedNumber(random), Suppress: *suppress, CalleePeriod: e.calleePeriod, Who: who, At: time.Now()}
	if e.tree != nil {
		if err := e.tree.BeginErasure(ctx, n, found.Campaigns, found.Open, persistence.ErasedReason); err != nil {
			return engine.ErasedPerson{}, err
		}
	}
	// The files go first: of a file without a row nobody would know.
	for _, r := range found.Recordings {
		if err := e.files.Remove(r.ID); err != nil && engine.ErrorCode(err) != "recording_not_found" {
			return engine.ErasedPerson{}, err
		}
	}
	done, err := e.store.ErasePerson(ctx, erasure)
	if err == nil && e.tree != nil {
		err = e.tree.EndErasure(ctx, n, erasure.Tombstone, found.Campaigns, done.Matches)
	}
	return done.ErasedPerson, err
}

// ErasePerson implements http.Persons.
func (f *front) ErasePerson(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error) {
	if f.p.spool != nil && f.p.spool.Stats().Records > 0 {
		return engine.ErasedPerson{}, errSpoolWaits
	}
	e := eraser{store: f.Store, files: f.p.recorder, tree: f.tree}
	if f.p.flags.CalleeCap > 0 {
		e.calleePeriod = f.p.flags.CalleePeriod
	}
	return e.erase(ctx, n, suppress, who)
}

type dbEraseCmd struct {
	storeFlags    `embed:""`
	Number        string        `help:"Number of the person, with its country: +4915112345678." required:"" placeholder:"NUMBER"`
	Suppress      *bool         `help:"Whether the person must not be called again; when left out: if the number was suppressed or excluded." negatable:""`
	RecordingsDir string        `name:"recordings-dir" help:"Folder of the recordings; recordings in the data folder when empty." placeholder:"DIR"`
	CalleePeriod  time.Duration `name:"callee-period" help:"Period of --callee-cap, when serve has one." default:"0"`
}

// Run erases a person who is not to be called in any campaign any more.
func (d *dbEraseCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	n, err := number.Parse(d.Number)
	if err != nil {
		return err
	}
	s, done, err := d.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	dir := d.RecordingsDir
	if dir == "" {
		data, err := dataDir(d.DataDir, d.Instance)
		if err != nil {
			return err
		}
		dir = filepath.Join(data, "recordings")
	}
	files := recording.New(recording.Config{Dir: dir, Log: c.logger()})
	defer files.Close()
	e := eraser{store: s, files: files, calleePeriod: d.CalleePeriod}
	out, err := e.erase(ctx, n, d.Suppress, engine.Who{Name: "command line"})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "erased: %d contacts, %d attempts, %d recordings; called again: %s\n", out.Contacts, out.Attempts, out.Recordings, calledAgain(&out))
	return nil
}

func calledAgain(out *engine.ErasedPerson) string {
	switch {
	case out.Suppressed:
		return "never"
	case out.RestsUntil != nil:
		return "not before " + out.RestsUntil.UTC().Format(time.RFC3339)
	}
	return "if the number is added again"
}
