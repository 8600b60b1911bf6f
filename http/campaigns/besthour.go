package campaigns

import (
	"cmp"
	"math"
	nethttp "net/http"
	"slices"
	"time"

	"dialler/engine/besthour"
	"dialler/http/wire"
)

// countriesShown is how many countries the hours are shown of, those with most dials.
const countriesShown = 10

// bestHourView is what the option Best hour gains in a campaign, and what it knows. Chances are from
// 0 to 1, hours are those of the week: weekday · 24 + hour, from Sunday's midnight on.
type bestHourView struct {
	BestHour   bool            `json:"best_hour"`
	With       dialledView     `json:"with"`
	Control    dialledView     `json:"control"`
	Difference *differenceView `json:"difference"`
	Through    *time.Time      `json:"through"`
	Countries  []hoursView     `json:"countries"`
}

type dialledView struct {
	Dials   uint32 `json:"dials"`
	Answers uint32 `json:"answers"`
}

// differenceView is in points of a hundred, with the ends of its 95 % interval.
type differenceView struct {
	Points float64 `json:"points"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Clear  bool    `json:"clear"`
}

type hoursView struct {
	Region  string    `json:"region"`
	Dials   uint32    `json:"dials"`
	Answers uint32    `json:"answers"`
	Chance  float64   `json:"chance"`
	Hours   []uint32  `json:"hour_dials"`
	Chances []float64 `json:"hour_chances"`
}

// ShowBestHour answers with what the option Best hour gains in a campaign.
func (s *API) ShowBestHour(r *wire.Request) error {
	d, err := s.detailOf(r)
	if err != nil {
		return err
	}
	with, control, err := s.Hours.BestHourDials(r.Ctx(), d.Campaign.ID)
	if err != nil {
		return err
	}
	learned, err := s.Hours.AnswerHours(r.Ctx())
	if err != nil {
		return err
	}
	v := bestHourView{BestHour: d.Campaign.Settings.BestHour, With: dialledView(with), Control: dialledView(control),
		Countries: viewHours(&learned)}
	if x, ok := besthour.Compare(with, control); ok {
		v.Difference = &differenceView{rounded(x.Points, 2), rounded(x.Low, 2), rounded(x.High, 2), x.Clear()}
	}
	if !learned.Through.IsZero() {
		v.Through = &learned.Through
	}
	return r.Reply(nethttp.StatusOK, v)
}

func viewHours(t *besthour.Table) []hoursView {
	list := []hoursView{}
	for i := range t.Countries {
		c := &t.Countries[i]
		x := hoursView{Region: c.Region, Dials: c.All.Dials, Answers: c.All.Answers, Chance: rounded(t.Mean(c.Region), 4)}
		for slot, cell := range c.Cells {
			x.Hours = append(x.Hours, cell.Dials)
			x.Chances = append(x.Chances, rounded(t.Chance(c.Region, slot), 4))
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b hoursView) int { return cmp.Compare(b.Dials, a.Dials) })
	return list[:min(len(list), countriesShown)]
}

func rounded(v float64, decimals int) float64 {
	f := math.Pow10(decimals)
	return math.Round(v*f) / f
}
