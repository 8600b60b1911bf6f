package process

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/flight"
	"dialler/persistence/storetest"
	"dialler/process/flights"
)

// recordedWorld is a world whose runs are recorded.
func recordedWorld(t *testing.T, talk time.Duration) *world {
	t.Helper()
	url := storetest.URL(t)
	return bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, DataDir: t.TempDir(), RecordRuns: true,
		KeepFlights: 30, FlightsSize: 64}}, tuning{}, talk)
}

// recordings are the recordings of runs, by their names.
func (w *world) recordings() map[string][]byte {
	w.t.Helper()
	of := map[string][]byte{}
	files, err := os.ReadDir(FlightsDir(w.flags.DataDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(FlightsDir(w.flags.DataDir), f.Name()))
		if err != nil {
			w.t.Fatal(err)
		}
		if info, err := f.Info(); err != nil || info.Mode() != 0o600 {
			w.t.Errorf("%s has the mode %s", f.Name(), info.Mode())
		}
		of[f.Name()] = text
	}
	return of
}

// A run's effects follow from its inputs: those of two runs over real SIP, RTP, bots and
// PostgreSQL, in two processes, lead to the same effects and events again, byte for byte.
func TestTheInputsOfARunReplayToTheSameEffects(t *testing.T) {
	t.Parallel()
	w := recordedWorld(t, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond),
		person(300 * time.Millisecond), carrier.Busy(), person(200 * time.Millisecond)}})
	// A result that comes during the restart is lost, and the run waits for it when everything else
	// is over.
	id := w.campaign(map[string]any{"concurrency": 6, "max_attempts": 2, "retry_delay_s": 1, "result_timeout_s": 2})
	path := "/api/v1/campaigns/" + string(id)
	var rows []any
	var numbers []string
	for range 24 { // after a missed answer, the rest are dialled one at a time at first
		numbers = append(numbers, newNumber())
		rows = append(rows, map[string]any{"mobile": numbers[len(numbers)-1],
			"metadata": map[string]any{"first_name": "Ada"}})
	}
	w.operator("POST", path+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	calls := func() int { return len(model.Ledger().Calls()) }
	eventually(t, "calls", func() bool { return calls() > 5 })
	w.exclude(id, numbers[23])
	for _, to := range []string{newNumber(), numbers[20]} {
		w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to}).expect(200)
	}
	w.act(id, "pause").expect(200)
	var settings struct{ Version int }
	w.operator("GET", path, nil).expect(200).into(&settings)
	w.operator("PATCH", path, map[string]any{"max_attempts": 3, "version": settings.Version}).expect(200)
	w.act(id, "resume").expect(200)
	eventually(t, "more calls", func() bool { return calls() > 15 })
	w.restart()
	// The slower the machine, the fewer lines at once.
	within(t, 3*patience, "the run is over", func() bool {
		d := w.detail(id)
		return d.Status == "completed" && !d.Draining
	})
	w.act(id, "restart").expect(200)
	w.act(id, "start").expect(200)
	first := calls()
	eventually(t, "calls of the second run", func() bool { return calls() > first+10 })
	w.act(id, "stop").expect(200)
	eventually(t, "its conversations finish", func() bool { return !w.detail(id).Draining })

	w.p.Close()
	inputs, lives := 0, w.recordings()
	w.start() // for what is checked at the end
	for name, text := range lives {
		p, err := flight.Play(bytes.NewReader(text))
		n := 0
		for err == nil {
			var s *flight.Step
			if s, err = p.Next(); s != nil {
				n = s.Number
			}
		}
		if !errors.Is(err, io.EOF) || p.End() != flight.EndClosed {
			t.Errorf("%s: %v, %q", name, err, p.End())
		}
		inputs += n
	}
	if len(lives) < 2 || inputs < 500 {
		t.Errorf("%d inputs in %d lives were replayed", inputs, len(lives))
	}
	if log := w.log.String(); strings.Count(log, `"run":1,"file":"`+string(id)) == 0 ||
		strings.Count(log, `"run":2,"file":"`+string(id)) == 0 {
		t.Error("the log has no sum of a run's recording")
	}
	t.Logf("%d inputs in %d lives", inputs, len(lives))
}

// The recordings in which a person is are deleted with the person, whether or not they are under way,
// and those of others stay.
func TestAnErasedPersonIsInNoRecordingOfARun(t *testing.T) {
	t.Parallel()
	w := recordedWorld(t, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	gone, other := newNumber(), newNumber()
	var with, without engine.CampaignID
	for number, id := range map[string]*engine.CampaignID{gone: &with, other: &without} { // one after the other
		*id = w.running(nil)
		w.addTo(*id, number).expect(200)
		eventually(t, "the call is over", func() bool { return w.lifecycle(*id).Counters.Completed == 1 })
		w.quiet()
	}
	w.restart()
	w.lifecycle(with) // recorded again
	w.lifecycle(without)
	// A run is told of all open attempts, those of other campaigns among them.
	has := func() (person, others int) {
		for name, text := range w.recordings() {
			the, err := flight.Mentions(bytes.NewReader(text), gone)
			if err != nil || !strings.HasSuffix(name, flights.Suffix) {
				t.Errorf("%s: %v", name, err)
			}
			if another, _ := flight.Mentions(bytes.NewReader(text), other); the {
				person++
			} else if another {
				others++
			}
		}
		return person, others
	}
	person, before := has()
	if person == 0 || before == 0 {
		t.Fatalf("%d recordings have the person, %d others another one", person, before)
	}
	w.operator("DELETE", "/api/v1/persons/"+gone+"?suppress=true", nil).expect(200)
	if person, others := has(); person != 0 || others != before {
		t.Errorf("%d recordings still have the person, and %d of %d are left", person, others, before)
	}
	w.p.Close()
	if person, _ := has(); person != 0 {
		t.Errorf("%d recordings have the person again", person)
	}
	w.start() // for what is checked at the end
}
