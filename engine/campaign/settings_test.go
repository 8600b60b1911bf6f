package campaign

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/window"
)

func goodSettings() Settings {
	s := Defaults()
	s.Name, s.Bot, s.Concurrency = "Spring", "bot_1", 5
	s.Window = window.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 18 * 60}
	s.Numbers = []engine.PhoneNumber{"+493023125000"}
	return s
}

func TestDefaultsAreValidOnceTheOperatorChose(t *testing.T) {
	if err := goodSettings().Validate(); err != nil {
		t.Fatal(err)
	}
	s := goodSettings()
	s.Numbers = nil // a draft may have no pool yet
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestWithDefaultsFillsWhatIsZero(t *testing.T) {
	s := Settings{Name: "n", Bot: "b", Concurrency: 1, Window: goodSettings().Window}.WithDefaults()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if s.MaxAttempts != 3 || s.RingTimeoutSec != 30 || s.CallLimitSec != 900 || s.ResultTimeoutSec != 900 ||
		s.AMD != engine.AMDOff {
		t.Errorf("%+v", s)
	}
	if s.AbandonCapPPM != 0 {
		t.Error("a zero abandon cap is a choice")
	}
	// "Default retry yes fills an omitted Retry On System; an empty one redials
	// no consumed attempt."
	if !slices.Contains(s.RetryOnSystem, engine.OutcomeBusy) {
		t.Error("an omitted list was not filled")
	}
	s = Settings{RetryOnSystem: []engine.Outcome{}, MaxAttempts: 7}.WithDefaults()
	if len(s.RetryOnSystem) != 0 || s.MaxAttempts != 7 {
		t.Errorf("%+v", s)
	}
	a, b := Defaults(), Defaults()
	a.RetryOnSystem[0] = "changed"
	if b.RetryOnSystem[0] == "changed" {
		t.Error("defaults share memory")
	}
}

func TestValidateNamesTheField(t *testing.T) {
	f := func(field, code string, change func(*Settings)) {
		t.Helper()
		s := goodSettings()
		change(&s)
		var e *engine.Error
		if err := s.Validate(); !errors.As(err, &e) || e.Kind != engine.KindInvalid {
			t.Errorf("%s: %v", field, err)
			return
		}
		for _, fe := range e.Fields {
			if fe.Field == field && fe.Code == code && fe.Message != "" {
				return
			}
		}
		t.Errorf("no %s %s in %+v", field, code, e.Fields)
	}
	f("name", "required", func(s *Settings) { s.Name = "  " })
	f("name", "too_long", func(s *Settings) { s.Name = strings.Repeat("ä", 201) })
	f("bot_id", "required", func(s *Settings) { s.Bot = "" })
	f("concurrency", "out_of_range", func(s *Settings) { s.Concurrency = 0 })
	f("concurrency", "out_of_range", func(s *Settings) { s.Concurrency = concurrencyCap + 1 })
	f("window.zone", "unknown_zone", func(s *Settings) { s.Window.Zone = "Mars" })
	f("window.days", "empty", func(s *Settings) { s.Window.Days = []window.Day{} })
	f("always_on", "requires_multi_day", func(s *Settings) { s.AlwaysOn, s.SingleDay = true, true })
	f("number_pool[0]", "invalid_number", func(s *Settings) { s.Numbers[0] = "0151" })
	f("number_pool[1]", "duplicate", func(s *Settings) { s.Numbers = append(s.Numbers, s.Numbers[0]) })
	f("number_pool", "too_long", func(s *Settings) {
		for i := range NumberPoolCap {
			s.Numbers = append(s.Numbers, engine.PhoneNumber("+49302312"+strconv.Itoa(5001+i)))
		}
	})
	f("max_attempts", "out_of_range", func(s *Settings) { s.MaxAttempts = 0 })
	f("max_attempts", "out_of_range", func(s *Settings) { s.MaxAttempts = 51 })
	f("retry_delay_s", "out_of_range", func(s *Settings) { s.RetryDelaySec = 0 })
	f("stop_redials_after_s", "out_of_range", func(s *Settings) { s.StopRedialsAfterSec = -1 })
	f("redial_only_under_s", "out_of_range", func(s *Settings) { s.RedialOnlyUnderSec = -1 })
	f("redial_only_under_s", "exceeds_stop_redials_after", func(s *Settings) {
		s.RedialOnlyUnderSec, s.StopRedialsAfterSec = 20, 10
	})
	f("ring_timeout_s", "out_of_range", func(s *Settings) { s.RingTimeoutSec = 14 })
	f("ring_timeout_s", "out_of_range", func(s *Settings) { s.RingTimeoutSec = 121 })
	f("call_limit_s", "out_of_range", func(s *Settings) { s.CallLimitSec = 0 })
	f("result_timeout_s", "out_of_range", func(s *Settings) { s.ResultTimeoutSec = 0 })
	f("retry_on_system[1]", "unknown_value", func(s *Settings) {
		s.RetryOnSystem = []engine.Outcome{engine.OutcomeBusy, "x"}
	})
	f("retry_on_system[0]", "unknown_value", func(s *Settings) {
		s.RetryOnSystem = []engine.Outcome{engine.OutcomeAbandoned}
	})
	f("retry_on_custom[0]", "invalid_format", func(s *Settings) { s.RetryOnCustom = []string{" "} })
	f("retry_on_custom", "too_long", func(s *Settings) { s.RetryOnCustom = make([]string, 201) })
	f("amd", "unknown_value", func(s *Settings) { s.AMD = "maybe" })
	f("pacing_mode", "unknown_value", func(s *Settings) { s.PacingMode = "fast" })
	f("recording", "unknown_value", func(s *Settings) { s.Recording = "yes" })
	f("abandon_cap_pct", "out_of_range", func(s *Settings) { s.AbandonCapPPM = 50_001 })
	f("abandon_cap_pct", "out_of_range", func(s *Settings) { s.AbandonCapPPM = -1 })
	f("max_lines", "out_of_range", func(s *Settings) { s.MaxLines = -1 })
	f("config_url", "invalid_format", func(s *Settings) { s.ConfigURL = "ftp://x" })
	for _, hook := range []string{"ftp://x", "https://", "https://u:p@crm.example/may", "https://crm.example/#x",
		"https://crm.example/" + strings.Repeat("x", 2048)} {
		f("eligibility_url", "invalid_format", func(s *Settings) { s.EligibilityURL = hook })
	}
	f("eligibility_fail", "unknown_value", func(s *Settings) { s.EligibilityFail = "shut" })
}

func TestRedialOnlyUnderIsAtMostStopRedialsAfterWhenBothAreSet(t *testing.T) {
	f := func(under, stop int, want bool) {
		t.Helper()
		s := goodSettings()
		s.RedialOnlyUnderSec, s.StopRedialsAfterSec = under, stop
		if got := s.Validate() == nil; got != want {
			t.Errorf("under %d, stop %d: accepted %v, want %v", under, stop, got, want)
		}
		if got := s.CheckCopy() == nil; got != want {
			t.Errorf("under %d, stop %d: copied %v, want %v", under, stop, got, want)
		}
	}
	f(10, 10, true)
	f(11, 10, false)
	f(20, 0, true)
	f(0, 10, true)
	f(0, 0, true)
}

// The limits are written out as figures, so that a changed limit is noticed.
func TestEveryLimitOfTheSettingsIsAcceptedAndNothingBeyond(t *testing.T) {
	refused := func(change func(*Settings), field string) bool {
		s := goodSettings()
		change(&s)
		var e *engine.Error
		return errors.As(s.Validate(), &e) &&
			slices.ContainsFunc(e.Fields, func(f engine.FieldError) bool { return f.Field == field })
	}
	f := func(field string, low, high int, set func(*Settings, int)) {
		t.Helper()
		for _, c := range []struct {
			n    int
			want bool
		}{{low - 1, true}, {low, false}, {high, false}, {high + 1, true}} {
			if got := refused(func(s *Settings) { set(s, c.n) }, field); got != c.want {
				t.Errorf("%s %d: refused %v, want %v", field, c.n, got, c.want)
			}
		}
	}
	f("concurrency", 1, 100_000, func(s *Settings, n int) { s.Concurrency = n })
	f("max_lines", 0, 100_000, func(s *Settings, n int) { s.MaxLines = n })
	f("recording_retention_days", 1, 3650, func(s *Settings, n int) { s.RecordingRetentionDays = n })
	f("weight", 1, 100, func(s *Settings, n int) { s.Weight = n })
	f("max_attempts", 1, 50, func(s *Settings, n int) { s.MaxAttempts = n })
	f("retry_delay_s", 1, 2_592_000, func(s *Settings, n int) { s.RetryDelaySec = n })
	f("stop_redials_after_s", 0, 86_400, func(s *Settings, n int) { s.StopRedialsAfterSec = n })
	f("redial_only_under_s", 0, 86_400, func(s *Settings, n int) { s.RedialOnlyUnderSec = n })
	f("ring_timeout_s", 15, 120, func(s *Settings, n int) { s.RingTimeoutSec = n })
	f("call_limit_s", 10, 14_400, func(s *Settings, n int) { s.CallLimitSec = n })
	f("result_timeout_s", 1, 604_800, func(s *Settings, n int) { s.ResultTimeoutSec = n })
	f("abandon_cap_pct", 0, 50_000, func(s *Settings, n int) { s.AbandonCapPPM = n })

	atMost := func(field string, most int, set func(*Settings, int)) {
		t.Helper()
		if refused(func(s *Settings) { set(s, most) }, field) || !refused(func(s *Settings) { set(s, most+1) }, field) {
			t.Errorf("%s: %d must be the most", field, most)
		}
	}
	atMost("name", 200, func(s *Settings, n int) { s.Name = strings.Repeat("ä", n) })
	atMost("retry_on_custom[0]", 255, func(s *Settings, n int) { s.RetryOnCustom = []string{strings.Repeat("ä", n)} })
	atMost("retry_on_custom", 200, func(s *Settings, n int) {
		for i := range n {
			s.RetryOnCustom = append(s.RetryOnCustom, strconv.Itoa(i))
		}
	})
	atMost("number_pool", 1000, func(s *Settings, n int) {
		s.Numbers = nil
		for i := range n {
			s.Numbers = append(s.Numbers, engine.PhoneNumber("+4930231"+strconv.Itoa(25001+i)))
		}
	})
}

func TestWhatIsNotSaidIsTheDefault(t *testing.T) {
	d := Defaults()
	got := []int{d.MaxAttempts, d.RetryDelaySec, d.RingTimeoutSec, d.CallLimitSec, d.ResultTimeoutSec, d.AbandonCapPPM}
	if want := []int{3, 1800, 30, 900, 900, 30_000}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if d.Recording != RecordingOff || d.RecordingRetentionDays != 30 || !d.StickyExclusion ||
		d.PacingMode != PacingStrict || d.AMD != engine.AMDOff {
		t.Errorf("%+v", d)
	}
}

// "A verdict for a person can be revised once … by what is heard until 10 s of
// the call."
func TestAVerdictCanBeRevisedForTenSecondsUnlessTheCampaignSaysOtherwise(t *testing.T) {
	s := Defaults()
	if got := s.Listen().Revise; got != 10*time.Second {
		t.Errorf("got %v, want 10 s", got)
	}
	for _, sec := range []int{0, 5, 60} {
		if s.AMDReviseSec = sec; s.Listen().Revise != time.Duration(sec)*time.Second {
			t.Errorf("%d s: got %v", sec, s.Listen().Revise)
		}
	}
}

func TestACopyHasTheOriginalsNameWithinTheLimit(t *testing.T) {
	if got := CopyName("Spring"); got != "Spring (copy)" {
		t.Error(got)
	}
	long := strings.Repeat("ä", nameCap)
	if got := CopyName(long); utf8.RuneCountInString(got) != nameCap || !strings.HasSuffix(got, "ä (copy)") {
		t.Error(got)
	}
	s := goodSettings()
	s.Name = CopyName(long)
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

func TestACopyHasTheSettingsAndNothingOfTheRuns(t *testing.T) {
	w := newWorld(t).must(ev(Start), ev(Stop), ev(Restart))
	c := CopyOf(&w.m.C, "copy", Clone{Name: "other", Who: engine.Who{Name: "ada"}}, m0)
	want := Campaign{ID: "copy", Settings: w.m.C.Settings, State: Draft, Version: 1, Run: 1, CreatedAt: m0,
		CreatedBy: engine.Who{Name: "ada"}}
	want.Settings.Name = "other"
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v", c)
	}
}
