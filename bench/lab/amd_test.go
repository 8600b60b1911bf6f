package main

import (
	"math"
	"strings"
	"testing"
)

func TestAPaceOutOfItsBoundsIsRefusedBeforeAnythingIsHeard(t *testing.T) {
	c := new(cli)
	for _, pace := range []float64{-1, 0, 1e-6, 0.02, math.NaN()} {
		train := amdTrainCmd{Dirs: []string{t.TempDir()}, Pace: pace}
		if err := train.Run(c); err == nil || !strings.Contains(err.Error(), "--pace") {
			t.Errorf("%v: %v", pace, err)
		}
	}
}
