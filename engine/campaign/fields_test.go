package campaign

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A setting's JSON name is stored: renaming it would lose stored values.
func TestEverySettingHasItsRowAndEveryRowItsSetting(t *testing.T) {
	of := reflect.TypeFor[Settings]()
	var stored []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		stored = append(stored, name)
	}
	seen := map[string]bool{}
	for i := range Fields {
		f := &Fields[i]
		var s Settings
		switch at := f.At(&s).(type) {
		case *int:
			*at = 7
		case *bool:
			*at = true
		case *string:
			*at = "x"
		case List:
			at.Set([]string{"x"})
		default:
			s.Window.Zone = "x"
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		empty, err := json.Marshal(Settings{})
		if err != nil {
			t.Fatal(err)
		}
		was, is := object(empty), object(b)
		name := f.Name
		if f.Unit.Scale() > 1 { // stored in millionths
			name = name[:strings.LastIndex(name, "_")] + "_ppm"
		}
		if string(was[name]) == string(is[name]) {
			t.Errorf("%s is not the member %s of the settings", f.Name, name)
		}
		seen[name] = true
	}
	for _, name := range stored {
		if !seen[name] {
			t.Errorf("%s has no row in Fields", name)
		}
	}
	if len(seen) != len(Fields) || len(Fields) != len(stored) {
		t.Errorf("%d rows, %d settings", len(Fields), len(stored))
	}
}

func TestARowSaysWhatItsKindNeeds(t *testing.T) {
	for i := range Fields {
		f := &Fields[i]
		wrong := func(what string) { t.Errorf("%s: %s", f.Name, what) }
		if f.Label == "" || f.Source == "" || f.Group == "" {
			wrong("label, source and group are said of every setting")
		}
		if f.Under != "" && FieldOf(f.Under) == nil {
			wrong("it is under a setting that there is not")
		}
		switch f.At(&Settings{}).(type) {
		case *int:
			n, ok := f.Default.(int)
			if ok == f.Required || ok && (n < f.Min || n > f.Max) || f.Max <= f.Min {
				wrong("a number has bounds, and a default within them or must be chosen")
			}
		case *bool:
			if _, ok := f.Default.(bool); !ok || f.Says != nil && len(f.Says) != 2 {
				wrong("a switch has a default, and two words or none")
			}
		case *string:
			def, ok := f.Default.(string)
			if !ok != (f.Default == nil) || (f.Max > 0) == (f.Choices != nil) ||
				ok && !slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Value == def }) {
				wrong("a text has a length, a choice its values and one of them, or none, as its default")
			}
		case List:
			if _, ok := f.Default.([]string); f.Max == 0 || !ok && f.Default != nil {
				wrong("a list has a length, and a list as its default")
			}
		}
	}
}

func TestValuesKeepTheirMeaningOnTheWireAndBack(t *testing.T) {
	s := goodSettings()
	s.ConfigURL, s.FalsePositivePPM, s.TransferTargets = "https://example.org/c.json", 12_345, []string{"+49*"}
	for i := range Fields {
		f := &Fields[i]
		fresh := goodSettings()
		if f.Value(&s) == nil {
			continue
		}
		if !f.take(&fresh, encoded(f.Value(&s))) || !reflect.DeepEqual(f.Value(&fresh), f.Value(&s)) {
			t.Errorf("%s: %v became %v", f.Name, f.Value(&s), f.Value(&fresh))
		}
	}
}
