package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// ListFigures is the memory cost of a campaign with a long list. Sizes are resident memory of the
// engine, in MiB.
type ListFigures struct {
	Contacts  int     `json:"contacts"`
	Import    float64 `json:"import_s"`
	Started   float64 `json:"rss_started_mib"`  // nothing loaded
	Imported  float64 `json:"rss_imported_mib"` // peak while the file was read
	Dialling  float64 `json:"rss_dialling_mib"` // peak while calls were placed
	Peak      float64 `json:"rss_peak_mib"`     // overall peak
	Calls     int     `json:"calls"`            // that ended while the campaign ran
	Duration  float64 `json:"duration_s"`       // running time
	Engine    float64 `json:"engine_ms"`        // CPU time a call, in ms
	Postgres  float64 `json:"postgres_ms"`
	LivePeak  int     `json:"live_peak"`
	StopTook  float64 `json:"stop_s"` // until the command was answered
	AwayTook  float64 `json:"away_s"` // until all waiting contacts were closed
	PutAway   int     `json:"manually_stopped"`
	FileMB    float64 `json:"file_mb"` // 10⁶ bytes
	LimitMiB  float64 `json:"limit_mib"`
	WithinMiB bool    `json:"within_limit"`
}

// listLimit is how much memory an engine with a list of a million may use, in MiB.
const listLimit = 300

// importLimit is how much an engine's memory may grow while it imports a file, in MiB.
const importLimit = 100

// Import imports n contacts as one file of about size bytes, or of minimum size if that is larger,
// and reports the memory that the engine used meanwhile.
func Import(ctx context.Context, cfg Config, n, size int) (*ListFigures, error) {
	if n < 1 || n > 10_000_000 || size > 1<<30 {
		return nil, errors.New("load: --list must be 1 to 10000000 contacts, and their file at most 1 GiB")
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
	f := &ListFigures{Contacts: n, Started: mib(resident(w.engine.pid()))}
	f.LimitMiB = f.Started + importLimit
	id, err := w.listCampaign(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Log("importing %d contacts", n)
	begun := time.Now()
	err = w.sampled(ctx, &f.Imported, func() (err error) {
		f.FileMB, err = w.importList(ctx, id, n, size)
		return err
	})
	f.Import, f.Peak = time.Since(begun).Seconds(), f.Imported
	f.WithinMiB = f.Peak < f.LimitMiB
	return f, err
}

// stoppedList is the longest list whose campaign is stopped: that closes every contact, some 10,000 a second.
const stoppedList = 1_000_000

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
	id, err := w.listCampaign(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Log("importing %d contacts", n)
	begun := time.Now()
	if err := w.sampled(ctx, &f.Imported, func() (err error) {
		f.FileMB, err = w.importList(ctx, id, n, 0)
		return err
	}); err != nil {
		return nil, err
	}
	f.Import, f.Peak = time.Since(begun).Seconds(), f.Imported
	cfg.Log("dialling %d a second for %.0f s", cfg.Rate, cfg.Duration.Seconds())
	if err := w.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
		return nil, err
	}
	if err := w.sampled(ctx, &f.Dialling, func() error { return w.dialList(ctx, f) }); err != nil {
		return nil, err
	}
	if f.Peak = max(f.Peak, f.Dialling); n > stoppedList {
		f.WithinMiB = f.Peak < listLimit
		return f, nil
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

// listCampaign creates the campaign of a list.
func (w *world) listCampaign(ctx context.Context) (string, error) {
	settings := w.settings()
	if w.cfg.ListTimed {
		if err := w.api.do(ctx, http.MethodPut, "/api/v1/cadences/load", map[string]any{"name": "Load",
			"rules": "busy: 5m, 15m, 1h · no_answer: 3h, another part of the day, next day"}, nil); err != nil {
			return "", err
		}
		settings["cadence_id"], settings["best_hour"], settings["max_attempts"] = "load", true, 3
	}
	return w.draft(ctx, 0, settings)
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

// importList sends the list as one streamed file, its rows padded to size bytes in all; mb is the
// file's actual size.
func (w *world) importList(ctx context.Context, id string, n, size int) (mb float64, err error) {
	r, pipe := io.Pipe()
	sent := 0
	go func() {
		out := bufio.NewWriterSize(pipe, 64<<10)
		note := strings.Repeat("lorem ipsum ", 1+size/n/12)
		row, head := plainRow, plainHead
		if w.cfg.ListTimed {
			row, head = timedRow(n, time.Now()), timedHead
		}
		first, err := fmt.Fprint(out, head)
		sent = first
		for i := 0; i < n && err == nil; i++ {
			var more int
			if more, err = row(out, i); err != nil {
				break
			}
			sent += more
			fill := min(len(note), max(0, size*(i+1)/n-sent-1))
			more, err = fmt.Fprintln(out, note[:fill])
			sent += more
		}
		if err == nil {
			err = out.Flush()
		}
		pipe.CloseWithError(err)
	}()
	defer func() { _ = r.Close() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		w.api.base+"/api/v1/campaigns/"+id+"/imports?filename=list.csv", r)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "text/csv")
	req.Header.Set("Authorization", "Bearer "+w.api.bearer)
	resp, err := (&http.Client{Transport: w.api.http.Transport}).Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusCreated {
		return 0, fmt.Errorf("load: the import was answered %d %s", resp.StatusCode, b)
	}
	return float64(sent) / 1e6, err
}

// The rows of a list; what pads them to a size comes last.
const (
	plainHead = "phone_number,first_name,account,note\n"
	timedHead = "phone_number,first_name,account,not_before,expires_at,priority,phone_number_2,phone_number_3,note\n"
)

func plainRow(out io.Writer, i int) (int, error) {
	return fmt.Fprintf(out, "%s,Contact %d,A-%07d,", contactNumber(i), i, i)
}

// timedRow gives everybody an end and a priority, every tenth contact a first day, and every fifth a second
// and a third number, after those of all n contacts.
func timedRow(n int, now time.Time) func(out io.Writer, i int) (int, error) {
	day := func(days int) string { return now.AddDate(0, 0, days).UTC().Format(time.RFC3339) }
	return func(out io.Writer, i int) (int, error) {
		var from, second, third string
		if i%10 == 9 {
			from = day(1 + i/10%20)
		}
		if i%5 == 0 {
			second, third = contactNumber(n+i), contactNumber(n+i+1)
		}
		return fmt.Fprintf(out, "%s,Contact %d,A-%07d,%s,%s,%d,%s,%s,", contactNumber(i), i, i, from, day(30+i%30), i%7*3%10,
			second, third)
	}
}

// dialList lets the campaign run.
func (w *world) dialList(ctx context.Context, f *ListFigures) error {
	begun, from := time.Now(), w.used()
	err := poll(ctx, time.Second, func() (bool, error) {
		if err := w.engine.ended(); err != nil {
			return false, err
		}
		m, err := w.api.metrics(ctx)
		f.Calls, f.LivePeak = int(m["dialler_attempts_ended_total"]), max(f.LivePeak, int(m["dialler_live_calls"]))
		return time.Since(begun) >= w.cfg.Duration, err
	})
	f.Duration = time.Since(begun).Seconds()
	to := w.used()
	each := func(a, b time.Duration) float64 { return (b - a).Seconds() * 1000 / float64(max(1, f.Calls)) }
	f.Engine, f.Postgres = each(from.engine, to.engine), each(from.postgres, to.postgres)
	return err
}

// Print writes the table for people.
func (f *ListFigures) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("list", "%d contacts in %.0f MB, imported in %.0f s", f.Contacts, f.FileMB, f.Import)
	if f.Duration == 0 {
		row("memory", "%.0f MiB started, %.0f MiB importing", f.Started, f.Imported)
		_ = t.Flush()
		return
	}
	row("dialled", "%d calls in %.0f s, at most %d at a time", f.Calls, f.Duration, f.LivePeak)
	row("CPU per call", "engine %.2f ms, PostgreSQL %.2f ms", f.Engine, f.Postgres)
	if f.AwayTook > 0 {
		row("stopped", "answered in %.1f s, %d waiting contacts cleared in %.0f s", f.StopTook, f.PutAway, f.AwayTook)
	}
	row("memory", "%.0f MiB started, %.0f MiB importing, %.0f MiB dialling, %.0f MiB at most", f.Started, f.Imported,
		f.Dialling, f.Peak)
	_ = t.Flush()
}
