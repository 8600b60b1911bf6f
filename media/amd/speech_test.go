package amd

import (
	"math/rand/v2"
	"testing"

	"dialler/bench/corpus"
	"dialler/engine"
)

// greetings are synthesised people and machines that the model was not
// trained on (testdata/README.md).
func greetings(t testing.TB) []corpus.Recording {
	t.Helper()
	f, err := corpus.Load("testdata/greetings")
	if err != nil {
		t.Fatal(err)
	}
	return f.Recordings
}

// TestNobodyIsHungUpOnHoweverTheyArrive checks that, with each impairment, people are hardly ever
// taken for machines, and no tone is heard in their speech. The figures are in docs/amd.md.
func TestNobodyIsHungUpOnHoweverTheyArrive(t *testing.T) {
	recordings := greetings(t)
	people, hungUp, tones := 0, 0, 0
	for k, m := range impairments {
		verdicts := map[string]map[engine.Verdict]int{"human": {}, "machine": {}}
		for i, rec := range recordings {
			r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
			dec, heard := hearAll(m.of(r).Apply(rec.Samples))
			verdicts[rec.Label][dec.Verdict]++
			if rec.Label != "human" {
				continue
			}
			people++
			if dec.Verdict == engine.VerdictMachine {
				hungUp++
				t.Logf("%s: %s (%s) at %v", m.name, rec.File, rec.Detail, dec.At)
			}
			if len(heard) > 0 || dec.Verdict == engine.VerdictFax || dec.Verdict == engine.VerdictSIT {
				tones++
				t.Logf("%s: %s: tones %v", m.name, rec.File, heard)
			}
		}
		t.Logf("%-22s people %v machines %v", m.name, verdicts["human"], verdicts["machine"])
	}
	if hungUp*100 > 4*people {
		t.Errorf("%d of %d people are taken for machines", hungUp, people)
	}
	if tones*100 > people {
		t.Errorf("tones are heard in %d of %d people", tones, people)
	}
}

func TestAVerdictOnAPersonComesWithinASecondOfItsEnd(t *testing.T) {
	for _, rec := range greetings(t) {
		dec, _ := hearAll(rec.Samples)
		if dec.Verdict == engine.VerdictHuman && dec.GreetingEnd > 0 && dec.At-dec.GreetingEnd > 1000*ms {
			t.Errorf("%s: %v after its end", rec.File, dec.At-dec.GreetingEnd)
		}
	}
}
