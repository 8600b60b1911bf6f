package holidays

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/ar"
	"github.com/rickar/cal/v2/at"
	"github.com/rickar/cal/v2/au"
	"github.com/rickar/cal/v2/be"
	"github.com/rickar/cal/v2/bg"
	"github.com/rickar/cal/v2/br"
	"github.com/rickar/cal/v2/ca"
	"github.com/rickar/cal/v2/ch"
	"github.com/rickar/cal/v2/cz"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/dk"
	"github.com/rickar/cal/v2/es"
	"github.com/rickar/cal/v2/fr"
	"github.com/rickar/cal/v2/gb"
	"github.com/rickar/cal/v2/gr"
	"github.com/rickar/cal/v2/hr"
	"github.com/rickar/cal/v2/ie"
	"github.com/rickar/cal/v2/it"
	"github.com/rickar/cal/v2/jp"
	"github.com/rickar/cal/v2/lt"
	"github.com/rickar/cal/v2/lv"
	"github.com/rickar/cal/v2/mw"
	"github.com/rickar/cal/v2/nc"
	"github.com/rickar/cal/v2/nl"
	"github.com/rickar/cal/v2/no"
	"github.com/rickar/cal/v2/nz"
	"github.com/rickar/cal/v2/pl"
	"github.com/rickar/cal/v2/ro"
	"github.com/rickar/cal/v2/ru"
	"github.com/rickar/cal/v2/se"
	"github.com/rickar/cal/v2/si"
	"github.com/rickar/cal/v2/sk"
	"github.com/rickar/cal/v2/ua"
	"github.com/rickar/cal/v2/us"
	"github.com/rickar/cal/v2/za"

	"dialler/engine/window"
)

// FirstYear and LastYear bound the built-in sets.
const (
	FirstYear = 2020
	LastYear  = 2049
)

// Set is a built-in set of holidays: of a country, or of one of its regions.
type Set struct {
	Code    string // ISO 3166-1, or 3166-2 of a region
	Country string // in English
	days    []*cal.Holiday
}

// Sets lists the built-in sets by code.
var Sets = []Set{
	{"AR", "Argentina", ar.Holidays},
	{"AT", "Austria", at.Holidays},
	{"AU-ACT", "Australia", au.HolidaysACT},
	{"AU-NSW", "Australia", au.HolidaysNSW},
	{"AU-NT", "Australia", au.HolidaysNT},
	{"AU-QLD", "Australia", au.HolidaysQLD},
	{"AU-SA", "Australia", au.HolidaysSA},
	{"AU-TAS", "Australia", au.HolidaysTAS},
	{"AU-VIC", "Australia", au.HolidaysVIC},
	{"AU-WA", "Australia", au.HolidaysWA},
	{"BE", "Belgium", be.Holidays},
	{"BG", "Bulgaria", bg.Holidays},
	{"BR", "Brazil", br.Holidays},
	{"CA", "Canada", ca.Holidays},
	{"CH", "Switzerland", ch.Holidays},
	{"CH-AG", "Switzerland", ch.HolidaysAG},
	{"CH-AI", "Switzerland", ch.HolidaysAI},
	{"CH-AR", "Switzerland", ch.HolidaysAR},
	{"CH-BE", "Switzerland", ch.HolidaysBE},
	{"CH-BL", "Switzerland", ch.HolidaysBL},
	{"CH-BS", "Switzerland", ch.HolidaysBS},
	{"CH-FR", "Switzerland", ch.HolidaysFR},
	{"CH-GE", "Switzerland", ch.HolidaysGE},
	{"CH-GL", "Switzerland", ch.HolidaysGL},
	{"CH-GR", "Switzerland", ch.HolidaysGR},
	{"CH-JU", "Switzerland", ch.HolidaysJU},
	{"CH-LU", "Switzerland", ch.HolidaysLU},
	{"CH-NE", "Switzerland", ch.HolidaysNE},
	{"CH-NW", "Switzerland", ch.HolidaysNW},
	{"CH-OW", "Switzerland", ch.HolidaysOW},
	{"CH-SG", "Switzerland", ch.HolidaysSG},
	{"CH-SH", "Switzerland", ch.HolidaysSH},
	{"CH-SO", "Switzerland", ch.HolidaysSO},
	{"CH-SZ", "Switzerland", ch.HolidaysSZ},
	{"CH-TG", "Switzerland", ch.HolidaysTG},
	{"CH-TI", "Switzerland", ch.HolidaysTI},
	{"CH-UR", "Switzerland", ch.HolidaysUR},
	{"CH-VD", "Switzerland", ch.HolidaysVD},
	{"CH-VS", "Switzerland", ch.HolidaysVS},
	{"CH-ZG", "Switzerland", ch.HolidaysZG},
	{"CH-ZH", "Switzerland", ch.HolidaysZH},
	{"CZ", "Czechia", cz.Holidays},
	{"DE", "Germany", de.Holidays},
	{"DE-BB", "Germany", de.HolidaysBB},
	{"DE-BE", "Germany", de.HolidaysBE},
	{"DE-BW", "Germany", de.HolidaysBW},
	{"DE-BY", "Germany", de.HolidaysBY},
	{"DE-HB", "Germany", de.HolidaysHB},
	{"DE-HE", "Germany", de.HolidaysHE},
	{"DE-HH", "Germany", de.HolidaysHH},
	{"DE-MV", "Germany", de.HolidaysMV},
	{"DE-NI", "Germany", de.HolidaysNI},
	{"DE-NW", "Germany", de.HolidaysNW},
	{"DE-RP", "Germany", de.HolidaysRP},
	{"DE-SH", "Germany", de.HolidaysSH},
	{"DE-SL", "Germany", de.HolidaysSL},
	{"DE-SN", "Germany", de.HolidaysSN},
	{"DE-ST", "Germany", de.HolidaysST},
	{"DE-TH", "Germany", de.HolidaysTH},
	{"DK", "Denmark", dk.Holidays},
	{"ES", "Spain", es.Holidays},
	{"FR", "France", fr.Holidays},
	{"GB", "United Kingdom", gb.Holidays},
	{"GR", "Greece", gr.Holidays},
	{"HR", "Croatia", hr.Holidays},
	{"IE", "Ireland", ie.Holidays},
	{"IT", "Italy", it.Holidays},
	{"JP", "Japan", jp.Holidays},
	{"LT", "Lithuania", lt.Holidays},
	{"LV", "Latvia", lv.Holidays},
	{"MW", "Malawi", mw.Holidays},
	{"NC", "New Caledonia", nc.Holidays},
	{"NL", "Netherlands", nl.Holidays},
	{"NO", "Norway", no.Holidays},
	{"NZ", "New Zealand", nz.Holidays},
	{"PL", "Poland", pl.Holidays},
	{"RO", "Romania", ro.Holidays},
	{"RU", "Russia", ru.Holidays},
	{"SE", "Sweden", se.Holidays},
	{"SI", "Slovenia", si.Holidays},
	{"SK", "Slovakia", sk.Holidays},
	{"UA", "Ukraine", ua.Holidays},
	{"US", "United States", us.Holidays},
	{"ZA", "South Africa", za.Holidays},
}

// Of returns the days of a built-in set, by date; ok is false if there is none of that code. The list
// is shared and must not be changed.
func Of(code string) (list []window.Holiday, ok bool) {
	i, ok := slices.BinarySearchFunc(Sets, code, func(s Set, code string) int { return strings.Compare(s.Code, code) })
	if !ok {
		return nil, false
	}
	return computed()[i], true
}

var computed = sync.OnceValue(func() [][]window.Holiday {
	cal.DefaultLoc = time.UTC // it would be the machine's zone, in which a midnight may be missing
	all := make([][]window.Holiday, len(Sets))
	for i := range Sets {
		for year := FirstYear; year <= LastYear; year++ {
			for _, h := range Sets[i].days {
				for _, at := range observed(h, year) {
					all[i] = append(all[i], window.Holiday{Date: window.DateOf(at), Name: h.Name})
				}
			}
		}
		all[i] = Sorted(all[i])
	}
	return all
})

// observed are the days on which a holiday of a year is kept.
func observed(h *cal.Holiday, year int) []time.Time {
	actual, kept := h.Calc(year)
	switch {
	case actual.IsZero():
		return nil
	case kept.Equal(actual):
		return []time.Time{actual}
	}
	return []time.Time{actual, kept}
}

// Sorted orders holidays by date; of several on one date the first stays.
func Sorted(list []window.Holiday) []window.Holiday {
	slices.SortStableFunc(list, func(a, b window.Holiday) int { return a.Date.Compare(b.Date) })
	return slices.CompactFunc(list, func(a, b window.Holiday) bool { return a.Date == b.Date })
}
