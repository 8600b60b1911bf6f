package cdr_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cdr"
)

func read(t *testing.T, text string, f cdr.Format) (list []cdr.Record, err error) {
	t.Helper()
	r, err := cdr.NewReader(strings.NewReader(text), f)
	for err == nil {
		var x cdr.Record
		if x, err = r.Next(); err == nil {
			list = append(list, x)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

var columns = map[string]string{cdr.CallID: "id", cdr.To: "called", cdr.From: "caller", cdr.Start: "begin",
	cdr.Duration: "secs"}

func TestACarriersFileIsReadAsItIsWritten(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	want := time.Date(2026, 11, 21, 8, 0, 5, 0, time.UTC)
	for _, c := range []struct{ to, begin string }{
		{"+4915112345678", "2026-11-21T08:00:05Z"},
		{"0049 151 12345678", "2026-11-21 09:00:05"},
		{"4915112345678", "21.11.2026 09:00:05"},
		{"0151/12345678", "2026-11-21T09:00:05"},
		{"15112345678", "20261121090005"},
		{"+4915112345678", "1795248005"},
		{"+4915112345678", "1795248005000"},
	} {
		text := "\uFEFFID; Called ;caller;begin;secs;note\r\na.1;" + c.to + ";;" + c.begin + ";00:01:05;\"x;y\"\r\n;;\r\n"
		list, err := read(t, text, cdr.Format{Columns: columns, Zone: berlin, Country: "DE"})
		if err != nil || len(list) != 1 {
			t.Errorf("%v: %v %v", c, list, err)
			continue
		}
		x := list[0]
		if x.CallID != "a.1" || x.To != "+4915112345678" || x.From != "" || !x.Start.Equal(want) ||
			x.Duration != 65*time.Second || x.Line != 2 {
			t.Errorf("%v: %+v", c, x)
		}
	}
	premium, err := read(t, "called,begin\n+49900123456,1795248005\n", cdr.Format{
		Columns: map[string]string{cdr.To: "called", cdr.Start: "begin"}})
	if err != nil || premium[0].To != "+49900123456" {
		t.Errorf("a number that nobody here dials: %v %v", premium, err)
	}
	layout, err := read(t, "id,begin\nx,11/21/2026 08:00:05\n", cdr.Format{Layout: "01/02/2006 15:04:05",
		Columns: map[string]string{cdr.CallID: "id", cdr.Start: "begin"}})
	if err != nil || !layout[0].Start.Equal(want) {
		t.Errorf("%v %v", layout, err)
	}
}

func TestAFileThatCannotBeReadIsRefusedWithItsLine(t *testing.T) {
	for what, c := range map[string]struct{ text, says string }{
		"no column":         {"id,called\n", "no column"},
		"twice":             {"id,ID,called,caller,begin,secs\n", "twice"},
		"no time":           {"id,called,caller,begin,secs\na,,,11/21/2026 1:00,\n", "line 2"},
		"no duration":       {"id,called,caller,begin,secs\na,,,1795248005,ever\n", "line 2"},
		"nothing to match":  {"id,called,caller,begin,secs\n\n,anonymous,,1795248005,1\n", "line 3"},
		"an open quotation": {"id,called,caller,begin,secs\n\"a,,,1795248005,1\n", "not CSV"},
		"empty":             {"", "names no columns"},
		"another encoding":  {"id,called,caller,begin,se\xffcs\n", "UTF-8"},
		"a first line":      {strings.Repeat("x", 100_000), "CSV"},
	} {
		_, err := read(t, c.text, cdr.Format{Columns: columns})
		if engine.ErrorCode(err) != cdr.Unreadable || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, columns := range []map[string]string{{"id": "x"}, {cdr.CallID: "id"}, {cdr.Start: "begin"}} {
		if _, err := read(t, "id,begin\n", cdr.Format{Columns: columns}); engine.ErrorCode(err) != cdr.Unreadable {
			t.Errorf("%v: %v", columns, err)
		}
	}
}

var (
	began  = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	limits = cdr.Limits{Within: time.Minute, Start: 5 * time.Second, Duration: 2 * time.Second}
)

// line is what a finding is known by: its kind, its leg, its line and the fields that differ.
func line(f cdr.Finding) string {
	leg, at := "", 0
	if f.Leg != nil {
		leg = string(f.Leg.ID)
	}
	if f.Record != nil {
		at = f.Record.Line
	}
	return fmt.Sprintf("%s %s %d %v", f.Kind, leg, at, f.Differs)
}

// match gives all findings, sorted.
func match(t *testing.T, l cdr.Limits, legs []cdr.Leg, records []cdr.Record) ([]string, cdr.Summary) {
	t.Helper()
	m := cdr.NewMatcher(l)
	for i := range records {
		if err := m.Add(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for i := range legs {
		m.Leg(&legs[i], func(f cdr.Finding) { out = append(out, line(f)) })
	}
	m.Rest(func(f cdr.Finding) { out = append(out, line(f)) })
	slices.Sort(out)
	return out, m.Summary
}

// TestShuffledDroppedDoubledAndChangedRecordsAreFoundExactly makes a day of calls, of which some
// numbers are called again after minutes, and the records of a carrier that tells them in any order,
// forgets some, tells some twice, invents some and gets some wrong.
func TestShuffledDroppedDoubledAndChangedRecordsAreFoundExactly(t *testing.T) {
	for seed := range uint64(200) {
		for _, withIDs := range []bool{true, false} {
			r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test's own
			var legs []cdr.Leg
			for i := range 1 + r.IntN(60) {
				l := cdr.Leg{ID: engine.LegID(fmt.Sprintf("%032x.1", i)), To: engine.PhoneNumber(fmt.Sprintf("+4915100000%03d",
					i%20)), From: "+4930111222", Start: began.Add(time.Duration(i) * 10 * time.Second)}
				if r.IntN(2) == 0 {
					l.Answer = l.Start.Add(8 * time.Second)
					l.End = l.Answer.Add(time.Duration(r.IntN(60)) * time.Second)
				}
				legs = append(legs, l)
			}
			var records []cdr.Record
			var want []string
			var sum cdr.Summary
			n := 0
			add := func(x cdr.Record) int {
				n++
				x.Line = n
				records = append(records, x)
				return n
			}
			for _, l := range legs {
				x := cdr.Record{To: l.To, From: l.From, Start: l.Start.Add(time.Duration(r.IntN(9)-4) * time.Second)}
				if !l.Answer.IsZero() {
					x.Duration = l.End.Sub(l.Answer) + time.Duration(r.IntN(3))*time.Second
				}
				if withIDs {
					x.CallID = string(l.ID)
				}
				switch r.IntN(8) {
				case 0:
					want, sum.OnlyOurs = append(want, fmt.Sprintf("only_ours %s 0 []", l.ID)), sum.OnlyOurs+1
				case 1:
					x.Duration += 3 * time.Second
					want, sum.Differing = append(want, fmt.Sprintf("differing %s %d [duration]", l.ID, add(x))), sum.Differing+1
				case 2:
					x.Start = l.Start.Add(6 * time.Second)
					want, sum.Differing = append(want, fmt.Sprintf("differing %s %d [start]", l.ID, add(x))), sum.Differing+1
				case 3:
					if x.From = "+4930999999"; withIDs {
						x.To = "+4915199999999"
						want = append(want, fmt.Sprintf("differing %s %d [to from]", l.ID, add(x)))
					} else {
						want = append(want, fmt.Sprintf("differing %s %d [from]", l.ID, add(x)))
					}
					sum.Differing++
				case 4: // told twice: the same, so that either may be the one that is matched
					want = append(want, fmt.Sprintf("matched %s %d []", l.ID, add(x)), fmt.Sprintf("only_carrier  %d []", add(x)))
					sum.Matched++
					sum.OnlyCarrier++
				case 5: // and one that was never placed
					invented := cdr.Record{To: "+491700000000", Start: x.Start}
					if withIDs {
						invented.CallID = "x" + string(l.ID)
					}
					want = append(want, fmt.Sprintf("only_carrier  %d []", add(invented)))
					sum.OnlyCarrier++
					fallthrough
				default:
					want, sum.Matched = append(want, fmt.Sprintf("matched %s %d []", l.ID, add(x))), sum.Matched+1
				}
			}
			r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			slices.Sort(want)
			if got, s := match(t, limits, legs, records); !slices.Equal(got, want) || s != sum {
				t.Fatalf("seed %d, Call-IDs %v: %+v\n%s\nwant %+v\n%s", seed, withIDs, s, strings.Join(got, "\n"), sum,
					strings.Join(want, "\n"))
			}
		}
	}
}

func TestANumberThatIsCalledAgainWithinAMinuteHasTheRecordsThatFit(t *testing.T) {
	leg := func(id string, at time.Duration) cdr.Leg {
		return cdr.Leg{ID: engine.LegID(id), To: "+4915100000001", Start: began.Add(at)}
	}
	record := func(n int, at time.Duration) cdr.Record {
		return cdr.Record{Line: n, To: "+4915100000001", Start: began.Add(at), Duration: -1}
	}
	legs := []cdr.Leg{leg("a.1", 0), leg("b.1", 40*time.Second)}
	for _, c := range []struct {
		records []cdr.Record
		want    []string
	}{
		{[]cdr.Record{record(1, 41*time.Second)}, []string{"matched b.1 1 []", "only_ours a.1 0 []"}},
		{[]cdr.Record{record(1, time.Second)}, []string{"matched a.1 1 []", "only_ours b.1 0 []"}},
		{[]cdr.Record{record(1, 50*time.Second), record(2, 10*time.Second)},
			[]string{"differing a.1 2 [start]", "differing b.1 1 [start]"}},
		{[]cdr.Record{record(1, 0), record(2, 0), record(3, 40*time.Second)},
			[]string{"matched a.1 1 []", "matched b.1 3 []", "only_carrier  2 []"}},
	} {
		if got, _ := match(t, limits, legs, c.records); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestCallsOutsideTheWindowMatchAndAreNoFindings(t *testing.T) {
	l := limits
	l.From, l.To = began, began.Add(time.Hour)
	leg := func(id string, at time.Duration) cdr.Leg {
		return cdr.Leg{ID: engine.LegID(id), To: engine.PhoneNumber("+4915100000" + id), Start: began.Add(at)}
	}
	record := func(n int, id string, at time.Duration) cdr.Record {
		return cdr.Record{Line: n, To: engine.PhoneNumber("+4915100000" + id), Start: began.Add(at), Duration: -1}
	}
	got, sum := match(t, l, []cdr.Leg{leg("001", -10*time.Second), leg("002", -5*time.Second), leg("003", time.Second),
		leg("004", time.Hour)}, []cdr.Record{record(1, "002", 4*time.Second), record(2, "005", -time.Second),
		record(3, "006", -time.Hour), record(4, "003", -time.Second)})
	want := []string{"differing 002 1 [start]", "matched 003 4 []"}
	if !slices.Equal(got, want) || sum != (cdr.Summary{Matched: 1, Differing: 1, Outside: 2}) {
		t.Errorf("%q %+v", got, sum)
	}
}

func TestAFileOfAnsweredCallsIsComparedWithThose(t *testing.T) {
	l := limits
	l.Answered = true
	answered := cdr.Leg{ID: "a.1", To: "+4915100000001", Start: began, Answer: began.Add(time.Second),
		End: began.Add(11 * time.Second)}
	got, sum := match(t, l, []cdr.Leg{answered, {ID: "b.1", To: "+4915100000002", Start: began}},
		[]cdr.Record{{Line: 1, To: answered.To, Answer: answered.Answer, Duration: 10 * time.Second},
			{Line: 2, CallID: "b.1", Answer: began, Duration: -1}})
	want := []string{"differing b.1 2 [answer]", "matched a.1 1 []"}
	if !slices.Equal(got, want) || sum != (cdr.Summary{Matched: 1, Differing: 1}) {
		t.Errorf("%q %+v", got, sum)
	}
}

func TestAnErasedPersonsCallIsNoFindingWhereOnlyNumbersMatch(t *testing.T) {
	erased := cdr.Leg{ID: "a.1", To: engine.ErasedPrefix + "1", Start: began}
	got, sum := match(t, limits, []cdr.Leg{erased}, []cdr.Record{{Line: 1, To: "+4915100000002", Start: began}})
	if want := []string{"only_carrier  1 []"}; !slices.Equal(got, want) || sum.Erased != 1 {
		t.Errorf("%q %+v", got, sum)
	}
	if got, _ := match(t, limits, []cdr.Leg{erased}, []cdr.Record{{Line: 1, CallID: "a.1", To: "+4915100000002",
		Start: began}}); !slices.Equal(got, []string{"matched a.1 1 []"}) {
		t.Errorf("%q", got)
	}
}

func BenchmarkAMillionRecords(b *testing.B) {
	for b.Loop() {
		m := cdr.NewMatcher(limits)
		for i := range 1_000_000 {
			if err := m.Add(&cdr.Record{Line: i, CallID: fmt.Sprintf("%032x.1", i), Start: began}); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 1_000_000 {
			m.Leg(&cdr.Leg{ID: engine.LegID(fmt.Sprintf("%032x.1", i)), Start: began}, func(cdr.Finding) {})
		}
		if m.Matched != 1_000_000 {
			b.Fatal(m.Summary)
		}
	}
}
