package process

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Build says what the program was built from. The go command stamps it into programs that it builds in a
// checkout, unless -buildvcs=false.
type Build struct {
	// Version is that of the module: a tag (v1.2.3), or one made of the commit and its time; "(devel)"
	// without stamps.
	Version string `json:"version"`
	// Commit is the full hash; "" when unknown, as are the others.
	Commit string `json:"commit,omitempty"`
	// Date is when the commit was made, RFC 3339 in UTC.
	Date string `json:"date,omitempty"`
	// Modified says that files of the checkout differed from the commit.
	Modified bool `json:"modified,omitempty"`
	// Go is the version of the compiler.
	Go string `json:"go"`
}

// ThisBuild returns the program's own.
func ThisBuild() Build {
	b := Build{Version: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the program's name with the build, in one line.
func (b Build) String() string {
	s := "dialler " + b.Version
	if b.Commit != "" {
		s += " commit " + b.Commit
	}
	if b.Date != "" {
		s += " of " + b.Date
	}
	if b.Modified {
		s += ", modified,"
	}
	return s + " " + b.Go
}

// metric is 1, and its labels are the build: what a rolling upgrade is seen by.
func (b Build) metric() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "dialler_build_info",
		Help:        "1; the labels say what the program was built from.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.Go}})
	g.Set(1)
	return g
}
