package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dialler/engine"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asVictim); dir != "" {
		recordUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

// asVictim makes the test's program record into a folder until it is killed.
const asVictim = "DIALLER_TEST_RECORD_INTO"

func recordUntilKilled(dir string) {
	tape := New(Config{Dir: dir}).Start(name, answered)
	var c clock
	for i := 0; ; i++ {
		tape.Callee(sound(left, i), false)
		tape.Bot(sound(right, i))
		c.tick(tape)
		<-time.After(time.Millisecond)
	}
}

var answered = time.Date(2026, 11, 21, 23, 59, 30, 0, time.FixedZone("", -3600)) // the 22nd in UTC

const name = engine.AttemptID("0192f0c4-0000-7000-8000-000000000001")

func newRecorder(t testing.TB, cfg Config) *Recorder {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	r := New(cfg)
	t.Cleanup(r.Close)
	return r
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// sound is a frame that occurs nowhere else and contains no silence.
func sound(s side, n int) []byte {
	b := make([]byte, frameBytes)
	for i := range b {
		b[i] = byte((n*7+i)%127) + byte(s)*128
	}
	b[0], b[1] = byte(n)&0x7F, byte(n>>7)&0x7F
	return b
}

func silent() []byte { return silentSecond[:frameBytes] }

// clock returns the times of ticks.
type clock int64

func (c *clock) tick(t *Recording) {
	*c += clock(frameTime)
	t.Tick(int64(*c))
}

// playable reads a WAV file, checks its header, and returns both sides.
func playable(t testing.TB, r *Recorder, id string) (l, rt []byte) {
	t.Helper()
	f, err := r.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	data := le.Uint32(b[54:])
	if string(b[:4]) != "RIFF" || string(b[8:16]) != "WAVEfmt " || le.Uint32(b[16:]) != 18 || le.Uint16(b[20:]) != 7 ||
		le.Uint16(b[22:]) != 2 ||
		le.Uint32(b[24:]) != 8000 || le.Uint32(b[28:]) != 16000 || le.Uint16(b[32:]) != 2 || le.Uint16(b[34:]) != 8 ||
		string(b[38:42]) != "fact" || le.Uint32(b[46:]) != data/2 || string(b[50:54]) != "data" ||
		int(data) != len(b)-headerBytes || int(le.Uint32(b[4:])) != len(b)-8 {
		t.Fatalf("not a header of %d bytes: %x", len(b), b[:headerBytes])
	}
	for i := headerBytes; i < len(b); i += 2 {
		l, rt = append(l, b[i]), append(rt, b[i+1])
	}
	return l, rt
}

func TestBothSidesAreReadBackSampleForSample(t *testing.T) {
	r := newRecorder(t, Config{})
	tape := r.Start(name, answered)
	var c clock
	var wantLeft, wantRight []byte
	const frames = 130
	for i := range frames {
		// The callee speaks from tick 10 on; the bot pauses for a while.
		if i >= 10 {
			tape.Callee(sound(left, i), false)
			wantLeft = append(wantLeft, sound(left, i)...)
		} else {
			wantLeft = append(wantLeft, silent()...)
		}
		if i < 40 || i >= 60 {
			tape.Bot(sound(right, i))
			wantRight = append(wantRight, sound(right, i)...)
		} else {
			wantRight = append(wantRight, silent()...)
		}
		c.tick(tape)
	}
	got := tape.End()
	if got == nil || got.ID != "2026/11/22/"+string(name) || got.Duration != frames*frameTime || got.Incomplete ||
		got.Bytes != headerBytes+frames*blockBytes || !got.StartedAt.Equal(answered) {
		t.Fatalf("%+v", got)
	}
	await(t, "a whole file", func() bool { return r.Stats().Live == 0 })
	l, rt := playable(t, r, got.ID)
	if !bytes.Equal(l, wantLeft) || !bytes.Equal(rt, wantRight) {
		t.Fatal("something else was recorded")
	}
	if s := r.Stats(); s.Bytes != got.Bytes || s.Files != 1 || s.FramesDropped != 0 {
		t.Fatalf("%+v", s)
	}
	for path, want := range map[string]os.FileMode{"2026/11/22/" + string(name) + ".wav": 0o600, "2026/11": 0o700,
		"2026/11/22": 0o700} {
		if info, err := os.Stat(filepath.Join(r.cfg.Dir, path)); err != nil || info.Mode().Perm() != want {
			t.Fatalf("%s: %v %v", path, info, err)
		}
	}
	if tape.End() != nil {
		t.Fatal("it ended twice")
	}
}

func TestAWholeFileIsNamedOnceAndHasAHash(t *testing.T) {
	r := newRecorder(t, Config{})
	tape := r.Start(name, answered)
	var c clock
	tape.Callee(sound(left, 1), false)
	c.tick(tape)
	if _, err := r.Hash(tape.id); engine.ErrorCode(err) != "recording_in_progress" {
		t.Fatal(err)
	}
	id := tape.End().ID
	await(t, "a whole file", func() bool { return r.Stats().Live == 0 })
	b, err := os.ReadFile(filepath.Join(r.cfg.Dir, id+suffix))
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := r.Hash(id); err != nil || sum != sha256.Sum256(b) {
		t.Errorf("%x %v", sum, err)
	}
	for _, want := range [][]string{{id}, nil} {
		if ids, missed := r.Completed(); !slices.Equal(ids, want) || missed {
			t.Errorf("%v %v", ids, missed)
		}
	}
}

func TestTheSidesStayAlignedThroughJitterAndPauses(t *testing.T) {
	r := newRecorder(t, Config{})
	tape := r.Start(name, answered)
	var c clock
	said := 0
	say := func(n int) {
		for range n {
			tape.Callee(sound(left, said), false)
			said++
		}
	}
	tick := func(n int) {
		for range n {
			c.tick(tape)
		}
	}
	tick(20)
	say(1) // at 20
	tick(4)
	say(5) // late by four, then all at once: no silence in between
	tick(5)
	tick(60)
	say(2) // after a pause, at 89
	tick(10)
	id := tape.End().ID
	await(t, "a whole file", func() bool { return r.Stats().Live == 0 })
	l, _ := playable(t, r, id)
	var want []byte
	at := func(place int, frames ...int) {
		for len(want) < place*frameBytes {
			want = append(want, silent()...)
		}
		for _, n := range frames {
			want = append(want, sound(left, n)...)
		}
	}
	at(20, 0, 1, 2, 3, 4, 5)
	at(89, 6, 7)
	at(99)
	if !bytes.Equal(l, want) {
		t.Fatal("the callee is not where he spoke")
	}
}

func TestALineOfTimeThatStoodStillJumpsToTheClock(t *testing.T) {
	r := newRecorder(t, Config{})
	tape := r.Start(name, answered)
	c := clock(5)
	c.tick(tape)
	c += clock(3 * time.Second)
	tape.Callee(sound(left, 1), false)
	c.tick(tape)
	tape.Bot(sound(right, 2))
	c.tick(tape)
	got := tape.End()
	if want := 3*time.Second + 3*frameTime; got.Duration != want {
		t.Fatalf("%v, want %v", got.Duration, want)
	}
	await(t, "a whole file", func() bool { return r.Stats().Live == 0 })
	_, rt := playable(t, r, got.ID)
	if !bytes.Equal(rt[len(rt)-frameBytes:], sound(right, 2)) {
		t.Fatal("what was said at the end stands elsewhere")
	}
}

func TestACallOfNoTimeLeavesNoFile(t *testing.T) {
	r := newRecorder(t, Config{})
	if got := r.Start(name, answered).End(); got != nil {
		t.Fatalf("%+v", got)
	}
	await(t, "the end", func() bool { return r.Stats().Live == 0 })
	if list, _ := os.ReadDir(r.cfg.Dir); len(list) > 0 {
		t.Fatal("a file is left")
	}
}

// stuck is a disk that accepts nothing until it is released.
type stuck struct {
	*os.File
	let chan struct{}
}

func (s stuck) WriteAt(b []byte, at int64) (int, error) {
	<-s.let
	return s.File.WriteAt(b, at)
}

func TestADiskThatStandsStillCostsTheRecordingAndNotTheCall(t *testing.T) {
	let := make(chan struct{})
	r := newRecorder(t, Config{Writers: 1, queue: 2, create: func(path string) (file, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		return stuck{f, let}, err
	}})
	tape := r.Start(name, answered)
	var c clock
	for i := range 10 * chunkFrames { // returns although nothing is written
		tape.Callee(sound(left, i), false)
		tape.Bot(sound(right, i))
		c.tick(tape)
	}
	got := tape.End()
	if !got.Incomplete || got.Duration != 10*time.Second || r.Stats().FramesDropped < 6*chunkFrames {
		t.Fatalf("%+v %+v", got, r.Stats())
	}
	close(let)
	await(t, "the end found by the writer itself", func() bool { return r.Stats().Live == 0 })
	l, rt := playable(t, r, got.ID)
	if len(l) != 10*chunkFrames*frameBytes {
		t.Fatalf("%d frames are on the disk", len(l)/frameBytes)
	}
	for i := range 10 * chunkFrames { // sound in its place, or silence
		at := i * frameBytes
		for s, got := range [][]byte{l[at : at+frameBytes], rt[at : at+frameBytes]} {
			if !bytes.Equal(got, sound(side(s), i)) && !bytes.Equal(got, silent()) {
				t.Fatalf("frame %d of side %d is something else", i, s)
			}
		}
	}
	if !bytes.Equal(l[:frameBytes], sound(left, 0)) {
		t.Fatal("what was written before is lost")
	}
	if r.Damaged() != nil {
		t.Fatal("what End said is told again")
	}
}

// full is a disk that is full for a while.
type full struct {
	*os.File
	refuse func(at int64) bool
}

func (f full) WriteAt(b []byte, at int64) (int, error) {
	if f.refuse(at) {
		return 0, errors.New("no space left on device")
	}
	return f.File.WriteAt(b, at)
}

func TestAFullDiskIsTriedAgainAndTheRecordingIsKnownToBeIncomplete(t *testing.T) {
	refusals := 0
	r := newRecorder(t, Config{create: func(path string) (file, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		return full{f, func(at int64) bool {
			if at == offset(chunkFrames) && refusals == 0 {
				refusals++
				return true
			}
			return false
		}}, err
	}})
	tape := r.Start(name, answered)
	var c clock
	for i := range 3 * chunkFrames {
		tape.Bot(sound(right, i))
		c.tick(tape)
	}
	got := tape.End()
	await(t, "a whole file", func() bool { return r.Stats().Live == 0 })
	_, rt := playable(t, r, got.ID)
	if !bytes.Equal(rt[chunkFrames*frameBytes:(chunkFrames+1)*frameBytes], silent()) ||
		!bytes.Equal(rt[2*chunkFrames*frameBytes:][:frameBytes], sound(right, 2*chunkFrames)) {
		t.Fatal("the second that had no room is not silence, or the next one is not there")
	}
	if !got.Incomplete {
		if list := r.Damaged(); len(list) != 1 || list[0] != name {
			t.Fatalf("nobody is told: %v", list)
		}
	}
	if s := r.Stats(); s.WriteErrors != 1 || s.FramesDropped != chunkFrames {
		t.Fatalf("%+v", s)
	}
}

func TestWhatACrashLeftBehindIsMadeWhole(t *testing.T) {
	dir := t.TempDir()
	r := newRecorder(t, Config{Dir: dir})
	tape := r.Start(name, answered)
	var c clock
	for i := range chunkFrames + lag {
		tape.Callee(sound(left, i), false)
		c.tick(tape)
	}
	day := filepath.Join(dir, "2026", "11", "22")
	part := filepath.Join(day, string(name)+partial)
	await(t, "a second on the disk", func() bool {
		info, err := os.Stat(part)
		return err == nil && info.Size() == offset(chunkFrames)
	})
	// The same folder as another process finds it: with a partial frame, and a file without any.
	other := t.TempDir()
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(other, "2026", "11", "22", name) }
	b, _ := os.ReadFile(in(string(name) + partial))
	if err := os.WriteFile(in(string(name)+partial), append(b, 1, 2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("none"+partial), b[:headerBytes], 0o600); err != nil {
		t.Fatal(err)
	}
	r2 := newRecorder(t, Config{Dir: other})
	var found []Recovered
	if err := r2.Recover(func(f Recovered) { found = append(found, f) }); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Attempt != name || found[0].Recording.Duration != time.Second ||
		!found[0].Recording.Incomplete || found[0].Recording.Bytes != offset(chunkFrames) {
		t.Fatalf("%+v", found)
	}
	l, _ := playable(t, r2, found[0].Recording.ID)
	if !bytes.Equal(l[:frameBytes], sound(left, 0)) || !bytes.Equal(l[len(l)-frameBytes:], sound(left, chunkFrames-1)) {
		t.Fatal("something else was recorded")
	}
	if _, err := os.Stat(in("none" + partial)); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a file without sound is kept")
	}
	if s := r2.Stats(); s.Bytes != offset(chunkFrames) {
		t.Fatalf("%+v", s)
	}
	// A recording in progress must not be recovered.
	if err := r.Recover(func(f Recovered) { t.Errorf("recovered %+v", f) }); err != nil {
		t.Fatal(err)
	}
	tape.End()
}

func TestAFileIsPlayableAfterKillNine(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), asVictim+"="+dir)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, "2026", "11", "22", string(name)+partial)
	await(t, "some seconds on the disk", func() bool {
		info, err := os.Stat(part)
		return err == nil && info.Size() > offset(3*chunkFrames)
	})
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	r := newRecorder(t, Config{Dir: dir})
	var found []Recovered
	if err := r.Recover(func(f Recovered) { found = append(found, f) }); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Recording.Duration < 3*time.Second {
		t.Fatalf("%+v", found)
	}
	l, rt := playable(t, r, found[0].Recording.ID)
	for i := range int(found[0].Recording.Duration / frameTime) {
		at := i * frameBytes
		if !bytes.Equal(l[at:at+frameBytes], sound(left, i)) || !bytes.Equal(rt[at:at+frameBytes], sound(right, i)) {
			t.Fatalf("frame %d is something else", i)
		}
	}
}

func TestARecordingIsListedAndRemovedWithItsFolder(t *testing.T) {
	r := newRecorder(t, Config{})
	tape := r.Start(name, answered)
	var c clock
	c.tick(tape)
	id := tape.End().ID
	await(t, "a whole file", func() bool { return r.Stats().Live == 0 })
	var listed []string
	if err := r.Day(answered, func(ids []string) error { listed = append(listed, ids...); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(listed) != 1 || listed[0] != id || Attempt(id) != name {
		t.Fatalf("%v", listed)
	}
	if d, err := r.Describe(id); err != nil || d.Duration != frameTime || d.Bytes != offset(1) {
		t.Fatalf("%+v %v", d, err)
	}
	for range 2 {
		if err := r.Remove(id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Open(id); engine.ErrorCode(err) != "recording_not_found" {
		t.Fatal(err)
	}
	if list, _ := os.ReadDir(r.cfg.Dir); len(list) > 0 || r.Stats().Bytes != 0 {
		t.Fatalf("%v is left, %d bytes", list, r.Stats().Bytes)
	}
	for _, bad := range []string{"../x", "2026/11/22/../../x", "2026/11/22/", "/etc/passwd", "2026/11/22/a.b",
		strings.Repeat("a", 99)} {
		if _, err := r.Open(bad); engine.ErrorCode(err) != "recording_not_found" {
			t.Fatalf("%q: %v", bad, err)
		}
	}
}

func TestAFrameDoesNotAllocate(t *testing.T) {
	r := newRecorder(t, Config{})
	tape := r.Start(name, answered)
	defer tape.End()
	var c clock
	a, b := sound(left, 1), sound(right, 1)
	frame := func() {
		tape.Callee(a, false)
		tape.Bot(b)
		c.tick(tape)
	}
	for range 10 * chunkFrames { // warm: the chunks in the queue
		frame()
	}
	// A garbage collection may empty the pool, so a run may allocate now and then.
	if n := testing.AllocsPerRun(20*chunkFrames, frame); n != 0 {
		t.Fatalf("%v allocations per frame", n)
	}
}

func BenchmarkFrame(b *testing.B) {
	r := newRecorder(b, Config{create: func(string) (file, error) { return nowhere{}, nil }})
	tape := r.Start(name, answered)
	defer tape.End()
	var c clock
	x, y := sound(left, 1), sound(right, 1)
	b.ReportAllocs()
	for b.Loop() {
		tape.Callee(x, false)
		tape.Bot(y)
		c.tick(tape)
	}
}

type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (nowhere) Close() error                           { return nil }

// FuzzRecover checks that whatever a crash has left in a folder, every resulting recording is valid
// WAV with as many frames as it says, and nothing outside is touched.
func FuzzRecover(f *testing.F) {
	f.Add(string(name)+".wav.part", make([]byte, headerBytes+3*blockBytes+7))
	f.Add(string(name)+".wav.part", []byte("RIFF"))
	f.Add(string(name)+".wav", []byte("RIFF"))
	f.Add("..wav.part", make([]byte, 1000))
	f.Fuzz(func(t *testing.T, file string, b []byte) {
		if strings.ContainsAny(file, "/\x00") || file == "." || file == ".." || file == "" || len(file) > 200 {
			return
		}
		dir := t.TempDir()
		day := filepath.Join(dir, "2026", "11", "21")
		if err := os.MkdirAll(day, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(day, file), b, 0o600); err != nil {
			t.Fatal(err)
		}
		r := New(Config{Dir: dir})
		defer r.Close()
		n := 0
		err := r.Recover(func(x Recovered) {
			n++
			path, err := r.path(x.Recording.ID)
			if err != nil {
				t.Fatalf("%q: %v", x.Recording.ID, err)
			}
			got, err := os.ReadFile(path + suffix)
			frames := int64(x.Recording.Duration / frameTime)
			if err != nil || frames < 1 || int64(len(got)) != x.Recording.Bytes || x.Recording.Bytes != offset(frames) ||
				!bytes.Equal(got[:headerBytes], header(frames)) {
				t.Fatalf("%q became %+v with %d bytes: %v", file, x, len(got), err)
			}
			if !bytes.Equal(got[headerBytes:], b[headerBytes:len(got)]) {
				t.Fatal("the sound is not what was there")
			}
		})
		if err != nil || n > 1 {
			t.Fatalf("%d recordings, %v", n, err)
		}
	})
}
