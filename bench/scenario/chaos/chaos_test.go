package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// A campaign dies this often.
const killsEach = 4

// TestTwentyKillsOfTheEngineLoseNothingAndDialNobodyTwice is the acceptance of
// the engine against SIGKILL. CHAOS_KILLS says how many there are in all,
// CHAOS_SEED which seed is the first, and the only one unless CHAOS_KILLS is
// given too. CHAOS_RACE=1 builds the engine with the race detector,
// CHAOS_BINARY takes one that was built elsewhere, CHAOS_KEEP=1 keeps data and
// logs.
func TestTwentyKillsOfTheEngineLoseNothingAndDialNobodyTwice(t *testing.T) {
	first, all := setting(t, "CHAOS_SEED", 1), uint64(20)
	if os.Getenv("CHAOS_SEED") != "" {
		all = killsEach
	}
	kills := int(setting(t, "CHAOS_KILLS", all))
	dir := folder(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(3+kills)*time.Minute)
	defer cancel()
	lab, err := Open(ctx, Config{Binary: build(t), Dir: dir, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	done := 0
	for seed := first; done < kills; seed++ {
		n := min(killsEach, kills-done)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rep, err := lab.Run(ctx, Campaign{Seed: seed, Kills: n, Contacts: 75})
			for _, f := range rep.Failures {
				t.Error(f)
			}
			if err != nil {
				t.Error(err)
			}
			t.Logf("seed %d: %d kills, %d lives judged after 5 s, %.0f s; %d legs, %d Call-IDs, %d attempts lost, %d legs unsent, %d abandons by loss; %d acknowledged requests (%d unsure at first), %d results",
				seed, len(rep.Kills), rep.Judged, rep.Took.Seconds(), rep.Legs, rep.CallIDs, rep.Lost, rep.Unsent, rep.Abandons, rep.Acked, rep.Unsure, rep.Results)
			if t.Failed() {
				t.Logf("replay with CHAOS_SEED=%d; logs of the %d lives are in %s", seed, lab.proc.life, dir)
			}
		})
		done += n
		if t.Failed() {
			break
		}
	}
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
	out := filepath.Join(t.TempDir(), "dialler")
	args := []string{"build", "-o", out}
	if os.Getenv("CHAOS_RACE") == "1" {
		args = append(args, "-race")
	}
	if b, err := exec.CommandContext(t.Context(), "go", append(args, "dialler")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	return out
}
