package frequency

import "time"

// Preset is a rule that a law or a regulator gives.
type Preset struct {
	Name string
	Rule Rule
	// Source is where it stands, Since from when it applies.
	Source, Since string
}

// Presets lists the rules that can be chosen by name.
var Presets = []Preset{
	{
		Name: "us-regulation-f",
		Rule: Rule{Countries: []string{"US"}, Limits: []Limit{
			{Attempts, 7, 7 * day}, {Conversations, 1, 7 * day}}},
		Source: "12 CFR 1006.14(b)(2)", Since: "2021-11-30",
	},
	{
		Name:   "gb-abandoned",
		Rule:   Rule{Countries: []string{"GB"}, Limits: []Limit{{Abandons, 1, 72 * time.Hour}}},
		Source: "Ofcom, Persistent misuse: statement of general policy, 20 December 2016", Since: "2017-03-01",
	},
	{
		Name:   "fr-solicitation",
		Rule:   Rule{Countries: []string{"FR"}, Limits: []Limit{{Attempts, 4, 30 * day}}},
		Source: "Code de la consommation, art. D. 223-9 (décret n° 2022-1313)", Since: "2023-03-01",
	},
}

func preset(name string) (Preset, bool) {
	for _, p := range Presets {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

func names() (list []string) {
	for _, p := range Presets {
		list = append(list, p.Name)
	}
	return list
}
