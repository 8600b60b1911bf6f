package frequency

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func known(country string) bool {
	return slices.Contains([]string{"DE", "AT", "US", "GB", "FR"}, country)
}

func TestRulesAreReadAndWrittenAlike(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "none"},
		{"*: 5 attempts in 12h", "*: 5 attempts in 12h"},
		{"de/at/DE: 1 attempt in 24h and 1 conversation in 7d", "AT/DE: 1 attempts in 1d and 1 conversations in 7d"},
		{" GB : 1 abandon in 90m , us-regulation-f",
			"GB: 1 abandons in 1h30m, US: 7 attempts in 7d and 1 conversations in 7d"},
	} {
		r, err := Parse(strings.Split(c.text, ","), known)
		if err != nil || r.String() != c.want {
			t.Errorf("%q: %q, want %q; %v", c.text, r, c.want, err)
		}
		if again, err := Parse(strings.Split(r.String(), ","), known); r.String() != "none" &&
			(err != nil || again.String() != r.String()) {
			t.Errorf("%q reads as %q: %v", r, again, err)
		}
	}
}

func TestAWrongRuleIsRefusedWithItsFaultAndAnExample(t *testing.T) {
	for text, want := range map[string]string{
		"us-regulation-g":                         "no preset has this name",
		"XX: 3 attempts in 24h":                   `"XX" is no country`,
		"DE: 0 attempts in 24h":                   `"0" is no number`,
		"DE: 1001 attempts in 24h":                `"1001" is no number`,
		"DE: 3 calls in 24h":                      `"calls" is neither`,
		"DE: 3 attempts in 30s":                   `"30s" is no period from 1m to 90d`,
		"DE: 3 attempts in 91d":                   `"91d" is no period`,
		"DE: 3 attempts in -1d":                   `"-1d" is no period`,
		"DE: 3 attempts per day":                  `"3 attempts per day" is not`,
		"DE: 3 attempts in 24h and":               `is not "N attempts in PERIOD"`,
		"DE: 3 attempts in 24h 1 conversation 7d": "is not",
	} {
		_, err := Parse([]string{text}, known)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "us-regulation-f") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestTheRulesOfACountryAddUp(t *testing.T) {
	r, err := Parse([]string{"*: 5 attempts in 12h", "DE: 1 conversation in 7d", "us-regulation-f"}, known)
	if err != nil {
		t.Fatal(err)
	}
	all := Limit{Attempts, 5, 12 * time.Hour}
	for country, want := range map[string][]Limit{
		"DE": {all, {Conversations, 1, 7 * day}},
		"US": {all, {Attempts, 7, 7 * day}, {Conversations, 1, 7 * day}},
		"":   {all},
	} {
		if got := r.For(country); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", country, got, want)
		}
	}
	if r.Longest() != 7*day || (Rules{}).Longest() != 0 || (Rules{}).For("DE") != nil {
		t.Error("the longest period, or the rules of nobody")
	}
	if one := r.With(Rule{Limits: []Limit{all}}); len(one.For("")) != 2 || len(r.For("")) != 1 {
		t.Error("one more rule")
	}
}

func TestEachPresetSaysWhereItStandsAndSinceWhen(t *testing.T) {
	for _, p := range Presets {
		if _, err := time.Parse(time.DateOnly, p.Since); err != nil || p.Source == "" || len(p.Rule.Countries) == 0 ||
			len(p.Rule.Limits) == 0 {
			t.Errorf("%+v", p)
		}
		for _, l := range p.Rule.Limits {
			if got, why := limit(l.String()); got != l {
				t.Errorf("%s: %s reads as %v: %s", p.Name, l, got, why)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("DE/AT: 3 attempts in 24h and 1 conversation in 7d,us-regulation-f")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(strings.Split(text, ","), known)
		if err != nil || r.String() == "none" {
			return
		}
		again, err := Parse(strings.Split(r.String(), ","), known)
		if err != nil || again.String() != r.String() {
			t.Errorf("%q reads as %q and that as %q: %v", text, r, again, err)
		}
	})
}
