package table

import "testing"

func TestVariablesHashDoesNotKnowTheOrder(t *testing.T) {
	a := map[string]string{"x": "1", "y": "2", "z": "3"}
	b := map[string]string{"z": "3", "y": "2", "x": "1"}
	if VariablesHash(a) != VariablesHash(b) {
		t.Error("equal maps differ")
	}
	f := func(m map[string]string) {
		t.Helper()
		if VariablesHash(m) == VariablesHash(a) {
			t.Errorf("%v is taken for %v", m, a)
		}
	}
	f(map[string]string{"x": "1", "y": "2"})
	f(map[string]string{"x": "2", "y": "1", "z": "3"})
	f(map[string]string{"x1": "", "y": "2", "z": "3"})
	f(nil)
	// The hash is stored: it must not change between versions.
	if got := VariablesHash(map[string]string{"name": "Ada"}); got != goldenHash {
		t.Errorf("hash %d, stored ones were made with %d", got, goldenHash)
	}
}

const goldenHash = 3577085564522039541
