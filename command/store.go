package command

import (
	"context"

	"github.com/rs/zerolog"

	"dialler/persistence"
	"dialler/process"
	"dialler/process/keys"
)

// storeFlags select the database that a command works on.
type storeFlags struct {
	DatabaseURL string `name:"database-url" help:"${help_store_database_url}" env:"DIALLER_DATABASE_URL,DATABASE_URL"`
	DataDir     string `name:"data-dir" help:"Folder of the private PostgreSQL."`
	Instance    string `help:"Which private database: main, sandbox." enum:"main,sandbox" default:"main"`
	// SecretsKeyFile is the same as in serve.
	SecretsKeyFile string `name:"secrets-key-file" help:"${help_store_secrets_key_file}" placeholder:"FILE"`
}

// there refuses when there is no database to work on. It is called before anything that creates a
// file.
func (f *storeFlags) there() error {
	if f.DatabaseURL != "" {
		return nil
	}
	return process.PrivateExists(f.DataDir, f.Instance)
}

// open connects to a database that exists.
func (f *storeFlags) open(ctx context.Context, log zerolog.Logger) (*persistence.Store, func(), error) {
	if err := f.there(); err != nil {
		return nil, nil, err
	}
	return f.openOrMake(ctx, log)
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
	keys, err := keys.Secrets(f.SecretsKeyFile)
	if err == nil {
		s, err = persistence.Open(ctx, url, persistence.Config{Log: log, Secrets: keys})
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, func() { s.Close(); stop() }, nil
}
