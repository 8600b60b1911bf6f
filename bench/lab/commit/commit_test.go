package commit

import (
	"strings"
	"testing"
	"time"
)

func TestAShortMeasurementHasARowForEachLoadAndBatch(t *testing.T) {
	f, err := Run(t.Context(), Config{Loads: []int{200}, Batches: []int{100}, Groups: []int{10},
		Duration:  300 * time.Millisecond,
		Campaigns: 2, Waiting: 64, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Writer) != 2 || len(f.Copy) != 1 || len(f.Spool) != 1 || f.Fsync != "on" || f.Synchronous != "on" {
		t.Fatalf("%+v", f)
	}
	if r := f.Writer[0]; r.Events != 60 || r.Commit.P50 <= 0 || r.Commit.P99 < r.Commit.P50 || r.Durable.P50 <= 0 ||
		r.Group < 1 {
		t.Errorf("%+v", r)
	}
	if r := f.Writer[1]; r.Offered != 0 || r.Events == 0 || r.PerSecond <= 0 {
		t.Errorf("%+v", r)
	}
	for _, r := range append(f.Copy, f.Spool...) {
		if r.Events < r.Batch || r.PerSecond <= 0 || r.Commit.P50 <= 0 {
			t.Errorf("%+v", r)
		}
	}
	var b strings.Builder
	f.Print(&b)
	if n := strings.Count(b.String(), "\n| "); n != 5 { // with the head
		t.Errorf("%d rows:\n%s", n, &b)
	}
}

func TestWhatIsNotTheFormatOfCOPYIsRefused(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 19), append(make([]byte, 19), 0, 1, 0, 0, 0, 9)} {
		if _, _, err := split(b); err == nil {
			t.Errorf("%v is taken", b)
		}
	}
}
