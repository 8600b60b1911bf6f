package promise

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
)

// rates are limits on how often something happens.
type rates struct {
	trunks  map[engine.TrunkID]*trunkRate
	numbers map[engine.PhoneNumber]*numberRate
}

type trunkRate struct {
	most   int // 0: not known
	window time.Duration
	sent   []time.Time // within the window
}

// numberRate is one of our numbers, and the attempts it was lent to within a day.
type numberRate struct {
	engine.NumberSettings
	lent []lent
}

type lent struct {
	id      engine.AttemptID
	at      time.Time
	dialled bool
}

func (r *rates) trunk(f TrunkCaps) {
	t := r.of(f.Trunk)
	t.most, t.window = f.CPS, cmp.Or(f.Within, time.Second)
}

func (r *rates) of(id engine.TrunkID) *trunkRate {
	t := r.trunks[id]
	if t == nil {
		if r.trunks == nil {
			r.trunks = map[engine.TrunkID]*trunkRate{}
		}
		t = &trunkRate{window: time.Second}
		r.trunks[id] = t
	}
	return t
}

func (r *rates) number(s engine.NumberSettings) {
	if s.HourCap == 0 && s.DayCap == 0 {
		return
	}
	if r.numbers == nil {
		r.numbers = map[engine.PhoneNumber]*numberRate{}
	}
	r.numbers[s.Number] = &numberRate{NumberSettings: s}
}

// callsPerSecond checks that no more INVITEs leave through a trunk within any second than its cap.
func (j *Judge) callsPerSecond(f Invited) {
	t := j.rates.of(f.Trunk)
	t.sent = append(within(t.window, t.sent, j.at), j.at)
	j.Peak.CPS = max(j.Peak.CPS, len(t.sent))
	if t.most > 0 && len(t.sent) > t.most {
		j.broke(f.Campaign, "%d INVITEs left through %s within %v, its cap is %d", len(t.sent), f.Trunk, t.window, t.most)
	}
}

func (r *rates) lend(at time.Time, f Lent) {
	if n := r.numbers[f.Number]; n != nil {
		n.lent = append(slices.DeleteFunc(n.lent, func(l lent) bool { return at.Sub(l.at) >= 24*time.Hour }),
			lent{id: f.Attempt, at: at})
	}
}

// callsPerDay checks that no more dials leave from any of our numbers within an hour, or a day,
// than its caps. A dial counts from the grant of the number, even if its INVITE leaves much later.
func (j *Judge) callsPerDay(f Invited) {
	n := j.rates.numbers[f.From]
	id, leg, _ := f.Leg.Attempt()
	if n == nil || leg != 1 {
		return
	}
	i := slices.IndexFunc(n.lent, func(l lent) bool { return l.id == id })
	if i < 0 {
		j.rates.lend(j.at, Lent{f.From, id})
		i = len(n.lent) - 1
	}
	n.lent[i].dialled = true
	for ; i < len(n.lent); i++ { // later grants may have dialled earlier
		hour, day := 0, 0
		for _, l := range n.lent[:i+1] {
			if ago := n.lent[i].at.Sub(l.at); l.dialled && ago < 24*time.Hour {
				day++
				if ago < time.Hour {
					hour++
				}
			}
		}
		if n.DayCap > 0 && day > n.DayCap || n.HourCap > 0 && hour > n.HourCap {
			j.broke(f.Campaign, "%s was dialled from %d times in an hour and %d in a day", f.From, hour, day)
		}
	}
}
