package chaos

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/bench/site"
	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/private"
)

// database is a PostgreSQL of the harness's own, which it may kill.
type database struct {
	cfg    private.Config
	server *private.Server
}

func startDatabase(ctx context.Context, dir string) (*database, error) {
	d := &database{cfg: private.Config{Dir: dir, Name: "outside", Log: zerolog.Nop()}}
	return d, d.start(ctx)
}

func (d *database) start(ctx context.Context) (err error) {
	d.server, err = private.Start(ctx, d.cfg)
	return err
}

// kill ends the server as a power cut would, and waits until it is gone.
func (d *database) kill() error {
	if err := syscall.Kill(d.server.Pid(), syscall.SIGKILL); err != nil {
		return err
	}
	return d.server.Stop()
}

// killBackend ends the process that serves one of the dialler's connections:
// the server drops all others and recovers.
func (d *database) killBackend(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, d.server.URL())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	var pid int
	err = c.QueryRow(ctx, `SELECT pid FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
		ORDER BY (state = 'active') DESC, random() LIMIT 1`).Scan(&pid)
	if err != nil {
		return fmt.Errorf("look for a backend: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// witnessLimit is how long the database may be away from who reads it.
const witnessLimit = 30 * time.Second

// witness reads the database until it answers.
func witness(ctx context.Context, read func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, witnessLimit)
	defer cancel()
	var last error
	err := site.Poll(limit, 50*time.Millisecond, func() (bool, error) {
		last = read(limit)
		var e *engine.Error
		if errors.As(last, &e) && e.Kind == engine.KindUnavailable {
			return false, nil
		}
		return true, last
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// openWitness connects to read what is stored.
func openWitness(ctx context.Context, url string) (store *persistence.Store, err error) {
	err = witness(ctx, func(ctx context.Context) error {
		store, err = persistence.Open(ctx, url, persistence.Config{Log: zerolog.Nop(), SkipMigrations: true, Writers: 1,
			Readers: 2})
		return err
	})
	return store, err
}
