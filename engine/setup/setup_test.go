package setup

import (
	"reflect"
	"testing"
)

func TestAStepIsDoneByWhatWorksAndNamesWhatIsThere(t *testing.T) {
	off, silent, up := Thing{ID: "off", Proved: true}, Thing{ID: "silent", Usable: true},
		Thing{ID: "up", Usable: true, Proved: true}
	for _, c := range []struct {
		name   string
		things []Thing
		want   Progress
	}{
		{"nothing", nil, Progress{}},
		{"switched off", []Thing{off}, Progress{With: "off"}},
		{"does not answer", []Thing{off, silent}, Progress{With: "silent"}},
		{"the one that works", []Thing{off, silent, up}, Progress{With: "up", Done: true}},
		{"the first of two", []Thing{up, {ID: "second", Usable: true, Proved: true}}, Progress{With: "up", Done: true}},
	} {
		for s, known := range map[Step]Known{
			Carrier: {Trunks: c.things}, CallerID: {Numbers: c.things}, Bot: {Bots: c.things},
		} {
			want := c.want
			want.Step = s
			for _, got := range Steps(known) {
				if got.Step == s && got != want || got.Step != s && got != (Progress{Step: got.Step}) {
					t.Errorf("%s, %s: %+v, want %+v", c.name, s, got, want)
				}
			}
		}
	}
}

func TestTheLastStepIsACall(t *testing.T) {
	var order []Step
	for _, s := range Steps(Known{Called: true}) {
		order = append(order, s.Step)
		if s.Done != (s.Step == Call) {
			t.Errorf("%+v", s)
		}
	}
	if want := []Step{Carrier, CallerID, Bot, Call}; !reflect.DeepEqual(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}
