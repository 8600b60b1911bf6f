package amd

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dialler/bench/corpus"
	"dialler/engine"
)

// kinds gives the greetings of some kinds.
func kinds(t testing.TB, of ...string) []corpus.Recording {
	t.Helper()
	var some []corpus.Recording
	for _, rec := range greetings(t) {
		kind, _, _ := strings.Cut(rec.Detail, " ")
		if slices.Contains(of, kind) {
			some = append(some, rec)
		}
	}
	if len(some) < 5 {
		t.Fatalf("only %d greetings are %v", len(some), of)
	}
	return some
}

// counted counts the verdicts on a set of recordings, each degraded several times.
func counted(recordings []corpus.Recording, change func(r *rand.Rand, x []int16) []int16) map[engine.Verdict]int {
	verdicts := map[engine.Verdict]int{}
	for i, rec := range recordings {
		for k := range 3 {
			r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
			x := rec.Samples
			if change != nil {
				x = change(r, x)
			}
			m := corpus.Impairment{Level: -16 - 8*float64(k), Noise: "hiss", SNR: 30, Codec: []string{"ulaw", "alaw", "gsm"}[k],
				Seed: r.Uint64()}
			dec, _ := hearAll(m.Apply(x))
			verdicts[dec.Verdict]++
		}
	}
	return verdicts
}

// atMost checks that no more than that share of a set gets a wrong verdict.
func atMost(t *testing.T, verdicts map[engine.Verdict]int, wrong engine.Verdict, share float64) {
	t.Helper()
	all := 0
	for _, n := range verdicts {
		all += n
	}
	t.Logf("%v of %d", verdicts, all)
	if float64(verdicts[wrong]) > share*float64(all) {
		t.Errorf("%d of %d are taken for a %s", verdicts[wrong], all, wrong)
	}
}

func TestPeopleWhoAnswerAtLengthAreHardlyEverHungUpOn(t *testing.T) {
	atMost(t, counted(kinds(t, "firm", "long"), nil), engine.VerdictMachine, longMachine)
}

func TestShortGreetingsWithoutABeepAreKnownByTheirWords(t *testing.T) {
	atMost(t, counted(kinds(t, "brief"), nil), engine.VerdictHuman, briefHuman)
}

// Our own message comes back as a weaker echo while the callee answers.
func TestAnEchoOfOurMessageHangsUpOnNobody(t *testing.T) {
	ours := kinds(t, "box")
	atMost(t, counted(kinds(t, "short", "again", "firm"), func(r *rand.Rand, x []int16) []int16 {
		y := slices.Clone(x)
		gain := math.Pow(10, -(22+10*r.Float64())/20)
		for i, v := range ours[r.IntN(len(ours))].Samples {
			if at := i + 4000; at < len(y) {
				y[at] = clipped(float64(y[at]) + gain*float64(v))
			}
		}
		return y
	}), engine.VerdictMachine, echoMachine)
}

// Some phones play music until they are answered.
func TestMusicBeforeAnAnswerHangsUpOnNobody(t *testing.T) {
	atMost(t, counted(kinds(t, "short", "again"), func(r *rand.Rand, x []int16) []int16 {
		y := make([]int16, 0, len(x)+16000)
		phases, notes := [3]float64{}, [3]float64{}
		for i := range int(8000 * (1.2 + r.Float64())) {
			if i%2400 == 0 {
				base := 220 * math.Pow(2, float64(r.IntN(12))/12)
				notes = [3]float64{base, base * 1.26, base * 1.5}
			}
			v := 0.0
			for k, hz := range notes {
				phases[k] += 2 * math.Pi * hz / 8000
				v += math.Sin(phases[k]) + 0.4*math.Sin(2*phases[k]) + 0.2*math.Sin(3*phases[k])
			}
			y = append(y, int16(1500*v*math.Exp(-float64(i%2400)/3000)))
		}
		return append(y, x...)
	}), engine.VerdictMachine, musicMachine)
}

func clipped(v float64) int16 { return int16(max(-32768, min(32767, v))) }

// The error limits of the sets: those of the shipped model, with some margin.
const (
	longMachine  = 0.15
	briefHuman   = 0.75
	echoMachine  = 0.05
	musicMachine = 0.05
)
