package command

import (
	"context"
	"fmt"
	"os"

	"dialler/engine"
	"dialler/persistence"
	"dialler/process"
)

// storeFlags say which database a command works on.
type storeFlags struct {
	DatabaseURL string `name:"database-url" help:"Your PostgreSQL; the private one of the data folder when empty." env:"DIALLER_DATABASE_URL,DATABASE_URL"`
	DataDir     string `name:"data-dir" help:"Folder of the private PostgreSQL."`
	Instance    string `help:"Which private database: main, sandbox." enum:"main,sandbox" default:"main"`
	// SecretsKeyFile is what serve has it for.
	SecretsKeyFile string `name:"secrets-key-file" help:"File with the keys that secrets are encrypted with in the database." placeholder:"FILE"`
}

// there refuses when there is no database to work on. It comes before anything
// that makes a file.
func (f *storeFlags) there() error {
	if f.DatabaseURL != "" {
		return nil
	}
	return process.PrivateExists(f.DataDir, f.Instance)
}

// open connects to a database that exists.
func (f *storeFlags) open(ctx context.Context, c *cli) (*persistence.Store, func(), error) {
	if err := f.there(); err != nil {
		return nil, nil, err
	}
	return f.openOrMake(ctx, c)
}

// openOrMake connects; a private PostgreSQL that is not running is started for the
// command, and made when there is none; one that runs is used and left alone.
func (f *storeFlags) openOrMake(ctx context.Context, c *cli) (*persistence.Store, func(), error) {
	url, stop := f.DatabaseURL, func() {}
	if url == "" {
		pg, err := process.StartPrivate(ctx, f.DataDir, f.Instance, c.logger())
		if err != nil {
			return nil, nil, err
		}
		url = pg.URL()
		if !pg.Adopted() {
			stop = func() { _ = pg.Stop() }
		}
	}
	var s *persistence.Store
	keys, err := process.SecretKeys(f.SecretsKeyFile)
	if err == nil {
		s, err = persistence.Open(ctx, url, persistence.Config{Log: c.logger(), Secrets: keys})
	}
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
	Encrypt       dbEncryptCmd       `cmd:"" name:"encrypt-secrets" help:"Encrypt the passwords of trunks and the tokens of bots with the first key, those of old keys too."`
	URL           dbURLCmd           `cmd:"" name:"url" help:"Print the address of the private PostgreSQL, for psql."`
}

type dbEncryptCmd struct {
	storeFlags `embed:""`
}

// Run seals what is stored.
func (d *dbEncryptCmd) Run(c *cli) error {
	ctx := context.Background()
	s, done, err := d.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	n, err := s.SealSecrets(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d passwords and tokens encrypted\n", n)
	return nil
}

type dbMigrateCmd struct {
	storeFlags `embed:""`
}

// Run migrates.
func (d *dbMigrateCmd) Run(c *cli) error {
	_, done, err := d.openOrMake(context.Background(), c)
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
	pg, err := process.StartPrivate(context.Background(), d.DataDir, d.Instance, c.logger())
	if err != nil {
		return err
	}
	fmt.Println(pg.URL())
	return nil
}

type dbAuditCmd struct {
	storeFlags `embed:""`
	Campaign   string   `help:"Only this campaign; all, and what belongs to none, when empty."`
	JSON       bool     `name:"json" help:"Print one JSON object a campaign, one a line."`
	SigningKey string   `name:"signing-key" help:"The installation's key, with which what was kept of old runs is signed; the one of the data folder when empty." type:"existingfile" placeholder:"FILE"`
	Key        []string `help:"A public key in PEM that is trusted too, of an earlier signing key for example." type:"existingfile" placeholder:"PUBLIC"`
}

// Run folds the events of campaigns, compares them with the tables, and follows
// the chains of their digests. It fails when anything differs.
func (d *dbAuditCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	if err := d.there(); err != nil {
		return err
	}
	dir, err := process.DataDir(d.DataDir, d.Instance)
	if err != nil {
		return err
	}
	trusted, err := process.TrustedKeys(d.SigningKey, dir, d.Key)
	if err != nil {
		return err
	}
	s, done, err := d.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	return process.Audit(ctx, s, engine.CampaignID(d.Campaign), os.Stdout, d.JSON, trusted...)
}

type dbAcceptRestoreCmd struct {
	storeFlags `embed:""`
}

// Run accepts a restored database.
func (d *dbAcceptRestoreCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	s, done, err := d.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	was, err := s.AcceptRestore(ctx, engine.Who{Name: "command line"})
	switch {
	case err != nil:
		return err
	case was:
		fmt.Println("accepted: the dialler may run on this database; who asked not to be called since the backup is not known to it")
	default:
		fmt.Println("this database bears no mark of a restore; that it was accepted is recorded all the same")
	}
	return nil
}
