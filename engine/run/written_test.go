package run

import "testing"

func TestEverythingInTheStateOfARunCanBeWrittenDown(t *testing.T) {
	if err := codec().Problem(); err != nil {
		t.Error(err)
	}
}
