package load

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// commitMetric is the engine's histogram of group commits, in seconds.
const commitMetric = "dialler_commit_seconds"

// metrics reads /metrics; for a metric with labels it returns the sum.
func (c *client) metrics(ctx context.Context) (map[string]float64, error) {
	text, err := c.metricsText(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		name, _, v, ok := sample(line)
		if ok {
			out[name] += v
		}
	}
	return out, nil
}

func (c *client) metricsText(ctx context.Context) (string, error) {
	var b []byte
	err := c.do(ctx, http.MethodGet, "/metrics", nil, &b)
	return string(b), err
}

// sample reads a line of the exposition format.
func sample(line string) (name, labels string, v float64, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", 0, false
	}
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", 0, false
	}
	v, err := strconv.ParseFloat(line[i+1:], 64)
	if err != nil {
		return "", "", 0, false
	}
	name, labels, _ = strings.Cut(line[:i], "{")
	return name, labels, v, true
}

// histogram is a cumulative histogram of commits, with the number of their writes.
type histogram struct {
	bounds []float64
	counts []float64 // at or below the bound
	writes float64
}

func (w *world) histogram(ctx context.Context) (h histogram, err error) {
	text, err := w.api.metricsText(ctx)
	if err != nil {
		return h, err
	}
	h, err = parseHistogram(text)
	return h, err
}

func parseHistogram(text string) (h histogram, err error) {
	type bucket struct{ bound, count float64 }
	var buckets []bucket
	for line := range strings.Lines(text) {
		name, labels, v, ok := sample(line)
		switch {
		case !ok:
		case name == "dialler_commit_writes_total":
			h.writes = v
		case name == commitMetric+"_bucket":
			_, le, _ := strings.Cut(labels, `le="`)
			le, _, _ = strings.Cut(le, `"`)
			bound, err := strconv.ParseFloat(le, 64)
			if err != nil {
				return h, fmt.Errorf("load: %s: bucket %q", commitMetric, labels)
			}
			buckets = append(buckets, bucket{bound, v})
		}
	}
	if len(buckets) == 0 {
		return h, fmt.Errorf("load: the engine has no metric %s", commitMetric)
	}
	slices.SortFunc(buckets, func(a, b bucket) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return 1
		}
		return 0
	})
	for _, b := range buckets {
		h.bounds, h.counts = append(h.bounds, b.bound), append(h.counts, b.count)
	}
	return h, nil
}

// since returns what was added after an earlier reading.
func (h histogram) since(before histogram) histogram {
	d := histogram{bounds: h.bounds, counts: slices.Clone(h.counts), writes: h.writes - before.writes}
	for i := range min(len(d.counts), len(before.counts)) {
		d.counts[i] -= before.counts[i]
	}
	return d
}

func (h histogram) count() float64 {
	if len(h.counts) == 0 {
		return 0
	}
	return h.counts[len(h.counts)-1]
}

// quantile interpolates within the bucket; beyond the last bound it returns that bound.
func (h histogram) quantile(q float64) float64 {
	rank := q * h.count()
	if rank <= 0 {
		return 0
	}
	for i, c := range h.counts {
		if c < rank {
			continue
		}
		low, under := 0.0, 0.0
		if i > 0 {
			low, under = h.bounds[i-1], h.counts[i-1]
		}
		if math.IsInf(h.bounds[i], 1) {
			return low
		}
		if c == under {
			return h.bounds[i]
		}
		return low + (h.bounds[i]-low)*(rank-under)/(c-under)
	}
	return h.bounds[len(h.bounds)-1]
}
