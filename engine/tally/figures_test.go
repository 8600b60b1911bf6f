package tally

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"dialler/engine/campaign"
)

// Every figure of the API's objects has its row, and each row belongs to one.
func TestEveryFigureThatIsShownHasItsRow(t *testing.T) {
	for of, object := range map[Object]any{OfCounters: campaign.Counters{}, OfPass: campaign.Pass{},
		OfCallbacks: campaign.Callbacks{}, OfTotals: campaign.Totals{}, OfLive: campaign.Live{},
		OfLedger: campaign.CountsView{}} {
		var shown, rows []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(object)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			kind := f.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			number := kind.Kind() == reflect.Int || kind.Kind() == reflect.Float64
			if (number || name == "states") && name != "-" && name != "pass" && name != "constraint_share" {
				shown = append(shown, name)
			}
		}
		for i := range Figures {
			if f := &Figures[i]; f.Of == of && !f.Inner {
				rows = append(rows, f.Name)
			}
		}
		slices.Sort(shown)
		slices.Sort(rows)
		if !slices.Equal(shown, rows) {
			t.Errorf("%s has %v, the table %v", of, shown, rows)
		}
	}
}

// A rate names its denominator: both sides are figures of the same object.
func TestEveryRateSaysOverHowMany(t *testing.T) {
	for i := range Figures {
		f := &Figures[i]
		for _, name := range []string{f.Part, f.Over} {
			if name != "" && FigureOf(f.Of, name) == nil {
				t.Errorf("%s of %s is over %s, which is no figure", f.Name, f.Of, name)
			}
		}
		if f.Unit == Share && f.Over == "" && f.Name != "progress" || f.Part != "" && f.Over == "" {
			t.Errorf("%s of %s does not say over how many", f.Name, f.Of)
		}
		if f.Inner {
			continue
		}
		if f.Unit == "" || f.Period == "" || f.Source == "" || !unicode.IsUpper(rune(f.Formula[0])) && f.Formula[0] != '`' ||
			!strings.HasSuffix(f.Formula, ".") {
			t.Errorf("%s of %s does not say what it counts, when, why and how: %+v", f.Name, f.Of, f)
		}
	}
}

// A rate is the quotient of the figures that the table names.
func TestARateIsOfTheFiguresThatItNames(t *testing.T) {
	c := campaign.Counters{Answered: 3, Decided: 8, ResultCalls: 2, ConnectedCalls: 5, LiveAnswers: 9, TalkMS: 7000,
		Conversations: 4, Passes: []campaign.Pass{{Number: 1, Connected: 1, Consumed: 6, Live: 2}}}
	Rates(&c)
	of := map[Object]reflect.Value{OfCounters: reflect.ValueOf(c), OfPass: reflect.ValueOf(c.Passes[0])}
	seen := 0
	for i := range Figures {
		f := &Figures[i]
		if f.Part == "" || !of[f.Of].IsValid() {
			continue
		}
		seen++
		value := func(name string) float64 {
			for _, x := range reflect.VisibleFields(of[f.Of].Type()) {
				if tag, _, _ := strings.Cut(x.Tag.Get("json"), ","); tag == name {
					v := reflect.Indirect(of[f.Of].FieldByIndex(x.Index))
					if v.CanInt() {
						return float64(v.Int())
					}
					return v.Float()
				}
			}
			t.Fatalf("no %s", name)
			return 0
		}
		if got, want := value(f.Name), value(f.Part)/value(f.Over); got != want || want == 0 {
			t.Errorf("%s is %v, %s / %s is %v", f.Name, got, f.Part, f.Over, want)
		}
	}
	if seen != 5 {
		t.Errorf("%d rates were looked at", seen)
	}
}
