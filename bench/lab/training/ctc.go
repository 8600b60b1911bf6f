package training

import (
	"math"

	"dialler/bench/corpus"
)

// text is what is said in a sequence: sounds by number, 1 to len(corpus.Sounds). A sequence is cut
// somewhere: at the earliest after the first least sounds, at the latest after the first most.
type text struct {
	sounds      []uint8
	least, most int
	expected    float64 // sounds heard, estimated from the time of speech
}

// soundNumbers maps letters to the numbers of their sounds.
var soundNumbers = func() (n [256]uint8) {
	for i := range len(corpus.Sounds) {
		n[corpus.Sounds[i]] = uint8(i + 1)
	}
	return n
}()

// textOf returns what is heard of letters when share of their speech is heard, in that many frames;
// it is empty when they do not fit into those.
func textOf(letters string, share float64, frames int) text {
	if letters == "" || share <= 0 {
		return text{}
	}
	all := float64(len(letters))
	share = math.Min(1, share)
	t := text{expected: share * all}
	if share > 0.97 { // all of it was heard
		t.least, t.most = int(math.Ceil(0.85*all)), len(letters)
	} else {
		width := math.Max(4, 0.2*all)
		t.least, t.most = max(1, int(t.expected-width)), min(len(letters), int(math.Ceil(t.expected+width)))
	}
	t.sounds = make([]uint8, t.most)
	need := t.least
	for i := range t.sounds {
		t.sounds[i] = soundNumbers[letters[i]]
		if i > 0 && i < t.least && t.sounds[i] == t.sounds[i-1] {
			need++ // a blank separates them
		}
	}
	if need > frames {
		return text{}
	}
	return t
}

// ctc is connectionist temporal classification (Graves et al., 2006): the likelihood that softmaxes
// of frames spell a text, over all alignments of the two.
type ctc struct {
	q, ways, back, next, lead []float64
	label                     []uint8 // of each state
	skips                     []bool  // whether the state two steps earlier leads to it
}

// leastSound is the smallest probability of a sound, so that the product of eighty of them does not
// underflow.
const leastSound = 1e-4

// softmax turns logits into probabilities.
//
//go:norace
func softmax(q []float64, logits []float32) {
	top := logits[0]
	for _, l := range logits[1:] {
		top = max(top, l)
	}
	var sum float32
	for k, l := range logits {
		e := exponential(l - top)
		q[k] = float64(e)
		sum += e
	}
	for k := range q {
		q[k] = math.Max(leastSound, q[k]/float64(sum))
	}
}

// room returns space for the probabilities of that many frames.
func (c *ctc) room(frames int) []float64 {
	if len(c.q) < frames*soundCols {
		c.q = make([]float64, frames*soundCols)
	}
	return c.q[:frames*soundCols]
}

// loss is minus the logarithm of how likely the frames of q say the text, cut
// anywhere from its least to its most; slopes by the logits take q's place. It
// is not ok when that is next to impossible.
//
// State 2k is a blank after k sounds, state 2k-1 the k-th sound. Each frame is
// brought to a sum of one, which is why nothing vanishes; states from which the
// end can no longer be reached are left out.
//
//go:norace
func (c *ctc) loss(q []float64, frames int, of *text) (float64, bool) {
	c.prepare(frames, of)
	states, first := 2*of.most+1, 2*of.least-1 // the first state at which it may end
	loss := 0.0
	for t := range frames {
		now, e := c.ways[t*states:][:states], q[t*soundCols:][:soundCols]
		low, high := max(0, first-2*(frames-1-t)), min(states, 2*t+2)
		sum := 0.0
		for s := low; s < high; s++ {
			way := 1.0
			if t > 0 {
				before := c.ways[(t-1)*states:][:states]
				way = before[s]
				if s > 0 {
					way += before[s-1]
				}
				if c.skips[s] {
					way += before[s-2]
				}
			}
			now[s] = float64(way * e[c.label[s]])
			sum += now[s]
		}
		if sum < vanished {
			return 0, false
		}
		loss -= math.Log(sum)
		for s := low; s < high; s++ {
			now[s] /= sum
		}
	}
	end := 0.0
	for _, w := range c.ways[(frames-1)*states+first : frames*states] {
		end += w
	}
	if end < vanished {
		return 0, false
	}
	return loss - math.Log(end), c.slopes(q, frames, states, first)
}

// vanished is a value too small to divide by.
const vanished = 1e-280

// prepare lays out the states of a text.
func (c *ctc) prepare(frames int, of *text) {
	states := 2*of.most + 1
	if need := frames * states; len(c.ways) < need {
		c.ways = make([]float64, need)
	}
	clear(c.ways[:frames*states])
	if len(c.back) < states+2 {
		c.back, c.next, c.lead = make([]float64, states+2), make([]float64, states+2), make([]float64, states+2)
		c.label, c.skips = make([]uint8, states+2), make([]bool, states+2)
	}
	clear(c.label)
	clear(c.skips)
	for k, s := range of.sounds[:of.most] {
		c.label[2*k+1] = s
		// A sound may follow the previous one without a blank, unless it is the same.
		c.skips[2*k+1] = k > 0 && s != of.sounds[k-1]
	}
}

// slopes is the way back: how likely each frame is at each sound.
//
//go:norace
func (c *ctc) slopes(q []float64, frames, states, first int) bool {
	clear(c.next)
	clear(c.lead)
	for s := first; s < states; s++ {
		c.next[s] = 1
	}
	for t := frames - 1; t >= 0; t-- {
		e, ways := q[t*soundCols:][:soundCols], c.ways[t*states:][:states]
		low, high := max(0, first-2*(frames-1-t)), min(states, 2*t+2)
		sum := 0.0
		for s := low; s < high; s++ {
			sum += float64(ways[s] * c.next[s])
		}
		if sum < vanished {
			return false
		}
		for s := range states {
			c.lead[s] = c.next[s] * e[c.label[s]]
		}
		for s := low; s < high; s++ {
			e[c.label[s]] -= float64(ways[s]*c.next[s]) / sum
		}
		total := 0.0
		for s := range states {
			way := c.lead[s] + c.lead[s+1]
			if c.skips[s+2] {
				way += c.lead[s+2]
			}
			c.back[s] = way
			total += way
		}
		for s := range states {
			c.back[s] /= total
		}
		c.back, c.next = c.next, c.back
	}
	return true
}

// greedy returns the likeliest sound of each frame; repetitions count once.
func greedy(q []float64, frames int) []uint8 {
	var out []uint8
	last := 0
	for t := range frames {
		best := 0
		for k, v := range q[t*soundCols:][:soundCols] {
			if v > q[t*soundCols+best] {
				best = k
			}
		}
		if best != last && best > 0 {
			out = append(out, uint8(best))
		}
		last = best
	}
	return out
}

// mistakes is the number of sounds to insert, delete or change to turn what was heard into the
// text, cut where that number is smallest; and the length of that text.
func (t *text) mistakes(heard []uint8) (wrong, of int) {
	row := make([]int, len(t.sounds)+1)
	for j := range row {
		row[j] = j
	}
	for i, h := range heard {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range t.sounds {
			cost := diagonal
			if h != s {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	wrong, of = row[t.most], t.most
	for j := t.most; j >= t.least; j-- {
		if row[j] < wrong {
			wrong, of = row[j], j
		}
	}
	return wrong, of
}
