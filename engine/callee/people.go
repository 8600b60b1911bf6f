package callee

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"dialler/engine"
)

// Sample represents a distribution: values in seconds, sorted, all equally likely. More than
// SampleMost measured values are replaced by the means of that many equal groups, so that mean,
// shares and tails are those measured.
type Sample []float64

// SampleMost bounds a Sample.
const SampleMost = 64

// SampleOf returns the sample of measured values, in s.
func SampleOf(values []float64) Sample {
	list := make([]weighted, len(values))
	for i, v := range values {
		list[i] = weighted{v, 1}
	}
	return sampleOf(list)
}

// weighted is a measured value with its weight.
type weighted struct{ v, weight float64 }

// sampleOf divides the sorted values into groups of equal weight.
func sampleOf(list []weighted) Sample {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b weighted) int { return cmp.Compare(a.v, b.v) })
	all := 0.0
	for _, x := range list {
		all += x.weight
	}
	n := min(len(list), SampleMost)
	s := make(Sample, 0, n)
	size := all / float64(n)
	room, sum := size, 0.0
	for _, x := range list {
		for x.weight >= room && len(s) < n-1 {
			s = append(s, (sum+x.v*room)/size)
			x.weight -= room
			room, sum = size, 0
		}
		room -= x.weight
		sum += x.v * x.weight
	}
	return append(s, sum/(size-room))
}

// At returns the value at u, which is uniform within (0, 1); 0 for an empty sample.
func (s Sample) At(u float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return seconds(max(s[min(int(u*float64(len(s))), len(s)-1)], 0))
}

// Mean is in s; 0 for an empty sample.
func (s Sample) Mean() float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum / float64(max(len(s), 1))
}

func (s Sample) spread() float64 {
	sum, mean := 0.0, s.Mean()
	for _, v := range s {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(max(len(s), 1)))
}

func (s Sample) times(f float64) Sample {
	scaled := slices.Clone(s)
	for i := range scaled {
		scaled[i] *= f
	}
	return scaled
}

// Kind is one kind of result of dials, and its measurements.
type Kind struct {
	Answered bool
	// Verdict is that of an answered call; "" when the callee hung up before there was one, or
	// classification was off.
	Verdict engine.Verdict
	// Outcome is that of a dial that was not answered.
	Outcome engine.Outcome
	// First and Again are its weight: how many first attempts of a contact in a run had this
	// result, and how many later ones.
	First, Again float64
	Ring         Sample // INVITE → answer or refusal; empty means that it rings until the dialler gives up
	Took         Sample // answer → verdict
	Talk         Sample // answer → end of the call, if the dialler did not end it
	// Code, Reason and RetryAfter are the refusal as the network sent it.
	Code       int
	Reason     string
	RetryAfter time.Duration
}

func (k *Kind) weight() float64 { return k.First + k.Again }

// machine says that classification found no person.
func (k *Kind) machine() bool { return k.Answered && k.Verdict != "" && !k.Verdict.Live() }

// Share is a measured share: Of out of Among.
type Share struct{ Of, Among int }

// Rate is the share as a number, 0 if nothing was counted.
func (s Share) Rate() float64 { return float64(s.Of) / float64(max(s.Among, 1)) }

// Word is a disposition and how many results had it.
type Word struct {
	Disposition string
	Count       int
}

// People are the callees and the bot that talks to them, as measured over some attempts, or as
// assumed.
type People struct {
	Dials      int // measured ones; 0 means that everything is assumed
	Kinds      []Kind
	Placing    Sample // decision to dial → INVITE: taken by the dialler, its database and the CPS cap
	Failed     Share  // live answers that the bot missed or lost before it talked
	NoResult   Share  // of the conversations
	InCall     Share  // of the results, before the call's end
	Result     Sample // end of the call → result
	Callback   Share  // of the results, with a callback request …
	CallbackIn Sample // … due that long after the result
	DoNotCall  Share  // of the results
	Words      []Word // dispositions, most frequent first
}

// MeasuredMost is how many attempts, the latest ones, people are measured over at most;
// MeasuredLeast is how many make a meaningful measurement.
const (
	MeasuredMost  = 5000
	MeasuredLeast = 50
	// WordsMost bounds the dispositions.
	WordsMost = 20
)

// Word draws the disposition of a result.
func (p *People) Word(u float64) string {
	all := 0
	for i := range p.Words {
		all += p.Words[i].Count
	}
	x := u * float64(all)
	for i := range p.Words {
		if x -= float64(p.Words[i].Count); x < 0 {
			return p.Words[i].Disposition
		}
	}
	return ""
}

// Known returns the measured people if the measurement is large enough, otherwise the assumed ones.
// Without detection nothing is known about machines.
func Known(measured *People, detects bool) People {
	if measured.Dials >= MeasuredLeast {
		return *measured
	}
	p := assumed()
	if !detects {
		p.Kinds = slices.Clone(p.Kinds)
		for i := range p.Kinds {
			if k := &p.Kinds[i]; k.machine() {
				k.First = 0
			}
			p.Kinds[i].Verdict = ""
		}
		p.SetAnswer(Standard().Answer.Base)
	}
	return p
}

// Assumed are the people of the standard scenario, with classification.
func Assumed() People { return Known(&People{}, true) }

// assumedDials is the number of dials of the standard scenario over which its people are measured.
const assumedDials = 20_000

var assumed = sync.OnceValue(func() People {
	sc := Standard()
	c := New(&sc, 1)
	var ring, talk [2][]float64
	quick := make([]float64, 0, assumedDials)
	out := 0
	for i := range uint64(assumedDials) {
		switch f := c.Dial(i+1, 0); {
		case !f.Answered && f.Ring >= sc.Timeout:
			out++
		case !f.Answered:
			quick = append(quick, f.Ring.Seconds())
		case f.Machine:
			ring[1] = append(ring[1], f.Ring.Seconds())
		default:
			ring[0], talk[0] = append(ring[0], f.Ring.Seconds()), append(talk[0], f.Talk.Seconds())
		}
	}
	took := Sample{1, 1.5, 2, 2.5, 3}
	busy := SampleOf(quick)
	return People{Kinds: []Kind{
		{Answered: true, Verdict: engine.VerdictHuman, First: float64(len(ring[0])), Ring: SampleOf(ring[0]),
			Took: took, Talk: SampleOf(talk[0])},
		{Answered: true, Verdict: engine.VerdictMachine, First: float64(len(ring[1])), Ring: SampleOf(ring[1]), Took: took},
		{Outcome: engine.OutcomeBusy, First: 0.75 * float64(len(quick)), Code: 486, Reason: "Busy Here", Ring: busy},
		{Outcome: engine.OutcomeInvalidNumber, First: 0.25 * float64(len(quick)), Code: 404, Reason: "Not Found", Ring: busy},
		{Outcome: engine.OutcomeNoAnswer, First: float64(out)},
	}, Result: Sample{2, 6, 10, 14, 18}}
})

// Figures are the figures by which operators know people: shares in 0…1, means in s.
type Figures struct {
	Answer   float64 `json:"answer_rate"`   // of dials; machines included
	Machines float64 `json:"machine_share"` // of the answers
	Ring     float64 `json:"ring_s"`        // to the answer
	Talk     float64 `json:"talk_s"`        // answer → end, of persons
}

// Figures sums the people up.
func (p *People) Figures() Figures {
	var all, answered, machines, persons, ring, talk float64
	for i := range p.Kinds {
		k := &p.Kinds[i]
		all += k.weight()
		if !k.Answered {
			continue
		}
		answered += k.weight()
		ring += k.weight() * k.Ring.Mean()
		if k.machine() {
			machines += k.weight()
		} else if p.talks(k) {
			persons += k.weight()
			talk += k.weight() * k.Talk.Mean()
		}
	}
	over := func(a, b float64) float64 { return a / cmp.Or(b, 1) }
	return Figures{Answer: over(answered, all), Machines: over(machines, answered), Ring: over(ring, answered),
		Talk: over(talk, persons)}
}

// talks says that persons of this kind get to talk with the bot, unlike those who hang up before a
// verdict.
func (p *People) talks(k *Kind) bool {
	return k.Answered && !k.machine() && len(k.Talk) > 0 && (k.Verdict != "" || !p.classified())
}

func (p *People) classified() bool {
	return slices.ContainsFunc(p.Kinds, func(k Kind) bool { return k.Verdict != "" })
}

// The setters change one figure and keep the shape of what was measured. They copy what
// they change.

// SetAnswer sets the share of dials that are answered, 0…1.
func (p *People) SetAnswer(rate float64) {
	p.divide(rate, func(*Kind) bool { return true }, func(k *Kind) bool { return k.Answered })
}

// SetMachines sets the share of answers that are machines, 0…1.
func (p *People) SetMachines(share float64) {
	if !slices.ContainsFunc(p.Kinds, func(k Kind) bool { return k.machine() }) {
		i := slices.IndexFunc(p.Kinds, func(k Kind) bool { return k.Answered })
		if i < 0 || share == 0 {
			return
		}
		machine := Kind{Answered: true, Verdict: engine.VerdictMachine, First: 1e-9, Ring: p.Kinds[i].Ring,
			Took: Sample{1, 2, 3}}
		p.Kinds = append(slices.Clone(p.Kinds), machine)
	}
	p.divide(share, func(k *Kind) bool { return k.Answered }, (*Kind).machine)
}

// divide gives the kinds in part that share of the weight of whole.
func (p *People) divide(share float64, whole, part func(*Kind) bool) {
	p.Kinds = slices.Clone(p.Kinds)
	for _, w := range []func(*Kind) *float64{
		func(k *Kind) *float64 { return &k.First }, func(k *Kind) *float64 { return &k.Again },
	} {
		all, some := 0.0, 0.0
		for i := range p.Kinds {
			if k := &p.Kinds[i]; whole(k) {
				all += *w(k)
				if part(k) {
					some += *w(k)
				}
			}
		}
		for i := range p.Kinds {
			switch k := &p.Kinds[i]; {
			case !whole(k):
			case part(k) && some > 0:
				*w(k) *= share * all / some
			case !part(k) && all > some:
				*w(k) *= (1 - share) * all / (all - some)
			}
		}
	}
}

// SetRing sets the mean time to an answer, in s; SetTalk sets the mean length of conversations.
func (p *People) SetRing(mean float64) {
	f := mean / cmp.Or(p.Figures().Ring, mean)
	p.Kinds = slices.Clone(p.Kinds)
	for i := range p.Kinds {
		if k := &p.Kinds[i]; k.Answered {
			k.Ring = k.Ring.times(f)
		}
	}
}

func (p *People) SetTalk(mean float64) {
	f := mean / cmp.Or(p.Figures().Talk, mean)
	kinds := slices.Clone(p.Kinds)
	for i := range kinds {
		if p.talks(&p.Kinds[i]) {
			kinds[i].Talk = p.Kinds[i].Talk.times(f)
		}
	}
	p.Kinds = kinds
}

// Draws of a resampling, separate from those of a dial.
const (
	drawWeight = iota + 100
	drawLength = drawWeight + 1000
)

// Resampled returns the people of another measurement of the same size: fewer measured dials mean
// less certainty. Assumed people are returned unchanged.
func (p *People) Resampled(seed uint64) People {
	again := *p
	if p.Dials == 0 {
		return again
	}
	again.Kinds = slices.Clone(p.Kinds)
	u := ChanceOf(seed, 0)
	normal := func(k uint64) float64 { return math.Sqrt2 * math.Erfinv(2*u.At(k)-1) }
	for i := range again.Kinds {
		k := &again.Kinds[i]
		n := uint64(i) //nolint:gosec // an index
		k.First = max(k.First+math.Sqrt(k.First)*normal(drawWeight+2*n), 0)
		k.Again = max(k.Again+math.Sqrt(k.Again)*normal(drawWeight+2*n+1), 0)
		if mean := k.Talk.Mean(); mean > 0 {
			off := k.Talk.spread() / mean / math.Sqrt(max(p.Kinds[i].weight(), 1))
			k.Talk = k.Talk.times(max(1+off*normal(drawLength+n), 0.5))
		}
	}
	return again
}

// Dial returns the fate of a dial that rings for timeout at most; again means that it is not the
// contact's first. If later dials were not measured, they are like the first.
func (p *People) Dial(u Chance, again bool, timeout time.Duration) Fate {
	var all, later float64
	for i := range p.Kinds {
		all += p.Kinds[i].weight()
		later += p.Kinds[i].Again
	}
	weight := (*Kind).weight
	switch first := all - later; {
	case again && later >= MeasuredLeast:
		weight, all = func(k *Kind) float64 { return k.Again }, later
	case !again && first >= MeasuredLeast:
		weight, all = func(k *Kind) float64 { return k.First }, first
	}
	f := Fate{Ring: timeout}
	x := u.At(drawAnswered) * all
	for i := range p.Kinds {
		if x -= weight(&p.Kinds[i]); x < 0 {
			f.Kind = &p.Kinds[i]
			break
		}
	}
	k := f.Kind
	if k == nil || len(k.Ring) == 0 && !k.Answered {
		return f
	}
	ring := k.Ring.At(u.At(drawRing))
	if ring >= timeout {
		return f
	}
	f.Ring, f.Answered, f.Machine = ring, k.Answered, k.machine()
	f.Took, f.Talk = k.Took.At(u.At(drawTook)), k.Talk.At(u.At(drawTalk))
	f.Refused = !k.Answered
	return f
}
