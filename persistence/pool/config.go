package pool

import (
	"context"
	"dialler/persistence/migrations"
	"io/fs"
	"net"
	"time"

	"dialler/persistence/sealed"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
)

// Config is what Open may be told beside the URL.
type Config struct {
	Log zerolog.Logger
	// Writers is how many group commits may run at the same time, 4. They have
	// connections of their own, so that no query keeps a call waiting.
	Writers int
	// Readers is how many queries may run at the same time, 8.
	Readers int
	// Imports is how many files of contacts may be open at the same time, 4:
	// each has a connection of its own.
	Imports int
	// ConnectTimeout bounds one attempt to connect, 5 s.
	ConnectTimeout time.Duration
	// ChartLimit bounds each statement that counts calls for a chart, 5 s.
	ChartLimit time.Duration
	// Dial replaces the way to the server; tests put faults in here.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Tracer sees each statement; tests ask for its plan.
	Tracer pgx.QueryTracer
	// SkipMigrations leaves the schema as it is: for a process that must not
	// change it.
	SkipMigrations bool
	// Migrations are the steps of the schema, those of package migrations; tests
	// have those of a version that is still to come.
	Migrations fs.FS
	// Now is the clock of the program, time.Now; that of the server may differ.
	Now func() time.Time
	// Secrets seal passwords of trunks, tokens of bots and secrets of webhooks; nil:
	// they are stored as they are.
	Secrets *sealed.Keys
}

func (c Config) WithDefaults() Config {
	if c.Writers <= 0 {
		c.Writers = 4
	}
	if c.Readers <= 0 {
		c.Readers = 8
	}
	if c.Imports <= 0 {
		c.Imports = 4
	}
	if c.ChartLimit <= 0 {
		c.ChartLimit = 5 * time.Second
	}
	if c.Migrations == nil {
		c.Migrations = migrations.FS
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	return c
}

// Configure sets what every connection of ours has.
func Configure(c *pgx.ConnConfig, cfg Config) {
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "dialler"
	}
	c.RuntimeParams["jit"] = "off" // compiling costs more than these queries take
	c.RuntimeParams["timezone"] = "UTC"
	c.ConnectTimeout, c.Tracer = cfg.ConnectTimeout, cfg.Tracer
	if cfg.Dial != nil {
		c.DialFunc = cfg.Dial
	}
}
