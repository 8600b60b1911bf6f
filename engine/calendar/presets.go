package calendar

import "dialler/engine/window"

// Preset is what a law or a code of conduct says about the hours of calls to a country.
type Preset struct {
	ID       string // a calendar made of it may be called so
	Name     string
	Country  string
	Weekdays []window.Span
	Saturday []window.Span
	Sunday   []window.Span
	Sets     []string
	// Source is where it stands, Since from when it applies.
	Source, Since string
}

// Presets lists the hours that calendars can be made of. They go by the clocks of the person called.
var Presets = []Preset{
	{
		ID: "de-code-of-conduct", Name: "Germany, code of conduct", Country: "DE",
		Weekdays: []window.Span{{From: 8 * 60, To: 20 * 60}}, Saturday: []window.Span{{From: 9 * 60, To: 18 * 60}},
		Sets:   []string{"DE"},
		Source: "Bitkom, Verhaltensregeln für Telefonmarketing, 13 February 2015 (a code of conduct, no law)",
		Since:  "2015-02-13",
	},
	{
		ID: "fr-solicitation", Name: "France, solicitation", Country: "FR",
		Weekdays: []window.Span{{From: 10 * 60, To: 13 * 60}, {From: 14 * 60, To: 20 * 60}},
		Sets:     []string{"FR"},
		Source:   "Code de la consommation, art. D. 223-9 (décret n° 2022-1313)", Since: "2023-03-01",
	},
	{
		ID: "us-tsr", Name: "United States, telemarketing", Country: "US",
		Weekdays: []window.Span{{From: 8 * 60, To: 21 * 60}}, Saturday: []window.Span{{From: 8 * 60, To: 21 * 60}},
		Sunday: []window.Span{{From: 8 * 60, To: 21 * 60}},
		Source: "16 CFR 310.4(c); 47 CFR 64.1200(c)(1)", Since: "1995-12-31",
	},
}

// Calendar is the calendar that a preset makes, without an identifier.
func (p *Preset) Calendar() Named {
	hours := map[window.Day][]window.Span{}
	for _, d := range []window.Day{window.Mon, window.Tue, window.Wed, window.Thu, window.Fri} {
		hours[d] = p.Weekdays
	}
	if p.Saturday != nil {
		hours[window.Sat] = p.Saturday
	}
	if p.Sunday != nil {
		hours[window.Sun] = p.Sunday
	}
	n := Named{Name: p.Name, Hours: window.Calendar{Hours: hours, Countries: []string{p.Country}}, Sets: p.Sets}
	n.Complete()
	return n
}
