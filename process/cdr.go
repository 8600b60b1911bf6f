package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/cdr"
	"dialler/persistence"
)

// CDRAudit says how a carrier's call detail records are matched with our legs.
type CDRAudit struct {
	Format cdr.Format
	Limits cdr.Limits
	Trunk  engine.TrunkID
	// ShowNumbers prints phone numbers in clear, ShowMatched also lists what matches.
	ShowNumbers, ShowMatched bool
	JSON                     bool
}

// cdrFinding is a finding as it is printed; times are RFC 3339 in UTC.
type cdrFinding struct {
	Kind    cdr.Kind `json:"kind"`
	Differs []string `json:"differs,omitempty"`
	Line    int      `json:"line,omitempty"` // of the carrier's file
	Ours    *cdrSide `json:"ours,omitempty"`
	Carrier *cdrSide `json:"carrier,omitempty"`
}

type cdrSide struct {
	CallID   string     `json:"call_id,omitempty"`
	Trunk    string     `json:"trunk,omitempty"`
	To       string     `json:"to,omitempty"`
	From     string     `json:"from,omitempty"`
	Start    *time.Time `json:"start,omitempty"`
	Answer   *time.Time `json:"answer,omitempty"`
	Duration *float64   `json:"duration_s,omitempty"`
}

// Audit reads the file, then our legs, and prints what only one side has and where the two differ. It
// returns what it counted.
func (a *CDRAudit) Audit(ctx context.Context, s *persistence.Store, file io.Reader,
	out io.Writer) (cdr.Summary, error) {
	m := cdr.NewMatcher(a.Limits)
	if err := a.read(m, file); err != nil {
		return m.Summary, err
	}
	first, last, ok := m.Span()
	margin := a.Limits.Within
	if !a.Limits.From.IsZero() {
		first, ok = a.Limits.From, ok || !a.Limits.To.IsZero()
	}
	if !a.Limits.To.IsZero() {
		last = a.Limits.To
	}
	if !ok {
		return m.Summary, engine.Invalid(cdr.Unreadable, "the file has no record: give --from and --to to list our calls")
	}
	w := bufio.NewWriter(out)
	var failed error
	tell := func(f cdr.Finding) {
		if f.Kind != cdr.Matched || a.ShowMatched {
			failed = errors.Join(failed, a.print(w, &f))
		}
	}
	err := s.Records.SentLegs(ctx, first.Add(-margin), last.Add(margin+1), a.Trunk, func(l *cdr.Leg) error {
		m.Leg(l, tell)
		return failed
	})
	if err != nil {
		return m.Summary, err
	}
	m.Rest(tell)
	if a.JSON {
		failed = errors.Join(failed, json.NewEncoder(w).Encode(map[string]any{"summary": &m.Summary}))
	} else {
		_, _ = fmt.Fprintf(w, "%d match, %d differ, %d are only ours, %d only the carrier's", m.Matched, m.Differing,
			m.OnlyOurs, m.OnlyCarrier)
		if m.Outside > 0 {
			_, _ = fmt.Fprintf(w, "; %d outside the window", m.Outside)
		}
		if m.Erased > 0 {
			_, _ = fmt.Fprintf(w, "; %d of persons who were erased", m.Erased)
		}
		_, _ = fmt.Fprintln(w)
	}
	return m.Summary, errors.Join(failed, w.Flush())
}

func (a *CDRAudit) read(m *cdr.Matcher, file io.Reader) error {
	r, err := cdr.NewReader(file, a.Format)
	for err == nil {
		var x cdr.Record
		if x, err = r.Next(); err == nil {
			err = m.Add(&x)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (a *CDRAudit) print(w io.Writer, f *cdr.Finding) error {
	x := cdrFinding{Kind: f.Kind, Differs: f.Differs}
	if l := f.Leg; l != nil {
		x.Ours = &cdrSide{CallID: string(l.ID), Trunk: string(l.Trunk), To: a.number(l.To), From: a.number(l.From),
			Start: moment(l.Start), Answer: moment(l.Answer)}
		if d := l.Duration(); d >= 0 {
			x.Ours.Duration = seconds(d)
		}
	}
	if r := f.Record; r != nil {
		x.Line = r.Line
		x.Carrier = &cdrSide{To: a.number(r.To), From: a.number(r.From), Start: moment(r.Start), Answer: moment(r.Answer)}
		if r.Duration >= 0 {
			x.Carrier.Duration = seconds(r.Duration)
		}
	}
	if a.JSON {
		return json.NewEncoder(w).Encode(&x)
	}
	_, err := fmt.Fprintln(w, x.text())
	return err
}

func (a *CDRAudit) number(n engine.PhoneNumber) string {
	switch {
	case n == "" || n.Erased():
		return ""
	case a.ShowNumbers:
		return n.E164()
	}
	return n.String()
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func seconds(d time.Duration) *float64 {
	s := d.Round(time.Millisecond).Seconds()
	return &s
}

// text is a finding as one line.
func (x *cdrFinding) text() string {
	words := []string{map[cdr.Kind]string{cdr.Matched: "matches", cdr.Differing: "DIFFERS", cdr.OnlyOurs: "ONLY OURS",
		cdr.OnlyCarrier: "ONLY THE CARRIER'S"}[x.Kind]}
	if len(x.Differs) > 0 {
		words = append(words, "in "+strings.Join(x.Differs, ", "))
	}
	if x.Line > 0 {
		words = append(words, fmt.Sprintf("line %d", x.Line))
	}
	for i, s := range []*cdrSide{x.Ours, x.Carrier} {
		if s != nil {
			words = append(words, []string{"ours:", "carrier's:"}[i]+s.text())
		}
	}
	return strings.Join(words, " ")
}

func (s *cdrSide) text() (out string) {
	add := func(name, value string) {
		if value != "" {
			out += " " + name + "=" + value
		}
	}
	add("call_id", s.CallID)
	add("trunk", s.Trunk)
	add("to", s.To)
	add("from", s.From)
	for _, t := range []struct {
		name string
		at   *time.Time
	}{{"start", s.Start}, {"answer", s.Answer}} {
		if t.at != nil {
			add(t.name, t.at.Format(time.RFC3339Nano))
		}
	}
	if s.Duration != nil {
		add("duration", fmt.Sprintf("%gs", *s.Duration))
	}
	return out
}
