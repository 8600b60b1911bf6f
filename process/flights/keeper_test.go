package flights

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine/flight"
	"dialler/engine/run"
)

// folder is a keeper with some closed recordings, an hour apart, the last one now.
func folder(t *testing.T, size int64, keep time.Duration, count int) (k *Keeper, now time.Time) {
	t.Helper()
	now = time.Now()
	k = New(Config{Dir: filepath.Join(t.TempDir(), "flights"), Size: size, Keep: func() time.Duration { return keep },
		Now: func() time.Time { return now }, Log: zerolog.Nop()})
	for i := range count {
		at := now.Add(time.Duration(i+1-count) * time.Hour)
		k.cfg.Now = func() time.Time { return at }
		k.Record("cmp", run.Config{}).Close()
		k.writes.Wait()
		list, err := k.list()
		if err != nil || len(list) != i+1 {
			t.Fatalf("%v, %v", list, err)
		}
		if err := os.Chtimes(filepath.Join(k.cfg.Dir, list[len(list)-1].name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	k.cfg.Now = func() time.Time { return now }
	return k, now
}

func left(t *testing.T, k *Keeper) int {
	t.Helper()
	list, err := k.list()
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestARecordingIsDeletedAfterItsRetention(t *testing.T) {
	for keep, want := range map[time.Duration]int{90 * time.Minute: 2, 0: 5, 24 * time.Hour: 5} {
		k, _ := folder(t, 1<<20, keep, 5)
		if k.Tidy(); left(t, k) != want {
			t.Errorf("kept for %s: %d of 5, want %d", keep, left(t, k), want)
		}
	}
}

func TestTheOldestRecordingsGoWhenAllTakeTooMuchOfTheDisk(t *testing.T) {
	k, now := folder(t, 0, 0, 5)
	list, _ := k.list()
	k.cfg.Size = 2 * list[0].size
	k.Tidy()
	list, _ = k.list()
	if len(list) != 2 || !list[1].at.Equal(now.Truncate(time.Microsecond)) && now.Sub(list[1].at) > time.Second {
		t.Errorf("%v", list)
	}
}

// A recording that takes all the room ends; the run goes on.
func TestARecordingThatFillsTheFolderEnds(t *testing.T) {
	k, _ := folder(t, 10, 0, 0)
	r := k.Record("cmp", run.Config{})
	if k.Tidy(); !r.Ended() {
		t.Error("it goes on")
	}
	k.writes.Wait()
	list, _ := k.list()
	text, err := os.ReadFile(filepath.Join(k.cfg.Dir, list[0].name))
	if err != nil || string(text[len(text)-16-len(flight.EndFull):len(text)-16]) != flight.EndFull {
		t.Errorf("%q, %v", text, err)
	}
}

// A folder that cannot be made costs the recording, not the run.
func TestARunIsNotRecordedWhereNothingCanBeWritten(t *testing.T) {
	k, _ := folder(t, 10, 0, 0)
	if err := os.WriteFile(k.cfg.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := k.Record("cmp", run.Config{}); r != nil {
		t.Error("it is recorded")
	}
}
