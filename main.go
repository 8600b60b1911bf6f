// Command dialler is an outbound dialler engine for voice bots. This file
// starts the sub-commands; process.go wires a running dialler together.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // zones are known wherever the binary runs

	"dialler/engine"
	"dialler/http"
	"dialler/persistence"
	"dialler/persistence/private"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		// One line, whatever libraries make of it: it ends in logs and consoles.
		fmt.Fprintln(os.Stderr, "dialler:", strings.Join(strings.Fields(err.Error()), " "))
		os.Exit(1)
	}
}

// collectAt is how much the heap grows until garbage is collected, in per cent
// of what lives.
const collectAt = 60

func run(args []string) error {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(collectAt) // docs/architecture.md
	}
	c, k, err := parse(args)
	if err != nil {
		return err
	}
	if servesLong(k.Command()) {
		steadyMonitor()
	}
	return k.Run(c)
}

// servesLong says whether a command runs until it is told to end.
func servesLong(command string) bool {
	return command == "serve" || command == "sandbox" || strings.HasPrefix(command, "bench carrier") || strings.HasPrefix(command, "bench bot")
}

// signals gives a context that ends at the first SIGINT or SIGTERM; a second
// one ends the process at once.
func signals() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-ch
		cancel()
		<-ch
		os.Exit(130)
	}()
	return ctx, cancel
}

type serveCmd struct {
	engineFlags `embed:""`
}

// Run serves until a signal, then drains.
func (s *serveCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP) // from here on it ends nothing, not even a start
	log := c.logger()
	p, err := start(ctx, s.engineFlags, "main", log)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to end before it was up
		}
		return err
	}
	defer p.Close()
	if password, err := p.firstAdmin(ctx); err != nil {
		return err
	} else if password != "" {
		fmt.Printf("First administrator: %s, password (shown once): %s\n", firstAdminEmail, password)
	}
	p.reloadOnSignal(ctx, again)
	<-ctx.Done()
	log.Info().Msg("draining: no new call is placed, live calls finish; a second signal ends at once")
	p.drain(context.Background())
	return nil
}

// reloadOnSignal has each SIGHUP read the trunks of the configuration file anew,
// until ctx ends.
func (p *process) reloadOnSignal(ctx context.Context, again <-chan os.Signal) {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-again:
				if err := p.reload(ctx); err != nil {
					p.log.Error().Err(err).Msg("the configuration file was not applied; everything stays as it was")
				}
			}
		}
	}()
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("no build information")
	}
	fmt.Println("dialler", info.Main.Version, info.GoVersion)
	return nil
}

// --- database, users, keys ---------------------------------------------------

// storeFlags say which database a command works on.
type storeFlags struct {
	DatabaseURL string `name:"database-url" help:"Your PostgreSQL; the private one of the data folder when empty." env:"DIALLER_DATABASE_URL,DATABASE_URL"`
	DataDir     string `name:"data-dir" help:"Folder of the private PostgreSQL."`
	Instance    string `help:"Which private database: main, sandbox." enum:"main,sandbox" default:"main"`
}

// open connects; a private PostgreSQL that is not running is started for the
// command, one that runs is used and left alone.
func (f *storeFlags) open(ctx context.Context, c *cli) (*persistence.Store, func(), error) {
	url, stop := f.DatabaseURL, func() {}
	if url == "" {
		dir, err := dataDir(f.DataDir, f.Instance)
		if err != nil {
			return nil, nil, err
		}
		pg, err := private.Start(ctx, private.Config{Dir: dir, Name: databaseName, Log: c.logger()})
		if err != nil {
			return nil, nil, err
		}
		url = pg.URL()
		if !pg.Adopted() {
			stop = func() { _ = pg.Stop() }
		}
	}
	s, err := persistence.Open(ctx, url, persistence.Config{Log: c.logger()})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, func() { s.Close(); stop() }, nil
}

type dbCmd struct {
	Migrate       dbMigrateCmd       `cmd:"" help:"Bring the database to this version's schema; serve does it by itself."`
	Audit         dbAuditCmd         `cmd:"" help:"Compare tables, events and the chain of their hashes; fails when anything differs, and names it."`
	AcceptRestore dbAcceptRestoreCmd `cmd:"" help:"Let the dialler run on a database that was restored from a backup."`
	Erase         dbEraseCmd         `cmd:"" help:"Erase a person: number and variables from every table and recording."`
	URL           dbURLCmd           `cmd:"" name:"url" help:"Print the address of the private PostgreSQL, for psql."`
}

type dbMigrateCmd struct {
	storeFlags `embed:""`
}

// Run migrates.
func (d *dbMigrateCmd) Run(c *cli) error {
	_, done, err := d.open(context.Background(), c)
	if err != nil {
		return err
	}
	done()
	fmt.Println("the schema is up to date")
	return nil
}

type dbURLCmd struct {
	storeFlags `embed:""`
}

// Run prints the URL; a private PostgreSQL that is not running is started and
// left running.
func (d *dbURLCmd) Run(c *cli) error {
	if d.DatabaseURL != "" {
		fmt.Println(d.DatabaseURL)
		return nil
	}
	dir, err := dataDir(d.DataDir, d.Instance)
	if err != nil {
		return err
	}
	pg, err := private.Start(context.Background(), private.Config{Dir: dir, Name: databaseName, Log: c.logger()})
	if err != nil {
		return err
	}
	fmt.Println(pg.URL())
	return nil
}

type userCmd struct {
	Add userAddCmd `cmd:"" help:"Add a user; a generated password is printed once."`
}

type userAddCmd struct {
	storeFlags `embed:""`
	Email      string `arg:"" help:"E-mail address."`
	Role       string `help:"admin, operator or viewer." enum:"admin,operator,viewer" default:"operator"`
}

// Run adds a user.
func (u *userAddCmd) Run(c *cli) error {
	ctx := context.Background()
	s, done, err := u.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	password := newPassword()
	if err := addUser(ctx, s, u.Email, u.Role, password); err != nil {
		return err
	}
	fmt.Printf("%s added as %s, password (shown once): %s\n", strings.ToLower(u.Email), u.Role, password)
	return nil
}

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key; it is printed once."`
}

type keyCreateCmd struct {
	storeFlags `embed:""`
	Name       string   `arg:"" help:"What the key is for, one per CRM or integration."`
	Scopes     []string `help:"dialout, trigger, exclude, results, read; all when empty."`
}

// Run creates a key.
func (k *keyCreateCmd) Run(c *cli) error {
	ctx := context.Background()
	s, done, err := k.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	full, key := http.NewAPIKey(k.Name, time.Now())
	key.Scopes = k.Scopes
	if err := s.CreateKey(ctx, key, engine.Who{Name: "command line"}); err != nil {
		return err
	}
	fmt.Println(full)
	return nil
}
