package evidence

import (
	"bytes"
	_ "embed"
	"html/template"
	"strconv"
)

//go:embed readme.txt
var readme string

//go:embed summary.html
var summary string

var page = template.Must(template.New("summary").Funcs(template.FuncMap{
	"percent": func(ppm int) string { return strconv.FormatFloat(float64(ppm)/1e4, 'f', 2, 64) + " %" },
}).Parse(summary))

// page is the summary for people. It is made before the parts are named.
func (m *Manifest) page() string {
	var b bytes.Buffer
	if err := page.Execute(&b, m); err != nil {
		return "" // the template is a constant, and tests run it
	}
	return b.String()
}
