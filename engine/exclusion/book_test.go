package exclusion

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func TestExclusionsByMetadataRefuseWhatTheyMatchAndAreKeptOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	some := func() map[string]string {
		m := map[string]string{}
		for range 1 + rng.IntN(3) {
			m[fmt.Sprint("k", rng.IntN(4))] = fmt.Sprint(rng.IntN(5))
		}
		return m
	}
	b := NewBook(nil)
	var all []map[string]string
	for range 300 {
		m := some()
		for range 1 + rng.IntN(3) {
			b.Add(&journal.Exclusion{Match: maps.Clone(m)}) // and again
		}
		known := false
		for _, o := range all {
			known = known || maps.Equal(o, m)
		}
		if !known {
			all = append(all, m)
		}
		kept := 0
		for _, list := range b.matches {
			kept += len(list)
		}
		if kept != len(all) {
			t.Fatalf("%d are kept of %d different ones", kept, len(all))
		}
		for range 5 {
			vars, want := some(), false
			vars["other"] = "x"
			for _, o := range all {
				want = want || Matches(vars, o)
			}
			if got := b.Refuses("+4915100000000", "", vars, true); got != want {
				t.Fatalf("%v of %v: %v", vars, all, got)
			}
			if b.Refuses("+4915100000000", "", vars, false) {
				t.Fatal("not sticky, and refused")
			}
		}
	}
	for _, m := range all {
		b.DropMatch(m)
	}
	if len(b.matches) != 0 {
		t.Errorf("%d are kept that were dropped", len(b.matches))
	}
	b.Add(&journal.Exclusion{Number: "+4915100000001", Reason: "asked"})
	if n := engine.PhoneNumber("+4915100000001"); !b.Refuses(n, "", nil, true) {
		t.Error("a number is forgotten")
	}
}

func TestAnExclusionByAnyNumberIsThePersons(t *testing.T) {
	const one, two = engine.PhoneNumber("+4930111"), engine.PhoneNumber("+4930222")
	others := contact.NewAlternates([]contact.Alternate{{Number: two}})
	c := contact.Contact{Number: one, Alternates: others, State: contact.Pending}
	b := NewBook([]journal.Exclusion{{Number: two, Reason: "asked"}})
	if !b.Covers(&c) || b.ReasonOf(&c) != "asked" || !b.Refuses(one, others, nil, true) || b.Refuses(one, "", nil, true) {
		t.Error("an exclusion by the second number")
	}
	if !Concerns(two, nil, one, others, nil) || Concerns("+4930333", nil, one, others, nil) {
		t.Error("whom it concerns")
	}
	b.DropNumber(two)
	if b.Covers(&c) {
		t.Error("it was lifted")
	}
	if c.Choice = contact.ChoiceStopped; !b.Covers(&c) {
		t.Error("the person asked not to be called")
	}
}
