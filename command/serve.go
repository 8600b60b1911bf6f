package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // time zones are known wherever the binary runs

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/process"
)

// Main runs the program with its arguments and returns its exit status.
func Main(args []string) int {
	if err := run(args); err != nil {
		// One line, whatever a library's error looks like: it goes to logs and consoles.
		fmt.Fprintln(os.Stderr, "dialler:", strings.Join(strings.Fields(err.Error()), " "))
		if status, special := exitStatus[engine.ErrorCode(err)]; special {
			return status
		}
		return 1
	}
	return 0
}

// exitStatus is how a program ends whose reason a script must tell from others.
var exitStatus = map[string]int{
	"cdr_unreadable":       2, // a carrier's file is not as its format says
	"recording_not_closed": 2, // it replays as far as it goes
	"signer_unknown":       2, // a file is whole, but nobody says by whom
	"database_in_use":      3, // another dialler serves the database

	// dialler trunk check
	"trunk_dns": 10, "trunk_unreachable": 11, "trunk_tls": 12, "trunk_silent": 13, "trunk_credentials": 14,
	"trunk_refused": 15, "trunk_nat": 16,
}

// collectAt is the heap growth before a garbage collection, in per cent of the live heap.
const collectAt = 60

func run(args []string) error {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(collectAt) // docs/architecture.md
	}
	c, k, err := parse(args)
	if err != nil {
		return err
	}
	log := c.logger()
	for _, name := range c.sources.strangers() {
		log.Warn().Str("variable", name).
			Msg("an environment variable that is named like a setting and is none is ignored")
	}
	if servesLong(k.Command()) {
		steadyMonitor()
	}
	return k.Run(c, log)
}

// servesLong says whether a command runs until it is told to end.
func servesLong(command string) bool {
	return command == "serve" || command == "sandbox" || strings.HasPrefix(command, "bench carrier") ||
		strings.HasPrefix(command, "bench cluster") || strings.HasPrefix(command, "bench bot")
}

// serving is the process that receives the signals, once it is up.
type serving struct {
	started chan struct{} // closed when the start is over
	p       *process.Process
}

// startTimeout bounds the wait for an interrupted start to finish.
const startTimeout = 10 * time.Second

// start starts the process.
func (s *serving) start(ctx context.Context, flags process.Flags, instance string,
	log zerolog.Logger) (p *process.Process, err error) {
	defer close(s.started)
	s.p, err = process.Start(ctx, flags, instance, log)
	return s.p, err
}

// abandon reports what a process that ends at once leaves behind, and stops its database.
func (s *serving) abandon() {
	select {
	case <-s.started:
	case <-time.After(startTimeout):
		return
	}
	if s.p != nil {
		s.p.Abandon()
	}
}

type serveCmd struct {
	process.Flags `embed:""`
}

// Run serves until a signal, then drains.
func (s *serveCmd) Run(c *cli, log zerolog.Logger) error {
	up := &serving{started: make(chan struct{})}
	ctx, cancel := signalsThen(up.abandon)
	defer cancel()
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP) // from here on SIGHUP ends nothing, not even a start
	p, err := up.start(ctx, s.Flags, "main", log)
	if err != nil {
		if ctx.Err() != nil {
			return nil // told to end before it was up
		}
		return err
	}
	defer p.Close()
	if password, err := p.FirstAdmin(ctx); err != nil {
		return err
	} else if password != "" {
		fmt.Printf("First administrator: %s, password (shown once): %s\n", process.FirstAdminEmail, password)
	}
	reloadOnSignal(ctx, c, p, again, log)
	select {
	case err := <-p.Replaced():
		return err
	case err := <-p.KeyLost():
		log.Error().Err(err).Msg("draining: this process cannot sign for the installation any more")
		p.Drain(ctx)
		return err
	case <-ctx.Done():
	}
	log.Info().Msg("draining: no new call is placed, live calls finish; a second signal ends at once")
	p.Drain(context.Background())
	return nil
}

// reloadOnSignal rereads settings and trunks at each SIGHUP, until ctx ends.
func reloadOnSignal(ctx context.Context, c *cli, p *process.Process, again <-chan os.Signal, log zerolog.Logger) {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-again:
				restart, err := c.reload(ctx, p)
				switch {
				case err != nil:
					log.Error().Err(err).Msg("the configuration file was not applied; everything stays as it was")
				case len(restart) > 0:
					log.Warn().Strs("settings", restart).Msg("restart needed: these changed settings take effect only after a restart")
				}
			}
		}
	}()
}

// reload rereads flags, environment and file, applies the changes that it can, and names those that
// need a restart.
func (c *cli) reload(ctx context.Context, p *process.Process) (restart []string, err error) {
	now, _, err := parse(c.args)
	if err != nil {
		return nil, err
	}
	level, err := zerolog.ParseLevel(now.LogLevel)
	if err != nil {
		return nil, err
	}
	if restart, err = p.Reload(ctx, now.Serve.Flags); err != nil {
		return nil, err
	}
	zerolog.SetGlobalLevel(level)
	if now.LogFormat != c.LogFormat {
		restart = append(restart, "log-format")
	}
	return restart, nil
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object: version, commit, date, modified, go."`
}

// Run prints what the program was built from.
func (v versionCmd) Run() error {
	b := process.ThisBuild()
	if v.JSON {
		return json.NewEncoder(os.Stdout).Encode(b)
	}
	_, err := fmt.Println(b)
	return err
}
