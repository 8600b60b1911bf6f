package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"
)

// ListFigures is what a campaign with a long list costs in memory. Sizes are
// resident memory of the engine, in MiB.
type ListFigures struct {
	Contacts  int     `json:"contacts"`
	Import    float64 `json:"import_s"`
	Started   float64 `json:"rss_started_mib"`  // nothing loaded
	Imported  float64 `json:"rss_imported_mib"` // at most, while the file was read
	Peak      float64 `json:"rss_peak_mib"`     // at most, in all
	Calls     int     `json:"calls"`            // that ended while the campaign ran
	Duration  float64 `json:"duration_s"`       // for which it ran
	LivePeak  int     `json:"live_peak"`
	StopTook  float64 `json:"stop_s"` // until the command was answered
	AwayTook  float64 `json:"away_s"` // until all who waited were put away
	PutAway   int     `json:"manually_stopped"`
	LimitMiB  float64 `json:"limit_mib"`
	WithinMiB bool    `json:"within_limit"`
}

// listLimit is what an engine with a list of a million may use, in MiB.
const listLimit = 300

// List imports n contacts as one file, dials some of them at the configured
// rate for the configured time, stops the campaign, and reports the memory that
// the engine used.
func List(ctx context.Context, cfg Config, n int) (*ListFigures, error) {
	if n < 1 || n > 10_000_000 {
		return nil, errors.New("load: --list must be 1 to 10000000 contacts")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer w.close()
	f := &ListFigures{Contacts: n, Started: mib(resident(w.engine.pid())), LimitMiB: listLimit}
	id, err := w.campaign(ctx, 0)
	if err != nil {
		return nil, err
	}
	cfg.Log("importing %d contacts", n)
	begun := time.Now()
	if err := w.sampled(ctx, &f.Imported, func() error { return w.importList(ctx, id, n) }); err != nil {
		return nil, err
	}
	f.Import, f.Peak = time.Since(begun).Seconds(), f.Imported
	cfg.Log("dialling %d a second for %.0f s", cfg.Rate, cfg.Duration.Seconds())
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
		return nil, err
	}
	if err := w.sampled(ctx, &f.Peak, func() error { return w.dialList(ctx, f) }); err != nil {
		return nil, err
	}
	begun = time.Now()
	if err := w.sampled(ctx, &f.Peak, func() error {
		return w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/stop", nil, nil)
	}); err != nil {
		return nil, err
	}
	f.StopTook = time.Since(begun).Seconds()
	var d struct {
		Draining bool
		Counters struct {
			ManuallyStopped int `json:"manually_stopped"`
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err = w.sampled(ctx, &f.Peak, func() error {
		return poll(ctx, time.Second, func() (bool, error) {
			err := w.api.do(ctx, http.MethodGet, "/api/v1/campaigns/"+id, nil, &d)
			return !d.Draining, err
		})
	})
	f.AwayTook = time.Since(begun).Seconds()
	f.PutAway, f.WithinMiB = d.Counters.ManuallyStopped, f.Peak < listLimit
	return f, err
}

// sampled keeps the highest resident memory of the engine while f runs.
func (w *world) sampled(ctx context.Context, peak *float64, f func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = poll(ctx, 100*time.Millisecond, func() (bool, error) {
			*peak = max(*peak, mib(resident(w.engine.pid())))
			return false, nil
		})
	}()
	err := f()
	cancel()
	<-done
	return err
}

// importList sends the list as one streamed file.
func (w *world) importList(ctx context.Context, id string, n int) error {
	r, pipe := io.Pipe()
	go func() {
		_, err := fmt.Fprint(pipe, "phone_number,first_name,account\n")
		for i := 0; i < n && err == nil; i++ {
			_, err = fmt.Fprintf(pipe, "%s,Contact %d,A-%07d\n", contactNumber(i), i, i)
		}
		pipe.CloseWithError(err)
	}()
	defer func() { _ = r.Close() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.api.base+"/api/v1/campaigns/"+id+"/imports?filename=list.csv", r)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/csv")
	req.Header.Set("Authorization", "Bearer "+w.api.bearer)
	resp, err := (&http.Client{Transport: w.api.http.Transport}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("load: the import was answered %d %s", resp.StatusCode, b)
	}
	return err
}

// dialList lets the campaign run.
func (w *world) dialList(ctx context.Context, f *ListFigures) error {
	begun := time.Now()
	err := poll(ctx, time.Second, func() (bool, error) {
		if err := w.engine.ended(); err != nil {
			return false, err
		}
		m, err := w.api.metrics(ctx)
		f.Calls, f.LivePeak = int(m["dialler_attempts_ended_total"]), max(f.LivePeak, int(m["dialler_live_calls"]))
		return time.Since(begun) >= w.cfg.Duration, err
	})
	f.Duration = time.Since(begun).Seconds()
	return err
}

// Print writes the table for people.
func (f *ListFigures) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("list", "%d contacts, imported in %.0f s", f.Contacts, f.Import)
	row("dialled", "%d calls in %.0f s, at most %d at a time", f.Calls, f.Duration, f.LivePeak)
	row("stopped", "answered in %.1f s, %d who waited put away in %.0f s", f.StopTook, f.PutAway, f.AwayTook)
	row("memory", "%.0f MiB started, %.0f MiB importing, %.0f MiB at most", f.Started, f.Imported, f.Peak)
	_ = t.Flush()
}
