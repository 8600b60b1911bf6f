package simulate

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

// Plots: places in the drawing, and a colour for each policy, distinguishable with red-green
// blindness too.
const (
	plotWidth, plotHeight = 960.0, 260.0
	plotLeft, plotRight   = 56.0, 12.0
	plotTop, plotBottom   = 12.0, 30.0
)

var colours = map[trial.Policy]string{
	trial.Progressive: "#0072b2", trial.Ratio: "#cc79a7", trial.Strict: "#009e73",
	trial.Hybrid: "#d55e00", trial.Clairvoyant: "#555555",
}

// plot is one drawing: a curve per policy, over time.
type plot struct {
	Title  string
	Lines  []curve
	Cap    float64 // a horizontal line; none when negative
	X, Y   []mark
	CapY   string
	Left   float64
	Right  float64
	Top    float64
	Bottom float64
	Width  float64
	Height float64
}

type curve struct{ Name, Colour, Points string }

// mark is a tick of an axis.
type mark struct {
	At   string
	Text string
}

// point formats a number for the drawing.
func point(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// nice is a step of 1, 2 or 5 times a power of ten that reaches most in about n steps.
func nice(most float64, n int) float64 {
	raw := most / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= raw {
			return f * power
		}
	}
	return 10 * power
}

// draw draws a plot of one value of the courses.
func draw(title string, length time.Duration, limit float64, outcomes []Outcome, value func(*moment) float64) plot {
	p := plot{
		Title:  title,
		Cap:    limit,
		Left:   plotLeft,
		Right:  plotWidth - plotRight,
		Top:    plotTop,
		Bottom: plotHeight - plotBottom,
		Width:  plotWidth,
		Height: plotHeight,
	}
	most := max(limit, 0)
	courses := make([][]moment, len(outcomes))
	for i := range outcomes {
		courses[i] = courseOf(outcomes[i].Runs)
		for j := range courses[i] {
			most = max(most, value(&courses[i][j]))
		}
	}
	if most <= 0 {
		most = 1
	}
	step := nice(most, 5)
	most = step * math.Ceil(most/step*1.0001)
	x := func(t time.Duration) float64 { return p.Left + (p.Right-p.Left)*t.Seconds()/length.Seconds() }
	y := func(v float64) float64 { return p.Bottom - (p.Bottom-p.Top)*v/most }
	for i := range outcomes {
		if len(courses[i]) == 0 {
			continue
		}
		var b strings.Builder
		for j := range courses[i] {
			m := &courses[i][j]
			fmt.Fprintf(&b, "%s,%s ", point(x(m.until)), point(y(value(m))))
		}
		row := RowOf(&outcomes[i].Summary)
		p.Lines = append(
			p.Lines,
			curve{row.label(), colours[outcomes[i].Summary.Policy], strings.TrimSpace(b.String())},
		)
	}
	for k := 0; float64(k)*step <= most*1.0001; k++ {
		v := float64(k) * step
		p.Y = append(p.Y, mark{point(y(v)), strconv.FormatFloat(round(v, 6), 'g', 6, 64)})
	}
	unit, name := time.Hour, "h"
	if length < 2*time.Hour {
		unit, name = time.Minute, "min"
	}
	total := float64(length) / float64(unit)
	every := nice(total, 8)
	for k := 0; float64(k)*every <= total*1.0001; k++ {
		v := float64(k) * every
		p.X = append(
			p.X,
			mark{point(x(time.Duration(v * float64(unit)))), strconv.FormatFloat(round(v, 6), 'g', 6, 64) + " " + name},
		)
	}
	if limit >= 0 {
		p.CapY = point(y(limit))
	}
	return p
}

// parameters describes a scenario in words, by key.
func parameters(p *Plan) [][2]string {
	s := &p.Scenario
	n := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	list := [][2]string{
		{
			"N",
			course(&s.Workers),
		}, {"p", course(&s.Answer)}, {"R", s.RingMean.String()}, {"S", s.RingSD.String()}, {"timeout", s.Timeout.String()},
		{
			"m",
			n(s.Machines),
		}, {"M", s.TalkMean.String()}, {"s", n(s.Short)}, {"a", s.Hold.String()}, {"W", s.Wait.String()},
		{"c", n(s.Cap)}, {"T", s.Length.String()}, {"talk_factor", course(&s.TalkFactor)},
	}
	if s.Contacts > 0 {
		list = append(list, [2]string{"contacts", strconv.Itoa(s.Contacts)})
	}
	seeds := make([]string, len(p.Seeds))
	for i, v := range p.Seeds {
		seeds[i] = strconv.FormatUint(v, 10)
	}
	return append(list, [2]string{"seeds", strings.Join(seeds, ", ")})
}

// course describes a value over time.
func course(s *callee.Schedule) string {
	low, high := s.Range()
	if low == high {
		return strconv.FormatFloat(low, 'g', -1, 64)
	}
	kind := "steps"
	switch {
	case len(s.Sines) > 0:
		kind = "sines"
	case len(s.Pieces) > 0:
		kind = "pieces of " + s.Period.String()
	}
	return fmt.Sprintf(
		"%s from %s to %s",
		kind,
		strconv.FormatFloat(round(low, 6), 'g', -1, 64),
		strconv.FormatFloat(round(high, 6), 'g', -1, 64),
	)
}

func writePage(w io.Writer, p *Plan, outcomes []Outcome) error {
	data := struct {
		Name       string
		Headings   []string
		Rows       [][]string
		Parameters [][2]string
		Plots      []plot
	}{Name: p.Name, Headings: headings, Parameters: parameters(p)}
	for _, r := range rows(outcomes) {
		data.Rows = append(data.Rows, r.cells())
	}
	length := p.Scenario.Length
	data.Plots = []plot{
		draw("Workers busy, %", length, -1, outcomes, func(m *moment) float64 { return 100 * m.busy }),
		draw(
			"Abandoned of the live answers so far, %, and the cap",
			length,
			100*p.Scenario.Cap,
			outcomes,
			func(m *moment) float64 { return 100 * m.abandon },
		),
		draw("Dials a second", length, -1, outcomes, func(m *moment) float64 { return m.dials }),
	}
	return page.Execute(w, data)
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Name}}: simulated pacing</title>
<style>
body {
  font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff
}
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #ddd }
th { font-weight: 600; vertical-align: bottom }
th:first-child, td:first-child { text-align: left }
svg { width: 100%; height: auto }
svg text { font-size: 12px; fill: #555 }
h2 { font-size: 1.1rem; margin-bottom: .25rem }
.legend span { margin-right: 1.25rem; white-space: nowrap }
.legend i { display: inline-block; width: 1.25rem; height: .25rem; margin-right: .4rem; vertical-align: middle }
dl { columns: 3 14rem } dt { float: left; clear: left; width: 6.5rem; color: #555 } dd { margin: 0 0 0 7rem }
</style>
<h1>{{.Name}}</h1>
<table>
<tr>{{range .Headings}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table>
{{range .Plots}}{{$p := .}}
<h2>{{.Title}}</h2>
<p class="legend">{{range .Lines}}<span><i style="background: {{.Colour}}"></i>{{.Name}}</span>{{end}}
{{- if .CapY}}<span><i style="background: #a00"></i>cap</span>{{end}}</p>
<svg viewBox="0 0 {{.Width}} {{.Height}}" role="img" aria-label="{{.Title}}">
{{range .Y}}<line x1="{{$p.Left}}" x2="{{$p.Right}}" y1="{{.At}}" y2="{{.At}}" stroke="#e4e4e4"/>
<text x="{{$p.Left}}" y="{{.At}}" dx="-6" dy="4" text-anchor="end">{{.Text}}</text>
{{end}}{{range .X}}<line x1="{{.At}}" x2="{{.At}}" y1="{{$p.Bottom}}" y2="{{$p.Top}}" stroke="#f0f0f0"/>
<text x="{{.At}}" y="{{$p.Bottom}}" dy="18" text-anchor="middle">{{.Text}}</text>
{{end}}{{if .CapY}}<line x1="{{.Left}}" x2="{{.Right}}" y1="{{.CapY}}" y2="{{.CapY}}"
stroke="#a00" stroke-dasharray="6 4"/>
{{end}}{{range .Lines}}<polyline fill="none" stroke="{{.Colour}}" stroke-width="1.5" points="{{.Points}}"/>
{{end}}</svg>
{{end}}
<h2>Scenario</h2>
<dl>{{range .Parameters}}<dt>{{index . 0}}</dt><dd>{{index . 1}}</dd>{{end}}</dl>
<p>Means over the seeds. Busy: workers in calls, machines among them. Clairvoyant: connects of somebody
who knows every answer and every end beforehand. Abandoned: answered calls that found no free worker
in time, as a share of the live answers. p95 and max: of the rates of half hours with 20 live answers
or more. Worst excess: the most calls by which a run was over the cap.</p>
</html>
`))
