package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/flight"
	"dialler/engine/journal"
)

type replayCmd struct {
	File    string `arg:"" help:"The recording." type:"existingfile"`
	Until   string `help:"${help_replay_until}" placeholder:"EVENT"`
	Explain string `help:"${help_replay_explain}" placeholder:"CONTACT"`
	JSON    bool   `name:"json" help:"Print the summary as JSON."`
}

// replayed is the summary of a replay.
type replayed struct {
	Campaign engine.CampaignID `json:"campaign_id"`
	Program  string            `json:"program"`
	Began    time.Time         `json:"began_at"`
	Ended    time.Time         `json:"ended_at"`
	Inputs   int               `json:"inputs"`
	Calls    int               `json:"calls"`
	ByInput  map[string]int    `json:"inputs_by_kind"`
	ByEffect map[string]int    `json:"effects_by_kind"`
	ByEvent  map[string]int    `json:"events_by_type"`
	FirstSeq int64             `json:"first_event,omitempty"`
	LastSeq  int64             `json:"last_event,omitempty"`
	Bytes    int64             `json:"bytes"`
	SHA256   string            `json:"sha256"`
	// End is why the recording ended; "" when it was not closed.
	End   string `json:"end,omitempty"`
	Crash string `json:"crash,omitempty"`
	// Wrong is what differs, or is damaged; "" when every effect is as it was.
	Wrong string `json:"wrong,omitempty"`
	// Now are the effects that differ, as they are now.
	Now string `json:"effects_now,omitempty"`
	// Standing is what the campaign said at --until.
	Standing string `json:"standing,omitempty"`
}

// Run replays; it fails when an effect differs or the file is damaged, and differently when the
// recording was not closed.
func (x *replayCmd) Run() error {
	f, err := os.Open(x.File)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	out := io.Writer(os.Stdout)
	if x.JSON {
		out = os.Stderr // the explanation, beside the JSON
	}
	r, err := x.replay(f, out)
	if err != nil {
		return fmt.Errorf("%s: %w", x.File, err)
	}
	if x.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		_ = enc.Encode(r) // contains nothing that JSON cannot represent
	} else {
		r.print(os.Stdout)
	}
	switch {
	case r.Wrong != "":
		return errors.New(r.Wrong)
	case r.Standing == "" && r.End == "":
		return engine.Conflict("recording_not_closed", "")
	}
	return nil
}

// replay replays a recording to its end, or to what differs.
func (x *replayCmd) replay(f io.Reader, out io.Writer) (*replayed, error) {
	p, err := flight.Play(f)
	if err != nil {
		return nil, err
	}
	r := &replayed{Campaign: p.Header.Campaign, Program: p.Header.Program, Began: p.Header.Began, Ended: p.Header.Began,
		ByInput: map[string]int{}, ByEffect: map[string]int{}, ByEvent: map[string]int{}}
	watch := flight.NewWatch(x.Explain)
	for {
		s, err := p.Next()
		if err != nil {
			r.close(p, err)
			break
		}
		if now, changed := watch.See(s, p.State); changed && x.Explain != "" {
			_, _ = fmt.Fprintf(out, "%s  input %d, %s: %s\n", s.Input.Now.UTC().Format("2006-01-02T15:04:05.000Z"), s.Number,
				kind(s.Input.Event), now)
		}
		if reached := r.add(s, x.Until); reached {
			if d, ok := p.Detail(); ok {
				r.Standing = fmt.Sprintf("%s: %s", d.Campaign.State, d.Live.Explanation)
			}
			break
		}
	}
	sum, size := p.Sum()
	r.SHA256, r.Bytes = fmt.Sprintf("%x", sum), size
	if x.Until != "" && r.Standing == "" && r.Wrong == "" {
		r.Wrong = "there is no event " + x.Until
	}
	return r, nil
}

// close notes how the replay ended.
func (r *replayed) close(p *flight.Player, err error) {
	var d *flight.Difference
	switch {
	case errors.Is(err, io.EOF):
		r.End = p.End()
	case errors.Is(err, io.ErrUnexpectedEOF): // not closed
	case errors.As(err, &d):
		r.Wrong, r.Now = err.Error(), string(flight.Text(d.Step.Effects))
	default:
		r.Wrong = err.Error()
	}
}

// add counts a step, and says whether it wrote the event.
func (r *replayed) add(s *flight.Step, until string) (reached bool) {
	r.Inputs, r.Ended = s.Number, s.Input.Now.UTC()
	if s.Crash != "" {
		r.Crash = fmt.Sprintf("input %d, %s: %s", s.Number, kind(s.Input.Event), s.Crash)
	}
	r.ByInput[kind(s.Input.Event)]++
	for _, e := range s.Effects {
		r.ByEffect[kind(e)]++
	}
	seq, _ := strconv.ParseInt(until, 10, 64)
	for _, e := range flight.Events(s.Effects) {
		r.ByEvent[string(e.Type)]++
		if e.Type == journal.AttemptReserved {
			r.Calls++
		}
		if r.FirstSeq == 0 || e.Seq < r.FirstSeq {
			r.FirstSeq = e.Seq
		}
		r.LastSeq = max(r.LastSeq, e.Seq)
		reached = reached || until != "" && (string(e.Type) == until || seq > 0 && e.Seq >= seq)
	}
	return reached
}

// kind names an input or an effect.
func kind(v any) string { return strings.TrimPrefix(reflect.TypeOf(v).String(), "*") }

func (r *replayed) print(out io.Writer) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("campaign %s, recorded by %s from %s to %s", r.Campaign, r.Program, r.Began.Format(time.RFC3339),
		r.Ended.Format(time.RFC3339))
	say("%d inputs, %d calls, events %d to %d; %d bytes, SHA-256 %s", r.Inputs, r.Calls, r.FirstSeq, r.LastSeq, r.Bytes,
		r.SHA256)
	for _, part := range []struct {
		what string
		of   map[string]int
	}{{"inputs", r.ByInput}, {"effects", r.ByEffect}, {"events", r.ByEvent}} {
		for _, name := range slices.Sorted(maps.Keys(part.of)) {
			say("  %-8s %8d  %s", part.what, part.of[name], name)
		}
	}
	if r.Crash != "" {
		say("the run crashed at %s", r.Crash)
	}
	switch {
	case r.Now != "":
		say("now the effects are:\n%s", strings.TrimSpace(r.Now))
	case r.Wrong != "":
	case r.Standing != "":
		say("%s", r.Standing)
	case r.End == "":
		say("the recording was not closed: it replays to where it ends, every effect as it was recorded")
	default:
		say("every effect is as it was recorded; the recording ended: %s", r.End)
	}
}
