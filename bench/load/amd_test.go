package load

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dialler/engine"
)

// The result for each call is the one for its recording.
func TestAFolderOfRecordingsIsCalled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"human_short_de", "machine_unavailable_de", "sit_nc2", "fax_ansam"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "media", "amd", "testdata", name+".wav"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".wav"), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := AMD(t.Context(), AMDConfig{Binary: program(t), Dir: dir, Rate: 10, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := f.Wrong(); len(wrong) > 0 || f.Calls != 8 || f.Same != 8 {
		t.Errorf("%d of %d: %s", f.Same, f.Calls, strings.Join(wrong, "\n"))
	}
	for _, m := range f.Modes {
		want := map[engine.AMDMode][3]bool{engine.AMDOff: {false, true, true}, engine.AMDSequential: {true, true, true},
			engine.AMDParallel: {true, true, true}}[m.Mode]
		for i, times := range []AMDTimes{m.Verdict, m.Bot, m.Audio} {
			sum := 0
			for _, n := range times.Counts {
				sum += n
			}
			if sum != times.Count || (times.Count > 0) != want[i] || want[i] && times.P50 <= 0 {
				t.Errorf("%s, stage %d: %+v", m.Mode, i, times)
			}
		}
		// The bot is fetched after the verdict, so only for live answers.
		bots := 0
		for _, file := range f.Files {
			if m.Mode != engine.AMDSequential || file.Offline.Verdict.Live() {
				bots++
			}
		}
		if m.Bot.Count != bots {
			t.Errorf("%s: the bot was connected %d times, want %d", m.Mode, m.Bot.Count, bots)
		}
	}
}

func TestAVerdictThatIsNotTheRecordingsIsNamed(t *testing.T) {
	f := &AMDFigures{Calls: 2, Same: 1, Added: Spread{P50: 1.5, P99: -2},
		Files: []AMDFile{{File: "a.wav", Label: "human", Offline: AMDCall{Verdict: engine.VerdictHuman, Confidence: 0.9,
			Heard: 1200},
			Calls: []AMDCall{{Mode: engine.AMDParallel, Verdict: engine.VerdictHuman, Same: true},
				{Mode: engine.AMDSequential, Verdict: engine.VerdictMachine, Heard: 900}}}},
		Modes: []AMDMode{{Mode: engine.AMDOff, Calls: 2, Answered: 1, Audio: amdTimes([]float64{5, 10, 11, 9000})}}}
	wrong := strings.Join(f.Wrong(), "; ")
	for _, want := range []string{"1 of 2 calls were answered with amd: off",
		"a.wav is machine (0.000) in a call (sequential) after 900 ms, human (0.900) after 1200 ms"} {
		if !strings.Contains(wrong, want) {
			t.Errorf("%q is missing in %q", want, wrong)
		}
	}
	if c := f.Modes[0].Audio.Counts; c[0] != 2 || c[1] != 1 || c[len(c)-1] != 1 {
		t.Errorf("%v", c)
	}
	var page bytes.Buffer
	f.Print(&page)
	for _, want := range []string{"sequential: machine 0.000 after 900 ms; 1 of 2 the same", "first bot audio",
		"1 of 2 verdicts", "+1.5 ms (p50), -2.0 ms (p99)"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, page.String())
		}
	}
}

func TestAFolderThatCannotBeCalledIsRefused(t *testing.T) {
	for _, c := range []AMDConfig{{Repeat: -1}, {Rate: 101}, {Dir: t.TempDir()},
		{Dir: "../../media/amd/testdata/greetings", Repeat: 1000}} {
		if _, err := AMD(t.Context(), c); err == nil {
			t.Errorf("%+v", c)
		}
	}
}
