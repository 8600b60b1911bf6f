package writer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// bubbleClock is the virtual clock of a synctest bubble.
type bubbleClock struct{ start time.Time }

func (bubbleClock) Now() time.Time          { return time.Now() }
func (c bubbleClock) Boot() engine.BootTime { return engine.BootTime(time.Since(c.start)) + 1 }

// A write that nothing waits for goes with one that is waited for, or by itself after a while.
func TestAWriteThatNobodyWaitsForGoesWithTheNext(t *testing.T) {
	type at struct {
		due  time.Duration
		kind journal.Type
	}
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		writes []at
		want   []string // the writes of each commit, and when it began
	}{
		"alone it waits": {[]at{{0, journal.AttemptEnded}}, []string{"25ms [0]"}},
		"an answer does not wait, and takes it along": {[]at{{0, journal.AttemptEnded},
			{10 * ms, journal.AttemptAnswered}, {11 * ms, journal.ResultStored}},
			[]string{"10ms [0 1]", "36ms [2]"}},
		"nor does what came soon after another": {[]at{{0, journal.AttemptAnswered}, {3 * ms, journal.AttemptConnected},
			{4 * ms, journal.AttemptAnswered}},
			[]string{"0s [0]", "6ms [1 2]"}},
		"the first of them says how long": {[]at{{0, journal.AttemptConnected}, {20 * ms, journal.LegClosed},
			{24 * ms, journal.AttemptEnded}, {26 * ms, journal.AttemptEnded}},
			[]string{"25ms [0 1 2]", "51ms [3]"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &watched{Store: actortest.NewStore(), begun: time.Now()}
				var heard []int
				w, err := writer.Start(writer.Config{Writers: 1}, store, bubbleClock{time.Now()},
					func(step int, err error) {
						if err != nil {
							t.Error(err)
						}
						heard = append(heard, step)
					})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				for i, x := range c.writes {
					time.Sleep(time.Until(store.begun.Add(x.due))) // virtual
					id := engine.AttemptID(fmt.Sprintf("%032d", i))
					w.Persist("one", journal.Write{Events: []journal.Event{{Type: x.kind, Attempt: id}},
						Attempts: []attempt.Attempt{{ID: id}}}, i)
					synctest.Wait()
				}
				time.Sleep(time.Second) // virtual
				synctest.Wait()
				if !slices.Equal(store.commits, c.want) {
					t.Errorf("%q, want %q", store.commits, c.want)
				}
				if len(heard) != len(c.writes) || !slices.IsSorted(heard) {
					t.Errorf("told of %v", heard)
				}
			})
		})
	}
}

// watched records each commit.
type watched struct {
	*actortest.Store
	begun   time.Time
	commits []string
}

func (s *watched) Commit(ctx context.Context, group []journal.Write) ([]error, error) {
	var which []int
	for i := range group {
		var n int
		if _, err := fmt.Sscanf(string(group[i].Events[0].Attempt), "%d", &n); err != nil {
			return nil, err
		}
		which = append(which, n)
	}
	s.commits = append(s.commits, fmt.Sprint(time.Since(s.begun), " ", which))
	return s.Store.Commit(ctx, group)
}
