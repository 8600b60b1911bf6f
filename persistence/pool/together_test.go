package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsAskedWhileAQueryIsUnderWayIsOneQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked [][]int
		var q Together[int, string]
		q.Ask = func(_ context.Context, keys []int) (map[int]string, error) {
			asked = append(asked, slices.Sorted(slices.Values(keys)))
			time.Sleep(time.Second) // virtual: the database
			return map[int]string{1: "one", 2: "two"}, nil
		}
		var all sync.WaitGroup
		get := func(key int, want string) {
			all.Go(func() {
				v, ok, err := q.Of(t.Context(), key)
				if v != want || ok != (want != "") || err != nil {
					t.Errorf("%d: %q %v %v", key, v, ok, err)
				}
			})
			synctest.Wait()
		}
		get(1, "one")
		get(2, "two")
		get(3, "")
		get(1, "one") // an answer queried earlier may be out of date
		all.Wait()
		get(2, "two") // alone again
		all.Wait()
		if len(asked) != 3 || !slices.Equal(asked[0], []int{1}) || !slices.Equal(asked[1], []int{1, 2, 3}) ||
			!slices.Equal(asked[2], []int{2}) {
			t.Errorf("%v", asked)
		}
	})
}

func TestWhoAsksTogetherWaitsForNobodyElsesPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		var q Together[int, string]
		q.Ask = func(ctx context.Context, _ []int) (map[int]string, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(3 * time.Second):
				return nil, away
			}
		}
		errs := make([]error, 3)
		var all sync.WaitGroup
		for i, patience := range []time.Duration{time.Second, time.Minute, time.Second} {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, _, errs[i] = q.Of(ctx, i)
			})
			synctest.Wait()
		}
		all.Wait()
		if !errors.Is(errs[0], context.DeadlineExceeded) || !errors.Is(errs[1], away) || !errors.Is(errs[2],
			context.DeadlineExceeded) {
			t.Errorf("%v", errs)
		}
	})
}
