package trial

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine/callee"
	"dialler/engine/pacing"
)

// scripted places dials at given times and records their results.
type scripted struct {
	pacer
	at    []time.Duration // sorted; nil means as many as the pacer says
	dial  []time.Duration
	lines []line
}

// line is a dial that was answered, or has ended.
type line struct {
	dialled, rings time.Duration
	answered       bool
}

func (s *scripted) Dialled(now time.Time) {
	s.dial = append(s.dial, now.Sub(start))
	s.pacer.Dialled(now)
}

func (s *scripted) Answered(now time.Time, age time.Duration) {
	s.lines = append(s.lines, line{now.Sub(start) - age, age, true})
	s.pacer.Answered(now, age)
}

func (s *scripted) Failed(now time.Time, age time.Duration) {
	s.lines = append(s.lines, line{now.Sub(start) - age, age, false})
	s.pacer.Failed(now, age)
}

func (s *scripted) dials(now time.Duration, at *standing) (n int) {
	if s.at == nil {
		return s.pacer.dials(now, at)
	}
	for len(s.at) > 0 && s.at[0] <= now {
		s.at = s.at[1:]
		n++
	}
	return n
}

// play runs a scenario with a pacer of the test.
func play(sc *callee.Scenario, p pacer, seed uint64) Result {
	w := newWorld(sc, seed)
	w.pacer = p
	for w.step() {
	}
	return w.m.result("scripted", seed)
}

func TestTheSameSeedGivesTheSameResultByteForByte(t *testing.T) {
	sc := callee.Standard()
	sc.Length = 20 * time.Minute
	for _, p := range []Policy{Progressive, Ratio, Strict, Hybrid} {
		bytes := func(seed uint64) string {
			b, err := json.Marshal(Run(&sc, p, 2.5, seed))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if first, second := bytes(11), bytes(11); first != second {
			t.Errorf("%s: two runs of one seed differ", p)
		}
		if bytes(11) == bytes(12) {
			t.Errorf("%s: another seed changes nothing", p)
		}
	}
}

func TestAllPoliciesMeetTheSamePeople(t *testing.T) {
	sc := callee.Standard()
	sc.Length = 30 * time.Minute
	sc.Answer = callee.Schedule{Base: 0.3, Sines: []callee.Sine{{Amplitude: 0.2, Period: 5 * time.Minute}}}
	by := map[string]pacer{
		"ratio": newRatio(&sc, 3), "progressive": newModelled(&sc, pacing.Progressive),
		"strict": newModelled(&sc, pacing.Strict), "hybrid": newModelled(&sc, pacing.Hybrid),
	}
	for name, p := range by {
		s := &scripted{pacer: p}
		play(&sc, s, 3)
		// The result of dial number i depends only on the seed, i and its time.
		callees := callee.New(&sc, 3)
		want := map[line]int{}
		for i, at := range s.dial {
			if f := callees.Dial(uint64(i)+1, at); at+f.Ring < sc.Length {
				want[line{at, f.Ring, f.Answered}]++
			}
		}
		for _, l := range s.lines {
			want[l]--
		}
		for l, n := range want {
			if n != 0 {
				t.Fatalf("%s: %+v happened %d times too rarely", name, l, n)
			}
		}
		if len(s.lines) < 500 {
			t.Errorf("%s: only %d lines", name, len(s.lines))
		}
	}
}

// tiny is a world in which everybody answers after exactly ten seconds.
func tiny(workers float64, machines float64) callee.Scenario {
	sc := callee.Standard()
	sc.Workers, sc.Answer, sc.RingMean, sc.RingSD, sc.Machines = callee.Always(
		workers,
	), callee.Always(
		1,
	), 10*time.Second, 0, machines
	sc.Length = 4 * time.Minute
	return sc
}

func TestMeasuresOfATinyWorldAreThoseWorkedOutByHand(t *testing.T) {
	// One worker, three dials at once: the first is served, two wait two
	// seconds and are abandoned.
	sc := tiny(1, 0)
	callees := callee.New(&sc, 4)
	first := callees.Dial(1, 0)
	if first.Talk < 2*time.Second {
		t.Fatalf("the seed has a talk of %v", first.Talk)
	}
	r := play(&sc, &scripted{pacer: newRatio(&sc, 0), at: []time.Duration{0, 0, 0}}, 4)
	held := min(first.Talk, sc.Length-10*time.Second)
	if r.Counts != (pacing.Counts{Live: 3, Abandoned: 2}) || r.Connects() != 1 || r.Dials != 3 {
		t.Errorf("%+v, %d dials", r.Counts, r.Dials)
	}
	if r.Busy != held || r.Talk != held || r.Workers != sc.Length || r.Length != sc.Length {
		t.Errorf("busy %v, talk %v of %v, want %v", r.Busy, r.Talk, r.Workers, held)
	}
	if !r.OverEnd || !r.OverEver || r.Excess != 2-0.03*3 {
		t.Errorf("over the cap: %v at the end, %v ever, by %v", r.OverEnd, r.OverEver, r.Excess)
	}
	if len(r.Windows) != 0 || len(r.Course) != SeriesBins {
		t.Errorf("%d windows, %d pieces", len(r.Windows), len(r.Course))
	}
	// Pieces of a second: the worker is idle for ten of them.
	for i, p := range r.Course {
		want := 0.0
		if at := p.Until - time.Second; at >= 10*time.Second && p.Until <= 10*time.Second+first.Talk {
			want = 1
		} else if at < 10*time.Second+first.Talk && p.Until > 10*time.Second+first.Talk {
			continue
		}
		if p.Busy != want || p.Until != time.Duration(i+1)*time.Second {
			t.Fatalf("piece %d until %v: busy %v, want %v", i, p.Until, p.Busy, want)
		}
	}
	if r.Course[0].Dials != 3 || r.Course[1].Dials != 0 {
		t.Errorf("dials a second: %v, %v", r.Course[0].Dials, r.Course[1].Dials)
	}
	s := Summarise(&sc, []Result{r, r})
	if s.Runs != 2 || s.Connects != 15 || s.Abandon != 2.0/3 || s.OverEnd != 2 || s.OverEver != 2 || s.DialsEach != 3 ||
		s.Busy != float64(held)/float64(sc.Length) || s.Clairvoyant != 1/clairvoyant(&sc, sc.Length) {
		t.Errorf("%+v", s)
	}

	// Two workers: the second call has one of its own, the third is abandoned.
	sc = tiny(2, 0)
	if r := play(&sc, &scripted{pacer: newRatio(&sc, 0), at: []time.Duration{0, 0, 0}},
		4); r.Counts != (pacing.Counts{Live: 3, Abandoned: 1}) {
		t.Errorf("%+v", r.Counts)
	}
	// A machine holds the worker for three seconds and is no live answer; one that was not
	// classified in time is.
	sc = tiny(1, 1)
	sc.RingMean = 10 * time.Second / 14 * 10
	r = play(&sc, &scripted{pacer: newRatio(&sc, 0), at: []time.Duration{0, 0, time.Minute}}, 4)
	if r.Counts != (pacing.Counts{Live: 1, Abandoned: 1, Machines: 2}) || r.Busy != 6*time.Second || r.Talk != 0 ||
		r.Connects() != 0 {
		t.Errorf("%+v, busy %v, talk %v", r.Counts, r.Busy, r.Talk)
	}
	// A worker that becomes free within two seconds serves the waiting call.
	sc.Hold = 1500 * time.Millisecond
	if r = play(&sc, &scripted{pacer: newRatio(&sc, 0), at: []time.Duration{0, 0, 0}},
		4); r.Counts != (pacing.Counts{Live: 1, Abandoned: 1, Machines: 2}) {
		t.Errorf("%+v", r.Counts)
	}
}

func TestWorkersThatGoFinishTheirCallsAndTakeNoOther(t *testing.T) {
	sc := tiny(2, 1)
	sc.RingMean = 10 * time.Second / 14 * 10
	sc.Hold = 30 * time.Second
	sc.Workers = callee.Schedule{Steps: []callee.Step{{At: 0, Value: 2}, {At: 20 * time.Second, Value: 1}}}
	// Both are busy from 10 s to 40 s; the call that comes at 25 s finds no worker, and the second
	// one, which has left, would not serve it either.
	r := play(
		&sc,
		&scripted{pacer: newRatio(&sc, 0), at: []time.Duration{0, 0, 15 * time.Second, time.Minute, time.Minute}},
		4,
	)
	if r.Counts != (pacing.Counts{Live: 2, Abandoned: 2, Machines: 3}) {
		t.Errorf("%+v", r.Counts)
	}
	if r.Workers != 40*time.Second+220*time.Second || r.Busy != 90*time.Second {
		t.Errorf("%v of workers, %v busy", r.Workers, r.Busy)
	}
}

func TestHalfHoursWithFewAnswersSayNothing(t *testing.T) {
	sc := tiny(1, 0)
	sc.Length = 90 * time.Minute
	var at []time.Duration
	for i := range 20 { // all at once: one is served
		_ = i
		at = append(at, time.Minute)
	}
	for range 19 {
		at = append(at, 40*time.Minute)
	}
	r := play(&sc, &scripted{pacer: newRatio(&sc, 0), at: at}, 4)
	if !slices.Equal(r.Windows, []float64{0.95}) {
		t.Errorf("%v", r.Windows)
	}
	s := Summarise(&sc, []Result{r, {Length: sc.Length, Windows: []float64{0, 0.5}}})
	if s.P95 != 0.95 || s.Max != 0.95 {
		t.Errorf("%+v", s)
	}
}

// drawSchedule draws a value over time between low and high.
func drawSchedule(t *rapid.T, name string, low, high float64) callee.Schedule {
	v := rapid.Float64Range(low, high)
	at := func(most time.Duration) time.Duration {
		return time.Duration(rapid.IntRange(1, int(most/time.Second)).Draw(t, name+" s")) * time.Second
	}
	switch rapid.IntRange(0, 3).Draw(t, name) {
	case 0:
		return callee.Schedule{Steps: []callee.Step{{At: 0, Value: v.Draw(t, name)},
			{At: at(10 * time.Minute), Value: v.Draw(t, name)}, {At: 20 * time.Minute, Value: v.Draw(t, name)}}}
	case 1:
		mid := (low + high) / 2
		return callee.Schedule{Base: mid, Sines: []callee.Sine{{Amplitude: 0.99 * (mid - low), Period: at(time.Hour),
			Phase: rapid.Float64Range(-7, 7).Draw(t, name)}}}
	case 2:
		first := at(5 * time.Minute)
		return callee.Schedule{Base: v.Draw(t, name), Period: 10 * time.Minute, Pieces: []callee.Piece{
			{Start: first - time.Second, End: first, Value: v.Draw(t, name)},
			{Start: first, End: 9 * time.Minute, Value: v.Draw(t, name)},
		}}
	}
	return callee.Always(v.Draw(t, name))
}

func TestWhateverTheWorldTheBooksAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := callee.Standard()
		sc.Length = 10 * time.Minute
		steady := rapid.Bool().Draw(t, "steady workers")
		sc.Workers = callee.Always(float64(rapid.IntRange(0, 60).Draw(t, "N")))
		if !steady {
			sc.Workers = drawSchedule(t, "N", 0, 60)
		}
		sc.Answer, sc.TalkFactor = drawSchedule(t, "p", 0, 1), drawSchedule(t, "talk_factor", 0.1, 4)
		sc.Machines = rapid.Float64Range(0, 0.9).Draw(t, "m")
		sc.Short = rapid.Float64Range(0, 1).Draw(t, "s")
		sc.Cap = rapid.SampledFrom([]float64{0, 0.01, 0.03, 0.2}).Draw(t, "c")
		sc.Wait = time.Duration(rapid.IntRange(0, 4000).Draw(t, "W ms")) * time.Millisecond
		sc.Contacts = rapid.SampledFrom([]int{0, 0, 1, 500}).Draw(t, "contacts")
		if err := sc.Validate(); err != nil {
			t.Fatal(err)
		}
		p := rapid.SampledFrom([]Policy{Progressive, Ratio, Strict, Hybrid}).Draw(t, "policy")
		r := Run(&sc, p, 3, uint64(rapid.IntRange(0, 1000).Draw(t, "seed")))
		c := r.Counts
		switch {
		case c.Abandoned > c.Live || c.Live+c.Machines > r.Dials || r.Talk > r.Busy || r.Length > sc.Length:
			t.Fatalf("%+v", r)
		case steady && (r.Busy > r.Workers || p == Progressive && c.Abandoned > 0 || sc.Cap == 0 && p != Ratio &&
			c.Abandoned > 0):
			t.Fatalf("%+v", r)
		case steady && p == Strict && r.OverEver:
			t.Fatalf("strict is over the cap by %v", r.Excess)
		case r.OverEnd && !r.OverEver || r.OverEver != (r.Excess > 0) && c.Abandoned > 0:
			t.Fatalf("%+v", r)
		case sc.Contacts > 0 && r.Dials > sc.Contacts:
			t.Fatalf("%d dials of a list of %d", r.Dials, sc.Contacts)
		}
		until := time.Duration(0)
		for _, piece := range r.Course {
			if piece.Until <= until || piece.Until > sc.Length || piece.Busy < 0 || steady && piece.Busy > 1 ||
				piece.Dials < 0 {
				t.Fatalf("%+v", piece)
			}
			until = piece.Until
		}
		if last := r.Course[len(r.Course)-1]; last.Counts != c {
			t.Fatalf("the course ends with %+v, the run with %+v", last.Counts, c)
		}
	})
}

func TestARunInFullSwingDoesNotAllocate(t *testing.T) {
	sc := callee.Standard()
	for _, mode := range []pacing.Mode{pacing.Progressive, pacing.Strict, pacing.Hybrid} {
		w := newWorld(&sc, 11)
		w.pacer = newModelled(&sc, mode)
		for w.now < time.Hour && w.step() {
		}
		// A slice may still grow now and then; that share is negligible.
		if n := testing.AllocsPerRun(20_000, func() { w.step() }); n != 0 {
			t.Errorf("%s: %v allocations a step", mode, n)
		}
	}
}

// BenchmarkRun reports how many attempts are simulated per minute on one core.
func BenchmarkRun(b *testing.B) {
	for _, p := range []Policy{Progressive, Strict, Hybrid} {
		b.Run(string(p), func(b *testing.B) {
			sc := callee.Standard()
			sc.Length = time.Hour
			dials := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r := Run(&sc, p, 0, uint64(i))
				dials += r.Dials
			}
			b.ReportMetric(float64(dials)/b.Elapsed().Minutes(), "attempts/min")
		})
	}
}
