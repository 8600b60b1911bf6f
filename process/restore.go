package process

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/failure"
)

// inUseEvery is how often it is noted that the database is in use, and how long
// that may take.
const inUseEvery = 15 * time.Second

// lastUseName is the file of the data folder with the last note of a process on
// its database: a backup that is put back behind a dialler ends before it.
const lastUseName = "last-use.json"

// useDatabase notes that the database is in use, and goes on noting it. Conflict
// "database_restored" when it was restored from a backup.
func (p *Process) useDatabase(ctx context.Context, name string) error {
	data, err := DataDir(p.flags.DataDir, name)
	if err != nil {
		return err
	}
	file := filepath.Join(data, lastUseName)
	var last persistence.LastUse
	if raw, err := os.ReadFile(file); err == nil { //nolint:gosec // the operator's folder
		_ = json.Unmarshal(raw, &last) // a broken one says nothing
	}
	if last, err = p.store.InUse(ctx, last); err != nil {
		return err
	}
	p.keepLastUse(file, last)
	p.noteUse(file, last)
	return nil
}

// keepLastUse writes the note to the data folder. Without it a restore is still
// told by the marks in the database.
func (p *Process) keepLastUse(file string, use persistence.LastUse) {
	raw, err := json.Marshal(use)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755) //nolint:gosec // the private PostgreSQL's user must reach its part of it
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(filepath.Dir(file), lastUseName+".*")
	}
	if err == nil {
		_, err = f.Write(raw)
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), file)
		}
	}
	if err != nil {
		p.log.Warn().Err(err).Msg("the data folder does not take the note of the last use of the database")
	}
}

// noteUse goes on noting that the database is in use, from last on. It does so at
// once when the database was away and is back: a standby may have taken over, and
// a start that finds its timeline unknown would take it for a restored backup.
func (p *Process) noteUse(file string, last persistence.LastUse) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		noted, outages := time.Now(), int64(0)
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				if t := p.treeUp.Load(); t != nil {
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
				next, err := p.store.InUse(c, last)
				stop()
				switch {
				case err == nil:
					last = next
					p.keepLastUse(file, last)
				case failure.Why(err) != "": // it is away again, perhaps before anybody else has noticed
					outages = -1
				case engine.ErrorCode(err) == "database_restored":
					p.log.Error().Err(err).Msg("the database lost what was written last, by a recovery or a standby that took over; the next start will ask for a word on that")
				}
			}
		}
	}()
	p.closing = append(p.closing, func() { cancel(); <-done })
}
