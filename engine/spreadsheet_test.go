package engine

import "testing"

func TestATextIsNoFormula(t *testing.T) {
	for given, want := range map[string]string{"": "", "asked": "asked", "a=1": "a=1", "ü": "ü",
		"=HYPERLINK(1)": "'=HYPERLINK(1)", "+1": "'+1",
		"-1+2": "'-1+2", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1"} {
		if got := SpreadsheetText(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
