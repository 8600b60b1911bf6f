package evidence

import (
	"bytes"
	_ "embed"
	"html/template"
	"slices"
	"strconv"
)

//go:embed readme.txt
var readme string

//go:embed summary.html
var summary string

const instantOfPage = "2006-01-02 15:04:05 MST"

var page = template.Must(template.New("summary").Funcs(template.FuncMap{
	"percent": func(ppm int) string { return strconv.FormatFloat(float64(ppm)/1e4, 'f', 2, 64) + " %" },
	"instant": func() string { return instantOfPage },
}).Parse(summary))

// fold is a part of the steps of the abandon rate, which the reader unfolds.
type fold struct {
	First, Last int // numbers of the steps
	Steps       []Step
	End         Step
	Open        bool
}

// page is the summary for people. It is made before the parts are named.
func (w *Writer) page() string {
	var folds []fold
	from := 1
	for part := range slices.Chunk(w.steps, stepsFold) {
		to := from + len(part) - 1
		folds = append(folds, fold{from, to, part, part[len(part)-1], len(w.steps) <= stepsFold/10})
		from = to + 1
	}
	var b bytes.Buffer
	if err := page.Execute(&b, struct {
		*Manifest
		Folds []fold
		Left  bool
	}{&w.manifest, folds, len(w.steps) == stepsCap}); err != nil {
		return "" // the template is a constant, and tests run it
	}
	return b.String()
}
