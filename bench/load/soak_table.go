package load

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// soakLines is the approximate number of samples in the table.
const soakLines = 24

// Print writes the tables for people.
func (f *SoakFigures) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%d calls a second for %.0f s: %d calls, %d served, %.1f calls/s reached; %v\n\n", f.Rate,
		f.Duration, f.Calls, f.Served, f.Reached, f.Outcomes)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "s\tcalls\tlive\trss\theap\tgoroutines\tfiles\tpg memory\tpg "+
		"disk\tholds\tB/contact\tB/attempt\tdead %\tpost-dial p50\tp99\t")
	for i := 0; i < len(f.Samples); i += max(1, len(f.Samples)/soakLines) {
		s := &f.Samples[i]
		_, _ = fmt.Fprintf(t, "%.0f\t%d\t%d\t%.0f\t%.1f\t%d\t%d\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t\n", s.At,
			s.Attempts, s.Live, s.RSS, s.Heap, s.Goroutines, s.Files, s.PGMemory, s.PGDisk, s.Holds, s.Contact, s.Attempt,
			s.Dead, s.PostDial.P50, s.PostDial.P99)
	}
	_ = t.Flush()
	_, _ = fmt.Fprintf(out, "\nSizes in MiB, delays in ms. A call takes %.1f KiB of disk. Of the last two thirds:\n\n",
		f.PerCall)
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "\tmean\tan hour\tsurely, %\tallowed, %\t\t")
	for i := range f.Trends {
		r := &f.Trends[i]
		verdict := "flat"
		if !r.OK {
			verdict = "GROWS"
		}
		_, _ = fmt.Fprintf(t, "%s\t%.1f %s\t%+.1f\t%+.1f\t%.0f\t%s\t\n", r.Name, r.Mean, r.Unit, r.PerH, r.Pct, r.Limit,
			verdict)
	}
	_ = t.Flush()
	_, _ = fmt.Fprintf(out, "\npost-dial p50 and p99: %.1f and %.1f ms early, %.1f and %.1f ms late\n", f.Early.P50,
		f.Early.P99, f.Late.P50, f.Late.P99)
	a := &f.After
	_, _ = fmt.Fprintf(out, "left at the end: %d calls, %d legs, %d media paths, %d bot sockets, %d seats, %d "+
		"channels, %d numbers, %d number holds\n",
		a.LiveCalls, a.Legs, a.MediaPaths, a.BotSockets, a.Seats, a.Channels, a.Numbers, f.HoldsLeft)
}
