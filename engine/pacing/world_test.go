package pacing

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

// world is a model of one campaign: calls are only counted, and any possible next event may happen.
// It is the opponent of the gate.
type world struct {
	in    Input
	books Books
	rang  int // lines placed
	most  int // most calls abandoned

	now   time.Time
	model *Model      // nil means the gate alone
	lines []time.Time // dials of the ringing lines, for the model
	calls []time.Time // starts of the calls
}

// modelled gives the world a model, on which no invariant may depend.
func (w *world) modelled(state *State) {
	w.model = NewModel(w.now, 30*time.Second, 2*time.Second, state)
	w.in.Model, w.in.Left, w.in.DialsLeft = w.model, 4*time.Hour, Unlimited
}

// pick takes one of the instants out.
func pick(t *rapid.T, from *[]time.Time) time.Time {
	i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
	at := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return at
}

func (w *world) decide() Decision {
	w.in.Ledgers = append(w.in.Ledgers[:0], w.books.Run, w.books.Day, w.books.Thirty)
	return Decide(&w.in)
}

func (w *world) free() int { return min(w.in.Concurrency, w.in.Seats) - w.in.Busy }

// serve gives waiting calls to free workers, oldest first, as the run does.
func (w *world) serve() {
	for w.in.Waiting > 0 && w.free() > 0 {
		w.in.Waiting--
		w.in.Busy++
		w.books.Served()
		w.calls = append(w.calls, w.now)
		if w.model != nil {
			w.model.Seated(w.now)
			w.model.Served()
		}
	}
}

// step performs one of the possible events.
func (w *world) step(t *rapid.T, counts func(), growing bool) {
	events := []string{"dial"}
	if w.in.Ringing > 0 {
		events = append(events, "answer", "answer", "answer", "fail")
	}
	if w.in.Waiting > 0 {
		events = append(events, "caller hangs up")
		if w.free() <= 0 {
			events = append(events, "abandon", "abandon")
		}
	}
	if w.in.Busy > 0 {
		events = append(events, "end", "end")
	}
	if growing {
		events = append(events, "worker comes")
	}
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
	if w.model != nil && rapid.Bool().Draw(t, "tick") {
		w.model.Tick(w.now)
	}
	switch rapid.SampledFrom(events).Draw(t, "event") {
	case "dial":
		d := w.decide()
		n := rapid.IntRange(0, min(d.Dials, 50)).Draw(t, "dials")
		w.in.Ringing += n
		w.rang += n
		for range n {
			w.lines = append(w.lines, w.now)
			if w.model != nil {
				w.model.Dialled(w.now)
			}
		}
	case "answer":
		w.in.Ringing--
		w.in.Waiting++
		if age := w.now.Sub(pick(t, &w.lines)); w.model != nil {
			w.model.Answered(w.now, age)
		}
	case "fail":
		w.in.Ringing--
		if age := w.now.Sub(pick(t, &w.lines)); w.model != nil {
			w.model.Failed(w.now, age)
		}
	case "caller hangs up":
		w.in.Waiting--
	case "abandon":
		w.in.Waiting--
		w.books.Abandoned()
		w.most++
		if w.model != nil {
			w.model.Abandoned()
		}
	case "end":
		w.in.Busy--
		if len(w.calls) == 0 {
			break // busy from the start
		}
		if held := w.now.Sub(pick(t, &w.calls)); w.model != nil {
			w.model.Ended(w.now, held)
		}
	case "worker comes":
		w.in.Concurrency++
		w.in.Seats++
	}
	w.serve()
	counts()
}

func draw(t *rapid.T, capPPM int) *world {
	n := rapid.IntRange(0, 40).Draw(t, "workers")
	w := &world{in: Input{
		Mode: Strict, CapPPM: capPPM, Concurrency: n, Seats: n,
		TrunkTokens: Unlimited, NumberSlots: Unlimited, DueContacts: Unlimited,
	}}
	// Credit left by earlier calls, different in each ledger.
	for _, l := range []*Ledger{&w.books.Run, &w.books.Day, &w.books.Thirty} {
		l.Live = rapid.IntRange(0, 5000).Draw(t, "live")
		l.Abandoned = int(int64(capPPM) * int64(l.Live) / million * int64(rapid.IntRange(0, 100).Draw(t, "used")) / 100)
	}
	w.now = time.Date(2030, 5, 1, 9, 0, 0, 0, time.UTC)
	if rapid.Bool().Draw(t, "model") {
		w.modelled(&State{Theta: rapid.SampledFrom([]float64{0, 1e-6, 0.05, 0.9}).Draw(t, "theta")})
	}
	return w
}

func TestStrictKeepsAbandonsWithinTheCapAfterEveryEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capPPM := rapid.SampledFrom([]int{0, 1, 10_000, 30_000, 33_333, 50_000, 499_999, 500_000}).Draw(t, "cap")
		w := draw(t, capPPM)
		growing := rapid.Bool().Draw(t, "growing")
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			w.step(t, func() {
				for _, l := range []Ledger{w.books.Run, w.books.Day, w.books.Thirty} {
					if int64(l.Abandoned)*million > int64(capPPM)*int64(l.Live) {
						t.Fatalf("over the cap of %d ppm: %+v", capPPM, l)
					}
				}
			}, growing)
		}
	})
}

func TestTheWorstWorldSpendsTheCreditAndNoMore(t *testing.T) {
	// Everybody answers at once and no worker becomes free: the credit decides how many are
	// abandoned, and the cap still holds.
	f := func(workers, live, capPPM, abandons int) {
		t.Helper()
		w := &world{in: Input{Mode: Strict, CapPPM: capPPM, Concurrency: workers, Seats: workers,
			TrunkTokens: Unlimited, NumberSlots: Unlimited, DueContacts: Unlimited}}
		for range live {
			w.books.Served()
		}
		d := w.decide()
		w.in.Ringing = d.Dials
		for w.in.Ringing > 0 {
			w.in.Ringing--
			w.in.Waiting++
			w.serve()
		}
		for w.in.Waiting > 0 {
			w.in.Waiting--
			w.books.Abandoned()
			if !w.books.Run.Within(capPPM, 0) {
				t.Fatalf("over the cap: %+v", w.books.Run)
			}
		}
		if w.books.Run.Abandoned != abandons {
			t.Fatalf("%d abandoned, want %d", w.books.Run.Abandoned, abandons)
		}
	}
	f(10, 0, 30_000, 0)
	f(10, 33, 30_000, 1)  // B = 0.99/0.97
	f(10, 32, 30_000, 0)  // B = 0.96/0.97 is not a whole call
	f(10, 100, 30_000, 3) // B = 3.09
	f(2, 100, 30_000, 2)  // at most one line beyond for every worker
	f(10, 1000, 0, 0)     //
	f(10, 99, 10_000, 1)  // B = 0.99/0.99 exactly 1
	f(10, 98, 10_000, 0)  //
	f(10, 2, 500_000, 2)  // B = 1/0.5
	f(10, 33332, 30, 0)   // B just under 1
	f(10, 33333, 30, 1)   // and just over
	f(0, 100_000, 300, 0) // no workers, no lines
}

func TestAtCapZeroNothingIsEverAbandoned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw(t, 0)
		if rapid.Bool().Draw(t, "progressive") {
			w.in.Mode, w.in.CapPPM = Progressive, 30_000
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			w.step(t, func() {
				if w.most > 0 || w.in.Waiting > 0 {
					t.Fatalf("%d abandoned, %d waiting", w.most, w.in.Waiting)
				}
			}, false)
		}
	})
}

func TestADecisionIsTheLargestThatItsLimitsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 30)
		in := Input{
			Mode: rapid.SampledFrom([]Mode{Strict, Progressive, ""}).Draw(t, "mode"), CapPPM: rapid.IntRange(-1, 600_000).Draw(t,
				"cap"), PhiPPM: rapid.IntRange(0, 100_000).Draw(t, "phi"),
			Concurrency: small.Draw(t, "c"), Seats: small.Draw(t, "s"), Busy: small.Draw(t, "b"), Ringing: small.Draw(t, "r"),
			Waiting: small.Draw(t, "w"),
			LineCap: small.Draw(t, "lines"), TrunkTokens: small.Draw(t, "tokens"), NumberSlots: small.Draw(t, "slots"),
			DueContacts: small.Draw(t, "due"), LaterContacts: small.Draw(t, "later"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "ledgers") {
			in.Ledgers = append(in.Ledgers, Ledger{Counts: Counts{Live: rapid.IntRange(0, 1000).Draw(t, "L"),
				Abandoned: small.Draw(t, "A"), Machines: small.Draw(t, "M")}})
		}
		before := in
		d := Decide(&in)
		if d.Constraint == engine.ConstraintNone {
			t.Fatalf("no reason: %+v", d)
		}
		if d.Seated > d.Dials || d.Dials > max(in.TrunkTokens, 0) || d.Dials > in.NumberSlots || d.Dials > in.DueContacts ||
			in.LineCap > 0 && d.Dials > 0 && in.Ringing+d.Dials > in.LineCap {
			t.Fatalf("a limit is passed: %+v", d)
		}
		if d.Dials > 0 {
			if in.Ringing+in.Waiting+d.Dials > d.Why.Free+d.Why.Credit {
				t.Fatalf("r + w ≤ f + ⌊B⌋ is broken: %+v", d)
			}
			if in.Mode != Strict && d.Dials != d.Seated {
				t.Fatalf("a dial without a worker of its own: %+v", d)
			}
		}
		// The named constraint must be what limits the dials: without it, at least as many are
		// dialled, and never fewer.
		relax := before
		switch d.Constraint {
		case engine.ConstraintTrunkCPS:
			relax.TrunkTokens++
		case engine.ConstraintNumberPool:
			relax.NumberSlots++
		case engine.ConstraintNoDueContacts, engine.ConstraintRetryDelay:
			relax.DueContacts++
		default:
			return
		}
		if more := Decide(&relax); more.Dials < d.Dials || more.Dials > d.Dials+1 {
			t.Fatalf("with one more of %s: %+v, before %+v", d.Constraint, more, d)
		}
	})
}
