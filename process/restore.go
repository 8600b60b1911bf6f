package process

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/failure"
)

// inUseEvery is the interval of noting that the database is in use, and the time limit for doing
// so.
const inUseEvery = 15 * time.Second

// lastUseName is the file in the data folder with a process's last note on its database: a backup
// restored without the dialler's knowledge ends before it.
const lastUseName = "last-use.json"

// useNotes records that the database is in use: in the database, and in a file of the data folder.
type useNotes struct {
	store *persistence.Store
	file  string
	tree  *atomic.Pointer[actors.Tree] // nil in it until the tree is up
	log   zerolog.Logger
	last  persistence.LastUse
}

// useDatabase records that the database is in use. It returns Conflict "database_restored" if it
// was restored from a backup.
func useDatabase(
	ctx context.Context,
	store *persistence.Store,
	data string,
	tree *atomic.Pointer[actors.Tree],
	log zerolog.Logger,
) (*useNotes, error) {
	n := &useNotes{store: store, file: filepath.Join(data, lastUseName), tree: tree, log: log}
	if raw, err := os.ReadFile(n.file); err == nil {
		_ = json.Unmarshal(raw, &n.last) // a broken note is ignored
	}
	if err := n.note(ctx); err != nil {
		return nil, err
	}
	unsafe, err := store.Unsafe(ctx)
	if len(unsafe) > 0 {
		log.Warn().Strs("settings", unsafe).Msg("the database server may lose acknowledged writes: these settings are " +
			"off; after a crash of its machine a number could be called twice")
	}
	return n, err
}

// note writes the next note.
func (n *useNotes) note(ctx context.Context) error {
	next, err := n.store.InUse(ctx, n.last)
	if err != nil {
		return err
	}
	n.last = next
	n.keep()
	return nil
}

// keep stores the note in the data folder. Without it, a restore is still detected by the marks in
// the database.
func (n *useNotes) keep() {
	raw, err := json.Marshal(n.last)
	if err == nil {
		err = replaceFile(n.file, raw)
	}
	if err != nil {
		n.log.Warn().Err(err).Msg("could not record the last use of the database in the data folder")
	}
}

// replaceFile writes a file of the data folder completely or not at all.
func replaceFile(path string, content []byte) error {
	//nolint:gosec // the private PostgreSQL's user must reach its part of it
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// run keeps noting that the database is in use, until ctx ends. It notes at once when the database
// is back after an outage: a standby may have taken over, and a start that finds its timeline
// unknown would take it for a restored backup.
func (n *useNotes) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	noted, outages := time.Now(), int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if t := n.tree.Load(); t != nil {
				db := t.Database()
				if !db.Up || db.Outages == outages && now.Sub(noted) < inUseEvery {
					continue
				}
				outages = db.Outages
			} else if now.Sub(noted) < inUseEvery {
				continue
			}
			noted = now
			c, stop := context.WithTimeout(ctx, inUseEvery)
			err := n.note(c)
			stop()
			switch {
			case err == nil:
			case failure.Why(err) != "": // it is down again, perhaps unnoticed so far
				outages = -1
			case engine.ErrorCode(err) == "database_restored":
				n.log.Error().
					Err(err).
					Msg("the database lost its latest writes, by a recovery or a standby that took over; the next start will ask " +
						"you to accept that")
			}
		}
	}
}
