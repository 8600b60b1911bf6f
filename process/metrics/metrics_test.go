package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"dialler/engine"
)

// TestQualityIsCountedByTrunk checks that each trunk has its own opinions, and that many trunks do
// not have as many time series.
func TestQualityIsCountedByTrunk(t *testing.T) {
	h := NewHistograms()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(h.Opinions, h.FarOpinions)
	series := 0
	count := func(of string, metric string) (n uint64) {
		t.Helper()
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		series = 0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() != metric {
					continue
				}
				series++
				if m.GetLabel()[0].GetValue() == of {
					n += m.GetHistogram().GetSampleCount()
				}
			}
		}
		return n
	}
	h.Heard("a", &engine.MediaQuality{MOS: 4.4, FarMOS: 4.1})
	h.Heard("a", &engine.MediaQuality{MOS: 2.4})
	h.Heard("b", &engine.MediaQuality{})
	a, b, far := count("a", "dialler_call_mos"), count("b", "dialler_call_mos"), count("a", "dialler_call_far_mos")
	if a != 2 || b != 0 || far != 1 {
		t.Fatal(a, b, far)
	}
	for i := range 2 * trunksShown {
		h.Heard(engine.TrunkID(fmt.Sprint(i)), &engine.MediaQuality{MOS: 4})
	}
	if n := count("others", "dialler_call_mos"); n != trunksShown+1 || series != trunksShown+1 {
		t.Fatalf("%d series, %d calls of others", series, n)
	}
}
