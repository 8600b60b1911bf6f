package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

const secretNumber = "+4915112345678"

var (
	ours   = []byte("0123456789abcdef")
	theirs = []byte("fedcba9876543210")
	when   = time.Date(2026, 3, 2, 10, 0, 0, 123456789, time.UTC)
)

func config(dir string) Config {
	return Config{
		Dir:   filepath.Join(dir, "spool"),
		Size:  2 * MinLane,
		Lanes: 2,
		Owner: ours,
		Now:   func() time.Time { return when },
	}
}

func open(t *testing.T, cfg Config) *Spool {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// write is the nth write of a call.
func write(n int) journal.Write {
	at := when.Add(time.Duration(n) * time.Second)
	a := attempt.Attempt{
		ID:         engine.AttemptID(fmt.Sprintf("%032x", n)),
		Campaign:   "cmp_1",
		To:         secretNumber,
		State:      attempt.Answered,
		AnsweredAt: &at,
	}
	return journal.Write{Campaign: "cmp_1", Epoch: 3, Attempts: []attempt.Attempt{a},
		Events: []journal.Event{
			{
				Campaign: "cmp_1",
				Seq:      int64(n),
				Run:      1,
				At:       at,
				Type:     journal.AttemptAnswered,
				Version:  1,
				Attempt:  a.ID,
			},
		}}
}

func writes(from, to int) (list []journal.Write) {
	for n := from; n < to; n++ {
		list = append(list, write(n))
	}
	return list
}

func (s *Spool) take(t *testing.T, lane int, list []journal.Write) {
	t.Helper()
	if n, err := s.Append(lane, list); err != nil || n != len(list) {
		t.Fatalf("took %d of %d: %v", n, len(list), err)
	}
}

// left is what the next process finds; it removes nothing.
func left(t *testing.T, cfg Config) (got []journal.Write) {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	stop := errors.New("enough")
	for _, l := range s.lanes {
		one := &Spool{cfg: s.cfg, lanes: []*lane{l}}
		if err := one.Replay(1<<20, func(group []journal.Write) (int, error) {
			got = append(got, group...)
			return 0, stop
		}); err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
	}
	return got
}

func same(t *testing.T, got, want []journal.Write) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d writes, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) { //nolint:govet // they hold no errors
			t.Errorf("write %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

func TestWhatWasTakenIsGivenToTheNextLifeInItsOrder(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	s.take(t, 0, writes(0, 3))
	s.take(t, 0, writes(3, 4))
	s.take(t, 1, writes(10, 12))
	if err := s.Release(0, 2, 1); err != nil { // a crash before the whole lane is done
		t.Fatal(err)
	}
	if st := s.Stats(); st.Records != 4 || st.Replayed != 2 || st.Rejected != 1 || st.Taken != 6 ||
		!st.Oldest.Equal(when) ||
		st.Bytes == 0 {
		t.Errorf("%+v", st)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, left(t, cfg), append(writes(0, 4), writes(10, 12)...))

	s = open(t, cfg)
	if st := s.Stats(); st.Records != 6 {
		t.Errorf("%+v", st)
	}
	var got []journal.Write
	if err := s.Replay(3, func(group []journal.Write) (int, error) {
		got = append(got, group...)
		return 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	same(t, got, append(writes(0, 4), writes(10, 12)...))
	if st := s.Stats(); st.Records != 0 || st.Bytes != 0 || st.Replayed != 6 || !st.Oldest.IsZero() {
		t.Errorf("%+v", st)
	}
	_ = s.Close()
	same(t, left(t, cfg), nil)
}

func TestACommitThatFailsLeavesEverythingForTheNextLife(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	s.take(t, 1, writes(0, 5))
	_ = s.Close()
	s = open(t, cfg)
	away := errors.New("away")
	calls := 0
	if err := s.Replay(2, func([]journal.Write) (int, error) {
		if calls++; calls == 2 {
			return 0, away
		}
		return 0, nil
	}); !errors.Is(err, away) {
		t.Fatal(err)
	}
	_ = s.Close()
	same(t, left(t, cfg), writes(0, 5))
}

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) ReadAt(b []byte, at int64) (int, error)  { return copy(b, m.b[at:]), nil }
func (m *memory) WriteAt(b []byte, at int64) (int, error) { return copy(m.b[at:], b), nil }
func (m *memory) Sync() error                             { return nil }
func (m *memory) Close() error                            { return nil }

func TestATornTailIsCutAtTheLastWholeRecord(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	s.take(t, 0, writes(0, 2))
	begin := s.lanes[0].tail
	s.take(t, 0, writes(2, 3))
	end := s.lanes[0].tail
	generation := s.lanes[0].generation
	_ = s.Close()
	path := filepath.Join(cfg.Dir, "lane-0.spool")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := func(change func(b []byte)) {
		t.Helper()
		b := bytes.Clone(whole)
		if change(b); bytes.Equal(b, whole) {
			return
		}
		l := &lane{f: &memory{b}, room: int64(len(b)), generation: generation, stats: &counters{}}
		if _, err := l.find(); err != nil {
			t.Fatal(err)
		}
		if len(l.entries) != 2 || l.tail != begin {
			t.Fatalf("%d records up to %d, want 2 up to %d", len(l.entries), l.tail, begin)
		}
	}
	for at := begin; at < end-8; at++ { // up to 7 bytes are padding
		f(func(b []byte) { clear(b[at:]) })
		for bit := range 8 {
			f(func(b []byte) { b[at] ^= 1 << bit })
		}
	}
	f(func(b []byte) { clear(b[begin : begin+512]) }) // a page that was not written before the next one

	// After a cut, appended records are found, and nothing else.
	whole[end-20] ^= 1
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg)
	s.take(t, 0, writes(7, 8))
	_ = s.Close()
	same(t, left(t, cfg), append(writes(0, 2), write(7)))
}

func TestAFullSpoolTakesNoMoreUntilItIsEmpty(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	n, err := s.Append(0, writes(0, 1000))
	if err != nil || n == 0 || n == 1000 {
		t.Fatalf("took %d: %v", n, err)
	}
	if more, err := s.Append(0, writes(n, n+1)); more != 0 || err != nil {
		t.Fatalf("took %d more: %v", more, err)
	}
	if st := s.Stats(); !st.Full || st.Broken || st.Records != int64(n) || st.Bytes > st.Size {
		t.Errorf("%+v", st)
	}
	s.take(t, 1, writes(0, 1)) // another lane has room of its own
	if err := s.Release(1, 1, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(0, n-1, 0); err != nil {
		t.Fatal(err)
	}
	if more, _ := s.Append(0, writes(n, n+1)); more != 0 {
		t.Error("there is room before the lane is empty")
	}
	if err := s.Release(0, 1, 0); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Full || st.Records != 0 {
		t.Errorf("%+v", st)
	}
	s.take(t, 0, writes(0, n))
	_ = s.Close()
	same(t, left(t, cfg), writes(0, n))
}

func TestTheRoomIsTakenFromTheDiskAtOnceAndTheFilesAreTheUsersAlone(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.Size = 4 << 20
	open(t, cfg)
	for _, name := range []string{"lane-0.spool", "lane-1.spool", "lock", "."} {
		info, err := os.Stat(filepath.Join(cfg.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && strings.HasPrefix(name, "lane") && st.Blocks*512 < 2<<20 {
			t.Errorf("%s has %d bytes on the disk, want 2 MiB", name, st.Blocks*512)
		}
	}
}

func TestNothingOfAnEmptiedSpoolIsLeftInItsFiles(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	digits := []byte(strings.TrimPrefix(secretNumber, "+"))
	holds := func() bool {
		b, err := os.ReadFile(filepath.Join(cfg.Dir, "lane-0.spool"))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(b, digits)
	}
	s.take(t, 0, writes(0, 9))
	if !holds() {
		t.Fatal("the number is not there while the write waits")
	}
	if err := s.Release(0, 9, 0); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("the number is still there")
	}
	// A crash during the overwriting: only its beginning was done.
	s.take(t, 0, writes(0, 9))
	if _, err := s.lanes[0].f.WriteAt(make([]byte, 64), headerSize); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if !holds() {
		t.Fatal("nothing is left to overwrite")
	}
	same(t, left(t, cfg), nil)
	if holds() {
		t.Error("the number is still there after the next start")
	}
}

func TestAnotherInstallationsWritesAreNeverReplayed(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	s.take(t, 0, writes(0, 2))
	_ = s.Close()
	other := cfg
	other.Owner = theirs
	if s, err := Open(other); err == nil {
		_ = s.Close()
		t.Fatal("opened")
	} else if !strings.Contains(err.Error(), "another installation's database") {
		t.Error(err)
	}
	same(t, left(t, cfg), writes(0, 2))
	s = open(t, cfg)
	if err := s.Replay(9, func([]journal.Write) (int, error) { return 0, nil }); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	same(t, left(t, other), nil) // anyone may use an empty one
}

// Results have a lane of their own. One that is not accepted does not block the others, and the
// next process finds everything in a lane that was not emptied.
func TestKeptResultsWaitForTheNextLife(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	for i := range 5 {
		keep(t, s, fmt.Sprintf("CA%d", i))
	}
	calls := func(most int) (list []string) {
		for _, r := range s.KeptResults(most) {
			if !r.Late || r.Result.Disposition != "sold" || r.Result.Unknown["mood"] != "good" {
				t.Errorf("result %+v", r)
			}
			list = append(list, string(r.Call))
		}
		return list
	}
	done := func(call string, refused bool) {
		t.Helper()
		for _, r := range s.KeptResults(9) {
			if string(r.Call) == call {
				if err := s.ResultDone(r.ID, refused); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	done("CA1", false)
	done("CA3", true)
	if got := calls(2); !slices.Equal(got, []string{"CA0", "CA2"}) || s.Stats().Records != 5 {
		t.Errorf("%v wait, %d records", got, s.Stats().Records)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg)
	if got := calls(9); len(got) != 5 {
		t.Errorf("the next life has %v", got)
	}
	for i := range 5 {
		done(fmt.Sprintf("CA%d", i), false)
	}
	if n := s.Stats(); len(calls(9)) != 0 || n.Records != 0 || n.Replayed != 5 || n.Rejected != 0 {
		t.Errorf("%+v", n)
	}
}

func keep(t *testing.T, s *Spool, call string) {
	t.Helper()
	r := attempt.Result{Disposition: "sold", Unknown: map[string]string{"mood": "good"}}
	if err := s.KeepResult(campaign.SubmitResult{Call: engine.CallID(call), Result: r}); err != nil {
		t.Fatal(err)
	}
}

func TestResultsBeyondTheirRoomAreRefusedUntilItIsEmpty(t *testing.T) {
	s := open(t, config(t.TempDir()))
	long := campaign.SubmitResult{Call: "CA1", Result: attempt.Result{Summary: strings.Repeat("x", 16<<10)}}
	var err error
	for err == nil {
		err = s.KeepResult(long)
	}
	if !errors.Is(err, ErrNoRoom) || !s.Stats().Full {
		t.Errorf("%v, %+v", err, s.Stats())
	}
	for _, r := range s.KeptResults(99) {
		if err := s.ResultDone(r.ID, false); err != nil {
			t.Error(err)
		}
	}
	if s.Stats().Full || s.KeepResult(long) != nil {
		t.Errorf("it is emptied: %+v", s.Stats())
	}
}

// A disk that failed once accepts results again, and a half-written one is not found.
func TestADiskThatFailedOnceTakesResultsAgain(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	f := &faulty{file: s.results.lane.f, sync: syscall.EIO}
	s.results.lane.f = f
	if err := s.KeepResult(campaign.SubmitResult{Call: "CA1"}); err == nil || !s.Stats().Broken {
		t.Errorf("%v, %+v", err, s.Stats())
	}
	f.sync = nil
	if list := s.KeptResults(9); len(list) != 0 {
		t.Errorf("%v", list)
	}
	keep(t, s, "CA2")
	if s.Stats().Broken {
		t.Error("it is still called broken")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if list := open(t, cfg).KeptResults(9); len(list) != 1 || list[0].Call != "CA2" {
		t.Errorf("the next life has %v", list)
	}
}

func TestTwoProcessesDoNotShareASpool(t *testing.T) {
	cfg := config(t.TempDir())
	open(t, cfg)
	if s, err := Open(cfg); err == nil {
		_ = s.Close()
		t.Fatal("opened twice")
	} else if !strings.Contains(err.Error(), "another dialler uses the spool") {
		t.Error(err)
	}
}

func TestASmallerSpoolStillHasAllThatWaits(t *testing.T) {
	cfg := config(t.TempDir())
	big := cfg
	big.Size, big.Lanes = 8<<20, 4
	s := open(t, big)
	s.take(t, 0, writes(0, 500))
	s.take(t, 3, writes(500, 510))
	_ = s.Close()
	same(t, left(t, cfg), writes(0, 510))
	s = open(t, cfg)
	if err := s.Replay(100, func([]journal.Write) (int, error) { return 0, nil }); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	open(t, cfg)
	if info, err := os.Stat(filepath.Join(cfg.Dir, "lane-0.spool")); err != nil || info.Size() != MinLane {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

// faulty is a file on a disk that fails.
type faulty struct {
	file
	write, sync error
}

func (f *faulty) WriteAt(b []byte, at int64) (int, error) {
	if f.write != nil {
		return 0, f.write
	}
	return f.file.WriteAt(b, at)
}

func (f *faulty) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.file.Sync()
}

func TestADiskThatFailsTakesNothingUntilTheLaneCouldBeEmptied(t *testing.T) {
	cfg := config(t.TempDir())
	s := open(t, cfg)
	f := &faulty{file: s.lanes[0].f}
	s.lanes[0].f = f
	s.take(t, 0, writes(0, 2))
	for _, fail := range []func(error){func(err error) { f.write = err }, func(err error) { f.sync = err }} {
		fail(syscall.ENOSPC)
		if n, err := s.Append(0, writes(2, 4)); n != 0 || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("took %d: %v", n, err)
		}
		fail(nil)
		// The state of the disk is now unknown: nothing more is written on top of it.
		if n, err := s.Append(0, writes(2, 4)); n != 0 || err == nil {
			t.Fatalf("took %d: %v", n, err)
		}
		if st := s.Stats(); !st.Broken || st.Full {
			t.Errorf("%+v", st)
		}
		fail(syscall.EIO)
		if err := s.Release(0, int(s.Stats().Records), 0); !errors.Is(err, syscall.EIO) {
			t.Errorf("emptied: %v", err)
		}
		fail(nil)
		if err := s.Release(0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if s.Stats().Broken {
			t.Error("still broken")
		}
		s.take(t, 0, writes(4, 6))
	}
	_ = s.Close()
	same(t, left(t, cfg), writes(4, 6))
}

// onFullDisk writes to a full disk, and reads from another.
type onFullDisk struct {
	file
	full *os.File
}

func (f *onFullDisk) WriteAt(b []byte, at int64) (int, error) { return f.full.WriteAt(b, at) }

func TestADiskThatIsFullAllTheSameLosesNothingOfWhatWasTaken(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	cfg := config(t.TempDir())
	s := open(t, cfg)
	s.take(t, 0, writes(0, 2))
	s.lanes[0].f = &onFullDisk{s.lanes[0].f, full}
	if n, err := s.Append(0, writes(2, 4)); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("took %d: %v", n, err)
	}
	_ = s.Close()
	same(t, left(t, cfg), writes(0, 2))
}

func TestAnOpenFileThatIsNoSpoolIsRefused(t *testing.T) {
	cfg := config(t.TempDir())
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cfg.Dir, "lane-0.spool")
	f := func(content, want string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(cfg); err == nil {
			_ = s.Close()
			t.Error("opened")
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "precious") {
			t.Error(err)
		}
	}
	f("precious notes of somebody", "not a spool file")
	l := &lane{generation: 1}
	b := l.header()
	b[33] ^= 1
	f(string(b), "header is damaged")
}
