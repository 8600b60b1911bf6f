package owners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"dialler/actors/cluster"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/persistence"
)

// Env is the variable that makes a process a node: it contains the node's Config as JSON.
const Env = "DIALLER_OWNERS_NODE"

// Config is the configuration of a node.
type Config struct {
	Name       string
	Database   string
	Membership string
	Listen     string
	Advertise  string
	Identities int
	Terms      ownership.Terms
	Notes      string // file in which it records its acts
	// Stock makes it use the library's own lookup, without a database.
	Stock bool
}

// Every is how often a node acts for what it owns.
const Every = 20 * time.Millisecond

// Identity is the i-th identity of a run.
func Identity(i int) ownership.Identity {
	return ownership.Identity{Kind: ownership.Campaign, ID: "cmp_" + strconv.Itoa(i)}
}

// Boot reads the boot-time clock, which all processes of the machine share.
func Boot() engine.BootTime {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return engine.BootTime(ts.Nano())
}

type clock struct{}

func (clock) Boot() engine.BootTime { return Boot() }

// notes is the file of a node's acts.
type notes struct {
	mu sync.Mutex
	f  *os.File
}

func (n *notes) act(at engine.BootTime, identity string, epoch int64, by string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = n.f.WriteString(Act{At: int64(at), Identity: identity, Epoch: epoch, By: by}.line())
}

// Main runs a node; it ends at SIGTERM, releasing what it owns, or when its standard input is
// closed.
func Main() error {
	var cfg Config
	if err := json.Unmarshal([]byte(os.Getenv(Env)), &cfg); err != nil {
		return err
	}
	f, err := os.OpenFile(cfg.Notes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	out := &notes{f: f}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() { // its parent has gone
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	if cfg.Stock {
		return stock(ctx, cfg, out)
	}
	return ours(ctx, cfg, out)
}

func ours(ctx context.Context, cfg Config, out *notes) error {
	store, err := persistence.Open(ctx, cfg.Database, persistence.Config{SkipMigrations: true, Writers: 1, Readers: 1})
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := store.Owners(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	log := zerolog.New(os.Stderr).With().Timestamp().Str("node", cfg.Name).Logger()
	n, err := cluster.Start(ctx, cluster.Config{Membership: cfg.Membership, Name: cfg.Name, Listen: cfg.Listen,
		Advertise: cfg.Advertise,
		Terms:     cfg.Terms, Log: log}, db, clock{})
	if err != nil {
		return err
	}
	act := func(w ownership.Owner) {
		at := Boot()
		if at < n.Until() && n.Incarnation() == w.Incarnation { // it may have been paused since it checked its identity
			out.act(at, w.ID, w.Epoch, fmt.Sprintf("%s.%d", cfg.Name, w.Incarnation))
		}
	}
	n.Handle("act", func(_ context.Context, _ engine.Incarnation, w ownership.Owner, _ []byte) ([]byte, error) {
		act(w)
		return nil, nil
	})
	var wg sync.WaitGroup
	work, end := context.WithCancel(ctx)
	defer end()
	for i := range cfg.Identities {
		wg.Go(func() {
			tick := time.NewTicker(Every)
			defer tick.Stop()
			for work.Err() == nil {
				ask, cancel := context.WithTimeout(work, 500*time.Millisecond)
				_, err := n.Ask(ask, Identity(i), "act", nil) // any owner; if there is none, some node claims it
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "context canceled") {
					log.Info().Int("identity", i).Str("code", engine.ErrorCode(err)).Msg("not asked")
				}
				if w, ok := n.Owned(Identity(i)); ok {
					act(w)
				}
				select {
				case <-tick.C:
				case <-work.Done():
				}
			}
		})
	}
	<-ctx.Done()
	n.Drain()
	wg.Wait()
	brief, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for i := range cfg.Identities {
		if err := n.Release(brief, Identity(i)); err != nil {
			log.Info().Str("code", engine.ErrorCode(err)).Msg("not released")
		}
	}
	n.Close()
	return nil
}
