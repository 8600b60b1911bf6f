package placement

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

func always(engine.Incarnation) bool { return true }

func chance(seed uint64) func(int) int { return rand.New(rand.NewPCG(seed, 7)).IntN }

const start = engine.BootTime(1e12)

func TestANodeCarriesItsOwnCallsWhileItHasRoom(t *testing.T) {
	table := NewTable(Policy{OwnShare: 0.6})
	table.Heard(2, Report{Room: 1000}, start)
	for calls := range 60 {
		if n := table.Choose(Report{Calls: calls, Room: 100}, "t", start, chance(1), always); n != 0 {
			t.Fatalf("with %d of 100 calls the next one went to node %d", calls, n)
		}
	}
	if n := table.Choose(Report{Calls: 60, Room: 100}, "t", start, chance(1), always); n != 2 {
		t.Errorf("with 60 of 100 calls the next one went to node %d", n)
	}
	if n := table.Choose(Report{Calls: 1, Room: 100, Load: 0.8}, "t", start, chance(1), always); n != 2 {
		t.Errorf("with a busy processor the call went to node %d", n)
	}
}

// A state of the only other node that excludes it from the choice.
func TestOnlyANodeThatCanCarryTheCallIsAsked(t *testing.T) {
	full := Report{Calls: 100, Room: 100}
	good := Report{Room: 100}
	for name, c := range map[string]struct {
		report Report
		age    time.Duration
		fail   bool
		ready  func(engine.Incarnation) bool
		want   engine.Incarnation
	}{
		"it can":                  {report: good, want: 2},
		"draining":                {report: Report{Room: 100, Draining: true}},
		"full":                    {report: full},
		"no room at all":          {report: Report{}},
		"its processor is busy":   {report: Report{Room: 100, Load: 0.9}},
		"the trunk does not work": {report: Report{Room: 100, Unusable: []engine.TrunkID{"x", "t"}}},
		"another trunk does not":  {report: Report{Room: 100, Unusable: []engine.TrunkID{"x"}}, want: 2},
		"not heard of":            {report: good, age: 3*time.Second + 1},
		"just heard of":           {report: good, age: 3 * time.Second, want: 2},
		"it failed a moment ago":  {report: good, fail: true, age: time.Second},
		"its link is not ready":   {report: good, ready: func(engine.Incarnation) bool { return false }},
	} {
		table := NewTable(Policy{OwnShare: 0.6})
		table.Heard(2, c.report, start)
		if c.fail {
			table.Failed(2, start)
		}
		ready := c.ready
		if ready == nil {
			ready = always
		}
		if n := table.Choose(full, "t", start.Add(c.age), chance(1), ready); n != c.want {
			t.Errorf("%s: node %d carries the call, want %d", name, n, c.want)
		}
	}
}

func TestANodeThatFailedIsAskedAgainLater(t *testing.T) {
	table := NewTable(Policy{})
	table.Heard(2, Report{Room: 100}, start)
	table.Failed(2, start)
	later := start.Add(5 * time.Second)
	table.Heard(2, Report{Room: 100}, later)
	if n := table.Choose(Report{Room: 100, Calls: 50}, "t", later, chance(1), always); n != 2 {
		t.Errorf("node %d", n)
	}
}

// Whatever the nodes report, in any order: a chosen node can carry the call, and between two
// reports it is never given more calls than the room it reported.
func TestNoNodeIsGivenMoreThanItSaidItCanCarry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable(Policy{OwnShare: rapid.SampledFrom([]float64{0, 0.6, 1}).Draw(t, "own share")})
		now := start
		reports, at := map[engine.Incarnation]Report{}, map[engine.Incarnation]engine.BootTime{}
		since, failed := map[engine.Incarnation]int{}, map[engine.Incarnation]engine.BootTime{}
		trunks := []engine.TrunkID{"a", "b"}
		report := func() Report {
			return Report{Calls: rapid.IntRange(0, 30).Draw(t, "calls"), Room: rapid.IntRange(0, 30).Draw(t, "room"),
				Load: rapid.Float64Range(0, 1).Draw(t, "load"), Draining: rapid.IntRange(0, 5).Draw(t, "draining") == 0,
				Unusable: rapid.SliceOfN(rapid.SampledFrom(trunks), 0, 1).Draw(t, "unusable")}
		}
		own := report()
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "ms")) * time.Millisecond)
			id := engine.Incarnation(rapid.Int32Range(2, 6).Draw(t, "node"))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				reports[id], at[id], since[id] = report(), now, 0
				table.Heard(id, reports[id], now)
			case 1:
				table.Failed(id, now)
				if _, known := reports[id]; known {
					failed[id] = now.Add(5 * time.Second)
				}
			case 2:
				own = report()
			default:
				trunk := rapid.SampledFrom(trunks).Draw(t, "trunk")
				deaf := engine.Incarnation(rapid.Int32Range(2, 6).Draw(t, "not ready"))
				n := table.Choose(own, trunk, now, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "drawn") },
					func(id engine.Incarnation) bool { return id != deaf })
				if n == 0 {
					continue
				}
				r := reports[n]
				since[n]++
				switch {
				case r.Calls+since[n] > r.Room:
					t.Fatalf("node %d has room for %d, %d calls, and was given %d", n, r.Room, r.Calls, since[n])
				case r.Draining || slices.Contains(r.Unusable, trunk) || n == deaf || now < failed[n] ||
					now > at[n].Add(3*time.Second):
					t.Fatalf("node %d was asked: %+v", n, r)
				case own.takes(trunk) && (Policy{}).Share(own, 0) < table.policy.OwnShare:
					t.Fatalf("the own node had room: %+v", own)
				}
			}
		}
	})
}

// spread places calls of several owners, each with a table of its own, with one report per second,
// and returns how many each node got.
func spread(owners, rate, seconds int, rooms map[engine.Incarnation]int) map[engine.Incarnation]int {
	carried, got := map[engine.Incarnation]int{}, map[engine.Incarnation]int{}
	tables := make([]*Table, owners)
	draw := chance(3)
	for i := range tables {
		tables[i] = NewTable(Policy{})
	}
	full := Report{Calls: 1, Room: 1}
	for s := range seconds {
		now := start.Add(time.Duration(s) * time.Second)
		for _, t := range tables {
			for id, room := range rooms {
				t.Heard(id, Report{Calls: carried[id], Room: room}, now)
			}
		}
		for i := range rate {
			at := now.Add(time.Duration(i) * time.Second / time.Duration(rate))
			for _, t := range tables {
				if n := t.Choose(full, "t", at, draw, always); n != 0 {
					carried[n]++
					got[n]++
				}
			}
		}
	}
	return got
}

// Eight owners with the same reports do not all choose the same node.
func TestOwnersDoNotHerd(t *testing.T) {
	rooms := map[engine.Incarnation]int{}
	for id := range engine.Incarnation(10) {
		rooms[id+1] = 100_000
	}
	first := spread(8, 50, 1, rooms) // within a second, from one report
	for id := range rooms {
		if n := first[id]; n < 30 || n > 50 {
			t.Errorf("node %d got %d of 400 calls, 40 would be its share", id, n)
		}
	}
}

func TestCallsGoWhereThereIsRoom(t *testing.T) {
	got := spread(3, 40, 20, map[engine.Incarnation]int{1: 4000, 2: 4000, 3: 12_000})
	for id, want := range map[engine.Incarnation]int{1: 480, 2: 480, 3: 1440} {
		if n := got[id]; n < want*8/10 || n > want*12/10 {
			t.Errorf("node %d got %d calls, its share of the room is %d", id, n, want)
		}
	}
}

// A processor that is busy with calls counts new ones before it reports them.
func TestWhatWasPlacedCountsAtWhatACallCosts(t *testing.T) {
	p := Policy{}
	r := Report{Calls: 100, Room: 100_000, Load: 0.5}
	if a, b := p.Share(r, 0), p.Share(r, 50); b < 1.4*a || b > 1.6*a {
		t.Errorf("half as many calls more move the share from %v to %v", a, b)
	}
}

func TestEverybodyIsToldInTurn(t *testing.T) {
	var others []engine.Incarnation
	for id := range engine.Incarnation(100) {
		others = append(others, 100-id)
	}
	if got := Audience(others[:32], 5, 32); len(got) != 32 {
		t.Errorf("%d of 32 are told", len(got))
	}
	told := map[engine.Incarnation]bool{}
	for round := range 4 {
		a := Audience(others, round, 32)
		if len(a) != 32 {
			t.Errorf("%d are told at once", len(a))
		}
		for _, id := range a {
			told[id] = true
		}
	}
	if len(told) != 100 {
		t.Errorf("%d of 100 were told within four rounds", len(told))
	}
}

func TestTheTableIsBounded(t *testing.T) {
	table := NewTable(Policy{})
	for id := range engine.Incarnation(MaxNodes + 50) {
		table.Heard(id+1, Report{Room: 1}, start)
	}
	if len(table.nodes) != MaxNodes {
		t.Errorf("%d nodes are kept", len(table.nodes))
	}
	table.Heard(1<<20, Report{Room: 1}, start.Add(time.Minute))
	if len(table.nodes) != 1 {
		t.Errorf("%d nodes are kept though all but one are silent", len(table.nodes))
	}
}
