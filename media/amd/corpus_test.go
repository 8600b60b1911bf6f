package amd

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"
)

// readWAV gives the samples of an 8 kHz mono PCM16 file with a plain header.
func readWAV(t testing.TB, path string) []int16 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 12; i+8 <= len(b); {
		size := int(binary.LittleEndian.Uint32(b[i+4:]))
		if string(b[i:i+4]) == "data" {
			data := b[i+8 : min(i+8+size, len(b))]
			out := make([]int16, len(data)/2)
			for j := range out {
				out[j] = int16(binary.LittleEndian.Uint16(data[2*j:]))
			}
			return out
		}
		i += 8 + size + size&1
	}
	t.Fatalf("%s has no audio", path)
	return nil
}

// classify feeds the samples, then silence, until the decision.
func classify(t testing.TB, cfg Config, samples []int16) Decision {
	t.Helper()
	d := New(cfg)
	var frame [FrameSamples]int16
	for range 1000 {
		n := copy(frame[:], samples)
		clear(frame[n:])
		samples = samples[n:]
		if dec, ok := d.Feed(frame[:]); ok {
			return dec
		}
	}
	t.Fatal("no decision in 20 s")
	return Decision{}
}

// TestCorpus reports accuracy on a labelled corpus: AMD_CORPUS names the
// folder of its labels.csv (columns file, label, real).
func TestCorpus(t *testing.T) {
	dir := os.Getenv("AMD_CORPUS")
	if dir == "" {
		t.Skip("AMD_CORPUS is not set")
	}
	f, err := os.Open(filepath.Join(dir, "labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // was only read
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := map[string]int{}
	for i, name := range rows[0] {
		col[name] = i
	}
	cfg := Config{}
	set := func(d *time.Duration, name string) {
		if v, err := time.ParseDuration(os.Getenv(name)); err == nil {
			*d = v
		}
	}
	set(&cfg.Timeout, "AMD_TIMEOUT")
	set(&cfg.TalkTimeout, "AMD_TALK_TIMEOUT")
	set(&cfg.HumanSpeech, "AMD_HUMAN_SPEECH")
	set(&cfg.HumanPause, "AMD_HUMAN_PAUSE")
	set(&cfg.MachineSpeech, "AMD_MACHINE_SPEECH")
	counts, at := map[string]map[string]int{}, map[string]time.Duration{}
	for _, r := range rows[1:] {
		dec := classify(t, cfg, readWAV(t, filepath.Join(dir, r[col["file"]])))
		kind := r[col["label"]] + map[string]string{"1": " real", "0": " synthesised"}[r[col["real"]]]
		if counts[kind] == nil {
			counts[kind] = map[string]int{}
		}
		counts[kind][string(dec.Verdict)]++
		at[kind] += dec.At
		if os.Getenv("AMD_VERBOSE") != "" {
			fmt.Printf("%s %s -> %s %.2f at %v end %v %+v\n", r[col["file"]], r[col["detail"]], dec.Verdict, dec.Confidence, dec.At, dec.GreetingEnd, dec.Features)
		}
	}
	var kinds []string
	for k := range counts {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		n := 0
		for _, c := range counts[k] {
			n += c
		}
		t.Logf("%-22s %3d: %v, mean %v", k, n, counts[k], (at[k] / time.Duration(n)).Round(10*time.Millisecond))
	}
}
