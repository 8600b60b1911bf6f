package process

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine/campaign"
)

// endlessFile generates the rows of a large file as they are read.
type endlessFile struct {
	row, rows int
	rest      []byte
}

func (f *endlessFile) Read(p []byte) (int, error) {
	for len(f.rest) < 4096 && f.row <= f.rows {
		if f.row == 0 {
			f.rest = append(f.rest, "phone_number,first_name,account,region\n"...)
		} else {
			f.rest = fmt.Appendf(f.rest, "+49151%08d,Ada,%d,north\n", f.row, f.row)
		}
		f.row++
	}
	if len(f.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// aside runs a program at low priority, so that CPU-bound work leaves the processors to tests that
// measure call times.
var aside = []string{"nice", "-n", "10"}

func TestALargeFileIsImportedWhileACampaignDials(t *testing.T) {
	t.Parallel()
	if measuresItsProcess(t, 15*time.Minute, aside...) {
		return
	}
	// Its cost says nothing under the race detector.
	rows, limit := 200_000, 20*time.Second
	if raceEnabled {
		rows, limit = 50_000, 10*time.Minute
	}
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.Human,
		Ring: draw.Exactly(50 * time.Millisecond)}}})
	id := w.campaign(map[string]any{"concurrency": 2,
		"always_on": true}) // it goes on when the import takes longer than its calls
	file, _ := contactFile(1000)
	w.upload(id, file).expect(201)
	w.act(id, "start").expect(200)
	eventually(t, "it dials", func() bool { return len(model.Ledger().Calls()) > 5 })

	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	// Garbage must not count: with the usual setting there is as much of it as earlier tests have
	// left alive.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	before := heap()
	var peak atomic.Uint64
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if h := heap(); h > peak.Load() {
					peak.Store(h)
				}
			}
		}
	})
	dialled := len(model.Ledger().Calls())
	began, worked := time.Now(), processorTime(t)
	req, err := nethttp.NewRequestWithContext(context.Background(), "POST", w.p.URL()+importsOf(id),
		&endlessFile{rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.admin)
	req.Header.Set("Content-Type", "text/csv")
	client := nethttp.Client{Timeout: 10 * time.Minute}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	took, cost := time.Since(began), processorTime(t)-worked
	close(stop)
	watching.Wait()
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	var imp campaign.Import
	answer{t: t, status: resp.StatusCode, body: body}.expect(201).into(&imp)
	if imp.Rows != rows || imp.Added != rows {
		t.Errorf("%+v", imp)
	}
	if got := w.rows("contacts"); got != rows+1000 {
		t.Errorf("%d contacts", got)
	}
	grown := int64(peak.Load()) - int64(before)
	calls := len(model.Ledger().Calls()) - dialled
	// The calls go on for as long as it takes; what they cost is not the import's.
	const more = 30
	after, worked := len(model.Ledger().Calls()), processorTime(t)
	within(t, 3*patience, "some calls without an import", func() bool { return len(model.Ledger().Calls()) >= after+more })
	each := (processorTime(t) - worked) / more
	cost -= time.Duration(calls) * each
	if grown > 50<<20 || cost > limit {
		t.Errorf("%d rows took %v of a processor and %d MiB", rows, cost, grown>>20)
	}
	t.Logf("%d rows took %v, %v of a processor and %d MiB, with %d calls of %v meanwhile", rows, took, cost, grown>>20,
		calls, each)
	// Two lines, a call of some 400 ms each: it kept dialling all the time.
	if least := int(took / time.Second); calls < least {
		t.Errorf("%d calls in %v", calls, took)
	}
	w.act(id, "pause").expect(200)
	eventually(t, "its calls are over", func() bool { return w.p.tree.LiveCalls() == 0 })
	if dup := model.Ledger().DuplicateInvites(); len(dup) > 0 {
		t.Errorf("duplicates %v", dup)
	}
}

// processorTime returns the CPU time this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
