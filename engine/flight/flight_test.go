package flight_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/enginetest"
	"dialler/engine/flight"
	"dialler/engine/journal"
	"dialler/engine/run"
)

// tape is a recording in memory.
type tape struct {
	bytes.Buffer
	*flight.Blocks
	t    *testing.T
	over []int
	end  string
	full bool
}

func (t *tape) Put(frames []byte, over int) bool {
	if t.full {
		return false
	}
	t.over = append(t.over, over)
	if err := t.Frames(frames); err != nil {
		t.t.Error(err)
	}
	return true
}

func (t *tape) End(why string) {
	t.end = why
	if err := t.Blocks.End(why); err != nil {
		t.t.Error(err)
	}
}

// still is a process in which nothing happens.
type still struct{ down, crashes bool }

func (*still) Draining() bool     { return false }
func (*still) DatabaseAway() bool { return false }
func (*still) Fenced() bool       { return false }
func (s *still) TrunksDown() bool {
	if s.crashes {
		panic("out of order")
	}
	return s.down
}
func (*still) CommitLate() time.Duration                    { return time.Millisecond }
func (*still) BotLate(engine.BotID) time.Duration           { return 0 }
func (*still) Carrier(engine.TrunkID) engine.Incarnation    { return 7 }
func (*still) NeedsSeat(engine.PhoneNumber, time.Time) bool { return false }
func (*still) Owned(engine.AttemptID) bool                  { return true }

// flown is a recorded beginning of a run, block by block.
type flown struct {
	*tape
	rec     *flight.Recorder
	s       *run.State
	now     time.Time
	process still
	effects []run.Effect
}

func begun(t *testing.T) *flown {
	t.Helper()
	cfg := run.Config{Tick: time.Second, Reconcile: time.Minute, SendBy: 10 * time.Second, LookAhead: 100}
	f := &flown{tape: &tape{t: t}, s: run.New("cmp", cfg), now: time.Now()}
	h := flight.NewHeader("cmp", cfg, "test", f.now)
	var err error
	if f.Blocks, err = flight.NewBlocks(&f.tape.Buffer, &h); err != nil {
		t.Fatal(err)
	}
	f.rec = flight.Record(f.now, f.tape)
	return f
}

func (f *flown) give(event any) {
	f.t.Helper()
	f.now = f.now.Add(123 * time.Millisecond)
	in := run.Input{Now: f.now, Boot: engine.BootTime(f.now.UnixNano()), Event: event, From: "somebody",
		Process: &f.process}
	effects, err := f.s.Apply(f.rec.Before(in), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	f.rec.After(effects)
	f.rec.Flush()
	f.effects = append(f.effects, effects...)
}

// recorded is a recording of some inputs.
func recorded(t *testing.T) *flown {
	t.Helper()
	f := begun(t)
	first(f)
	f.give(&run.Suppressed{Numbers: map[engine.PhoneNumber]struct{}{"+4915112345678": {}, "+4915112345679": {}}})
	f.give(&run.Detail{})
	return f
}

// first are the inputs with which a run begins.
func first(f *flown) {
	f.give(&run.Started{Seed: [32]byte{1}})
	fence, _ := f.effects[1].(run.Fence)
	f.give(&run.Durable{Ticket: fence.Ticket})
	at := f.now
	c := campaign.Campaign{ID: "cmp", State: campaign.Running, Epoch: 1000, Run: 1, Settings: campaign.Defaults(),
		StartedAt: &at, RunningSince: &at}
	c.Settings.Window.Zone, c.Settings.Concurrency = "UTC", 5
	f.give(&run.Loaded{Life: f.s.Life, Campaign: c, Contacts: 1})
	f.give(&run.RosterCalled{Life: f.s.Life})
}

// played replays bytes and returns how many inputs they led to, and the error at the end.
func played(b []byte) (n int, end string, err error) {
	p, err := flight.Play(bytes.NewReader(b))
	if err != nil {
		return 0, "", err
	}
	for {
		s, err := p.Next()
		if err != nil {
			return n, p.End(), err
		}
		n = s.Number
	}
}

func TestTheInputsOfARunLeadToTheSameEffects(t *testing.T) {
	f := recorded(t)
	f.rec.Close()
	if n, end, err := played(f.Bytes()); !errors.Is(err, io.EOF) || n != 6 || end != flight.EndClosed {
		t.Fatalf("%d inputs, %q: %v", n, end, err)
	}
}

// Any byte of a recording that is not the one that was written is found, with its place.
func TestEachChangedByteIsFound(t *testing.T) {
	f := recorded(t)
	f.rec.Close()
	whole := f.Bytes()
	for at := range whole {
		for _, bit := range []byte{1, 128} {
			b := bytes.Clone(whole)
			b[at] ^= bit
			_, _, err := played(b)
			var d *flight.Damage
			if !errors.As(err, &d) || int64(at) < d.From || int64(at) >= d.To || d.To-d.From > 2000 {
				t.Fatalf("byte %d of %d: %v", at, len(whole), err)
			}
		}
	}
	if _, _, err := played(append(bytes.Clone(whole), 0)); err == nil || !strings.Contains(err.Error(), "after the end") {
		t.Errorf("one byte more: %v", err)
	}
}

// What kill -9 leaves replays to where it ends.
func TestARecordingThatWasCutOffReplaysToItsEnd(t *testing.T) {
	f := recorded(t)
	f.rec.Close()
	most := 0
	for n := range f.Len() {
		inputs, end, err := played(f.Bytes()[:n])
		if !errors.Is(err, io.ErrUnexpectedEOF) || end != "" || inputs < most {
			t.Fatalf("%d of %d bytes: %d inputs, %q, %v", n, f.Len(), inputs, end, err)
		}
		most = inputs
	}
	if most != 6 {
		t.Errorf("%d inputs at most", most)
	}
}

// What differs is found at its input: here a run whose settings of the process are others.
func TestTheFirstInputWhoseEffectsDifferIsNamed(t *testing.T) {
	other := begun(t)
	h := flight.NewHeader("cmp", run.Config{Tick: 2 * time.Second, LookAhead: 100}, "test", other.now)
	var out bytes.Buffer
	var err error
	if other.Blocks, err = flight.NewBlocks(&out, &h); err != nil {
		t.Fatal(err)
	}
	first(other)
	other.rec.Close()
	_, _, err = played(out.Bytes())
	var d *flight.Difference
	if !errors.As(err, &d) || d.Step.Number != 4 || !strings.Contains(err.Error(), "*run.RosterCalled") {
		t.Errorf("%v", err)
	}
}

// A run looks at some fields of a contact's write, or changes them; these are in the recording, and no
// others.
func TestWhatARunReadsOfAContactsWriteIsRecorded(t *testing.T) {
	f := begun(t)
	first(f)
	start, err := f.s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	filled := func() *journal.Write {
		w, n, fresh := journal.Write{}, 0, contact.Fresh(3)
		enginetest.Fill(reflect.ValueOf(&w).Elem(), &n, func(f reflect.StructField) bool {
			return f.Type.Kind() != reflect.Interface
		})
		w.Events = []journal.Event{{Run: 1, Type: journal.ContactTriggered, Data: journal.Data{After: &fresh}}}
		return &w
	}
	field := func(w *journal.Write, n int) reflect.Value { return reflect.ValueOf(w).Elem().Field(n) }
	// led is what a write leads to, without what becomes of the field itself, and what becomes of it.
	led := func(w *journal.Write, n int) (all, itself string) {
		s := run.New("cmp", f.s.Config)
		if err := s.UnmarshalBinary(start); err != nil {
			t.Fatal(err)
		}
		out, err := s.Apply(run.Input{Now: f.now, Boot: engine.BootTime(f.now.UnixNano()), Process: &still{},
			Event: &call.Persist{Contact: "c1", Step: 1, Write: w}}, nil)
		state, wrong := s.MarshalBinary()
		if err != nil || wrong != nil || len(out) == 0 || out[0].(run.PassOn).Write != w {
			t.Fatal(out, err, wrong)
		}
		itself = string(flight.Text([]run.Effect{field(w, n).Interface()}))
		field(w, n).SetZero()
		return string(state) + string(flight.Text(out)), itself
	}
	f.give(&call.Persist{Contact: "c1", Step: 1, Write: filled()})
	f.rec.Close()
	p, err := flight.Play(bytes.NewReader(f.Bytes()))
	var recorded *journal.Write
	for err == nil {
		var s *flight.Step
		if s, err = p.Next(); err == nil {
			if e, ok := s.Input.Event.(*call.Persist); ok {
				recorded = e.Write
			}
		}
	}
	if recorded == nil || !errors.Is(err, io.EOF) {
		t.Fatal(recorded, err)
	}
	for n := range reflect.TypeFor[journal.Write]().NumField() {
		without := filled()
		field(without, n).SetZero()
		was := string(flight.Text([]run.Effect{field(filled(), n).Interface()}))
		with, itself := led(filled(), n)
		if other, _ := led(without, n); (other != with || itself != was) != !field(recorded, n).IsZero() {
			t.Errorf("%s: read %t, changed %t, recorded %t", reflect.TypeFor[journal.Write]().Field(n).Name,
				other != with, itself != was, !field(recorded, n).IsZero())
		}
	}
}

// The input at which a run crashed is the last one, and crashes it again.
func TestACrashIsRecordedAndReplayed(t *testing.T) {
	f := recorded(t)
	in := f.rec.Before(run.Input{Now: f.now, Event: &run.Detail{}, From: "somebody", Process: &still{crashes: true}})
	func() {
		defer func() { _ = recover() }()
		_, _ = f.s.Apply(in, nil)
		t.Error("it did not crash")
	}()
	f.rec.Close()
	p, err := flight.Play(bytes.NewReader(f.Bytes()))
	for err == nil {
		var s *flight.Step
		if s, err = p.Next(); s != nil && s.Number == 7 && s.Crash == "" {
			t.Error("the seventh input is not the crash")
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestARunThatEndsIsTold(t *testing.T) {
	f := recorded(t)
	f.give(&run.Act{Command: campaign.Act{Campaign: "cmp", Action: campaign.ActionStop}})
	if f.over[len(f.over)-1] != 1 || f.over[0] != 0 {
		t.Errorf("%v", f.over)
	}
}

func TestASinkThatIsTooFarBehindEndsTheRecording(t *testing.T) {
	f := recorded(t)
	f.full = true
	f.give(&run.Detail{})
	f.give(&run.Detail{}) // the run goes on
	if n, end, err := played(f.Bytes()); !errors.Is(err, io.EOF) || n != 6 || end != flight.EndOverflow {
		t.Errorf("%d inputs, %q, %v", n, end, err)
	}
}

type stranger struct{}

func TestAnInputThatCannotBeWrittenDownEndsTheRecording(t *testing.T) {
	f := recorded(t)
	_, err := f.s.Apply(f.rec.Before(run.Input{Now: f.now, Event: &stranger{}, Process: &still{}}), nil)
	f.rec.After(nil)
	if n, end, played := played(f.Bytes()); err == nil || !errors.Is(played, io.EOF) || n != 6 ||
		end != flight.EndUnknown {
		t.Errorf("%v; %d inputs, %q, %v", err, n, end, played)
	}
}

func TestWhoIsInARecordingIsFound(t *testing.T) {
	f := recorded(t)
	for _, closed := range []bool{false, true} {
		if closed {
			f.rec.Close()
		}
		for number, want := range map[string]bool{"+4915112345678": true, "+4915112345677": false} {
			if has, err := flight.Mentions(bytes.NewReader(f.Bytes()), number); err != nil || has != want {
				t.Errorf("%s: %v, %v", number, has, err)
			}
		}
	}
}

func TestARecordingOfOtherTypesIsRefusedWithItsVersion(t *testing.T) {
	var out bytes.Buffer
	h := flight.NewHeader("cmp", run.Config{}, "v9.9", time.Now())
	h.Types = "another"
	if _, err := flight.NewBlocks(&out, &h); err != nil {
		t.Fatal(err)
	}
	if _, err := flight.Play(&out); err == nil || !strings.Contains(err.Error(), "v9.9") {
		t.Error(err)
	}
}

// Whatever bytes there are, they are read or refused.
func FuzzPlay(f *testing.F) {
	t := recorded(&testing.T{})
	t.rec.Close()
	f.Add(t.Bytes())
	f.Add([]byte("dialler flight 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := played(b); err == nil {
			t.Error("it never ends")
		}
	})
}

// FuzzFrames changes frames under a check that is right, as a fault in this package would.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, frames []byte) {
		var out bytes.Buffer
		h := flight.NewHeader("cmp", run.Config{Tick: time.Second}, "test", time.Unix(1<<30, 0))
		b, err := flight.NewBlocks(&out, &h)
		if err == nil {
			err = b.Frames(frames)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := played(out.Bytes()); err == nil {
			t.Error("it never ends")
		}
	})
}
