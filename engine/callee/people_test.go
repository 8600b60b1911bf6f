package callee

import (
	"dialler/engine/campaign"
	"math"
	"reflect"
	"testing"
	"time"
)

// The share of answers that was measured is the one that is dialled with, machines
// and the ring timeout considered.
func TestMeasuredPeopleAnswerAsOftenAsTheyDid(t *testing.T) {
	for _, p := range []campaign.Behaviour{
		{Dials: 1000, Answered: 180, Machines: 60, Ring: 14, RingSD: 7, Talks: 100, Short: 30, Talk: 75},
		{Dials: 400, Answered: 380, Ring: 2, RingSD: 0, Talks: 380, Short: 380, Talk: 3},
		{Dials: 100, Answered: 21, Machines: 21, Ring: 25, RingSD: 20, Talks: 0},
	} {
		m, ok := Measured(&p, true)
		if !ok {
			t.Fatalf("%+v says nothing", p)
		}
		sc := m.Scenario(30 * time.Second)
		if err := sc.Validate(); err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		const n = 100_000
		answered, machines, talks, talk := 0, 0, 0, 0.0
		for i := range uint64(n) {
			f := FateOf(&sc, 3, i+1, 0)
			switch {
			case !f.Answered:
				continue
			case f.Machine:
				machines++
			default:
				talks++
				talk += f.Talk.Seconds()
			}
			answered++
		}
		if want := float64(p.Answered) / float64(p.Dials); math.Abs(float64(answered)/n-want) > 0.02 {
			t.Errorf("%+v: %.3f answer", p, float64(answered)/n)
		}
		if share := float64(machines) / float64(answered); math.Abs(share-m.Machines) > 0.1 {
			t.Errorf("%+v: %.3f of the answers are machines", p, share)
		}
		if talks > 5000 && math.Abs(talk/float64(talks)-m.Talk) > 0.05*m.Talk {
			t.Errorf("%+v: they talk for %.1f s", p, talk/float64(talks))
		}
	}
}

func TestPeopleAreAssumedWhereLittleWasMeasured(t *testing.T) {
	m, ok := Measured(&campaign.Behaviour{Dials: 49, Answered: 49, Ring: 3, Talks: 49, Talk: 5}, true)
	if ok || m != Assumed() {
		t.Errorf("%+v", m)
	}
	m, ok = Measured(&campaign.Behaviour{Dials: 50, Answered: 10, Ring: 3, Talks: 10, Talk: 5}, false)
	want := Assumed()
	want.Answer, want.Machines = 0.2, 0
	if !ok || !reflect.DeepEqual(m, want) {
		t.Errorf("%+v", m)
	}
}
