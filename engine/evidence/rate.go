package evidence

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/journal"
)

// rateColumns are the columns of abandon_rate.csv: each event that counts, in the order of the run, with
// what the abandon rate was from then on, and the cap in force.
var rateColumns = []string{"seq", "at", "event", "attempt_id", "cause", "live_answers", "abandoned", "abandon_rate_ppm",
	"abandon_cap_ppm"}

// Step is a line of it.
type Step struct {
	Seq         int64
	At          time.Time
	Event       journal.Type
	Attempt     engine.AttemptID
	Cause       engine.AbandonCause
	LiveAnswers int
	Abandoned   int
	RatePPM     int
	CapPPM      int
}

// What says what happened, for people.
func (s *Step) What() string {
	switch s.Event { //nolint:exhaustive // no other event counts
	case journal.AttemptConnected:
		return "served in time"
	case journal.AttemptRevised:
		return "no person after all: taken back"
	}
	return "abandoned: " + string(s.Cause)
}

// counts says whether an event counts for the abandon rate, and how.
func counts(kind journal.Type, outcome engine.Outcome, connected bool) (live, abandoned int) {
	switch {
	case kind == journal.AttemptConnected:
		return 1, 0
	case kind == journal.AttemptRevised && !connected:
		return -1, 0
	case kind == journal.AttemptEnded && outcome == engine.OutcomeAbandoned:
		return 1, 1
	}
	return 0, 0
}

// next is the step that follows.
func (s *Step) next(live, abandoned, capPPM int) {
	s.LiveAnswers, s.Abandoned, s.CapPPM = s.LiveAnswers+live, s.Abandoned+abandoned, capPPM
	s.RatePPM = rate(s.Abandoned, s.LiveAnswers)
}

func (s *Step) row() []string {
	return []string{strconv.FormatInt(s.Seq, 10), moment(&s.At), string(s.Event), string(s.Attempt), string(s.Cause),
		strconv.Itoa(s.LiveAnswers), strconv.Itoa(s.Abandoned), strconv.Itoa(s.RatePPM), strconv.Itoa(s.CapPPM)}
}

// stepsCap is how many steps the page has; all of them are in abandon_rate.csv. stepsFold is how many of
// them are folded into one.
const (
	stepsCap  = 20_000
	stepsFold = 200
)

// Answer writes an event of the run that may count for the abandon rate: connected, revised and ended, in
// their order.
func (w *Writer) Answer(e *journal.Event) error {
	live, abandoned := counts(e.Type, e.Data.Outcome, e.Data.Connected)
	if live == 0 {
		return nil
	}
	if err := w.open(RateFile); err != nil {
		return err
	}
	s := &w.step
	s.Seq, s.At, s.Event, s.Attempt, s.Cause = e.Seq, e.At.UTC(), e.Type, e.Attempt, ""
	if abandoned > 0 {
		s.Cause = e.Data.Cause
	}
	s.next(live, abandoned, capAt(w.manifest.Caps, w.cap, e.Seq))
	if len(w.steps) < stepsCap {
		w.steps = append(w.steps, *s)
	}
	return w.csv.Write(s.row())
}

// answers are the events that count, in any order: their number, and a sum.
type answers struct {
	live, abandoned int
	sum             chain.Hash
}

func (a *answers) add(live, abandoned int, seq int64, kind, attempt, cause string) {
	a.live, a.abandoned = a.live+live, a.abandoned+abandoned
	for i, b := range chain.Digest(fmt.Appendf(nil, "%d %s %s %s", seq, kind, attempt, cause)) {
		a.sum[i] ^= b
	}
}

// rates checks abandon_rate.csv, and returns its events.
func (v *Verdict) rates(r io.Reader) (a answers, err error) {
	table := csv.NewReader(&rows{r: r})
	table.ReuseRecord = true
	if header, err := table.Read(); err != nil || !slices.Equal(header, rateColumns) {
		return a, errors.New("its columns are not those of this format")
	}
	var s Step
	for {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a, errors.New("it is not a CSV file with its columns")
		}
		seq, err := strconv.ParseInt(row[0], 10, 64)
		at, bad := time.Parse(time.RFC3339Nano, row[1])
		if err != nil || bad != nil || seq <= s.Seq {
			return a, errors.New("its lines are not in the order of events")
		}
		s.Seq, s.At, s.Event, s.Attempt, s.Cause = seq, at, journal.Type(row[2]), engine.AttemptID(row[3]),
			engine.AbandonCause(row[4])
		live, abandoned := counts(s.Event, engine.OutcomeAbandoned, false)
		s.next(live, abandoned, capAt(v.Manifest.Caps, v.Manifest.CapPPM, seq))
		if !slices.Equal(row, s.row()) {
			v.wrong("%s: the rate or the cap of event %d is another", RateFile, seq)
		}
		a.add(live, abandoned, seq, row[2], row[3], row[4])
	}
	if m := &v.Manifest; s.LiveAnswers != m.LiveAnswers || s.Abandoned != m.Abandoned {
		v.wrong("%s ends with %d abandoned of %d live answers, the manifest says %d of %d", RateFile, s.Abandoned,
			s.LiveAnswers, m.Abandoned, m.LiveAnswers)
	}
	return a, nil
}
