package load

import "testing"

func TestTheCostOfConsolesIsTheMeanDifferenceOfNeighbours(t *testing.T) {
	if mean, e := meanDifference([]float64{3, 5, 4}, []float64{1, 1, 1}); mean != 3 || e < 0.577 || e > 0.578 {
		t.Errorf("%v, standard error %v", mean, e)
	}
	if mean, e := meanDifference([]float64{3}, []float64{1}); mean != 2 || e != 0 {
		t.Errorf("%v, standard error %v", mean, e)
	}
}
