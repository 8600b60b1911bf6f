package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/flight"
	core "dialler/engine/run"
	"dialler/process"
)

// idle is a process in which nothing happens.
type idle struct{}

func (idle) Draining() bool                               { return false }
func (idle) DatabaseAway() bool                           { return false }
func (idle) Fenced() bool                                 { return false }
func (idle) TrunksDown() bool                             { return false }
func (idle) NeedsSeat(engine.PhoneNumber, time.Time) bool { return false }
func (idle) Owned(engine.AttemptID) bool                  { return false }
func (idle) CommitLate() time.Duration                    { return 0 }
func (idle) BotLate(engine.BotID) time.Duration           { return 0 }
func (idle) Carrier(engine.TrunkID) engine.Incarnation    { return 0 }

// flown is the recording of a run with one contact, which waits for a seat until the run is stopped.
func flown(t *testing.T) (path string) {
	t.Helper()
	now := time.Now()
	dir := t.TempDir()
	keeper := process.NewFlights(dir, func() process.Flags { return process.Flags{FlightsSize: 1} },
		func() time.Time { return now }, zerolog.Nop())
	cfg := core.Config{Tick: time.Second, Reconcile: time.Minute, LookAhead: 10}
	rec, s := keeper.Record("cmp", cfg), core.New("cmp", cfg)
	give := func(event any) (out []core.Effect) {
		now = now.Add(time.Second)
		out, err := s.Apply(rec.Before(core.Input{Now: now, Boot: engine.BootTime(now.UnixNano()), Event: event, From: "x",
			Process: idle{}}), nil)
		if err != nil {
			t.Fatal(err)
		}
		rec.After(out)
		return out
	}
	fence, _ := give(&core.Started{})[1].(core.Fence)
	give(&core.Durable{Ticket: fence.Ticket})
	at := now // a run keeps what it is given
	c := campaign.Campaign{ID: "cmp", State: campaign.Running, Run: 1, Settings: campaign.Defaults(), StartedAt: &at,
		RunningSince: &at}
	c.Settings.Window.Zone, c.Settings.Bot, c.Settings.Window.End = "UTC", "bot", c.Settings.Window.Start
	bot := engine.Bot{ID: "bot", Active: true, Seats: 1}
	give(&core.Loaded{Life: s.Life, Campaign: c, Contacts: 1, Bots: []engine.Bot{bot}})
	give(&core.RosterCalled{Life: s.Life})
	give(&core.DueRead{Rows: []contact.Contact{{ID: "contact-1", Campaign: "cmp", Number: "+4915112345678", Run: 1, Max: 3,
		State: contact.Pending, DueAt: &at}}})
	give(&core.Act{Command: campaign.Act{Campaign: "cmp", Action: campaign.ActionStop}})
	rec.Close()
	keeper.Close()
	files, err := filepath.Glob(filepath.Join(process.FlightsDir(dir), "*.flight"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

func TestReplaySaysWhatTheRecordingIsWorth(t *testing.T) {
	path := flown(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.flight")
	damaged := filepath.Join(t.TempDir(), "damaged.flight")
	changed := bytes.Clone(whole)
	changed[len(changed)/2]++
	for name, text := range map[string][]byte{cut: whole[:len(whole)-30], damaged: changed} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{path}, 0}, {[]string{path, "--json"}, 0}, {[]string{cut}, 2}, {[]string{damaged}, 1},
		{[]string{path, "--until", "campaign.stopped"}, 0}, {[]string{cut, "--until", "1"}, 0},
		{[]string{path, "--until", "attempt.ended"}, 1}, {[]string{path, "--explain", "contact-1"}, 0},
	} {
		if got := Main(append([]string{"replay"}, c.args...)); got != c.want {
			t.Errorf("%v: status %d, want %d", c.args, got, c.want)
		}
	}
}

func TestReplayExplainsAContactAndAMoment(t *testing.T) {
	text, err := os.ReadFile(flown(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"contact-1", "+4915112345678"} {
		var out strings.Builder
		r, err := (&replayCmd{Explain: who}).replay(bytes.NewReader(text), &out)
		if err != nil || r.End != flight.EndClosed || r.Inputs != 6 || r.ByEvent["campaign.stopped"] != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if said := out.String(); !strings.Contains(said, "due, and not dialled: overload") || // its pulse stays out
			!strings.Contains(said, "not dialled: the campaign is completed") {
			t.Errorf("%s: %s", who, said)
		}
	}
	r, err := (&replayCmd{Until: "campaign.stopped"}).replay(bytes.NewReader(text), nil)
	if err != nil || !strings.HasPrefix(r.Standing, "completed: ") {
		t.Errorf("%q, %v", r.Standing, err)
	}
}
