package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"dialler/bench/corpus"
	"dialler/bench/voice"
	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/wav"
)

// AMDConfig is a folder of recordings for callees to answer with. Zero values mean the default in
// parentheses.
type AMDConfig struct {
	Binary string // the program to measure; required
	Dir    string // recordings, as `lab amd eval` takes them; required
	Repeat int    // calls of each recording in each mode (1)
	Rate   int    // total calls per second (5)
	Keep   bool   // keep data and logs
	Log    func(format string, args ...any)
}

// AMDFigures are the results.
type AMDFigures struct {
	Files []AMDFile `json:"files"`
	Modes []AMDMode `json:"modes"`
	// Calls is the number of calls with classification, Same the number of those whose verdict,
	// confidence and features equal the recording's.
	Calls int `json:"calls"`
	Same  int `json:"same"`
	// Added is how much later the bot is heard with parallel classification than without any, in
	// ms.
	Added Spread `json:"parallel_added_ms"`
}

// AMDFile is one recording.
type AMDFile struct {
	File    string    `json:"file"`
	Label   string    `json:"label"`
	Offline AMDCall   `json:"offline"`
	Calls   []AMDCall `json:"calls"`
}

// AMDCall is the classifier's result for one call, or for the recording itself.
type AMDCall struct {
	Mode       engine.AMDMode `json:"mode,omitempty"`
	Verdict    engine.Verdict `json:"verdict"`
	Confidence float64        `json:"confidence"`
	Heard      int            `json:"heard_ms"` // audio heard until the decision
	// Lead is how much silence the classifier heard before the recording began: the callee speaks
	// once the ACK has arrived.
	Lead int  `json:"lead_ms"`
	Same bool `json:"same"` // as offline, after that silence
}

// AMDMode contains the times of one mode, from the answer on, in ms.
type AMDMode struct {
	Mode     engine.AMDMode `json:"mode"`
	Calls    int            `json:"calls"`
	Answered int            `json:"answered"`
	Verdict  AMDTimes       `json:"verdict"`
	Bot      AMDTimes       `json:"bot_connected"`
	Audio    AMDTimes       `json:"bot_first_audio"`
}

// AMDTimes is a histogram: Counts[i] counts values of at most Bounds[i], and the last one the rest.
type AMDTimes struct {
	Spread
	Count  int   `json:"count"`
	Counts []int `json:"counts"`
}

// amdBounds are the bounds of every histogram, in ms.
var amdBounds = []float64{10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500,
	5000}

func amdTimes(v []float64) AMDTimes {
	t := AMDTimes{Count: len(v), Counts: make([]int, len(amdBounds)+1)}
	for _, x := range v {
		i, _ := slices.BinarySearch(amdBounds, x)
		t.Counts[i]++
	}
	t.Spread = spread(v)
	return t
}

const (
	// amdTalk is the time from the answer to the callee's BYE: longer than any verdict and the
	// bot's first words take.
	amdTalk = 6500 * time.Millisecond
	// amdCalls bounds a run.
	amdCalls = 20_000
	// amdLead is the maximum number of frames of silence to try before a recording.
	amdLead = 250
)

// AMD calls everybody in the folder without classification, with sequential and with parallel
// classification, in one campaign each and at the same time, and compares the verdicts with those
// for the recordings themselves.
func AMD(ctx context.Context, cfg AMDConfig) (*AMDFigures, error) {
	if cfg.Repeat == 0 {
		cfg.Repeat = 1
	}
	if cfg.Rate == 0 {
		cfg.Rate = 5
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	if cfg.Repeat < 1 || cfg.Rate < 1 || cfg.Rate > 100 {
		return nil, errors.New("load: --repeat must be at least 1, and --rate 1 to 100 calls a second")
	}
	folder, err := corpus.Load(cfg.Dir)
	if err != nil {
		return nil, err
	}
	r := &amdRun{cfg: cfg, recordings: folder.Recordings, modes: []engine.AMDMode{engine.AMDOff, engine.AMDSequential,
		engine.AMDParallel}}
	if n := r.calls(); n > amdCalls {
		return nil, fmt.Errorf("load: that would be %d calls, more than the %d allowed: split the folder", n, amdCalls)
	}
	dir, err := os.MkdirTemp("", "dialler-recordings-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script, err := r.script(dir)
	if err != nil {
		return nil, err
	}
	live := cfg.Rate * int(amdTalk/time.Second+2)
	world, err := Config{Binary: cfg.Binary, Rate: cfg.Rate, Seats: 3*live + 30, Keep: cfg.Keep, Log: cfg.Log,
		callees:      map[string]any{"media": true, "script": script},
		conversation: map[string]any{"weight": 1, "think": "0s", "utterance": "1s", "pause": "100ms"}}.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, world)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return r.run(ctx, w, live+10)
}

type amdRun struct {
	cfg        AMDConfig
	recordings []corpus.Recording
	modes      []engine.AMDMode
}

func (r *amdRun) each() int  { return len(r.recordings) * r.cfg.Repeat }
func (r *amdRun) calls() int { return r.each() * len(r.modes) }

// script gives each number its recording: mode after mode, and within each mode the recordings in
// turn.
func (r *amdRun) script(dir string) (map[string]any, error) {
	paths := make([]string, len(r.recordings))
	for i := range r.recordings {
		paths[i] = filepath.Join(dir, fmt.Sprintf("%05d.wav", i))
		if err := os.WriteFile(paths[i], wav.Encode(r.recordings[i].Samples), 0o600); err != nil {
			return nil, err
		}
	}
	script := make(map[string]any, r.calls())
	for i := range r.calls() {
		script[contactNumber(i)] = []map[string]any{{"kind": "human", "ring": "200ms", "recording": paths[i%len(paths)],
			"talk": amdTalk.String()}}
	}
	return script, nil
}

func (r *amdRun) run(ctx context.Context, w *world, lines int) (*AMDFigures, error) {
	ids := make([]string, len(r.modes))
	for m, mode := range r.modes {
		var err error
		if ids[m], err = w.draftFrom(ctx, m*r.each(), r.each(), map[string]any{
			"name": "Classification " + string(mode), "bot_id": botID, "concurrency": lines, "amd": string(
				mode), "amd_revise_s": 0, "max_attempts": 1,
			"number_pool": []string{ownNumber}, "window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"},
			"call_limit_s": 60,
		}); err != nil {
			return nil, err
		}
	}
	r.cfg.Log("%d recordings, %d calls at %d a second", len(r.recordings), r.calls(), r.cfg.Rate)
	for _, id := range ids {
		if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
			return nil, err
		}
	}
	limit := time.Duration(r.calls())*2*time.Second/time.Duration(r.cfg.Rate) + 2*time.Minute
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, id := range ids {
		err := poll(waiting, 200*time.Millisecond, func() (bool, error) {
			var c struct{ Status string }
			err := w.api.do(waiting, http.MethodGet, "/api/v1/campaigns/"+id, nil, &c)
			return c.Status == "completed", errors.Join(err, w.engine.ended())
		})
		if err != nil {
			return nil, fmt.Errorf("load: the calls did not end: %w", err)
		}
		if err := w.settled(ctx, id); err != nil {
			return nil, err
		}
	}
	f := &AMDFigures{Files: make([]AMDFile, len(r.recordings))}
	for i := range f.Files {
		rec := &r.recordings[i]
		f.Files[i] = AMDFile{File: rec.File, Label: rec.Label, Offline: callOf(offline(rec.Samples, 0))}
	}
	for m, mode := range r.modes {
		row, err := r.read(ctx, w, ids[m], m*r.each(), mode, f)
		if err != nil {
			return nil, err
		}
		f.Modes = append(f.Modes, row)
	}
	off, parallel := &f.Modes[0].Audio, &f.Modes[2].Audio
	f.Added = Spread{P50: parallel.P50 - off.P50, P99: parallel.P99 - off.P99, Max: parallel.Max - off.Max}
	return f, nil
}

// read reads the calls of a mode from the database.
func (r *amdRun) read(ctx context.Context, w *world, id string, first int, mode engine.AMDMode,
	f *AMDFigures) (row AMDMode, err error) {
	of := make(map[string]int, r.each())
	for i := range r.each() {
		of[contactNumber(first+i)] = i % len(r.recordings)
	}
	row.Mode, row.Calls = mode, r.each()
	rows, err := w.db.Query(ctx, `SELECT to_number, verdict, confidence, coalesce(features, '{}'), answered_at,
			verdict_at, bot_connected_at, bot_first_audio_at
		FROM attempts WHERE campaign_id = $1 AND answered_at IS NOT NULL ORDER BY answered_at`, id)
	if err != nil {
		return row, err
	}
	defer rows.Close()
	var times [3][]float64
	for rows.Next() {
		var number string
		var verdict engine.Verdict
		var confidence float64
		var features map[string]float64
		var answered time.Time
		var stages [3]*time.Time
		if err := rows.Scan(&number, &verdict, &confidence, &features, &answered, &stages[0], &stages[1],
			&stages[2]); err != nil {
			return row, err
		}
		row.Answered++
		for i, at := range stages {
			if at != nil {
				times[i] = append(times[i], float64(at.Sub(answered))/float64(time.Millisecond))
			}
		}
		i, known := of[number]
		if mode == engine.AMDOff || !known {
			continue
		}
		c := AMDCall{Mode: mode, Verdict: verdict, Confidence: confidence, Heard: int(features["heard_ms"])}
		c.Lead, c.Same = leadOf(r.recordings[i].Samples, verdict, confidence, features)
		f.Calls++
		if c.Same {
			f.Same++
		}
		f.Files[i].Calls = append(f.Files[i].Calls, c)
	}
	row.Verdict, row.Bot, row.Audio = amdTimes(times[0]), amdTimes(times[1]), amdTimes(times[2])
	return row, rows.Err()
}

// leadOf finds the length of silence, in ms, after which the recording has this decision.
func leadOf(pcm []int16, v engine.Verdict, confidence float64, features map[string]float64) (int, bool) {
	for lead := range amdLead {
		d := offline(pcm, lead)
		if d.Verdict == v && math.Abs(d.Confidence-confidence) < 1e-9 && maps.Equal(d.Features.Map(), features) {
			return 20 * lead, true
		}
		if int(d.At.Milliseconds()) > int(features["heard_ms"])+1000 {
			break
		}
	}
	return 0, false
}

// offline is the classifier's decision for a recording, converted to μ-law, after that many frames
// of silence.
func offline(pcm []int16, lead int) amd.Decision {
	heard := voice.PCMU.Decode(nil, voice.PCMU.Encode(nil, pcm))
	d := amd.New(amd.Config{})
	for frame := make([]int16, amd.FrameSamples); ; {
		clear(frame)
		if lead--; lead < 0 {
			heard = heard[copy(frame, heard):]
		}
		if dec, ok := d.Feed(frame); ok {
			return dec
		}
	}
}

func callOf(d amd.Decision) AMDCall {
	return AMDCall{Verdict: d.Verdict, Confidence: d.Confidence, Heard: int(d.At.Milliseconds()), Same: true}
}

// Wrong lists what is wrong.
func (f *AMDFigures) Wrong() (wrong []string) {
	for i := range f.Modes {
		if m := &f.Modes[i]; m.Answered != m.Calls {
			wrong = append(wrong, fmt.Sprintf("%d of %d calls were answered with amd: %s", m.Answered, m.Calls, m.Mode))
		}
	}
	for i := range f.Files {
		for _, c := range f.Files[i].Calls {
			if o := &f.Files[i].Offline; !c.Same {
				wrong = append(wrong, fmt.Sprintf("%s is %s (%.3f) in a call (%s) after %d ms, %s (%.3f) after %d ms by itself",
					f.Files[i].File, c.Verdict, c.Confidence, c.Mode, c.Heard, o.Verdict, o.Confidence, o.Heard))
			}
		}
	}
	return wrong
}

// Print writes the tables for people.
func (f *AMDFigures) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format, args...) }
	say("file\tlabel\tby itself\tconfidence\theard ms\tin calls\n")
	for i := range f.Files {
		file := &f.Files[i]
		say("%s\t%s\t%s\t%.3f\t%d\t", file.File, file.Label, file.Offline.Verdict, file.Offline.Confidence,
			file.Offline.Heard)
		same := 0
		for _, c := range file.Calls {
			if c.Same {
				same++
			} else {
				say("%s: %s %.3f after %d ms; ", c.Mode, c.Verdict, c.Confidence, c.Heard)
			}
		}
		say("%d of %d the same\n", same, len(file.Calls))
	}
	_ = t.Flush()
	say("\nms from the answer to\tamd\tcalls\tp50\tp99\tmost")
	for _, b := range amdBounds {
		say("\t≤%.0f", b)
	}
	say("\tmore\n")
	for _, stage := range []struct {
		name string
		of   func(*AMDMode) *AMDTimes
	}{
		{"verdict", func(m *AMDMode) *AMDTimes { return &m.Verdict }},
		{"bot connected", func(m *AMDMode) *AMDTimes { return &m.Bot }},
		{"first bot audio", func(m *AMDMode) *AMDTimes { return &m.Audio }},
	} {
		for i := range f.Modes {
			times := stage.of(&f.Modes[i])
			if times.Count == 0 {
				continue
			}
			say("%s\t%s\t%d\t%.1f\t%.1f\t%.1f", stage.name, f.Modes[i].Mode, times.Count, times.P50, times.P99, times.Max)
			for _, n := range times.Counts {
				say("\t%d", n)
			}
			say("\n")
		}
	}
	_ = t.Flush()
	say("\n%d of %d verdicts are those of the recordings; with parallel classification the bot is heard %+.1f ms "+
		"(p50), %+.1f ms (p99) later than without any\n",
		f.Same, f.Calls, f.Added.P50, f.Added.P99)
	_ = t.Flush()
}
