package disposition

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/redial"
)

func TestEveryCodeAndCauseHasAnOutcome(t *testing.T) {
	retries := []Retry{RetryYes, RetryNo, RetryByPolicy, RetrySoon, RetryHoldTrunk}
	faults := []Fault{FaultCallee, FaultNumber, FaultCallerID, FaultTrunk, FaultNetwork, FaultMedia, FaultUs}
	check := func(in Input) {
		r := Classify(in)
		if !slices.Contains(engine.Outcomes, r.Outcome) || !slices.Contains(retries, r.Retry) ||
			!slices.Contains(faults, r.Fault) || r.Friendly == "" || r.MinRetryAfter < 0 {
			t.Fatalf("%+v → %+v", in, r)
		}
		if r.NextTrunk && in.NotSent == "" && (in.Silent || in.Code == 408) {
			t.Fatalf("%+v tries the next trunk although a phone may ring", in)
		}
	}
	for code := 300; code <= 699; code++ {
		for cause := 0; cause <= 127; cause++ {
			for flags := range 16 {
				check(Input{Code: code, Q850: cause, NetworkBlocked: flags&1 != 0, LimitReached: flags&2 != 0,
					AfterRinging: flags&4 != 0, AuthTried: flags&8 != 0, RetryAfter: time.Minute})
			}
		}
	}
	for _, code := range []int{-1, 0, 100, 180, 200, 299, 700, 1 << 40} {
		for _, cause := range []int{-1, 0, 17, 128, 1 << 40} {
			for _, by := range []CancelBy{CancelNone, CancelRingTimeout, CancelStop, CancelExclude, "?"} {
				for _, ns := range []engine.NotSentReason{"", engine.NotSentExpired, engine.NotSentCancelled, engine.NotSentNoRoute,
					engine.NotSentTrunk, "?"} {
					check(Input{Code: code, Q850: cause, CancelledBy: by, NotSent: ns, RetryAfter: -time.Second})
					check(Input{Silent: true, CancelledBy: by, NotSent: ns, AfterRinging: code == 180})
				}
			}
		}
	}
}

// ends is one line of the document's table.
type ends struct {
	outcome  engine.Outcome
	consumes bool
	retry    Retry
	next     bool
}

var (
	busy       = ends{engine.OutcomeBusy, true, RetryYes, false}
	noAnswer   = ends{engine.OutcomeNoAnswer, true, RetryYes, false}
	silence    = ends{engine.OutcomeTrunkError, true, RetryYes, false}
	sendFailed = ends{engine.OutcomeTrunkError, false, RetryYes, true}
	invalid    = ends{engine.OutcomeInvalidNumber, true, RetryNo, false}
	rejected   = ends{engine.OutcomeRejected, true, RetryByPolicy, false}
	blocked    = ends{engine.OutcomeBlocked, true, RetryNo, false}
	auth       = ends{engine.OutcomeTrunkError, false, RetryHoldTrunk, false}
	congestion = ends{engine.OutcomeCongestion, true, RetryYes, true}
	throttled  = ends{engine.OutcomeThrottled, false, RetrySoon, false}
	mediaError = ends{engine.OutcomeMediaError, true, RetryNo, false}
	unlisted   = ends{engine.OutcomeSystemError, true, RetryNo, false}
)

func of(r Result) ends { return ends{r.Outcome, r.Consumes, r.Retry, r.NextTrunk} }

func TestFinalResponseToOutcomeByCode(t *testing.T) {
	f := func(want ends, mapped bool, codes ...int) {
		t.Helper()
		for _, c := range codes {
			r := Classify(Input{Code: c})
			if of(r) != want || r.Mapped != mapped {
				t.Errorf("%d → %+v, want %+v mapped %v", c, r, want, mapped)
			}
		}
	}
	f(busy, true, 486, 600)
	f(noAnswer, true, 480, 487)
	f(silence, true, 408)
	f(invalid, true, 404, 410, 416, 484, 485, 604)
	f(rejected, true, 603, 403)
	f(mediaError, true, 606, 415, 420, 421, 422, 488, 494)
	f(blocked, true, 607, 608)
	f(auth, true, 401, 402, 407)
	f(congestion, true, 500, 502, 503, 504, 580)
	f(throttled, true, 429)
	f(invalid, true, 301, 302, 305)
	f(invalid, false, 300, 303, 304, 380, 399)
	f(unlisted, false, 400, 405, 406, 409, 413, 414, 423, 424, 481, 482, 483, 489, 491, 493, 499)
	f(congestion, false, 501, 505, 513, 555, 599)
	f(rejected, false, 601, 602, 605, 609, 699)
}

func TestQ850WinsOverAGenericSIPCode(t *testing.T) {
	f := func(want ends, causes ...int) {
		t.Helper()
		for _, cause := range causes {
			for _, code := range []int{480, 500, 503, 603, 555, 666} {
				if r := Classify(Input{Code: code, Q850: cause}); of(r) != want || !r.Mapped {
					t.Errorf("%d with cause %d → %+v, want %+v", code, cause, r, want)
				}
			}
			// Every other code keeps its own meaning.
			for _, code := range []int{404, 486, 487, 488, 502, 504, 600, 607} {
				with, without := Classify(Input{Code: code, Q850: cause}), Classify(Input{Code: code})
				if with != without {
					t.Errorf("%d changed its meaning by cause %d: %+v", code, cause, with)
				}
			}
		}
	}
	f(busy, 17)
	f(noAnswer, 18, 19, 20, 31)
	f(invalid, 1, 3, 22, 23, 28)
	f(rejected, 21)
	f(auth, 55, 57)
	f(congestion, 27, 34, 38, 41, 42, 44, 47, 102, 111, 127)
	f(mediaError, 65, 70, 79, 88)
}

func TestAnAnnouncementOfTheNetworkWinsOverCodesThatSayLess(t *testing.T) {
	for _, code := range []int{404, 408, 480, 486, 487, 500, 502, 503, 504, 600, 603} {
		for _, cause := range []int{0, 1, 16, 31, 127} {
			r := Classify(Input{Code: code, Q850: cause, AfterRinging: true, Intercepted: true})
			if of(r) != invalid || r.TrunkBad || r.Strike {
				t.Errorf("%d with cause %d → %+v", code, cause, r)
			}
		}
	}
	f := func(in Input) {
		t.Helper()
		with := in
		with.Intercepted = true
		if got, want := Classify(with), Classify(in); got != want {
			t.Errorf("%+v changed its meaning by an announcement: %+v", in, got)
		}
	}
	for _, cause := range []int{17, 18, 19, 20, 21, 27, 34, 42} {
		f(Input{Code: 480, Q850: cause})
	}
	for _, code := range []int{401, 403, 407, 429, 488, 606, 607, 608} {
		f(Input{Code: code})
	}
	f(Input{Code: 503, LimitReached: true})
	f(Input{Code: 603, NetworkBlocked: true})
	f(Input{Code: 487, CancelledBy: CancelStop})
	f(Input{NotSent: engine.NotSentNoRoute})
}

func TestACauseThatTheTableDoesNotListLeavesTheCode(t *testing.T) {
	for cause := range 200 {
		if cause < len(causes) && causes[cause].row != rowUnlisted {
			continue
		}
		for _, code := range []int{480, 500, 503, 603} {
			if with, without := Classify(Input{Code: code, Q850: cause}), Classify(Input{Code: code}); with != without {
				t.Errorf("%d with unlisted cause %d → %+v", code, cause, with)
			}
		}
	}
}

func TestEndsWithoutAPlainFinalResponse(t *testing.T) {
	f := func(in Input, want ends) {
		t.Helper()
		if r := Classify(in); of(r) != want {
			t.Errorf("%+v → %+v, want %+v", in, r, want)
		}
	}
	f(Input{Code: 408, AfterRinging: true}, noAnswer)
	f(Input{Code: 408}, silence)
	f(Input{Code: 408, Q850: 17}, silence) // 408 is not generic
	f(Input{Silent: true}, silence)
	f(Input{Silent: true, AfterRinging: true}, noAnswer)
	f(Input{Code: 487, CancelledBy: CancelRingTimeout}, noAnswer)
	f(Input{Code: 486, CancelledBy: CancelRingTimeout}, busy) // crossed our CANCEL
	f(Input{Code: 487, CancelledBy: CancelStop}, ends{engine.OutcomeCancelled, true, RetryNo, false})
	f(Input{Code: 487, CancelledBy: CancelExclude}, ends{engine.OutcomeExcluded, true, RetryNo, false})
	f(Input{NotSent: engine.NotSentCancelled, CancelledBy: CancelExclude},
		ends{engine.OutcomeExcluded, false, RetryNo, false})
	f(Input{NotSent: engine.NotSentCancelled}, ends{engine.OutcomeCancelled, false, RetryNo, false})
	f(Input{NotSent: engine.NotSentNoRoute}, sendFailed)
	if r := Classify(Input{NotSent: engine.NotSentMedia}); r.NextTrunk || r.TrunkBad || r.Consumes || r.Fault != FaultUs ||
		r.Outcome != engine.OutcomeMediaError {
		t.Errorf("no media path of ours: %+v", r)
	}
	f(Input{NotSent: engine.NotSentTrunk}, sendFailed)
	f(Input{NotSent: engine.NotSentExpired}, ends{engine.OutcomeSystemError, false, RetrySoon, false})
	f(Input{Code: 401, AuthTried: true}, auth)
	f(Input{Code: 503, LimitReached: true}, throttled)
	f(Input{Code: 503, LimitReached: true, Q850: 42}, throttled)
	f(Input{Code: 486, LimitReached: true}, busy) // the marker belongs to 503
	f(Input{Code: 603, NetworkBlocked: true}, blocked)
	f(Input{Code: 603, NetworkBlocked: true, Q850: 21}, blocked)
}

func TestAdviceToTheOwnersOfTrunksAndNumbers(t *testing.T) {
	type advice struct {
		fault                                                      Fault
		strike, alarm, bad, doubt, throttle, exclusion, to, backOf bool
	}
	f := func(in Input, want advice) {
		t.Helper()
		r := Classify(in)
		got := advice{r.Fault, r.Strike, r.NumberAlarm, r.TrunkBad, r.TrunkDoubt, r.Throttle, r.SuggestExclusion, r.Redirect,
			r.BackOff}
		if got != want {
			t.Errorf("%+v: got %+v, want %+v", in, got, want)
		}
	}
	f(Input{Code: 486}, advice{fault: FaultCallee})
	f(Input{Code: 403}, advice{fault: FaultCallee, strike: true, doubt: true})
	f(Input{Code: 603}, advice{fault: FaultCallee})
	f(Input{Code: 404}, advice{fault: FaultNumber})
	f(Input{Code: 606}, advice{fault: FaultCallerID, strike: true})
	f(Input{Code: 607}, advice{fault: FaultCallee, exclusion: true})
	f(Input{Code: 608}, advice{fault: FaultCallerID, strike: true, alarm: true})
	f(Input{Code: 603, NetworkBlocked: true}, advice{fault: FaultCallerID, strike: true, alarm: true})
	f(Input{Code: 407, AuthTried: true}, advice{fault: FaultTrunk})
	f(Input{Code: 503}, advice{fault: FaultNetwork, bad: true, backOf: true})
	f(Input{Code: 580}, advice{fault: FaultNetwork, backOf: true})
	f(Input{Code: 503, Q850: 27}, advice{fault: FaultNetwork, backOf: true})
	f(Input{Code: 429}, advice{fault: FaultTrunk, throttle: true})
	f(Input{Code: 503, LimitReached: true}, advice{fault: FaultTrunk, throttle: true})
	f(Input{Code: 488}, advice{fault: FaultMedia})
	f(Input{Code: 302}, advice{fault: FaultNumber, to: true})
	f(Input{Code: 408}, advice{fault: FaultTrunk, bad: true})
	f(Input{Silent: true, AfterRinging: true}, advice{fault: FaultCallee})
	f(Input{NotSent: engine.NotSentNoRoute}, advice{fault: FaultTrunk, bad: true})
	f(Input{NotSent: engine.NotSentTrunk}, advice{fault: FaultUs})
}

func TestRetryAfterIsHonouredOnFiveCodes(t *testing.T) {
	for code := 300; code <= 699; code++ {
		want := time.Duration(0)
		if slices.Contains([]int{480, 486, 503, 600, 603}, code) {
			want = 90 * time.Second
		}
		for _, marked := range []bool{false, true} {
			in := Input{Code: code, RetryAfter: 90 * time.Second, LimitReached: marked, NetworkBlocked: marked}
			person, trunk := want, time.Duration(0)
			if code == 503 && marked { // a limit of the trunk is no reason to make the person wait
				person, trunk = trunk, person
			}
			if got := Classify(in); got.MinRetryAfter != person || got.TrunkRetryAfter != trunk {
				t.Errorf("%+v: the person %v, want %v; the trunk %v, want %v", in, got.MinRetryAfter, person, got.TrunkRetryAfter,
					trunk)
			}
		}
	}
}

func TestAVerdictGivesTheOutcomeOfATornDownCall(t *testing.T) {
	f := func(v engine.Verdict, want engine.Outcome) {
		t.Helper()
		if got := ForVerdict(v); got != want {
			t.Errorf("%s → %q, want %q", v, got, want)
		}
		if (want == "") != v.Live() {
			t.Errorf("%s: torn down and live at once", v)
		}
	}
	f(engine.VerdictMachine, engine.OutcomeMachine)
	f(engine.VerdictFax, engine.OutcomeFax)
	f(engine.VerdictSIT, engine.OutcomeInvalidNumber)
	f(engine.VerdictHuman, "")
	f(engine.VerdictUnknown, "")
	f(engine.VerdictSilence, "")
	f(engine.VerdictScreener, "")
	f("other", "")
}

func TestTheDefaultOfRetryOnSystemFollowsFromTheTable(t *testing.T) {
	got := map[engine.Outcome]bool{}
	for code := 300; code <= 699; code++ {
		if r := Classify(Input{Code: code}); r.Retry == RetryYes || r.Retry == RetrySoon {
			got[r.Outcome] = true
		}
	}
	list := redial.DefaultOnSystem()
	if len(list) != len(got) {
		t.Fatalf("list %v, table %v", list, got)
	}
	for _, o := range list {
		if !got[o] || !redial.Listable(o) {
			t.Errorf("%s is in the list, but the table does not say so", o)
		}
	}
	list[0] = "changed"
	if redial.DefaultOnSystem()[0] == "changed" {
		t.Error("a caller can change the default")
	}
}

func TestOutcomesThatNoListMayRedial(t *testing.T) {
	never := []engine.Outcome{engine.OutcomeCompleted, engine.OutcomeAbandoned, engine.OutcomeBlocked,
		engine.OutcomeCancelled, engine.OutcomeExcluded, engine.OutcomeExpired}
	for _, o := range engine.Outcomes {
		if redial.Listable(o) == slices.Contains(never, o) {
			t.Errorf("%s listable: %v", o, redial.Listable(o))
		}
		if row := o.Row(); row.Label == "" || row.Tone == "" {
			t.Errorf("%s has no words", o)
		}
	}
	if redial.Listable("other") || len(redial.ListableOutcomes()) != len(engine.Outcomes)-len(never) {
		t.Error("an unknown outcome is listable, or one is missing")
	}
}

func BenchmarkClassify(b *testing.B) {
	in := Input{Code: 503, Q850: 17, AfterRinging: true}
	b.ReportAllocs()
	for b.Loop() {
		if Classify(in).Outcome != engine.OutcomeBusy {
			b.Fatal("not busy")
		}
	}
}

func TestAnUnlistedRefusalIsTheNetworksFault(t *testing.T) {
	if r := Classify(Input{Code: 499}); r.Fault != FaultNetwork || r.Mapped || r.Outcome != engine.OutcomeSystemError {
		t.Errorf("%+v", r)
	}
}

func TestAStrikeIsToldFromWhatIsStored(t *testing.T) {
	struck := 0
	for code := 300; code <= 699; code++ {
		for q := range 128 {
			for _, blocked := range []bool{false, true} {
				r := Classify(Input{Code: code, Q850: q, NetworkBlocked: blocked})
				if got := Struck(r.Outcome, code); got != r.Strike {
					t.Fatalf("%d, cause %d, blocked %v: %v, want %v", code, q, blocked, got, r.Strike)
				}
				if r.Strike {
					struck++
				}
			}
		}
	}
	if struck == 0 {
		t.Error("no strike at all")
	}
	if Struck(engine.OutcomeBlocked, 0) {
		t.Error("a call that never left")
	}
}
