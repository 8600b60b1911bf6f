package process

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/sipstack"
)

func TestNothingIsLeftOfCallsOfEveryKind(t *testing.T) {
	t.Parallel()
	if measuresItsProcess(t, 5*time.Minute) {
		return
	}
	exactly(t)
	// Timer B is 1.3 s, and a leg answers retransmissions for the same time.
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 20 * time.Millisecond}, dialoutRing: 2 * time.Second},
		200*time.Millisecond)
	short := draw.Exactly(50 * time.Millisecond)
	kinds := []carrier.Behaviour{
		person(50 * time.Millisecond), {Kind: carrier.Human, Ring: short, Talk: short}, {Kind: carrier.Human, Ring: short,
			Forks: 1},
		{Kind: carrier.Human, Ring: short, Reliable: true}, {Kind: carrier.Human, Progress: carrier.EarlyMedia, Ring: short},
		{Kind: carrier.Human, Ring: short, Hold: short}, {Kind: carrier.Machine, Ring: short}, {Kind: carrier.NoAnswer},
		{Kind: carrier.NoAnswer, CancelRace: true}, {Kind: carrier.Silent}, carrier.Busy(), carrier.Refusal(404, "", 0),
		carrier.Refusal(503, "", 0), carrier.Refusal(488, "", 0), carrier.Refusal(603, "", 0),
	}
	script := map[engine.PhoneNumber][]carrier.Behaviour{}
	var numbers []string
	for range 8 {
		for _, k := range kinds {
			n := newNumber()
			numbers = append(numbers, n)
			script[engine.PhoneNumber(n)] = []carrier.Behaviour{k}
		}
	}
	w.carrier(carrier.Config{Script: script})
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 200,
		"endpoints": []string{w.bot.URL()}}).expect(200)
	play := func(numbers []string) {
		t.Helper()
		for _, n := range numbers {
			// The trunk may be paused for a moment, because some of these calls are its faults.
			eventually(t, "a call is placed", func() bool {
				r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": n})
				if r.status != 201 && r.code() != "no_capacity" {
					t.Fatal(r)
				}
				return r.status == 201
			})
		}
		eventually(t, "nothing of the calls is left", func() bool {
			return w.p.tree.LiveCalls() == 0 && w.p.sip.Stats().KnownLegs == 0
		})
	}
	play(numbers[:4*len(kinds)]) // and the pools reach their maximum size
	before, held := runtime.NumGoroutine(), ours()
	play(numbers[4*len(kinds):])
	w.quiet()
	if st := w.p.media.Stats(); st.Calls != 0 || st.Bots != 0 {
		t.Errorf("%d media paths, %d bot sockets", st.Calls, st.Bots)
	}
	eventually(t, "the goroutines are as before", func() bool { return runtime.NumGoroutine() <= before+20 })

	// First uses of maps and the like take 1.3 KiB a call; recent garbage may still be held.
	var left int64
	defer func() { t.Logf("%d bytes a call are left", left/int64(4*len(kinds))) }()
	eventually(t, "the memory is as before",
		func() bool { left = ours() - held; return left <= leakBytes*int64(4*len(kinds)) })
}

// leakBytes is how much heap a call may leave behind.
const leakBytes = 2 << 10

// exactly makes the profiler count every allocation of a test.
func exactly(t *testing.T) {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	t.Cleanup(func() { runtime.MemProfileRate = rate })
}

// ours returns how much heap is held by allocations of the dialler's own packages since exactly,
// without models and tests.
func ours() (held int64) {
	runtime.GC() // freed memory shows after the second one
	runtime.GC()
	n, _ := runtime.MemProfile(nil, false)
	records := make([]runtime.MemProfileRecord, n+1000)
	n, ok := runtime.MemProfile(records, false)
	if !ok {
		return 1 << 62
	}
	for i := range records[:n] {
		r := &records[i]
		if mine(r.Stack()) {
			held += r.InUseBytes()
		}
	}
	return held
}

// mine says whether a stack belongs to the dialler. The sessions of its pools, and what these have prepared, are there
// for whatever comes: some begin late, when the commits of several calls happen to meet.
func mine(stack []uintptr) bool {
	frames, found := runtime.CallersFrames(stack), false
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "dialler/bench/") || strings.HasPrefix(f.Function, "dialler.Test") ||
			strings.HasSuffix(f.File, "_test.go") || strings.Contains(f.Function, "pgxpool.NewWithConfig.") ||
			strings.HasSuffix(f.Function, "pgx/v5.(*Conn).Prepare") {
			return false
		}
		found = found || strings.HasPrefix(f.Function, "dialler/")
		if !more {
			return found
		}
	}
}
