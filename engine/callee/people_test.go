package callee

import (
	"math"
	"testing"
	"time"

	"dialler/engine"
)

// talks draws n talks from people, in s.
func talks(p *People, n int) (list []float64) {
	for i := range uint64(n) {
		if f := p.Dial(ChanceOf(3, i), false, time.Minute); f.Answered && !f.Machine {
			list = append(list, f.Talk.Seconds())
		}
	}
	return list
}

func below(list []float64, most float64) float64 {
	n := 0
	for _, v := range list {
		if v < most {
			n++
		}
	}
	return float64(n) / float64(len(list))
}

func TestTalksAreDrawnAsTheyWereMeasured(t *testing.T) {
	f := func(name string, of func(u float64) float64) {
		t.Helper()
		var measured []float64
		for i := range 500 {
			measured = append(measured, of(ChanceOf(9, uint64(i)).At(1)))
		}
		mean, short := Sample(measured).Mean(), below(measured, 3)
		p := People{Dials: 500, Kinds: []Kind{{Answered: true, First: 500, Ring: Sample{2}, Talk: SampleOf(measured)}}}
		drawn := talks(&p, 50_000)
		near(t, name+": mean", Sample(drawn).Mean(), mean, 0.02)
		if got := below(drawn, 3); math.Abs(got-short) > 0.02 {
			t.Errorf("%s: %.3f of the talks are shorter than 3 s, %.3f were", name, got, short)
		}
		near(t, name+": the longest hundredth", tail(drawn), tail(measured), 0.25)
	}
	f("2 to 10 s", func(u float64) float64 { return 2 + 8*u })
	f("3 to 9 s", func(u float64) float64 { return 3 + 6*u })
	f("exponential, 8 s", func(u float64) float64 { return -8 * math.Log(u) })
	f("all alike", func(float64) float64 { return 90 })
	f("two kinds", func(u float64) float64 {
		if u < 0.3 {
			return 10 * u
		}
		return 60 + 100*u
	})
}

// tail is the mean of the longest hundredth.
func tail(list []float64) float64 {
	s := SampleOf(append([]float64(nil), list...))
	return s[len(s)-1]
}

// measured returns people for whom everything was measured.
func measured() *People {
	return &People{Dials: 1000, Kinds: []Kind{
		{Answered: true, Verdict: engine.VerdictHuman, First: 300, Again: 40, Ring: Sample{2, 4},
			Took: Sample{1}, Talk: Sample{4, 8}},
		{Answered: true, Verdict: engine.VerdictMachine, First: 100, Again: 10, Ring: Sample{8}, Took: Sample{3}},
		{Answered: true, First: 20, Ring: Sample{2}, Talk: Sample{0.5}},
		{Outcome: engine.OutcomeBusy, First: 200, Again: 50, Code: 486, Ring: Sample{1}},
		{Outcome: engine.OutcomeNoAnswer, First: 180, Again: 100},
	}}
}

func TestDialsComeToWhatWasMeasured(t *testing.T) {
	p := measured()
	const n = 50_000
	var answered, machines, busy, out [2]float64
	for again := range 2 {
		for i := range uint64(n) {
			switch f := p.Dial(ChanceOf(1, i), again == 1, 30*time.Second); {
			case f.Refused:
				busy[again]++
				if f.Kind.Code != 486 || f.Ring != time.Second {
					t.Fatalf("%+v", f)
				}
			case !f.Answered:
				out[again]++
				if f.Ring != 30*time.Second {
					t.Fatalf("%+v", f)
				}
			case f.Machine:
				machines[again]++
				if f.Took != 3*time.Second {
					t.Fatalf("%+v", f)
				}
				fallthrough
			default:
				answered[again]++
			}
		}
	}
	near(t, "first dials answered", answered[0]/n, 420.0/800, 0.02)
	near(t, "later dials answered", answered[1]/n, 50.0/200, 0.03)
	near(t, "machines", machines[0]/n, 100.0/800, 0.03)
	near(t, "busy", busy[0]/n, 200.0/800, 0.02)
	near(t, "later dials busy", busy[1]/n, 50.0/200, 0.03)
	near(t, "rings out", out[1]/n, 0.5, 0.02)
	if f := p.Dial(ChanceOf(1, 1), false, time.Second/2); f.Answered || f.Refused {
		t.Errorf("within half a second nobody picks up: %+v", f)
	}
}

func TestOneFigureOfPeopleIsChangedAndTheirShapeStays(t *testing.T) {
	p := measured()
	was := p.Figures()
	near(t, "answers", was.Answer, 0.47, 1e-9)
	near(t, "machines", was.Machines, 110.0/470, 1e-9)
	near(t, "talk", was.Talk, 6, 1e-9)
	p.SetAnswer(0.7)
	near(t, "answers", p.Figures().Answer, 0.7, 1e-9)
	near(t, "busy of the others", p.Kinds[3].First/p.Kinds[4].First, 200.0/180, 1e-9)
	p.SetMachines(0.5)
	near(t, "machines", p.Figures().Machines, 0.5, 0.02) // in first and later dials alike
	p.SetTalk(60)
	near(t, "talk", p.Figures().Talk, 60, 1e-9)
	near(t, "the longer of two talks", p.Kinds[0].Talk[1], 80, 1e-9)
	near(t, "who hangs up before the verdict", p.Kinds[2].Talk[0], 0.5, 1e-9)
	p.SetRing(10)
	near(t, "ring", p.Figures().Ring, 10, 1e-9)
	none := &People{Kinds: []Kind{{Answered: true, First: 1, Talk: Sample{5}}}}
	none.SetMachines(0.25)
	near(t, "machines where there were none", none.Figures().Machines, 0.25, 1e-6)
	if again := measured(); again.Figures() != was {
		t.Errorf("%+v, was %+v", again.Figures(), was)
	}
}

func TestPeopleAreAssumedWhereLittleWasMeasured(t *testing.T) {
	few := measured()
	few.Dials = MeasuredLeast - 1
	p := Known(few, true)
	f := p.Figures()
	if p.Dials != 0 || math.Abs(f.Answer-0.29) > 0.02 || math.Abs(f.Machines-0.19) > 0.02 || math.Abs(f.Talk-90) > 4 ||
		math.Abs(f.Ring-12.5) > 1 {
		t.Errorf("%+v", f)
	}
	p = Known(few, false)
	f = p.Figures()
	if p.classified() || f.Machines != 0 || math.Abs(f.Answer-0.3) > 1e-9 || math.Abs(f.Talk-90) > 4 {
		t.Errorf("nobody listens: %+v", f)
	}
	if p = Known(measured(), false); p.Dials != 1000 {
		t.Errorf("%+v", p)
	}
}

func TestWhatWasMeasuredOverFewDialsIsKnownLessWell(t *testing.T) {
	f := func(times, want float64) {
		t.Helper()
		var rates []float64
		for seed := range uint64(400) {
			p := measured()
			for i := range p.Kinds {
				p.Kinds[i].First *= times
				p.Kinds[i].Again *= times
			}
			again := p.Resampled(seed)
			rates = append(rates, again.Figures().Answer)
		}
		near(t, "mean of the rates", Sample(rates).Mean(), 0.47, 0.01)
		near(t, "their deviation", Sample(rates).spread(), want, 0.15)
	}
	f(1, math.Sqrt(0.47*0.53/1000))
	f(0.1, math.Sqrt(0.47*0.53/100))
	p := Assumed()
	if again := p.Resampled(1); again.Figures() != p.Figures() {
		t.Error("what is assumed is not resampled")
	}
}

// A conversation that has just ended still expects its result, and is not counted as one without.
func TestAResultThatIsStillAwaitedIsNotMissing(t *testing.T) {
	at := time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)
	call := func(ended, result time.Duration) Call {
		x := func(d time.Duration) *time.Time { v := at.Add(d); return &v }
		c := Call{Invite: *x(ended - 9*time.Second), Answered: x(ended - 5*time.Second), Bot: x(ended - 5*time.Second),
			Served: x(ended - 5*time.Second), Ended: x(ended), Outcome: engine.OutcomeConnectedNoResult,
			HungUpBy: engine.PartyCallee}
		if result != 0 {
			c.Result = x(result)
		}
		return c
	}
	missing := func(want Share, of ...Call) {
		t.Helper()
		if p := Measure(of, at); p.NoResult != want {
			t.Errorf("%+v, want %+v", p.NoResult, want)
		}
	}
	const s = time.Second
	missing(Share{}, call(-s, 0), call(-2*s, s)) // that comes later
	missing(Share{Of: 1, Among: 2}, call(-s, 0), call(-time.Minute, 0), call(-20*s, -19*s))
	missing(Share{Among: 1}, call(-2*time.Minute, -s), call(-time.Minute, 0)) // another took two minutes
}
