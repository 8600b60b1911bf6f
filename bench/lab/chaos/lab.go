package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/persistence"
	"dialler/persistence/private"
)

// Config says what is killed, and where it lives.
type Config struct {
	// Binary is the dialler's.
	Binary string
	// Dir takes data and logs. PostgreSQL runs as another user when the harness
	// is root: every user must be able to enter it.
	Dir string
	// Private leaves the database to the dialler, which starts one of its own
	// and adopts it after a kill. Else the harness has one, with a wire to it on
	// which transactions are seen, and can kill that too.
	Private bool
	// Log hears what happens; nil is silence.
	Log func(format string, args ...any)
}

// Lab is a model world around one installation of the dialler, in which
// campaigns are run and the dialler is killed.
type Lab struct {
	log     func(string, ...any)
	dir     string
	proc    *site.Process
	api     *site.API
	carrier *carrier.Carrier
	bot     *bot.Bot
	db      *database       // the harness's own; nil when the dialler has one
	wire    *wire           // to db
	pg      *private.Server // the dialler's own
	store   *persistence.Store
}

const (
	adminEmail = "admin@dialler.local"
	botID      = "chaos"
	trunkID    = "chaos"
	seats      = 14
	// The trunk's caps.
	labCPS, labChannels = 20, 200
)

// The callers' numbers.
var ownNumbers = []string{"+493012345601", "+493012345602", "+493012345603"}

// Open brings the world and the dialler's first life up.
func Open(ctx context.Context, cfg Config) (_ *Lab, err error) {
	l := &Lab{log: cfg.Log, dir: cfg.Dir}
	if l.log == nil {
		l.log = func(string, ...any) {}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.carrier, err = carrier.Start(callees()); err != nil {
		return nil, err
	}
	if l.bot, err = bot.Start(voices()); err != nil {
		return nil, err
	}
	if l.proc, err = site.NewProcess(cfg.Binary, "life", cfg.Dir); err != nil {
		return nil, err
	}
	if !cfg.Private {
		if err := l.layWire(ctx); err != nil {
			return nil, err
		}
	}
	l.api = site.NewAPI(excluders, l.proc.HTTP)
	if err := l.proc.Start(); err != nil {
		return nil, err
	}
	if err := l.proc.Ready(ctx); err != nil {
		return nil, err
	}
	if cfg.Private {
		// The database is a witness: it is read here, never written.
		data := filepath.Join(cfg.Dir, "data")
		if l.pg, err = private.Start(ctx, private.Config{Dir: data, Name: "postgresql", Log: zerolog.Nop()}); err != nil {
			return nil, err
		}
		if !l.pg.Adopted() || !strings.HasPrefix(l.pg.Dir(), data) {
			return nil, fmt.Errorf("the dialler's database is not in %s but in %s: its user cannot enter the folder",
				data, l.pg.Dir())
		}
	}
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	if err := l.furnish(ctx, l.proc.Password, seats); err != nil {
		return nil, err
	}
	return l, l.trunk(ctx, labCPS, labChannels)
}

// layWire starts a database of the harness's own and has the dialler reach it
// by a wire.
func (l *Lab) layWire(ctx context.Context) (err error) {
	if l.db, err = startDatabase(ctx, filepath.Join(l.dir, "data")); err != nil {
		return err
	}
	if l.wire, err = lay(l.db.server.URL()); err != nil {
		return err
	}
	l.proc.URL = l.wire.URL()
	return nil
}

// callees are quick: a campaign must be over within the minute. Everybody who
// picks up says something, some are machines, some hang up.
func callees() carrier.Config {
	mix := carrier.Mix{
		AnswerRate: 0.62, MachineShare: 0.15, Busy: 0.12, Invalid: 0.03, Unavailable: 0.12, Congestion: 0.03, Rejected: 0.05,
		EarlyMedia: 0.2, HangUpShare: 0.5,
		Post: draw.Between(20*time.Millisecond, 300*time.Millisecond),
		Ring: draw.Between(300*time.Millisecond, 2*time.Second),
		Talk: draw.Between(time.Second, 4*time.Second),
	}
	return carrier.Config{Listen: "127.0.0.1:0", Seed: 1, Mix: &mix, Media: true}
}

func voices() bot.Config {
	return bot.Config{Listen: "127.0.0.1:0", Seed: 1,
		Conversations: []bot.Conversation{{Weight: 1, Talk: draw.Between(time.Second, 3*time.Second),
			Think:     draw.Between(50*time.Millisecond, 300*time.Millisecond),
			Utterance: draw.Between(500*time.Millisecond, time.Second), Pause: draw.Between(300*time.Millisecond, time.Second)}},
		Results: []bot.Result{{Weight: 2, Disposition: "interested"}, {Weight: 2, Disposition: "not_interested"},
			{Weight: 1, Disposition: "no_decision", Delay: draw.Between(100*time.Millisecond, 2*time.Second)}},
		// The dialler is away for seconds, on a busy machine for more.
		ResultTries: 40,
	}
}

// furnish logs in and configures bot, numbers and the CRM's key.
func (l *Lab) furnish(ctx context.Context, printed <-chan string, seats int) error {
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case password := <-printed:
		if err := l.api.Login(ctx, adminEmail, password); err != nil {
			return err
		}
	case <-wait.Done():
		return errors.New("the first life did not print the administrator's password")
	}
	put := func(path string, body map[string]any) error { return l.api.Must(ctx, http.MethodPut, path, body, nil) }
	if err := put("/api/v1/bots/"+botID, map[string]any{"name": "Chaos", "seats": seats,
		"endpoints": []string{l.bot.URL()}}); err != nil {
		return err
	}
	for _, n := range ownNumbers {
		if err := put("/api/v1/numbers/"+n, map[string]any{}); err != nil {
			return err
		}
	}
	var key struct {
		Key string `json:"key"`
	}
	if err := l.api.Must(ctx, http.MethodPost, "/api/v1/api-keys",
		map[string]any{"name": "crm", "scopes": []string{"trigger", "exclude", "dialout"}}, &key); err != nil {
		return err
	}
	l.api.Key = key.Key
	return nil
}

// trunk leads to the carrier, with so many calls a second and at a time.
func (l *Lab) trunk(ctx context.Context, cps, channels int) error {
	host, p, err := net.SplitHostPort(l.carrier.Addr())
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(p)
	if err != nil {
		return err
	}
	return l.api.Must(ctx, http.MethodPut, "/api/v1/trunks/"+trunkID,
		map[string]any{"host": host, "port": port, "cps_cap": cps, "channel_cap": channels, "options_s": 5}, nil)
}

// connect connects to the database, anew if it has been.
func (l *Lab) connect(ctx context.Context) (err error) {
	if l.store != nil {
		l.store.Close()
	}
	var from interface{ URL() string } = l.pg
	if l.pg == nil {
		from = l.db.server
	}
	l.store, err = openWitness(ctx, from.URL())
	return err
}

// Close ends the dialler in good order, its database with it, and the world.
func (l *Lab) Close() error {
	var errs []error
	if l.store != nil {
		l.store.Close()
	}
	if l.proc != nil && l.proc.Running() {
		errs = append(errs, l.proc.Stop())
	}
	if l.wire != nil {
		errs = append(errs, l.wire.Close())
	}
	switch {
	case l.db != nil:
		if l.db.server != nil {
			errs = append(errs, l.db.server.Stop())
		}
	case l.pg != nil:
		errs = append(errs, l.pg.Stop())
	case l.proc != nil:
		errs = append(errs, l.stopDatabase())
	}
	if l.api != nil {
		l.api.Close()
	}
	if l.bot != nil {
		errs = append(errs, l.bot.Close())
	}
	if l.carrier != nil {
		errs = append(errs, l.carrier.Close())
	}
	return errors.Join(errs...)
}

// stopDatabase ends a server that the dialler left behind before the harness
// knew it.
func (l *Lab) stopDatabase() error {
	dir := filepath.Join(l.dir, "data")
	if _, err := os.Stat(filepath.Join(dir, "postgresql")); err != nil {
		return nil //nolint:nilerr // none was made
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pg, err := private.Start(ctx, private.Config{Dir: dir, Name: "postgresql", Log: zerolog.Nop()})
	if err != nil {
		return err
	}
	return pg.Stop()
}

// openLegs lists the Call-IDs of live attempts that have no end.
func (l *Lab) openLegs(ctx context.Context) (map[string]engine.AttemptID, error) {
	var open []attempt.Attempt
	err := witness(ctx, func(ctx context.Context) (err error) {
		open, err = l.store.OpenAttempts(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	legs := map[string]engine.AttemptID{}
	for i := range open {
		for j := range open[i].Legs {
			if leg := &open[i].Legs[j]; leg.EndedAt == nil {
				legs[string(leg.ID)] = open[i].ID
			}
		}
	}
	return legs, nil
}
