package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/process"
	"dialler/process/keys"
)

type dbCmd struct {
	Migrate       dbMigrateCmd       `cmd:"" help:"${help_db_migrate}"`
	Audit         dbAuditCmd         `cmd:"" help:"${help_db_audit}"`
	Anchors       dbAnchorsCmd       `cmd:"" help:"${help_db_anchors}"`
	AcceptRestore dbAcceptRestoreCmd `cmd:"" help:"Let the dialler run on a database that was restored from a backup."`
	Erase         dbEraseCmd         `cmd:"" help:"Erase a person: number and variables from every table and recording."`
	Strays        dbStraysCmd        `cmd:"" name:"stray-recordings" help:"${help_db_strays}"`
	Encrypt       dbEncryptCmd       `cmd:"" name:"encrypt-secrets" help:"${help_db_encrypt_secrets}"`
	URL           dbURLCmd           `cmd:"" name:"url" help:"Print the address of the private PostgreSQL, for psql."`
}

type dbEncryptCmd struct {
	storeFlags `embed:""`
}

// Run seals the stored secrets.
func (d *dbEncryptCmd) Run(log zerolog.Logger) error {
	ctx := context.Background()
	s, done, err := d.open(ctx, log)
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
func (d *dbMigrateCmd) Run(log zerolog.Logger) error {
	_, done, err := d.openOrMake(context.Background(), log)
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
func (d *dbURLCmd) Run(log zerolog.Logger) error {
	if d.DatabaseURL != "" {
		fmt.Println(d.DatabaseURL)
		return nil
	}
	pg, err := process.StartPrivate(context.Background(), d.DataDir, d.Instance, log)
	if err != nil {
		return err
	}
	fmt.Println(pg.URL())
	return nil
}

type dbAuditCmd struct {
	storeFlags  `embed:""`
	Campaign    string        `help:"Only this campaign; all, and what belongs to none, when empty."`
	JSON        bool          `name:"json" help:"Print one JSON object per campaign, one per line."`
	Seals       []string      `help:"${help_db_audit_seals}" type:"existingfile" placeholder:"FILE"`
	Since       time.Duration `help:"${help_db_audit_since}" placeholder:"24h"`
	Key         []string      `help:"${help_db_audit_key}" type:"existingfile" placeholder:"PUBLIC"`
	filesFlags  `embed:""`
	Anchors     string `help:"${help_db_audit_anchors}" type:"existingfile" placeholder:"FILE"`
	AnchorRoots string `name:"anchor-roots" help:"${help_anchor_roots}" type:"existingfile" placeholder:"FILE"`
}

// Run folds the events of campaigns, compares them with the tables, and verifies the chains of
// their digests. It fails when anything differs.
func (d *dbAuditCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	if err := d.there(); err != nil {
		return err
	}
	if d.Since < 0 || d.Since > 0 && d.Campaign != "" {
		return errors.New("--since is a time such as 24h, and audits all campaigns: leave --campaign out")
	}
	if d.Anchors != "" && d.Campaign != "" {
		return errors.New("--anchors is about the history as a whole: leave --campaign out")
	}
	dir, err := process.DataDir(d.DataDir, d.Instance)
	if err != nil {
		return err
	}
	if own := filepath.Join(dir, process.SealsName); len(d.Seals) == 0 {
		if _, err := os.Stat(own); err == nil {
			d.Seals = []string{own}
		}
	}
	s, done, err := d.openToRead(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	if err := d.readRowKey(ctx, s, log); err != nil {
		return err
	}
	trusted, err := keys.Trusted(d.SigningKey, dir, d.Key)
	if err != nil {
		return err
	}
	id := engine.CampaignID(d.Campaign)
	of := process.AuditOf{Campaign: id, Seals: d.Seals, Out: os.Stdout, JSON: d.JSON, Since: d.Since}
	if isTerminal(os.Stderr) {
		of.Progress = os.Stderr
	}
	err = process.Audit(ctx, s, of, trusted...)
	if known := (*engine.Error)(nil); errors.As(err, &known) || ctx.Err() != nil {
		return err
	}
	files, err2 := d.chosen(&d.storeFlags, log)
	if err2 != nil {
		return errors.Join(err, err2)
	}
	if files != nil {
		defer files.Close()
	}
	err = errors.Join(err, process.AuditRecordings(ctx, s, id, files, d.Node, os.Stdout, d.JSON))
	if d.Anchors == "" {
		return err
	}
	receipts, err2 := os.Open(d.Anchors)
	if err2 != nil {
		return errors.Join(err, err2)
	}
	defer func() { _ = receipts.Close() }()
	roots, err2 := process.AnchorRoots(d.AnchorRoots)
	if err2 != nil {
		return errors.Join(err, err2)
	}
	return errors.Join(err, process.AuditAnchors(ctx, s, receipts, roots, os.Stdout, d.JSON))
}

type dbAnchorsCmd struct {
	storeFlags `embed:""`
}

// Run prints the receipts.
func (d *dbAnchorsCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	if err := d.there(); err != nil {
		return err
	}
	s, done, err := d.openToRead(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	return s.Spine.Receipts(ctx, func(r json.RawMessage) error {
		_, err := fmt.Printf("%s\n", r)
		return err
	})
}

type dbStraysCmd struct {
	storeFlags    `embed:""`
	RecordingsDir string `name:"recordings-dir" help:"${help_db_erase_recordings_dir}" placeholder:"DIR"`
	Delete        bool   `help:"Delete them: nobody can ask for them, and no retention ends them."`
}

// Run names the recordings whose calls the database does not know, one a line.
func (d *dbStraysCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	s, done, err := d.openToRead(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	files, err := d.recordings(d.RecordingsDir, log)
	if err != nil {
		return err
	}
	defer files.Close()
	return process.StrayRecordings(ctx, s, files, func(id string) error {
		fmt.Println(id)
		if !d.Delete {
			return nil
		}
		return files.Remove(id)
	})
}

type dbAcceptRestoreCmd struct {
	storeFlags `embed:""`
}

// Run accepts a restored database.
func (d *dbAcceptRestoreCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	s, done, err := d.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	was, err := s.AcceptRestore(ctx, commandLine)
	switch {
	case err != nil:
		return err
	case was:
		fmt.Println("accepted: the dialler may run on this database; it does not know who asked not to be called since " +
			"the backup")
	default:
		fmt.Println("this database shows no sign of a restore; the acceptance is recorded anyway")
	}
	return nil
}
