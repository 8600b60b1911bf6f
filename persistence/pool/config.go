package pool

import (
	"context"
	"io/fs"
	"net"
	"time"

	"dialler/persistence/migrations"
	"dialler/persistence/sealed"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"
)

// Config is the configuration of Open besides the URL.
type Config struct {
	Log zerolog.Logger
	// Writers is how many group commits may run at the same time; default 4. They have connections
	// of their own, so that no query delays a call.
	Writers int
	// Readers is how many queries may run at the same time; default 8.
	Readers int
	// Imports is how many files of contacts may be open at the same time; default 4. Each has a
	// connection of its own.
	Imports int
	// ConnectTimeout bounds one attempt to connect; default 5 s.
	ConnectTimeout time.Duration
	// ChartLimit bounds each statement that counts calls for a chart; default 5 s.
	ChartLimit time.Duration
	// Dial replaces the dial function; tests inject faults here.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Tracer sees each statement; tests use it to get query plans.
	Tracer pgx.QueryTracer
	// SkipMigrations leaves the schema as it is: for a process that must not
	// change it.
	SkipMigrations bool
	// Migrations are the steps of the schema; the default is package migrations. Tests add those of
	// a future version.
	Migrations fs.FS
	// Now is the program's clock, by default time.Now; the server's may differ.
	Now func() time.Time
	// Secrets seal passwords of trunks, tokens of bots and secrets of webhooks; nil means they are
	// stored in clear.
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

// Setting is one of a session. It is made by SQL, because poolers refuse all but a few that a session
// begins with.
type Setting struct{ Name, Value string }

// Configure applies the settings shared by all our connections, and some of their own.
func Configure(c *pgx.ConnConfig, cfg Config, own ...Setting) {
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "dialler"
	}
	c.RuntimeParams["timezone"] = "UTC"
	sets := "SET jit = off" // compiling takes longer than these queries
	for _, s := range own {
		sets += "; SET " + s.Name + " = '" + s.Value + "'"
	}
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error { return conn.Exec(ctx, sets).Close() }
	c.ConnectTimeout, c.Tracer = cfg.ConnectTimeout, cfg.Tracer
	if cfg.Dial != nil {
		c.DialFunc = cfg.Dial
	}
}
