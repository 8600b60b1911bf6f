package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/promise"
)

func TestAnINVITEThatIsReadAfterTheEndOfItsLifeIsCountedToThatLife(t *testing.T) {
	t.Parallel()
	at := time.Now()
	r := &run{Lab: &Lab{proc: &site.Process{Started: at}}, rep: &Report{}}
	ms := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond).Round(0) }
	r.judgeFigures(carrier.Rows{{InviteAt: ms(2), LeftAt: ms(-1)}, {InviteAt: ms(5), LeftAt: ms(4)}, {InviteAt: ms(6)}},
		map[string]float64{"dialler_legs_sent_total": 2})
	if len(r.rep.Failures) > 0 {
		t.Error(r.rep.Failures)
	}
}

func TestWhatCarrierAndDatabaseNotedIsJudged(t *testing.T) {
	t.Parallel()
	began := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	id := func(n int) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("%032d", n)) }
	row := func(n, from, to int) attempt.Attempt {
		a, b := at(from), at(to)
		return attempt.Attempt{ID: id(n), Campaign: "cmp_1", Contact: engine.ContactID(id(n)), Run: 1, ReservedAt: &a,
			To: "+4915110000001", EndedAt: &b, State: attempt.Ended, Outcome: engine.OutcomeNoAnswer,
			Legs: []attempt.Leg{{ID: engine.LegID(id(n) + ".1"), EndedAt: &b}}}
	}
	call := func(n, from, to int) carrier.Call {
		return carrier.Call{CallID: string(id(n)) + ".1", Number: "+4915110000001", From: "+493012345601", InviteAt: at(from),
			EndedAt: at(to)}
	}
	f := func(want string, rows []attempt.Attempt, calls carrier.Rows, facts ...promise.Timed) {
		t.Helper()
		var r record
		r.attempts(rows)
		r.calls(calls, began)
		r.Record = append(r.Record, facts...)
		var got []string
		r.judged(func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }, false)
		if len(got) != min(len(want), 1) || want != "" && !strings.Contains(got[0], want) {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	rows := []attempt.Attempt{row(1, 0, 5), row(2, 5, 9)}
	f("", rows, carrier.Rows{call(1, 1, 5), call(2, 6, 9)})
	f("", rows, carrier.Rows{call(1, 1, 1), call(2, 6, 9)}) // the first is refused at once
	f("two calls with", rows, carrier.Rows{call(1, 1, 7), call(2, 6, 9)})
	f("before its intent was durable", rows[:1], carrier.Rows{call(1, 1, 5), call(2, 6, 9)})
	f("", rows[:1], carrier.Rows{call(1, 1, 5), call(3, -9, -6)}) // an earlier one
	open := row(1, 0, 5)
	open.State = attempt.Dialling
	f("began and never ended", []attempt.Attempt{open}, nil)
	f("campaign cmp_1: +49***01 is excluded and is dialled", rows, carrier.Rows{call(2, 6, 9)},
		promise.Timed{At: at(5), Fact: promise.Excluded{Campaign: "cmp_1", Number: "+4915110000001", Asked: at(5)}})
	f("2 INVITEs left", rows, carrier.Rows{call(1, 4, 5), call(2, 6, 9)},
		promise.Timed{Fact: promise.TrunkCaps{Trunk: trunkID, CPS: 1, Within: 5 * time.Second}})
}

func TestWhatIsSharedIsCountedOverAllNodes(t *testing.T) {
	t.Parallel()
	b, err := bot.Start(voices())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	k := &cluster{Cluster: &Cluster{Lab: &Lab{bot: b}, room: briskRoom}}
	f := func(want string, n int, from string, apart time.Duration) {
		t.Helper()
		var r record
		k.noteCaps(&r, nil)
		var calls carrier.Rows
		for i := range n {
			at := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC).Add(time.Duration(i) * apart)
			calls = append(calls, carrier.Call{CallID: fmt.Sprintf("%032d.1", i), From: engine.PhoneNumber(from),
				Number: engine.PhoneNumber(number(1, 1, i)), InviteAt: at})
		}
		r.calls(calls, time.Time{})
		found := false
		r.judged(func(format string, args ...any) {
			s := fmt.Sprintf(format, args...)
			found = found || strings.Contains(s, want)
			if want == "" && !strings.Contains(s, "intent was durable") { // there are no rows
				t.Error(s)
			}
		}, false)
		if !found {
			t.Errorf("%d calls from %s: nobody says %q", n, from, want)
		}
	}
	other := ownNumbers[2] // without a cap of its own
	f("", k.room.channels, other, time.Second)
	f("chaos has 11 calls, its cap is 10", k.room.channels+1, other, time.Second)
	f("2 calls, it may have 1", k.room.numbers[0]+1, ownNumbers[0], time.Second)
	f("7 INVITEs left through chaos within 950ms, its cap is 6", k.room.cps+1, other,
		cpsWindow/time.Duration(k.room.cps)-1)
	f("", k.room.cps+1, other, cpsWindow/time.Duration(k.room.cps)+1)
}
