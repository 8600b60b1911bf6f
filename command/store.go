package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"dialler/media/recording"
	"dialler/persistence"
	"dialler/process"
	"dialler/process/keys"
)

// storeFlags select the database that a command works on.
type storeFlags struct {
	DatabaseURL string `name:"database-url" help:"${help_store_db}" env:"DIALLER_DATABASE_URL,DATABASE_URL" secret:""`
	DataDir     string `name:"data-dir" help:"Folder of the private PostgreSQL."`
	Instance    string `help:"Which private database: main, sandbox." enum:"main,sandbox" default:"main"`
	// SecretsKeyFile and SigningKey are the same as in serve.
	SecretsKeyFile string `name:"secrets-key-file" help:"${help_store_secrets_key_file}" placeholder:"FILE"`
	SigningKey     string `name:"signing-key" help:"${help_store_signing_key}" placeholder:"FILE"`
}

// keyFile is the file of the signing key.
func (f *storeFlags) keyFile() (string, error) {
	if f.SigningKey != "" {
		return f.SigningKey, nil
	}
	dir, err := process.DataDir(f.DataDir, f.Instance)
	return filepath.Join(dir, keys.SigningFile), err
}

// sign makes the command sign what it does for the installation's record, if it has the key. The
// function returned is called before the store is closed.
func (f *storeFlags) sign(ctx context.Context, s *persistence.Store, log zerolog.Logger) (done func(), err error) {
	none := func() {}
	file, err := f.keyFile()
	if err != nil {
		return none, err
	}
	if _, err := os.Stat(file); f.SigningKey == "" && errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err := process.CompleteRotation(ctx, s, file, log); err != nil {
		return none, err
	}
	key, err := keys.Signing(file, "")
	if err != nil {
		return none, err
	}
	dir, err := process.DataDir(f.DataDir, f.Instance)
	if err != nil {
		return none, err
	}
	step, err := process.OpenSpine(ctx, s, key, dir, log)
	if err != nil {
		return none, err
	}
	return func() {
		if err := step(context.WithoutCancel(ctx)); err != nil {
			log.Warn().Err(err).Msg("the file of seals is not in step with the database; the running dialler completes it")
		}
	}, nil
}

// readRowKey lets an audit compare rows with their digests, if the signing key is there. A spine that
// cannot be read is what the audit tells of.
func (f *storeFlags) readRowKey(ctx context.Context, s *persistence.Store, log zerolog.Logger) error {
	file, err := f.keyFile()
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); f.SigningKey == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := process.CompleteRotation(ctx, s, file, log); err != nil {
		return err
	}
	key, err := keys.Signing(file, "")
	if err != nil {
		return err
	}
	if rowKey, ok, err := s.Spine.RowKey(ctx, key); ok && err == nil {
		s.UseRowKey(rowKey)
	}
	return nil
}

// filesFlags say which files of recordings are read.
type filesFlags struct {
	Recordings    bool   `help:"${help_files_recordings}"`
	RecordingsDir string `name:"recordings-dir" help:"${help_db_erase_recordings_dir}" placeholder:"DIR"`
	Node          string `help:"${help_files_node}" placeholder:"NAME"`
}

// chosen opens the folder of the recordings when they are to be read, else nil.
func (f *filesFlags) chosen(s *storeFlags, log zerolog.Logger) (*recording.Recorder, error) {
	if !f.Recordings {
		return nil, nil
	}
	return s.recordings(f.RecordingsDir, log)
}

// there refuses when there is no database to work on. It is called before anything that creates a
// file.
func (f *storeFlags) there() error {
	if f.DatabaseURL != "" {
		return nil
	}
	return process.PrivateExists(f.DataDir, f.Instance)
}

// open connects to a database that exists, to change something in it.
func (f *storeFlags) open(ctx context.Context, log zerolog.Logger) (*persistence.Store, func(), error) {
	s, done, err := f.openToRead(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	signed, err := f.sign(ctx, s, log)
	if err != nil {
		done()
		return nil, nil, err
	}
	return s, func() { signed(); done() }, nil
}

// openToRead connects to a database that exists; nothing is told to its record.
func (f *storeFlags) openToRead(ctx context.Context, log zerolog.Logger) (*persistence.Store, func(), error) {
	if err := f.there(); err != nil {
		return nil, nil, err
	}
	return f.openOrMake(ctx, log)
}

// recordings opens a folder of recordings, recordings in the data folder when dir is "".
func (f *storeFlags) recordings(dir string, log zerolog.Logger) (*recording.Recorder, error) {
	if dir == "" {
		data, err := process.DataDir(f.DataDir, f.Instance)
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(data, "recordings")
	}
	return recording.New(recording.Config{Dir: dir, Log: log}), nil
}

// openOrMake connects. A private PostgreSQL that is not running is started for the command, and
// created if there is none; a running one is used and left running.
func (f *storeFlags) openOrMake(ctx context.Context, log zerolog.Logger) (*persistence.Store, func(), error) {
	url, stop := f.DatabaseURL, func() {}
	if url == "" {
		pg, err := process.StartPrivate(ctx, f.DataDir, f.Instance, log)
		if err != nil {
			return nil, nil, err
		}
		url = pg.URL()
		if !pg.Adopted() {
			stop = func() { _ = pg.Stop() }
		}
	}
	var s *persistence.Store
	secrets, err := keys.Secrets(f.SecretsKeyFile)
	if err == nil {
		s, err = persistence.Open(ctx, url, persistence.Config{Log: log, Secrets: secrets})
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, func() { s.Close(); stop() }, nil
}
