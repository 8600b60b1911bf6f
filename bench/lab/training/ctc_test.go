package training

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dialler/bench/corpus"
)

// said is what frames spell, one label each.
func said(labels []int) []uint8 {
	var out []uint8
	for i, l := range labels {
		if l > 0 && (i == 0 || labels[i-1] != l) {
			out = append(out, uint8(l))
		}
	}
	return out
}

// brute is the likelihood that frames spell a text, cut anywhere from its least to its most: the
// sum over all possible outputs.
func brute(q []float64, frames int, of *text, letters []int) float64 {
	total := 0.0
	labels := make([]int, frames)
	var try func(t int, p float64)
	try = func(t int, p float64) {
		if t == frames {
			s := said(labels)
			if len(s) >= of.least && len(s) <= of.most && slices.Equal(s, of.sounds[:len(s)]) {
				total += p
			}
			return
		}
		for _, l := range letters {
			labels[t] = l
			try(t+1, p*q[t*soundCols+l])
		}
	}
	try(0, 1)
	return total
}

func TestTheAlignmentIsTheSumOfAllWays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	letters := []int{0, 1, 2, 31}
	for n, of := range []text{
		{sounds: []uint8{1}, least: 1, most: 1},
		{sounds: []uint8{1, 1}, least: 2, most: 2},
		{sounds: []uint8{1, 2, 1}, least: 1, most: 3},
		{sounds: []uint8{2, 2, 31, 31}, least: 2, most: 3},
		{sounds: []uint8{1, 2, 31, 2}, least: 3, most: 4},
		{sounds: []uint8{1, 2, 31, 2, 1, 1, 2}, least: 1, most: 7},
	} {
		for frames := 3; frames <= 7; frames++ {
			logits := make([][]float32, frames)
			for k := range logits {
				logits[k] = randomMatrix(r, 1, soundCols).v
			}
			var c ctc
			fill := func() []float64 {
				q := c.room(frames)
				for k := range logits {
					softmax(q[k*soundCols:][:soundCols], logits[k])
				}
				return q
			}
			want := -math.Log(brute(fill(), frames, &of, letters))
			got, ok := c.loss(fill(), frames, &of)
			if !ok || math.Abs(got-want) > 1e-9*(1+want) {
				if math.IsInf(want, 1) && !ok {
					continue
				}
				t.Fatalf("text %d in %d frames: %v, %v, want %v", n, frames, got, ok, want)
			}
			slopes := slices.Clone(c.q[:frames*soundCols])
			for range 20 {
				k, l := r.IntN(frames), r.IntN(soundCols)
				const d = 1e-2
				with := func(by float32) float64 {
					was := logits[k][l]
					logits[k][l] += by
					loss, _ := c.loss(fill(), frames, &of)
					logits[k][l] = was
					return loss
				}
				if slope := (with(d) - with(-d)) / (2 * d); math.Abs(slope-slopes[k*soundCols+l]) > 1e-4+1e-3*math.Abs(slope) {
					t.Fatalf("text %d in %d frames: the slope of sound %d in frame %d is %v, not %v", n, frames, l, k, slope,
						slopes[k*soundCols+l])
				}
			}
		}
	}
}

// TestALongTextDoesNotVanish checks softmaxes that are certain of something else.
func TestALongTextDoesNotVanish(t *testing.T) {
	const frames = 224
	var c ctc
	logits := make([]float32, soundCols)
	logits[0] = 40
	q := c.room(frames)
	for k := range frames {
		softmax(q[k*soundCols:][:soundCols], logits)
	}
	of := text{sounds: slices.Repeat([]uint8{3, 5}, 40), least: 70, most: 80}
	loss, ok := c.loss(q, frames, &of)
	if !ok || math.IsNaN(loss) || loss < 500 {
		t.Fatalf("%v, %v", loss, ok)
	}
	sum := 0.0
	for _, v := range q {
		sum += math.Abs(v)
	}
	if math.IsNaN(sum) || sum < 10 || sum > 2*frames {
		t.Fatalf("slopes: %v", sum)
	}
}

func TestATextIsCutWhereSpeechIs(t *testing.T) {
	for _, c := range []struct {
		letters     string
		share       float64
		frames      int
		least, most int
	}{
		{"", 1, 100, 0, 0},
		{"xel@u", 1, 100, 5, 5},
		{"xel@uxel@uxel@uxel@u", 1, 100, 17, 20},
		{"xel@uxel@uxel@uxel@u", 0.5, 100, 6, 14},
		{"xel@uxel@uxel@uxel@uxel@uxel@uxel@uxel@u", 0.5, 100, 12, 28},
		{"xel@uxel@u", 0.1, 100, 1, 5},
		{"xel@uxel@u", 1, 8, 0, 0},
		{"xelll", 1, 7, 5, 5},
		{"xelll", 1, 6, 0, 0},
	} {
		if got := textOf(c.letters, c.share, c.frames); got.least != c.least || got.most != c.most ||
			len(got.sounds) != c.most {
			t.Errorf("%q, %v of it in %d frames: %+v", c.letters, c.share, c.frames, got)
		}
	}
	for i := range len(corpus.Sounds) {
		if of := textOf(corpus.Sounds[i:i+1], 1, 10); of.sounds[0] != uint8(i+1) {
			t.Fatalf("%+v", of)
		}
	}
}

func TestMistakesAreCountedToTheLikeliestCut(t *testing.T) {
	of := text{sounds: []uint8{1, 2, 3, 4, 5, 6}, least: 2, most: 6}
	for _, c := range []struct {
		heard     []uint8
		wrong, of int
	}{
		{[]uint8{1, 2, 3, 4, 5, 6}, 0, 6}, {[]uint8{1, 2, 3}, 0, 3}, {[]uint8{1, 9, 3, 4}, 1, 4}, {nil, 2,
			2}, {[]uint8{1, 2, 9, 3, 5, 6}, 2, 6},
	} {
		if wrong, n := of.mistakes(c.heard); wrong != c.wrong || n != c.of {
			t.Errorf("%v: %d of %d, want %d of %d", c.heard, wrong, n, c.wrong, c.of)
		}
	}
	q := make([]float64, 6*soundCols)
	for t, l := range []int{0, 7, 7, 0, 7, 3} {
		q[t*soundCols+l] = 1
	}
	if got := greedy(q, 6); !slices.Equal(got, []uint8{7, 7, 3}) {
		t.Errorf("%v", got)
	}
}
