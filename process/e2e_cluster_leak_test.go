//go:build !race

// The library for messages between nodes sets a global logger without a lock when a node starts:
// the race detector does not allow a second node in a process.

package process

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/persistence/storetest"
)

// Three nodes in one process start, one of them calls, and they are stopped, the campaign's owner
// first: no goroutine of leases, links, counts or membership is left.
func TestNodesThatWereStoppedLeaveNoGoroutine(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	url := storetest.URL(t)
	before := goleak.IgnoreCurrent()
	listen := []string{ports.AddressOf(t), ports.AddressOf(t), ports.AddressOf(t)}
	flags := Flags{DatabaseURL: url, Cluster: "automanaged://" + strings.Join(listen, ","), Node: "one",
		ClusterListen: listen[0]}
	w := bringUp(t, &world{url: url, flags: flags}, tuning{}, 300*time.Millisecond)
	nodes := []*Process{w.p}
	for i, name := range []string{"two", "three"} {
		f := w.flags
		f.SIP, f.Node, f.ClusterListen, f.SpoolDir = ports.AddressOf(t), name, listen[i+1], filepath.Join(t.TempDir(),
			"spool")
		p, err := startTuned(context.Background(), f, name, zerolog.New(w.log).Level(zerolog.DebugLevel), tuning{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		nodes = append(nodes, p)
	}
	eventually(t, "three nodes are there", func() bool {
		var n int
		w.query("SELECT count(*) FROM nodes WHERE left_at IS NULL AND expires_at > now()", &n)
		return n == 3
	})
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	w.trigger(id, newNumber(), nil)
	eventually(t, "somebody was called", func() bool { return w.detail(id).Counters.Completed == 1 })
	w.ended(w.dialout(newNumber()), engine.OutcomeCompleted)

	w.audited()
	w.tampered = true // it needs a process
	for _, p := range nodes {
		p.Close()
	}
	_ = model.Close()
	_ = w.bot.Close()
	w.client.CloseIdleConnections()
	if err := Ended(append([]goleak.Option{before}, lasting...)...); err != nil {
		t.Error(err)
	}
}
