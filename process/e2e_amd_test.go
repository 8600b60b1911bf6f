package process

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/corpus"
	"dialler/bench/draw"
	"dialler/bench/voice"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/media/amd"
	"dialler/media/wav"
)

// callee answers with a recording.
type callee struct {
	name, label, number string
	pcm                 []int16
}

// cast are the callees of a test.
type cast struct {
	t      *testing.T
	dir    string
	script map[engine.PhoneNumber][]carrier.Behaviour
}

// plays adds a callee who plays the recordings, one per call, and hangs up that long after each
// answer.
func (c *cast) plays(name, label string, talk time.Duration, recordings ...[]int16) *callee {
	c.t.Helper()
	who := &callee{name: name, label: label, number: newNumber(), pcm: recordings[0]}
	for i, pcm := range recordings {
		path := filepath.Join(c.dir, name+strings.Repeat("+", i)+".wav")
		if err := os.WriteFile(path, wav.Encode(pcm), 0o600); err != nil {
			c.t.Fatal(err)
		}
		number := engine.PhoneNumber(who.number)
		c.script[number] = append(c.script[number], carrier.Behaviour{Kind: carrier.Human, Recording: path,
			Talk: draw.Exactly(talk)})
	}
	return who
}

// spoken reads one of the classifier's recordings.
func spoken(t *testing.T, name string) []int16 {
	t.Helper()
	pcm, err := wav.Read(filepath.Join("..", "media", "amd", "testdata", name+".wav"))
	if err != nil {
		t.Fatal(err)
	}
	return pcm
}

func pause(d time.Duration) []int16 { return make([]int16, int(d.Seconds()*voice.Rate)) }

func beep(hz float64, d time.Duration) []int16 {
	out := pause(d)
	for i := range out {
		out[i] = int16(9000 * math.Sin(2*math.Pi*hz*float64(i)/voice.Rate))
	}
	return out
}

func parts(all ...[]int16) (out []int16) {
	for _, p := range all {
		out = append(out, p...)
	}
	return out
}

// offline is the classifier's decision for a recording, converted to μ-law, after that many frames
// of nothing.
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

func sameDecision(a *attempt.Attempt, d *amd.Decision) bool {
	return a.Verdict == d.Verdict && math.Abs(a.Confidence-d.Confidence) < 1e-9 && maps.Equal(a.Features, d.Features.Map())
}

// attemptOf is the row for a call in the carrier's ledger.
func (w *world) attemptOf(row *carrier.Call) attempt.Attempt {
	w.t.Helper()
	id, _, _ := strings.Cut(row.CallID, ".")
	a, ok, err := w.p.store.Attempt(context.Background(), engine.AttemptID(id))
	if err != nil || !ok {
		w.t.Fatalf("call %s is not stored: %v", row.CallID, err)
	}
	return a
}

// screened creates a campaign that calls the callees, and starts it.
func (w *world) screened(change map[string]any, callees ...*callee) engine.CampaignID {
	w.t.Helper()
	all := map[string]any{"concurrency": 40, "max_attempts": 1}
	maps.Copy(all, change)
	id := w.campaign(all)
	var rows []any
	for _, c := range callees {
		rows = append(rows, map[string]any{"mobile": c.number})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	return id
}

// under is the world with a subtest's t.
func (w *world) under(t *testing.T) *world {
	o := *w
	o.t = t
	return &o
}

// ear records what callees hear.
type ear struct {
	mu    sync.Mutex
	calls map[string]*hearing
}

// hearing is the audio that one callee heard, with how many frames it had sent itself when each
// frame arrived.
type hearing struct {
	audio []byte
	said  []int
}

func (e *ear) hear(f carrier.Frame) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.calls[f.CallID]
	if h == nil {
		h = &hearing{}
		e.calls[f.CallID] = h
	}
	h.audio, h.said = append(h.audio, f.Payload...), append(h.said, f.Said)
}

func (e *ear) of(row *carrier.Call) hearing {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.calls[row.CallID]; h != nil {
		return *h
	}
	return hearing{}
}

// One dialler calls all of them at once: its verdict on each is the one for its recording offline,
// and the consequences are as specified.
func TestCallsAreClassifiedAsTheirRecordings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0) // the callees hang up
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 80,
		"endpoints":  []string{w.bot.URL()},
		"auth_token": ourToken, "account": ourAccount}).expect(200)
	c := &cast{t: t, dir: t.TempDir(), script: map[engine.PhoneNumber][]carrier.Behaviour{}}

	const listened = 7 * time.Second // longer than any verdict takes
	var callees []*callee
	for _, name := range []string{"human_00", "human_05", "human_07", "human_11", "human_16", "machine_00", "machine_03",
		"machine_06", "machine_10", "machine_14"} {
		label, _, _ := strings.Cut(name, "_")
		callees = append(callees, c.plays(name, label, listened, spoken(t, filepath.Join("greetings", name))))
	}
	for name, label := range map[string]string{"human_short_de": "human", "human_name_en": "human",
		"machine_unavailable_de": "machine", "machine_mailbox_en": "machine",
		"sit_nc2": "sit", "fax_ansam": "fax"} {
		callees = append(callees, c.plays(name, label, listened, spoken(t, name)))
	}
	cng := parts(pause(300*time.Millisecond), beep(1100, 500*time.Millisecond), pause(3*time.Second))
	busy := parts(beep(425, 480*time.Millisecond), pause(480*time.Millisecond))
	callees = append(callees,
		c.plays("cng", "fax", listened, parts(cng, cng)),
		c.plays("busy", "unknown", listened, parts(busy, busy, busy, busy, busy)),
		c.plays("nobody", "silence", listened, pause(time.Second)),
		c.plays("at_the_beep", "machine", listened, parts(spoken(t, "human_short_de")[:voice.Rate],
			beep(1400, 300*time.Millisecond), pause(time.Second))))

	// The callees whose call is ended, whose verdict is revised, and who get a message.
	greeting := spoken(t, "machine_unavailable_de")
	machine := c.plays("machine", "machine", 20*time.Second, greeting)
	fax := c.plays("fax", "fax", 20*time.Second, spoken(t, "fax_ansam"))
	sit := c.plays("sit", "sit", 20*time.Second, spoken(t, "sit_nc2"))
	late := parts(spoken(t, "human_short_de"), pause(3*time.Second), beep(1000, 400*time.Millisecond), pause(time.Second))
	revised := c.plays("revised", "machine", 25*time.Second, late)
	again := c.plays("again", "machine", 5*time.Second, late, spoken(t, "human_short_de"))
	c.script[engine.PhoneNumber(again.number)][0].Talk = draw.Exactly(25 * time.Second)
	untilBeep := parts(greeting, pause(time.Second), beep(1400, 300*time.Millisecond))
	mailbox := c.plays("mailbox", "machine", 30*time.Second, untilBeep)

	heard := &ear{calls: map[string]*hearing{}}
	model := w.carrier(carrier.Config{Script: c.script, Tap: heard.hear})
	message := voice.Utterance(draw.Rand(1, "message", 0), 1500*time.Millisecond)
	var kept struct{ ID string }
	w.send("POST", "/api/v1/voicemails?name=Reminder", string(wav.Encode(message)), "Authorization", "Bearer "+w.admin,
		"Content-Type", "audio/wav").expect(201).into(&kept)

	all := w.screened(map[string]any{"amd": "sequential", "amd_revise_s": 0, "recording": "on",
		"recording_retention_days": 7, "amd_review_share": 1}, callees...)
	ended := w.screened(map[string]any{"amd": "parallel"}, machine, fax, sit, revised)
	retried := w.screened(map[string]any{"amd": "parallel", "max_attempts": 2, "retry_delay_s": 1,
		"retry_on_system": []string{"machine"}}, again)
	left := w.screened(map[string]any{"amd": "parallel", "voicemail_id": kept.ID}, mailbox)
	for _, id := range []engine.CampaignID{all, ended, retried, left} {
		eventually(t, "the campaign completes", func() bool { return w.detail(id).Status == "completed" })
	}
	w.quiet()
	for who, n := range map[*callee]int{machine: 1, fax: 1, sit: 1, revised: 1, again: 2, mailbox: 1} {
		if rows := model.Ledger().To(engine.PhoneNumber(who.number)); len(rows) != n {
			t.Fatalf("%s was called %d times, want %d", who.name, len(rows), n)
		}
	}
	call := func(who *callee, nth int) carrier.Call { return model.Ledger().To(engine.PhoneNumber(who.number))[nth] }

	t.Run("verdicts are those of the recordings", func(t *testing.T) {
		w := w.under(t)
		for _, who := range callees {
			row := call(who, 0)
			a := w.attemptOf(&row)
			// The audio begins when the carrier has the ACK. If the time before was long enough to
			// count as silence, it was heard as silence.
			lead, found := 0, false
			for ; lead < 250 && !found; lead++ {
				d := offline(who.pcm, lead)
				found = sameDecision(&a, &d)
			}
			if !found {
				d := offline(who.pcm, 0)
				t.Errorf("%s (ACK %v after the answer): the call: %s %.3f %v\nthe recording: %s %.3f %v", who.name,
					row.AckAt.Sub(row.AnsweredAt), a.Verdict, a.Confidence, a.Features, d.Verdict, d.Confidence, d.Features.Map())
				continue
			}
			if lead > 1 {
				t.Logf("%s: silence for %d ms first", who.name, 20*(lead-1))
			}
			// All of that has to be said before it is heard; it may have been slightly late and was
			// then caught up.
			if spoken := time.Duration(a.Features["heard_ms"]) * time.Millisecond; a.AMDTook < spoken-400*time.Millisecond {
				t.Errorf("%s: decided %v after the answer, on %v of audio", who.name, a.AMDTook, spoken)
			}
			if want := map[string]engine.Verdict{"fax": engine.VerdictFax, "sit": engine.VerdictSIT,
				"silence": engine.VerdictSilence}[who.label]; want != "" && a.Verdict != want {
				t.Errorf("%s is %s", who.name, a.Verdict)
			}
			if a.Verdict.Live() != (a.WasConnected() || a.Outcome == engine.OutcomeAbandoned) {
				t.Errorf("%s is %s, at a bot: %v", who.name, a.Verdict, a.WasConnected())
			}
		}
	})
	t.Run("machines, fax and SIT are ended", func(t *testing.T) {
		w := w.under(t)
		for who, want := range map[*callee]struct {
			verdict engine.Verdict
			outcome engine.Outcome
			status  string
		}{
			machine: {engine.VerdictMachine, engine.OutcomeMachine, "machine_detected"},
			fax:     {engine.VerdictFax, engine.OutcomeFax, "failed"},
			sit:     {engine.VerdictSIT, engine.OutcomeInvalidNumber, "failed"},
			revised: {engine.VerdictMachine, engine.OutcomeMachine, "machine_detected"},
		} {
			row := call(who, 0)
			a := w.attemptOf(&row)
			if a.Verdict != want.verdict || a.Outcome != want.outcome || a.WasConnected() || a.HungUpBy != engine.PartySystem ||
				row.ByeBy != carrier.Caller {
				t.Errorf("%s: %s, %s, live %v, ended by %s, BYE by %s", who.name, a.Verdict, a.Outcome, a.WasConnected(),
					a.HungUpBy, row.ByeBy)
			}
			if c := w.contact(ended, who.number); c.Status != want.status {
				t.Errorf("%s: the contact is %s", who.name, c.Status)
			}
			if s := w.session(a.ID.Call(), "over",
				func(s bot.Session) bool { return !s.EndedAt.IsZero() }); s.EndedBy != bot.EndedByCallee || len(s.Violations) > 0 {
				t.Errorf("%s: the bot's session ended by %s, %v", who.name, s.EndedBy, s.Violations)
			}
		}
		if n := w.detail(ended).Counters; n.LiveAnswers != 0 || n.ConnectedCalls != 0 || n.Answered != 4 ||
			n.MachineDetected != 2 || n.Failed != 2 {
			t.Errorf("%+v", n)
		}
	})
	t.Run("a later beep takes a live answer back", func(t *testing.T) {
		w := w.under(t)
		row := call(revised, 0)
		a := w.attemptOf(&row)
		if !a.RevisedFrom.Live() || a.Features["beep"] != 1 || a.BotFirstAudioAt == nil || a.RevisableUntil != nil {
			t.Errorf("revised from %q, %v, bot heard %v", a.RevisedFrom, a.Features, a.BotFirstAudioAt)
		}
		first := call(again, 0)
		if a = w.attemptOf(&first); a.Outcome != engine.OutcomeMachine || !a.RevisedFrom.Live() {
			t.Errorf("%s, revised from %q", a.Outcome, a.RevisedFrom)
		}
		second := call(again, 1)
		if a = w.attemptOf(&second); a.Outcome != engine.OutcomeCompleted || !a.WasConnected() || a.RevisedFrom != "" {
			t.Errorf("the retry: %s, %s", a.Outcome, a.Verdict)
		}
		if n := w.detail(retried).Counters; n.Attempts != 2 || n.Answered != 2 || n.LiveAnswers != 1 ||
			n.ConnectedCalls != 1 || n.MachineDetected != 1 || n.Completed != 1 {
			t.Errorf("%+v", n)
		}
	})
	t.Run("a message follows the beep, whole and once", func(t *testing.T) {
		w := w.under(t)
		row := call(mailbox, 0)
		a := w.attemptOf(&row)
		if a.Outcome != engine.OutcomeMachine || a.VoicemailLeftAt == nil || row.ByeBy != carrier.Caller {
			t.Errorf("%s, left at %v, BYE by %s", a.Outcome, a.VoicemailLeftAt, row.ByeBy)
		}
		if c := w.contact(left, mailbox.number); c.Status != "machine_detected" {
			t.Errorf("the contact is %s", c.Status)
		}
		h, want := heard.of(&row), voice.PCMU.Encode(nil, message)
		at := bytes.Index(h.audio, want)
		if at < 0 || bytes.Count(h.audio, want) != 1 {
			t.Fatalf("it is heard %d times", bytes.Count(h.audio, want))
		}
		if said, beeped := h.said[at/voice.FrameSamples], len(untilBeep)/voice.FrameSamples; said < beeped {
			t.Errorf("it begins after %d frames of the machine, whose beep ends with frame %d", said, beeped)
		}
	})
	t.Run("each stage is counted once a call", func(t *testing.T) {
		w := w.under(t)
		for stage, column := range map[string]string{"verdict": "verdict_at", "bot_connected": "bot_connected_at",
			"bot_first_audio": "bot_first_audio_at"} {
			var want float64
			w.query("SELECT count("+column+") FROM attempts", &want)
			if got := w.labelled("dialler_answer_stage_seconds_count", "stage", stage); got != want || want == 0 {
				t.Errorf("%s: %v observations of %v calls", stage, got, want)
			}
		}
	})
	t.Run("labelled calls are a folder to measure", func(t *testing.T) { w.under(t).exported(t, all, callees, model) })
}

// exported labels the calls of a campaign, exports them, and classifies the export as `lab amd
// eval` does.
func (w *world) exported(t *testing.T, id engine.CampaignID, callees []*callee, model *carrier.Carrier) {
	type review struct {
		ID       engine.AttemptID `json:"attempt_id"`
		AudioURL string           `json:"audio_url"`
	}
	var list struct{ Reviews []review }
	eventually(t, "each call can be heard", func() bool {
		list.Reviews = nil
		w.operator("GET", "/api/v1/amd/reviews?page_size=100&campaign_id="+string(id), nil).expect(200).into(&list)
		for _, r := range list.Reviews {
			if r.AudioURL == "" {
				return false
			}
		}
		return len(list.Reviews) == len(callees)
	})
	labels := map[string]string{}
	for _, who := range callees {
		row := model.Ledger().To(engine.PhoneNumber(who.number))[0]
		attempt, _, _ := strings.Cut(row.CallID, ".")
		labels[attempt+".wav"] = who.label
		w.operator("PUT", "/api/v1/amd/reviews/"+attempt, map[string]any{"label": who.label}).expect(200)
	}
	body := w.operator("GET", "/api/v1/amd/export.zip?campaign_id="+string(id), nil).expect(200).body
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(f.Name)), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
	}
	folder, err := corpus.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(folder.Recordings) != len(callees) {
		t.Fatalf("%d files, want %d", len(folder.Recordings), len(callees))
	}
	for _, f := range folder.Recordings {
		if f.Label != labels[f.File] {
			t.Errorf("%s is labelled %q, want %q", f.File, f.Label, labels[f.File])
		}
		// A recording is made in real time: where audio was late it has a pause that the call's
		// verdict did not see.
		if d := decided(f.Samples); !slices.Contains(engine.Verdicts, d.Verdict) {
			t.Errorf("%s is %q", f.File, d.Verdict)
		}
	}
}

// decided is the classifier's decision for a recording and the silence after it.
func decided(pcm []int16) amd.Decision {
	d := amd.New(amd.Config{})
	for frame := make([]int16, amd.FrameSamples); ; {
		clear(frame)
		pcm = pcm[copy(frame, pcm):]
		if decision, ok := d.Feed(frame); ok {
			return decision
		}
	}
}
