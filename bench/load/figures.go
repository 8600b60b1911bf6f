package load

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Figures are the results of one run. Times are milliseconds unless a name says otherwise; for a
// process that the run does not have (with another answerer, say) the figure is zero.
type Figures struct {
	Rate     int     `json:"rate"`     // offered, calls/s
	Duration float64 `json:"duration"` // s
	Talk     float64 `json:"talk"`     // s
	Media    bool    `json:"media"`
	AMD      bool    `json:"amd"`
	Answerer string  `json:"answerer"` // model carrier, sipp, or host:port

	Offered  int            `json:"offered"`
	Answered int            `json:"answered"`
	Served   int            `json:"served"` // reached the bot
	Ended    int            `json:"ended"`
	Results  int            `json:"results"`
	OK       int            `json:"ok"` // answered, served, completed, with a stored result
	Failures map[string]int `json:"failures"`
	Success  float64        `json:"success"` // OK / Offered

	Reached float64 `json:"reached"` // calls/s in the steady part
	Wall    float64 `json:"wall_s"`

	CPU CPU `json:"cpu_ms_per_call"`

	PostDial  Spread  `json:"post_dial_ms"`  // admission → INVITE on the wire
	AnswerBot Spread  `json:"answer_bot_ms"` // 200 OK → bot connected
	Commit    Spread  `json:"commit_ms"`     // of a group commit
	GroupSize float64 `json:"writes_per_commit"`
	Commits   float64 `json:"commits_per_call"`

	RSSBefore  float64 `json:"rss_before_mib"`
	RSSSteady  float64 `json:"rss_steady_mib"` // mean while calls are steadily live
	RSSPeak    float64 `json:"rss_peak_mib"`
	Live       float64 `json:"live_calls"` // mean in the steady part
	LivePeak   int     `json:"live_calls_peak"`
	KiBPerCall float64 `json:"kib_per_live_call"`
	// HeapPerCall is the live heap and stacks after a collection, less what an idle engine has.
	HeapPerCall float64 `json:"heap_kib_per_live_call"`
	StreamCore  float64 `json:"core_percent_per_live_call"` // engine CPU per live call in the steady part
	WALPerCall  float64 `json:"wal_kib_per_call"`

	Profiles []string `json:"profiles,omitempty"`
}

// CPU is user and system time per call, in ms.
type CPU struct {
	Engine   float64 `json:"engine"`
	Postgres float64 `json:"postgres"`
	Carrier  float64 `json:"carrier"`
	Bot      float64 `json:"bot"`
}

// Spread contains percentiles by the nearest rank.
type Spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spread(v []float64) Spread {
	if len(v) == 0 {
		return Spread{}
	}
	slices.Sort(v)
	rank := func(p float64) float64 { return v[max(0, int(math.Ceil(p*float64(len(v))))-1)] }
	return Spread{P50: rank(0.5), P99: rank(0.99), Max: v[len(v)-1]}
}

// Threshold is the success rate that a run must reach.
const Threshold = 0.999

// Good says whether the run met all goals, and if not, why.
func (f *Figures) Good() (bool, string) {
	if ok, why := f.Succeeded(); !ok {
		return false, why
	}
	if f.Reached < 0.98*float64(f.Rate) {
		return false, fmt.Sprintf("reached %.1f calls/s of %d offered", f.Reached, f.Rate)
	}
	return true, ""
}

// Succeeded says whether the calls succeeded, at whatever rate, and if not, why.
func (f *Figures) Succeeded() (bool, string) {
	switch {
	case f.Offered == 0:
		return false, "no call was offered"
	case f.Success < Threshold:
		return false, fmt.Sprintf("%.3f %% of the calls succeeded, %.1f %% are required (%s)", 100*f.Success, 100*Threshold,
			f.failures())
	}
	return true, ""
}

func (f *Figures) failures() string {
	names := make([]string, 0, len(f.Failures))
	for n := range f.Failures {
		names = append(names, n)
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, f.Failures[n])
	}
	return strings.Join(names, ", ")
}

// Print writes the table for people.
func (f *Figures) Print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("offered", "%d calls at %d/s for %.0f s, talk %.1f s, media %v, AMD %v, answerer %s", f.Offered, f.Rate,
		f.Duration, f.Talk, f.Media, f.AMD, f.Answerer)
	row("reached", "%.1f calls/s", f.Reached)
	row("succeeded", "%.3f %% (%d answered, %d served, %d with a result)", 100*f.Success, f.Answered, f.Served, f.Results)
	if len(f.Failures) > 0 {
		row("failures", "%s", f.failures())
	}
	row("CPU per call", "engine %.3f ms, PostgreSQL %.3f ms, carrier %.3f ms, bot %.3f ms", f.CPU.Engine, f.CPU.Postgres,
		f.CPU.Carrier, f.CPU.Bot)
	row("post-dial delay", "p50 %.1f ms, p99 %.1f ms, max %.1f ms", f.PostDial.P50, f.PostDial.P99, f.PostDial.Max)
	row("answer to bot", "p50 %.1f ms, p99 %.1f ms, max %.1f ms", f.AnswerBot.P50, f.AnswerBot.P99, f.AnswerBot.Max)
	row("group commit", "p50 %.1f ms, p99 %.1f ms; %.1f writes each, %.2f a call", f.Commit.P50, f.Commit.P99, f.GroupSize,
		f.Commits)
	row("live calls", "%.0f, at most %d", f.Live, f.LivePeak)
	row("memory", "resident %.0f MiB before, %.0f MiB steady, %.0f MiB at most: %.1f KiB per live call (%.1f KiB of "+
		"live heap)",
		f.RSSBefore, f.RSSSteady, f.RSSPeak, f.KiBPerCall, f.HeapPerCall)
	row("engine per live call", "%.4f %% of a core in the steady part", f.StreamCore)
	row("WAL", "%.1f KiB per call", f.WALPerCall)
	_ = t.Flush()
}
