package tally

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Runs folds the whole history of a campaign: a Tally for each run. Its size is
// that of the runs' counters, however many events there were.
type Runs map[int]*Tally

// Apply folds the campaign's next event.
func (r Runs) Apply(e *journal.Event) {
	t := r[e.Run]
	if t == nil {
		t = New()
		r[e.Run] = t
	}
	t.Apply(e)
}

// Counters returns the counters of a run; those of an empty campaign if nothing is known about it.
func (r Runs) Counters(run int) campaign.Counters {
	if t := r[run]; t != nil {
		return t.Counters()
	}
	return New().Counters()
}

// Difference is a figure for which two counts differ.
type Difference struct {
	Figure string `json:"figure"` // its JSON name, for a pass "pass 2 attempted"
	A      string `json:"events"`
	B      string `json:"tables"`
}

// Compare lists the figures in which two counts differ, except derived ones.
func Compare(a, b campaign.Counters) (list []Difference) {
	add := func(name string, x, y any) {
		if p, q := fmt.Sprint(x), fmt.Sprint(y); p != q {
			list = append(list, Difference{name, p, q})
		}
	}
	counts(reflect.ValueOf(a), reflect.ValueOf(b), "", add)
	counts(reflect.ValueOf(a.Callbacks), reflect.ValueOf(b.Callbacks), "callbacks ", add)
	for _, s := range contact.States {
		add("contacts "+string(s), a.States[s], b.States[s])
	}
	if n := len(a.Passes) - len(b.Passes); n != 0 { // a missing pass counts as an empty one
		a.Passes, b.Passes = slices.Clone(a.Passes), slices.Clone(b.Passes)
		a.Pass(max(len(a.Passes), len(b.Passes)))
		b.Pass(len(a.Passes))
	}
	for i := range a.Passes {
		p, q := &a.Passes[i], &b.Passes[i]
		name := fmt.Sprintf("pass %d ", i+1)
		counts(reflect.ValueOf(*p), reflect.ValueOf(*q), name, add)
		add(name+"first_dial_at", written(p.FirstDialAt), written(q.FirstDialAt))
		add(name+"last_dial_at", written(p.LastDialAt), written(q.LastDialAt))
	}
	return list
}

// counts compares the whole numbers of two structs of the same type.
func counts(a, b reflect.Value, prefix string, add func(string, any, any)) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if k := f.Type.Kind(); k != reflect.Int && k != reflect.Int64 {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			name = strings.ToLower(f.Name)
		}
		add(prefix+name, a.Field(i).Interface(), b.Field(i).Interface())
	}
}

func written(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
