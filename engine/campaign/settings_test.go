package campaign

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	s.Numbers = nil // a draft may wait for its pool
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestWithDefaultsFillsWhatIsZero(t *testing.T) {
	s := Settings{Name: "n", Bot: "b", Concurrency: 1, Window: goodSettings().Window}.WithDefaults()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if s.MaxAttempts != 3 || s.RingTimeoutSec != 30 || s.CallLimitSec != 900 || s.ResultTimeoutSec != 900 || s.AMD != engine.AMDOff {
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
	f("ring_timeout_s", "out_of_range", func(s *Settings) { s.RingTimeoutSec = 14 })
	f("ring_timeout_s", "out_of_range", func(s *Settings) { s.RingTimeoutSec = 121 })
	f("call_limit_s", "out_of_range", func(s *Settings) { s.CallLimitSec = 0 })
	f("result_timeout_s", "out_of_range", func(s *Settings) { s.ResultTimeoutSec = 0 })
	f("retry_on_system[1]", "unknown_value", func(s *Settings) { s.RetryOnSystem = []engine.Outcome{engine.OutcomeBusy, "x"} })
	f("retry_on_system[0]", "unknown_value", func(s *Settings) { s.RetryOnSystem = []engine.Outcome{engine.OutcomeAbandoned} })
	f("retry_on_custom[0]", "invalid_format", func(s *Settings) { s.RetryOnCustom = []string{" "} })
	f("retry_on_custom", "too_long", func(s *Settings) { s.RetryOnCustom = make([]string, 201) })
	f("amd", "unknown_value", func(s *Settings) { s.AMD = "maybe" })
	f("pacing_mode", "unknown_value", func(s *Settings) { s.PacingMode = "fast" })
	f("abandon_cap_pct", "out_of_range", func(s *Settings) { s.AbandonCapPPM = 50_001 })
	f("abandon_cap_pct", "out_of_range", func(s *Settings) { s.AbandonCapPPM = -1 })
	f("max_lines", "out_of_range", func(s *Settings) { s.MaxLines = -1 })
	f("config_url", "invalid_format", func(s *Settings) { s.ConfigURL = "ftp://x" })
}

func TestValidateAcceptsTheLimits(t *testing.T) {
	s := goodSettings()
	s.Concurrency, s.MaxAttempts, s.RetryDelaySec, s.RingTimeoutSec = 1, 1, 1, 15
	s.AbandonCapPPM, s.StopRedialsAfterSec = 0, 0
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s.AbandonCapPPM, s.MaxAttempts, s.RingTimeoutSec = 50_000, 50, 120
	s.RetryOnSystem, s.RetryOnCustom = []engine.Outcome{}, nil
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}
