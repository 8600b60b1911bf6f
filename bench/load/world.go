package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/bench/ports"
	"dialler/persistence/private"
)

// Names in the configuration of a run.
const (
	botID      = "load"
	trunkID    = "load"
	ownNumber  = "+493012345601"
	adminEmail = "admin@dialler.local"
)

// startLimit is how long a program may take to answer after its start.
const startLimit = 90 * time.Second

// world is everything that one run starts.
type world struct {
	cfg      Config
	dir      string
	answerer string // host:port
	callee   *process
	bot      *process
	botAddr  string
	engine   *process
	// engineArgs are the arguments of each engine process.
	engineArgs []string
	addr       string // of the API
	profiles   string // host:port of Go's profiles
	api        *client
	pg         *private.Server
	pgPID      int
	db         *pgx.Conn
}

// open starts the world, or stops whatever it has started so far.
func open(ctx context.Context, cfg Config) (_ *world, err error) {
	w := &world{cfg: cfg}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := w.openFolder(); err != nil {
		return nil, err
	}
	if err := w.openCallee(); err != nil {
		return nil, err
	}
	if err := w.openBot(ctx); err != nil {
		return nil, err
	}
	if err := w.openEngine(ctx); err != nil {
		return nil, err
	}
	return w, w.furnish(ctx)
}

// openFolder creates the folder of the run.
func (w *world) openFolder() (err error) {
	if w.dir, err = os.MkdirTemp("", "dialler-load-"); err != nil {
		return err
	}
	return os.Chmod(w.dir, 0o755) //nolint:gosec // PostgreSQL's own user passes through
}

func (w *world) spec(name string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	path := filepath.Join(w.dir, name)
	return path, os.WriteFile(path, b, 0o600)
}

// openCallee starts the program that answers the calls.
func (w *world) openCallee() (err error) {
	if w.answerer = w.cfg.Trunk; w.answerer != "" {
		return nil
	}
	if w.answerer, err = ports.Address(); err != nil {
		return err
	}
	if w.cfg.SIPp {
		sipp, err := exec.LookPath("sipp")
		if err != nil {
			return errors.New("load: sipp was not found; install it (Debian: sip-tester) or leave --sipp out")
		}
		host, port, _ := net.SplitHostPort(w.answerer)
		w.callee, err = spawn(w.dir, "sipp", nil, sipp, "-sn", "uas", "-i", host, "-p", port, "-nostdin", "-nd")
		return err
	}
	callees := w.cfg.callees
	if callees == nil {
		// The engine's RTP may have an address that is not loopback.
		callees = map[string]any{"media": w.cfg.Media, "allow_remote": true,
			"profile": []map[string]any{{"kind": "human", "ring": w.cfg.Ring.String()}}}
	}
	spec, err := w.spec("carrier.json", callees)
	if err != nil {
		return err
	}
	w.callee, err = spawn(w.dir, "carrier", nil, w.cfg.Binary, "bench", "carrier", "--listen", w.answerer, "--spec", spec,
		"--log-level", "warn")
	return err
}

func (w *world) openBot(ctx context.Context) (err error) {
	if w.botAddr, err = ports.Address(); err != nil {
		return err
	}
	if w.cfg.Bot == "sip" {
		return w.openSIPBot()
	}
	talk := w.cfg.conversation
	if talk == nil {
		talk = map[string]any{"weight": 1, "talk": w.cfg.Talk.String(), "mute": !w.cfg.Media}
	}
	if w.cfg.Media { // one utterance fills the conversation
		talk["think"], talk["utterance"], talk["pause"] = "0s", (w.cfg.Talk + time.Second).String(), "20ms"
	}
	// What the bot hears does not matter here: it reads many frames at once and leaves the CPU to
	// the processes being measured.
	spec, err := w.spec("bot.json", map[string]any{"read_every": "500ms", "keep_sessions": 1000,
		"conversations": []any{talk}, "results": []any{map[string]any{"weight": 1, "disposition": "measured"}}})
	if err != nil {
		return err
	}
	if w.bot, err = spawn(w.dir, "bot", nil, w.cfg.Binary, "bench", "bot", "--listen", w.botAddr, "--spec", spec,
		"--log-level", "warn"); err != nil {
		return err
	}
	return w.await(ctx, w.bot, func() bool {
		c, err := net.DialTimeout("tcp", w.botAddr, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// openSIPBot starts a model that accepts the INVITEs of the bot's legs, speaks for the length of
// the conversation, and hangs up.
func (w *world) openSIPBot() error {
	voice := map[string]any{"kind": "human", "talk": w.cfg.Talk.String(), "mute": !w.cfg.Media}
	if w.cfg.Media {
		voice["chatter"] = "20ms"
	}
	spec, err := w.spec("bot.json", map[string]any{"media": w.cfg.Media, "profile": []map[string]any{voice}})
	if err != nil {
		return err
	}
	w.bot, err = spawn(w.dir, "bot", nil, w.cfg.Binary, "bench", "carrier", "--listen", w.botAddr, "--spec", spec,
		"--log-level", "warn")
	return err
}

// botEndpoint is the bot's address for the engine.
func (w *world) botEndpoint() string {
	if w.cfg.Bot == "sip" {
		return "sip:+4930123456999@" + w.botAddr
	}
	return "ws://" + w.botAddr + "/media"
}

// await waits until a program answers.
func (w *world) await(ctx context.Context, p *process, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) { return ready(), p.ended() })
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("load: %s does not answer; its log ends with: %s", p.name, tail(p.log))
	}
	return err
}

func (w *world) openEngine(ctx context.Context) (err error) {
	var sip string
	for _, a := range []*string{&w.addr, &sip, &w.profiles} {
		if *a, err = ports.Address(); err != nil {
			return err
		}
	}
	data := filepath.Join(w.dir, "data")
	w.engineArgs = []string{"serve", "--listen-http", w.addr, "--sip", sip, "--data-dir", data, "--pprof", w.profiles,
		"--log-level", "warn", "--log-format", "json", "--drain-timeout", "5s"}
	w.api = newClient(w.addr)
	if err := w.startEngine(ctx, "engine"); err != nil {
		return err
	}
	// The database is read here, never written.
	if w.pg, err = private.Start(ctx, private.Config{Dir: data, Name: "postgresql", Log: zerolog.Nop()}); err != nil {
		return err
	}
	if w.pgPID, err = postmaster(w.pg.Dir()); err != nil {
		return err
	}
	if w.db, err = pgx.Connect(ctx, w.pg.URL()); err != nil {
		return err
	}
	return w.age(ctx)
}

// startEngine starts an engine process; its log has the name.
func (w *world) startEngine(ctx context.Context, name string) (err error) {
	if w.engine, err = spawn(w.dir, name, w.cfg.Env, w.cfg.Binary, w.engineArgs...); err != nil {
		return err
	}
	return w.await(ctx, w.engine, func() bool { return w.api.do(ctx, http.MethodGet, "/healthz", nil, nil) == nil })
}

// agedSegments is how many WAL segments of 16 MiB a database has ready after working for a while.
const agedSegments = 14

// age makes a fresh database like one that has worked for a while: it has WAL segments to reuse. A
// fresh one zeroes each new segment in the middle of a commit, which delays it by some tens of
// milliseconds.
func (w *world) age(ctx context.Context) error {
	for range agedSegments {
		if _, err := w.db.Exec(ctx, "SELECT pg_logical_emit_message(false, 'load', ''), pg_switch_wal()"); err != nil {
			return fmt.Errorf("load: age the database: %w", err)
		}
	}
	_, err := w.db.Exec(ctx, "CHECKPOINT")
	return err
}

// postmaster is the process of the server in a folder.
func postmaster(dir string) (int, error) {
	for _, pattern := range []string{"postmaster.pid", "*/postmaster.pid"} {
		paths, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range paths {
			b, err := os.ReadFile(path) //nolint:gosec // of the server that our engine started
			if err != nil {
				continue
			}
			line, _, _ := strings.Cut(string(b), "\n")
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				return pid, nil
			}
		}
	}
	return 0, fmt.Errorf("load: no PostgreSQL runs in %s", dir)
}

var printedPassword = regexp.MustCompile(`password \(shown once\): (\S+)`)

// furnish logs in and configures bot, trunk and number.
func (w *world) furnish(ctx context.Context) error {
	var password string
	if err := w.await(ctx, w.engine, func() bool {
		b, err := os.ReadFile(w.engine.log)
		if m := printedPassword.FindSubmatch(b); err == nil && m != nil {
			password = string(m[1])
		}
		return password != ""
	}); err != nil {
		return err
	}
	if err := w.api.login(ctx, adminEmail, password); err != nil {
		return err
	}
	host, p, err := net.SplitHostPort(w.answerer)
	if err != nil {
		return fmt.Errorf("load: --trunk must be host:port: %w", err)
	}
	port, err := strconv.Atoi(p)
	if err != nil {
		return fmt.Errorf("load: --trunk must be host:port: %w", err)
	}
	if err := w.api.do(ctx, http.MethodPut, "/api/v1/numbers/"+ownNumber, map[string]any{}, nil); err != nil {
		return err
	}
	if err := w.api.do(ctx, http.MethodPut, "/api/v1/bots/"+botID, map[string]any{
		"name": "Load", "seats": w.cfg.seats(), "endpoints": []string{w.botEndpoint()}}, nil); err != nil {
		return err
	}
	return w.setTrunk(ctx, host, port, w.cfg.Rate)
}

// setTrunk caps the trunk so that it grants rate calls per second: a bucket stretches its interval
// by 2 % to keep within its cap.
func (w *world) setTrunk(ctx context.Context, host string, port, rate int) error {
	return w.api.do(ctx, http.MethodPut, "/api/v1/trunks/"+trunkID, map[string]any{
		"host": host, "port": port, "cps_cap": (rate*102 +
			99) / 100, "channel_cap": 4 * w.cfg.seats(), "options_s": 3600,
		"media": map[string]any{"symmetric": cmp.Or(w.cfg.Symmetric, "auto")}}, nil)
}

// close stops everything in order and removes the data.
func (w *world) close() {
	if w.db != nil {
		_ = w.db.Close(context.Background())
	}
	if w.api != nil {
		w.api.close()
	}
	for _, p := range []*process{w.engine, w.bot, w.callee} {
		p.stop()
	}
	if w.pg != nil { // the engine has stopped it, unless it was killed
		if err := w.pg.Stop(); err != nil {
			w.cfg.Log("PostgreSQL: %v", err)
		}
	}
	if w.dir != "" && !w.cfg.Keep {
		_ = os.RemoveAll(w.dir)
	} else if w.cfg.Keep {
		w.cfg.Log("data and logs: %s", w.dir)
	}
}
