package sim

import (
	"flag"
	"math"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/run"
	win "dialler/engine/window"
)

// habitSeeds is how many pairs of worlds the experiment of the best hour plays; the figures in
// bench/results are of 20 and more.
var habitSeeds = flag.Int("habit-seeds", 0, "how many pairs of worlds with and without Best hour are played")

// parts of the day in which people are at home.
const (
	mornings = iota
	afternoons
	evenings
)

// habits are people of three countries, each with a part of the day in which they are likely to
// answer. usual is how many of a hundred of a country have which.
type habits struct {
	usual       map[string][3]float64
	seldom, apt float64 // the chance at other times, and in their part
}

func (h *habits) at(seed uint64, to engine.PhoneNumber, at time.Time) float64 {
	for prefix, shares := range h.usual {
		if !strings.HasPrefix(string(to), prefix) {
			continue
		}
		u, part := callee.ChanceOf(seed^0xab17, placeOf(to)).At(1), mornings
		for ; part < evenings && u >= shares[part]; part++ {
			u -= shares[part]
		}
		now := evenings
		if hour := at.In(berlin).Hour(); hour < 12 {
			now = mornings
		} else if hour < 17 {
			now = afternoons
		}
		if now == part {
			return h.apt
		}
	}
	return h.seldom
}

var berlin = func() *time.Location {
	l, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return l
}()

// reached plays a campaign that dials for some days, and says how many persons it had reached after
// each dial.
func reached(t testing.TB, h *habits, seed uint64, bestHour bool, days int) (after []int) {
	in := plain(3000)
	in.Start, in.Length = time.Date(2030, 1, 7, 7, 0, 0, 0, time.UTC), time.Duration(days)*24*time.Hour
	in.Prefixes = []string{"+49151", "+33612", "+34612"}
	in.People = callee.Standard()
	in.People.Machines = 0
	in.Large, in.LookAhead, in.Seats = true, 500, 2
	in.Answers = func(to engine.PhoneNumber, at time.Time) float64 { return h.at(seed, to, at) }
	s := &in.Campaigns[0].Settings
	s.Concurrency, s.MaxAttempts, s.RetryDelaySec, s.BestHour = 2, 4, 3600, bestHour
	s.Window = win.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 21 * 60}
	w := newCampaignWorld(in.WithDefaults(), seed)
	w.applied = func(r *runner, in run.Input) ([]run.Effect, error) {
		for n := &r.state.Pace.Books.Run.Counts; len(after) < r.c.dials; {
			after = append(after, n.Live-n.Abandoned)
		}
		return applied(r, in)
	}
	w.play()
	if r := w.result(); r.Broken != nil {
		t.Fatal(r.Broken)
	}
	return after
}

// experiment is what the best hour is tried on.
type experiment struct {
	name   string
	people habits
	days   int
	seeds  int // factor
	least  float64
}

func experiments() []experiment {
	even := [3]float64{1. / 3, 1. / 3, 1. / 3}
	return []experiment{
		{"habits by country and person", habits{map[string][3]float64{"+49151": {0.15, 0.15, 0.7},
			"+33612": {0.7, 0.15, 0.15}, "+34612": {0.15, 0.7, 0.15}}, 0.1, 0.5}, 2, 1, 10},
		{"habits by person alone", habits{map[string][3]float64{"+49151": even, "+33612": even, "+34612": even},
			0.1, 0.5}, 4, 1, 0},
		{"no habits", habits{nil, 0.25, 0.25}, 2, 2, -0.5},
	}
}

// more is by how many per cent more persons were reached for the same dials.
func (x *experiment) more(t testing.TB, seed uint64) float64 {
	without, with := reached(t, &x.people, seed, false, x.days), reached(t, &x.people, seed, true, x.days)
	n := min(len(without), len(with))
	more := 100 * (float64(with[n-1])/float64(without[n-1]) - 1)
	t.Logf("%s, seed %d: after %d dials %d reached without, %d with: %+.1f %%", x.name, seed, n, without[n-1], with[n-1],
		more)
	return more
}

// With people whose habits differ the best hour reaches at least a tenth more for the same dials; with
// people without habits it costs nothing.
func TestTheBestHourReachesMorePeopleWithTheSameDials(t *testing.T) {
	if *habitSeeds == 0 {
		x := experiments()[0]
		if more := x.more(t, 1); more < x.least {
			t.Errorf("%.1f %% more", more)
		}
		return
	}
	for _, x := range experiments() {
		t.Run(x.name, func(t *testing.T) {
			var sum, square float64
			seeds := *habitSeeds * x.seeds
			for seed := range seeds {
				more := x.more(t, uint64(seed)+1) //nolint:gosec // a count
				sum, square = sum+more, square+more*more
			}
			n := float64(seeds)
			mean := sum / n
			off := 1.96 * math.Sqrt((square/n-mean*mean)/(n-1))
			t.Logf("%s: %+.2f %% from %+.2f to %+.2f, %d seeds", x.name, mean, mean-off, mean+off, seeds)
			if mean < x.least {
				t.Errorf("want at least %+.1f %%", x.least)
			}
		})
	}
}
