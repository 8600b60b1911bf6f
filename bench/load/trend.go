package load

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Trend says whether a figure grew while nothing else changed.
type Trend struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Mean  float64 `json:"mean"`
	PerH  float64 `json:"per_hour"`     // growth, in its unit
	Sure  float64 `json:"surely"`       // lower bound at 97.5 % confidence; negative if it may have shrunk
	Pct   float64 `json:"pct_per_hour"` // Sure, as a share of the mean
	Limit float64 `json:"limit_pct"`
	OK    bool    `json:"ok"`
}

// judged is a figure that must not grow.
type judged struct {
	name, unit string
	limit      float64 // per cent of its mean per hour
	least      float64 // negligible growth within the run, in its unit
	of         func(s *SoakSample) float64
}

// trendOf fits a line to the samples of a figure. Growth that could be due to chance is excluded:
// the slope is lowered by twice its standard error, which is widened for autocorrelation of the
// samples.
func trendOf(j *judged, samples []SoakSample) Trend {
	t := Trend{Name: j.name, Unit: j.unit, Limit: j.limit, OK: true}
	n := float64(len(samples))
	if n < 4 {
		return t
	}
	at, v := make([]float64, len(samples)), make([]float64, len(samples))
	var mx, my float64
	for i := range samples {
		at[i], v[i] = samples[i].At/3600, j.of(&samples[i])
		mx, my = mx+at[i]/n, my+v[i]/n
	}
	var sxx, sxy float64
	for i := range v {
		sxx += (at[i] - mx) * (at[i] - mx)
		sxy += (at[i] - mx) * (v[i] - my)
	}
	slope := sxy / sxx
	rest := make([]float64, len(v))
	var ss, lag float64
	for i := range v {
		rest[i] = v[i] - my - slope*(at[i]-mx)
		ss += rest[i] * rest[i]
		if i > 0 {
			lag += rest[i] * rest[i-1]
		}
	}
	se := 0.0
	if ss > 0 {
		like := min(max(lag/ss, 0), 0.9)
		se = math.Sqrt(ss / (n - 2) / sxx * (1 + like) / (1 - like))
	}
	t.Mean, t.PerH, t.Sure = my, slope, slope-2*se
	if my > 0 {
		t.Pct = 100 * t.Sure / my
	}
	span := at[len(at)-1] - at[0]
	t.OK = t.Pct <= j.limit || t.Sure*span <= j.least
	return t
}

func (t *Trend) String() string {
	return fmt.Sprintf("%s grows by %.1f %s an hour (%.1f %% of %.1f %s), surely by %.1f %%; %.0f %% are allowed",
		t.Name, t.PerH, t.Unit, 100*t.PerH/max(t.Mean, 1e-9), t.Mean, t.Unit, t.Pct, t.Limit)
}

// steadySamples are the last two thirds of the samples under load: the first third is left to
// pools, caches and the database's first vacuum.
func steadySamples(all []SoakSample, load time.Duration) []SoakSample {
	out := slices.Clone(all)
	return slices.DeleteFunc(out, func(s SoakSample) bool { return s.At < load.Seconds()/3 || s.At > load.Seconds() })
}

// median is the median of a figure.
func median(samples []SoakSample, of func(*SoakSample) float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	v := make([]float64, len(samples))
	for i := range samples {
		v[i] = of(&samples[i])
	}
	slices.Sort(v)
	return v[len(v)/2]
}
