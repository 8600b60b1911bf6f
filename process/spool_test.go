package process

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine/attempt"
	"dialler/engine/journal"
	"dialler/persistence/spool"
	"dialler/process/metrics"
)

// What an operator sees if a spool is full, or its disk fails.
func TestASpoolThatIsFullOrFailsSaysSo(t *testing.T) {
	s, err := spool.Open(spool.Config{Dir: t.TempDir(), Size: spool.MinLane, Lanes: 1, Owner: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics.Spool(func() spool.Stats { return s.Stats() })...)
	figure := func(name string) float64 {
		t.Helper()
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.GetName() == name {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		t.Fatalf("no %s", name)
		return 0
	}
	if c := spoolCheck(s.Stats()); !c.OK || c.Detail != "" || figure("dialler_spool_full") != 0 ||
		figure("dialler_spool_broken") != 0 {
		t.Errorf("while nothing is wrong: %+v", c)
	}
	write := journal.Write{Events: []journal.Event{{Type: journal.AttemptEnded, Version: 1,
		Attempt: "0123456789abcdef0123456789abcdef"}},
		Attempts: []attempt.Attempt{{ID: "0123456789abcdef0123456789abcdef", SIPReason: strings.Repeat("x", 1000)}}}
	for n := 1; n == 1; {
		if n, err = s.Append(0, []journal.Write{write}); err != nil {
			t.Fatal(err)
		}
	}
	if c := spoolCheck(s.Stats()); c.OK ||
		!strings.Contains(c.Detail, "there is no room for more, and live calls wait for the database") ||
		figure("dialler_spool_full") != 1 || figure("dialler_spool_writes") < 10 || time.Since(s.Stats().Oldest) > time.Hour {
		t.Errorf("full: %+v", c)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = spool.Open(spool.Config{Dir: t.TempDir(), Size: spool.MinLane, Lanes: 1,
		Owner: make([]byte, 16)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // from here on its files reject writes
		t.Fatal(err)
	}
	if _, err := s.Append(0, []journal.Write{write}); err == nil {
		t.Fatal("a closed spool takes writes")
	}
	if c := spoolCheck(s.Stats()); c.OK ||
		c.Detail != "the disk of the spool takes no writes; live calls wait for the database" ||
		figure("dialler_spool_broken") != 1 {
		t.Errorf("broken: %+v", c)
	}
}
