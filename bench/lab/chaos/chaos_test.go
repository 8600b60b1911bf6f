package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"dialler/bench/shipped"
)

// TestKillsAndFaultsLoseNothingAndDialNobodyTwice is the acceptance of the
// engine against SIGKILL, pauses and the faults of its database: the ledgers of
// carrier, database and API are equal afterwards. In `make test` it is one short
// campaign; CHAOS_MINUTES says how long it goes on, with new installations and
// seeds. CHAOS_SEED is the first seed, CHAOS_REPORT a file that takes the figures.
// CHAOS_RACE=1 builds the engine with the race detector, CHAOS_BINARY takes one
// that was built elsewhere, CHAOS_KEEP=1 keeps data and logs.
func TestKillsAndFaultsLoseNothingAndDialNobodyTwice(t *testing.T) {
	began := time.Now()
	seed, all := setting(t, "CHAOS_SEED", 1), time.Duration(setting(t, "CHAOS_MINUTES", 0))*time.Minute
	t.Logf("first seed %d; CHAOS_SEED=%d CHAOS_MINUTES=%d plans the same", seed, seed, all/time.Minute)
	binary := build(t)
	var sum total
	for round := 0; !t.Failed(); round++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			private, c := campaignOf(seed, round, all, all-time.Since(began))
			rep := campaignIn(t, Config{Binary: binary, Private: private}, c)
			sum.add(rep)
		})
		if seed++; all-time.Since(began) < time.Minute {
			break
		}
	}
	if all > 0 && !t.Failed() {
		t.Run("paused across the end of the window", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			failures, err := bringUp(t, ctx, Config{Binary: binary, Private: true}).Doze(ctx, seed, 20*time.Second)
			for _, f := range failures {
				t.Error(f)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	table := sum.table(time.Since(began))
	t.Log("\n" + table)
	if file := os.Getenv("CHAOS_REPORT"); file != "" {
		if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// tail is how long a campaign takes to complete after its last disturbance, and its
// installation to come up: the numbers of lost calls are held for a minute.
const tail = 100 * time.Second

// campaignOf says what is run next in the time that is left. Every second
// installation has a database of the dialler's own.
func campaignOf(seed uint64, round int, all, left time.Duration) (private bool, c Campaign) {
	c = Campaign{Seed: seed, Blows: 4}
	switch {
	case all == 0:
		c.Blows, c.Stop = 6, true
	case round%2 == 1:
		private, c.Stop = true, true
	default:
		c.For, c.Pause = min(max(left-tail, 0), 8*time.Minute), 20*time.Second
		if left > 4*time.Minute && left < 10*time.Minute {
			c.For -= 50 * time.Second // for the one after it
		}
	}
	return private, c
}

// campaignIn runs a campaign in an installation of its own.
func campaignIn(t *testing.T, cfg Config, c Campaign) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), c.For+time.Duration(10+c.Blows)*time.Minute)
	defer cancel()
	rep, err := bringUp(t, ctx, cfg).Run(ctx, c)
	for _, f := range rep.Failures {
		t.Error(f)
	}
	if err != nil {
		t.Error(err)
	}
	t.Log(rep)
	return rep
}

// TestNoInviteLeavesAfterAnExclusionIsAcknowledged has exclusions race dials;
// with CHAOS_MINUTES there are ten thousand.
func TestNoInviteLeavesAfterAnExclusionIsAcknowledged(t *testing.T) {
	n, crossed := 300, 0
	if setting(t, "CHAOS_MINUTES", 0) > 0 {
		n, crossed = 10_000, 1 // of few it may be that none crossed
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	lab := bringUp(t, ctx, Config{Binary: build(t), Private: true})
	race, err := lab.Race(ctx, setting(t, "CHAOS_SEED", 1), n)
	for _, f := range race.Failures {
		t.Error(f)
	}
	if err != nil {
		t.Error(err)
	}
	t.Log(race)
	if race.Excluded != n || race.Crossed < crossed || race.Dialled == 0 || race.Dialled == n {
		t.Error("that was no race")
	}
}

// bringUp brings a laboratory up for a test.
func bringUp(t *testing.T, ctx context.Context, cfg Config) *Lab { //nolint:revive // a test's helpers have t first
	t.Helper()
	cfg.Dir, cfg.Log = folder(t), t.Logf
	lab, err := Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("logs of the %d lives are in %s", lab.proc.Life, cfg.Dir)
		}
	})
	return lab
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// folder is a place that PostgreSQL's user may enter too. It stays when the
// test fails: the logs are in it.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() && os.Getenv("CHAOS_KEEP") == "" {
			_ = os.RemoveAll(dir)
		}
	})
	return dir
}

// build makes the binary that is killed.
func build(t *testing.T) string {
	t.Helper()
	if other := os.Getenv("CHAOS_BINARY"); other != "" {
		return other
	}
	return buildWith(t)
}

// buildWith makes it with flags of go build; CHAOS_RACE=1 adds the race detector.
func buildWith(t *testing.T, flags ...string) string {
	t.Helper()
	if os.Getenv("CHAOS_RACE") == "1" {
		flags = append(flags, "-race")
	}
	out := filepath.Join(t.TempDir(), "dialler")
	if err := shipped.Build(t.Context(), out, flags...); err != nil {
		t.Fatal(err)
	}
	return out
}
