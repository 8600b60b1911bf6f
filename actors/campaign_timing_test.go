package actors_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/actors/actortest"
	campaignactor "dialler/actors/campaign"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/enginetest/replay"
	"dialler/engine/journal"
	"dialler/engine/run"
)

// BenchmarkCall measures what a call costs the tree, from the due contact to its stored result,
// over a store, a carrier and a media path that cost almost nothing. Wall-clock time says little
// here: look at cpu-µs/call and allocs/op.
func BenchmarkCall(b *testing.B) { benchmarkCall(b, nil) }

// What a call allocates in the tree, as in BenchmarkCall. Whoever makes it more says in the commit why; less is
// written down here.
const callAllocs, callBytes = 436, 71_400

func TestACallAllocatesNoMoreThanItDid(t *testing.T) {
	const calls = 1000
	for try := 1; ; try++ { // ticks come by the clock: on a busy machine more of them to a call
		var before, after runtime.MemStats
		theCalls(t, calls, nil, func() { runtime.ReadMemStats(&before) })
		runtime.ReadMemStats(&after)
		allocs, bytes := (after.Mallocs-before.Mallocs)/calls, (after.TotalAlloc-before.TotalAlloc)/calls
		switch {
		case allocs <= callAllocs && bytes <= callBytes:
			return
		case try == 5:
			t.Fatalf("a call makes %d allocations of %d bytes, %d and %d are allowed", allocs, bytes, callAllocs, callBytes)
		}
		t.Logf("%d allocations, %d bytes a call", allocs, bytes)
	}
}

// BenchmarkRecordedCall is BenchmarkCall with a recording of the run in memory: how many bytes, and
// what they cost.
func BenchmarkRecordedCall(b *testing.B) {
	var lives []*replay.Recorder
	benchmarkCall(b, func(id engine.CampaignID, cfg run.Config) campaignactor.RunRecorder {
		lives = append(lives, replay.New(id, cfg, time.Now()))
		return lives[len(lives)-1]
	})
	inputs, size := 0, 0
	for _, r := range lives {
		n, err := r.Verify()
		if err != nil {
			b.Error(err)
		}
		inputs, size = inputs+n, size+r.Size()
	}
	b.ReportMetric(float64(inputs)/float64(b.N), "inputs/call")
	b.ReportMetric(float64(size)/float64(b.N), "recorded-bytes/call")
}

func benchmarkCall(b *testing.B, record func(engine.CampaignID, run.Config) campaignactor.RunRecorder) {
	b.Helper()
	var before time.Duration
	b.ReportAllocs()
	theCalls(b, b.N, record, func() {
		b.ResetTimer()
		before = processorTime(b)
	})
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/call")
}

// theCalls are made by a campaign of n contacts; begin is called before it starts.
func theCalls(b testing.TB, n int, record func(engine.CampaignID, run.Config) campaignactor.RunRecorder, begin func()) {
	b.Helper()
	const seats = 200
	store := actortest.NewStore()
	store.Delay = 0
	store.BotList = []engine.Bot{{ID: "bot", Active: true, Seats: seats, Endpoints: []string{"ws://bot"}}}
	store.TrunkList = []engine.TrunkSettings{{ID: "trunk", Active: true, CPSCap: 10_000, ChannelCap: 10_000}}
	id := engine.CampaignID("cmp_bench")
	set := campaign.Settings{Name: "bench", Bot: "bot", Concurrency: seats, Numbers: []engine.PhoneNumber{"+4930111111"},
		MaxAttempts:   1,
		RetryDelaySec: 60, RingTimeoutSec: 15, CallLimitSec: 900, ResultTimeoutSec: 60, AMD: engine.AMDParallel,
		AbandonCapPPM: 30_000, PacingMode: "strict"}
	set.Window.Zone = "UTC"
	c := campaign.Campaign{ID: id, Settings: set, State: campaign.Draft, Version: 1, Run: 1, CreatedAt: time.Now()}
	if err := store.InsertCampaign(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	world := actortest.NewWorld(func(engine.PhoneNumber, int) actortest.Script {
		return actortest.Script{Ring: 2 * time.Millisecond, Code: 200, Verdict: engine.VerdictHuman,
			VerdictIn: time.Millisecond,
			BotIn:     time.Millisecond, Talk: 200 * time.Millisecond}
	})
	tree, err := actors.Start(context.Background(), actors.Config{Log: zerolog.New(io.Discard),
		Campaigns: campaignactor.Config{RecordRun: record}},
		actors.Ports{Store: store, Telephony: world, Media: world, Clock: wallClock{time.Now()}})
	if err != nil {
		b.Fatal(err)
	}
	defer tree.Close()
	tree.TrunkHealth(engine.TrunkHealth{Trunk: store.TrunkList[0].ID, Life: engine.TrunkAlive})

	done := make(chan struct{})
	post := func(call engine.CallID) {
		_ = tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: call,
			Result: attempt.Result{Disposition: "sold", ReceivedAt: time.Now()}})
	}
	store.View(func() {
		ended, owed := 0, 0
		store.OnWrite = func(w *journal.Write) {
			for i := range w.Events {
				switch e := &w.Events[i]; {
				case e.Type == journal.AttemptEnded && e.Data.Connected:
					owed++
					go post(e.Attempt.Call())
					fallthrough
				case e.Type == journal.AttemptEnded:
					ended++
				case e.Type == journal.ResultStored:
					owed--
				default:
					continue
				}
				if ended == n && owed == 0 {
					close(done)
				}
			}
		}
	})
	add := campaign.AddContacts{Campaign: id, Source: "api"}
	for i := range n {
		add.Contacts = append(add.Contacts, campaign.NewContact{Number: number(i),
			Variables: map[string]string{"i": fmt.Sprint(i)}})
	}
	if rep, err := tree.AddContacts(context.Background(), add); err != nil || rep.Added != n {
		b.Fatal(rep, err)
	}
	begin()
	if _, err := tree.Act(context.Background(), campaign.Act{Campaign: id, Action: campaign.ActionStart}); err != nil {
		b.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		d, _ := tree.Detail(context.Background(), id)
		b.Fatalf("%d calls are not over: %+v %+v", n, d.Live, d.Counters)
	}
}

// wallClock is the clock of the machine.
type wallClock struct{ start time.Time }

func (wallClock) Now() time.Time          { return time.Now() }
func (c wallClock) Boot() engine.BootTime { return engine.BootTime(time.Since(c.start)) + 1 }

// processorTime returns the CPU time this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
