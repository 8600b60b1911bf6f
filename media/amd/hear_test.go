package amd

import (
	"testing"

	"dialler/media/wav"
)

func readWAV(t testing.TB, path string) []int16 {
	t.Helper()
	x, err := wav.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return x
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
