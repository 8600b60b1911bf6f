//go:build cluster

package chaos

import (
	"context"
	"os"
	"testing"
	"time"
)

// TestNodesOfAClusterAreBrokenAndNobodyIsCalledTwice is the acceptance of the
// cluster: three nodes share campaigns, trunk, bot and numbers while they are
// killed, stopped, drained, upgraded and cut off. In `make test` it deals four
// disturbances; CHAOS_MINUTES says how long it goes on. CHAOS_LASTING=1 has
// conversations that outlast each cut and each hold. The other variables are those of
// TestKillsAndFaultsLoseNothingAndDialNobodyTwice.
func TestNodesOfAClusterAreBrokenAndNobodyIsCalledTwice(t *testing.T) {
	seed, all := setting(t, "CHAOS_SEED", 1), time.Duration(setting(t, "CHAOS_MINUTES", 0))*time.Minute
	lasting := setting(t, "CHAOS_LASTING", 0) > 0
	cfg := ClusterRun{Seed: seed, For: all, TakeOver: 30 * time.Second} // beside other tests
	binary, upgrade, drain := build(t), "", 5*time.Second
	if all > 0 {
		cfg.TakeOver, drain = 10*time.Second, 30*time.Second
		if !lasting { // it deals no upgrade
			upgrade = rebuilt(t)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), all+20*time.Minute)
	defer cancel()
	dir := folder(t)
	c, err := OpenCluster(ctx, ClusterConfig{Binary: binary, Upgrade: upgrade, Dir: dir, Drain: drain, Lasting: lasting,
		Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("logs of the nodes are in %s", dir)
		}
	})
	rep, err := c.Run(ctx, cfg)
	for _, f := range rep.Failures {
		t.Error(f)
	}
	if err != nil {
		t.Error(err)
	}
	t.Log("\n" + rep.Table())
	if file := os.Getenv("CHAOS_REPORT"); file != "" {
		if err := os.WriteFile(file, []byte(rep.Table()), 0o644); err != nil { //nolint:gosec // a report to be read
			t.Error(err)
		}
	}
}

// rebuilt makes the program anew under another version: none.
func rebuilt(t *testing.T) string {
	t.Helper()
	return buildWith(t, "-buildvcs=false")
}
