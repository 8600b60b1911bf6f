package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const someAttempt AttemptID = "0123456789abcdef0123456789abcdef"

func TestAPublicCallIdentifierIsCAAndTheAttempt(t *testing.T) {
	if got, ok := someAttempt.Call().Attempt(); !ok || got != someAttempt ||
		someAttempt.Call() != CallID("CA"+someAttempt) {
		t.Error(got, ok)
	}
	for _, bad := range []CallID{"", "CA", "CB" + CallID(someAttempt), CallID(someAttempt),
		"CA" + CallID(someAttempt) + "0", "CA" + CallID(someAttempt[1:]),
		"CA" + CallID(strings.ToUpper(string(someAttempt)))} {
		if _, ok := bad.Attempt(); ok {
			t.Errorf("%q names an attempt", bad)
		}
	}
}

func TestALegIsNamedByItsAttemptAndItsNumber(t *testing.T) {
	for _, n := range []int{1, 2, 17} {
		if id, got, ok := someAttempt.Leg(n).Attempt(); !ok || id != someAttempt || got != n {
			t.Error(n, id, got, ok)
		}
	}
	for _, bad := range []LegID{"", LegID(someAttempt), LegID(someAttempt) + ".", LegID(someAttempt) + ".0",
		LegID(someAttempt) + ".-1", LegID(someAttempt) + ".+1", LegID(someAttempt) + ".01", LegID(someAttempt) + ".x",
		LegID(someAttempt) + "-1", LegID(someAttempt[1:]) + ".12"} {
		if _, _, ok := bad.Attempt(); ok {
			t.Errorf("%q names a leg", bad)
		}
	}
}

func TestEveryHexDigitAndNoOtherCharacterIsOneOfAnIdentifier(t *testing.T) {
	for c := range rune(128) {
		id := CallID("CA" + strings.Repeat(string(c), 32))
		if _, ok := id.Attempt(); ok != strings.ContainsRune("0123456789abcdef", c) {
			t.Errorf("%q: %v", c, ok)
		}
	}
}

func TestOperatorsSeeTheLastEightCharactersOfAnAttempt(t *testing.T) {
	f := func(id AttemptID, want string) {
		t.Helper()
		if got := id.Short(); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
	f(someAttempt, "89abcdef")
	f("123456789", "23456789")
	f("12345678", "12345678")
	f("1", "1")
}

func TestAPhoneNumberIsMaskedWhereverItIsPrinted(t *testing.T) {
	f := func(n PhoneNumber, want string) {
		t.Helper()
		if got := fmt.Sprint(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("+4915112345678", "+49***78")
	f("+12345", "+12***45")
	f("+1234", "+***") // there would be nothing left to hide
	f("", "+***")
	if PhoneNumber("+4915112345678").E164() != "+4915112345678" {
		t.Error("who asks for the digits gets them")
	}
}

func TestErrorsAreComparedByTheirStableCode(t *testing.T) {
	err := fmt.Errorf("while it was dialled: %w", Conflict(CodeSuppressed, "the number is on the suppression list"))
	if !errors.Is(err, &Error{Code: CodeSuppressed}) || errors.Is(err, &Error{Code: CodeNumberHeld}) ||
		errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if ErrorCode(err) != "suppressed" || ErrorCode(errors.ErrUnsupported) != "internal" || ErrorCode(nil) != "internal" {
		t.Error(ErrorCode(err))
	}
}

func TestMachineFaxAndSITAreTornDownAndAllElseGoesToTheBot(t *testing.T) {
	for v, live := range map[Verdict]bool{VerdictHuman: true, VerdictUnknown: true, VerdictSilence: true,
		VerdictScreener: true,
		VerdictMachine:  false, VerdictFax: false, VerdictSIT: false} {
		if v.Live() != live {
			t.Errorf("%s: %v", v, v.Live())
		}
	}
}

func TestOutcomesAndVerdictsAreThoseOfTheRulebook(t *testing.T) {
	outcomes := fmt.Sprint(Outcomes)
	if want := "[completed connected_no_result abandoned machine fax no_answer busy rejected invalid_number blocked " +
		"congestion " +
		"throttled trunk_error media_error caller_hung_up cancelled excluded lost system_error " +
		"expired]"; outcomes != want {
		t.Errorf("outcomes %s", outcomes)
	}
	if verdicts := fmt.Sprint(Verdicts); verdicts != "[human machine fax sit silence unknown screener]" {
		t.Errorf("verdicts %s", verdicts)
	}
}
