package truth

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
)

// raced is one person who is dialled and suppressed at about the same moment.
type raced struct{ asked, answered time.Time }

// TestNoInviteLeavesAfterASuppressionIsAnswered has suppressions race dials, on two nodes that are
// asked in turn: dials of people who are due, of triggers and of dialouts. TRUTH_RACE is how many.
// Both times are by this machine's wall clock: the kernel's when the INVITE reached the carrier,
// and ours when the answer had been read.
func TestNoInviteLeavesAfterASuppressionIsAnswered(t *testing.T) {
	t.Parallel()
	n := 300
	if s := os.Getenv("TRUTH_RACE"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, 2000, 2)
	w.people.Profile = []carrier.Behaviour{{Kind: carrier.NoAnswer, Post: draw.Between(0, 30*time.Millisecond)}}
	if err := w.carrier.Configure(w.people); err != nil {
		t.Fatal(err)
	}
	for kind, race := range []func(*testing.T, *world, []raced){raceDue, raceTriggers, raceDialouts} {
		people := make([]raced, n/3)
		race(t, w, people)
		judge(t, w, kind, people)
	}
}

// who is the i-th person of a kind of race.
func who(kind, i int) string { return fmt.Sprintf("+4915%d%08d", 2+kind, i) }

// suppress repeats the request until the answer is 200.
func (w *world) suppress(t *testing.T, kind, i int, p *raced) {
	t.Helper()
	p.asked = time.Now()
	w.until(t, patience, "the suppression is answered 200", func() bool {
		status, _ := w.try(t, http.MethodPost, "/suppressions", map[string]any{"number": who(kind, i)})
		return status == http.StatusOK
	})
	p.answered = time.Now()
}

// raceDue suppresses the contacts of a list shortly before or after their dials.
func raceDue(t *testing.T, w *world, people []raced) {
	t.Helper()
	var list []string
	for i := range people {
		list = append(list, who(0, i))
	}
	id := w.campaign(t, map[string]any{"concurrency": 2000, "abandon_cap_pct": 0})
	for len(list) > 0 {
		rows := []map[string]any{}
		for _, n := range list[:min(1000, len(list))] {
			rows = append(rows, map[string]any{"mobile": n})
		}
		list = list[len(rows):]
		w.must(t, http.MethodPost, "/campaigns/"+id+"/contacts", map[string]any{"contacts": rows})
	}
	w.must(t, http.MethodPost, "/campaigns/"+id+"/start", nil)
	var gone atomic.Int64 // suppressed before they were dialled, or after
	near := func(i int) bool { return int64(w.carrier.Ledger().Count())+gone.Load()/2 >= int64(i) }
	w.each(people, func(i int, rng *rand.Rand) {
		at := i - 20 + rng.IntN(40)
		for began := time.Now(); !near(at) && time.Since(began) < second; {
			<-time.After(time.Millisecond)
		}
		w.suppress(t, 0, i, &people[i])
		gone.Add(1)
	})
	w.completed(t, id, patience)
}

func raceTriggers(t *testing.T, w *world, people []raced) {
	t.Helper()
	id := w.run(t, map[string]any{"always_on": true, "concurrency": 2000, "abandon_cap_pct": 0})
	w.beside(t, 1, people, 200*time.Millisecond, func(i int) {
		w.ask(
			t,
			http.MethodPost,
			"/campaigns/trigger",
			fmt.Sprintf("race-%d", i),
			map[string]any{"campaign_id": id, "mobile": who(1, i)},
		)
	})
	w.must(t, http.MethodPost, "/campaigns/"+id+"/stop", nil)
}

func raceDialouts(t *testing.T, w *world, people []raced) {
	t.Helper()
	w.beside(t, 2, people, 60*time.Millisecond, func(i int) {
		w.try(t, http.MethodPost, "/sip/dialout", map[string]any{"bot_id": botID, "to_number": who(2, i)})
	})
}

// beside requests a dial and its suppression at about the same moment, which is random within the dial's course. How
// long that takes is learned: after a suppression that came first the next ones come later, and sooner after a dial.
func (w *world) beside(t *testing.T, kind int, people []raced, course time.Duration, dial func(i int)) {
	t.Helper()
	var within atomic.Int64
	within.Store(int64(course))
	w.each(people, func(i int, rng *rand.Rand) {
		var both sync.WaitGroup
		both.Go(func() { dial(i) })
		<-time.After(time.Duration(rng.Int64N(within.Load())))
		w.suppress(t, kind, i, &people[i])
		both.Wait()
		if w.dialled(kind, i) {
			within.Store(max(within.Load()*8/9, int64(10*time.Millisecond)))
		} else {
			within.Store(min(within.Load()*9/8, int64(5*time.Second)))
		}
	})
}

func (w *world) dialled(kind, i int) bool {
	return len(w.carrier.Ledger().To(engine.PhoneNumber(who(kind, i)))) > 0
}

// each calls do for everybody, several at a time.
func (w *world) each(people []raced, do func(i int, rng *rand.Rand)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for k := range 24 {
		rng := rand.New(rand.NewPCG(1, uint64(k))) //nolint:gosec // a plan that can be drawn again
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(people); i = int(next.Add(1)) - 1 {
				do(i, rng)
			}
		})
	}
	all.Wait()
}

func judge(t *testing.T, w *world, kind int, people []raced) {
	t.Helper()
	index := map[engine.PhoneNumber]int{}
	for i := range people {
		index[engine.PhoneNumber(who(kind, i))] = i
	}
	dialled, crossed, closest := 0, 0, time.Hour
	calls := w.carrier.Ledger().Calls()
	for i := range calls {
		at, ours := index[calls[i].Number]
		if !ours {
			continue
		}
		dialled++
		left := calls[i].LeftAt
		if left.IsZero() {
			t.Fatal("the kernel did not say when an INVITE came")
		}
		gap := people[at].answered.Round(0).Sub(left.Round(0))
		if gap < 0 {
			t.Errorf("an INVITE left %v after its suppression was answered", -gap)
		}
		closest = min(closest, gap)
		if left.Round(0).After(people[at].asked.Round(0)) {
			crossed++
		}
		if calls[i].Live() {
			t.Errorf("a suppressed number rings on: %s", calls[i].State)
		}
	}
	t.Logf("%s: %d suppressions, %d after their dial; %d INVITEs left while one was under way, %v before its end at least",
		[]string{"due", "triggers", "dialouts"}[kind], len(people), dialled, crossed, closest.Round(10*time.Microsecond))
	if dialled == 0 || dialled == len(people) {
		t.Error("that was no race")
	}
}
