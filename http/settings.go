package http

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/window"
)

// settingsView is a campaign's settings as people read and write them. It has
// the names of campaign.Settings; only the abandon cap is in per cent here and
// in millionths there.
type settingsView struct {
	Name        string        `json:"name"`
	Bot         engine.BotID  `json:"bot_id"`
	Concurrency int           `json:"concurrency"`
	Window      window.Window `json:"window"`
	SingleDay   bool          `json:"single_day"`
	AlwaysOn    bool          `json:"always_on"`
	Numbers     []string      `json:"number_pool"`

	MaxAttempts         int              `json:"max_attempts"`
	RetryDelaySec       int              `json:"retry_delay_s"`
	RetryOnSystem       []engine.Outcome `json:"retry_on_system"`
	RetryOnCustom       []string         `json:"retry_on_custom"`
	StopRedialsAfterSec int              `json:"stop_redials_after_s"`
	RedialOnlyUnderSec  int              `json:"redial_only_under_s"`
	RingTimeoutSec      int              `json:"ring_timeout_s"`
	CallLimitSec        int              `json:"call_limit_s"`
	ResultTimeoutSec    int              `json:"result_timeout_s"`

	AMD            engine.AMDMode     `json:"amd"`
	AMDSensitivity int                `json:"amd_sensitivity"`
	AMDListenMS    int                `json:"amd_listen_ms"`
	AMDReviseSec   int                `json:"amd_revise_s"`
	AMDReview      float64            `json:"amd_review_share"`
	Voicemail      engine.VoicemailID `json:"voicemail_id,omitempty"`

	AbandonCapPct float64 `json:"abandon_cap_pct"`
	PacingMode    string  `json:"pacing_mode"`
	MaxLines      int     `json:"max_lines"`
	Weight        int     `json:"weight"`
	FalsePositive float64 `json:"false_positive_share"`

	CallbackDetection bool   `json:"callback_detection"`
	StickyExclusion   bool   `json:"sticky_exclusion"`
	StickyNumber      bool   `json:"sticky_number"`
	LocalMatch        bool   `json:"local_match"`
	StopEndsCalls     bool   `json:"stop_ends_calls"`
	ConfigURL         string `json:"config_url,omitempty"`
	EligibilityURL    string `json:"eligibility_url,omitempty"`
	EligibilityFail   string `json:"eligibility_fail,omitempty"`

	Recording              string   `json:"recording"`
	RecordingRetentionDays int      `json:"recording_retention_days"`
	TransferTargets        []string `json:"transfer_targets"`
	TransferLimit          int      `json:"transfer_limit"`
}

func viewSettings(c *campaign.Settings) settingsView {
	d := c.WithDefaults() // stored before a setting was known
	v := settingsView{
		Name: c.Name, Bot: c.Bot, Concurrency: c.Concurrency, Window: c.Window, SingleDay: c.SingleDay,
		AlwaysOn: c.AlwaysOn, Numbers: make([]string, len(c.Numbers)),
		MaxAttempts: c.MaxAttempts, RetryDelaySec: c.RetryDelaySec, RetryOnSystem: c.RetryOnSystem,
		RetryOnCustom: c.RetryOnCustom, StopRedialsAfterSec: c.StopRedialsAfterSec,
		RedialOnlyUnderSec: c.RedialOnlyUnderSec, RingTimeoutSec: c.RingTimeoutSec,
		CallLimitSec: c.CallLimitSec, ResultTimeoutSec: c.ResultTimeoutSec,
		AMD: c.AMD, AMDSensitivity: d.AMDSensitivity, AMDListenMS: d.AMDListenMS, AMDReviseSec: c.AMDReviseSec,
		AMDReview: float64(c.AMDReviewPPM) / 1_000_000, Voicemail: c.Voicemail,
		AbandonCapPct: float64(c.AbandonCapPPM) / 10_000, PacingMode: c.PacingMode, MaxLines: c.MaxLines, Weight: max(c.Weight, 1),
		FalsePositive:     float64(c.FalsePositivePPM) / 1_000_000,
		CallbackDetection: c.CallbackDetection, StickyExclusion: c.StickyExclusion, StickyNumber: c.StickyNumber,
		LocalMatch: c.LocalMatch, StopEndsCalls: c.StopEndsCalls, ConfigURL: c.ConfigURL,
		EligibilityURL: c.EligibilityURL, EligibilityFail: c.EligibilityFail,
		Recording: d.Recording, RecordingRetentionDays: d.RecordingRetentionDays,
		TransferTargets: c.TransferTargets, TransferLimit: max(c.TransferLimit, 1),
	}
	for i, n := range c.Numbers {
		v.Numbers[i] = n.E164()
	}
	if v.RetryOnSystem == nil {
		v.RetryOnSystem = []engine.Outcome{}
	}
	if v.TransferTargets == nil {
		v.TransferTargets = []string{}
	}
	if v.RetryOnCustom == nil {
		v.RetryOnCustom = []string{}
	}
	return v
}

// readSettings takes what was sent and the default of what was not. A zero
// that was sent stays zero, so that the rules can refuse it.
func readSettings(f form) campaign.Settings {
	s := campaign.Defaults()
	s.Name = f.text("name", optional, 200)
	s.Bot = engine.BotID(f.text("bot_id", optional, 64))
	s.Concurrency = f.whole("concurrency", 0)
	s.SingleDay = f.flag("single_day", s.SingleDay)
	s.AlwaysOn = f.flag("always_on", s.AlwaysOn)

	s.MaxAttempts = f.whole("max_attempts", s.MaxAttempts)
	s.RetryDelaySec = f.whole("retry_delay_s", s.RetryDelaySec)
	s.StopRedialsAfterSec = f.whole("stop_redials_after_s", s.StopRedialsAfterSec)
	s.RedialOnlyUnderSec = f.whole("redial_only_under_s", s.RedialOnlyUnderSec)
	s.RingTimeoutSec = f.whole("ring_timeout_s", s.RingTimeoutSec)
	s.CallLimitSec = f.whole("call_limit_s", s.CallLimitSec)
	s.ResultTimeoutSec = f.whole("result_timeout_s", s.ResultTimeoutSec)
	s.MaxLines = f.whole("max_lines", s.MaxLines)
	s.Weight = f.whole("weight", s.Weight)
	s.RecordingRetentionDays = f.whole("recording_retention_days", s.RecordingRetentionDays)

	s.AMDSensitivity = f.whole("amd_sensitivity", s.AMDSensitivity)
	s.AMDListenMS = f.whole("amd_listen_ms", s.AMDListenMS)
	s.AMDReviseSec = f.whole("amd_revise_s", s.AMDReviseSec)
	s.AMDReviewPPM = f.share("amd_review_share")
	s.Voicemail = engine.VoicemailID(f.text("voicemail_id", optional, 64))
	if amd := f.term("amd", ""); amd != "" {
		s.AMD = engine.AMDMode(amd)
	}
	if mode := f.term("pacing_mode", ""); mode != "" {
		s.PacingMode = mode
	}
	if rec := f.term("recording", ""); rec != "" {
		s.Recording = rec
	}
	s.CallbackDetection = f.flag("callback_detection", s.CallbackDetection)
	s.StickyExclusion = f.flag("sticky_exclusion", s.StickyExclusion)
	s.StickyNumber = f.flag("sticky_number", s.StickyNumber)
	s.LocalMatch = f.flag("local_match", s.LocalMatch)
	s.StopEndsCalls = f.flag("stop_ends_calls", s.StopEndsCalls)
	s.ConfigURL = f.text("config_url", optional, 2048)
	s.EligibilityURL = f.text("eligibility_url", optional, 2048)
	s.EligibilityFail = f.term("eligibility_fail", "")
	if list := f.words("transfer_targets", attempt.TransferTargetsCap); list != nil {
		s.TransferTargets = list
	}
	s.TransferLimit = f.whole("transfer_limit", s.TransferLimit)
	if f.has("abandon_cap_pct") {
		s.AbandonCapPPM = f.abandonCap()
	}
	s.FalsePositivePPM = f.share("false_positive_share")
	if list := f.words("retry_on_custom", 200); list != nil {
		s.RetryOnCustom = list
	}
	if list := f.words("retry_on_system", len(engine.Outcomes)); list != nil {
		s.RetryOnSystem = make([]engine.Outcome, len(list))
		for i, o := range list {
			s.RetryOnSystem[i] = engine.Outcome(o)
		}
	}
	for _, n := range f.words("number_pool", campaign.NumberPoolCap) {
		s.Numbers = append(s.Numbers, engine.PhoneNumber(n))
	}
	if !f.has("window") {
		f.fail("window", "required", "is required")
	} else if w, ok := f.object("window"); ok {
		s.Window = w.window()
	}
	return s
}

// abandonCap reads the cap in millionths: rounded, and clamped so that nonsense
// stays out of range.
func (f form) abandonCap() (ppm int) {
	pct := f.decimal("abandon_cap_pct", 0)
	ppm = int(math.Round(math.Max(-1000, math.Min(1000, pct)) * 10_000))
	if pct < 0 && ppm == 0 {
		ppm = -1
	}
	return ppm
}

// share reads a share from 0 to 1 in millionths; nonsense stays out of range.
func (f form) share(field string) (ppm int) {
	if !f.has(field) {
		return 0
	}
	share := f.decimal(field, 0)
	ppm = int(math.Round(math.Max(-1, math.Min(2, share)) * 1_000_000))
	if share < 0 && ppm == 0 {
		ppm = -1
	}
	return ppm
}

// window reads the calling window in the form of engine/window.
func (f form) window() window.Window {
	w := window.Window{
		Zone:        f.text("zone", required, 64),
		Start:       f.timeOfDay("start"),
		End:         f.timeOfDay("end"),
		ContactZone: f.flag("contact_zone", false),
	}
	if list := f.words("days", 7); list != nil {
		w.Days = make([]window.Day, len(list))
		for i, d := range list {
			w.Days[i] = window.Day(d)
		}
	}
	for i, text := range f.words("holidays", 1000) {
		d, err := window.ParseDate(text)
		if err != nil {
			f.fail("holidays["+strconv.Itoa(i)+"]", "invalid_date", "must be a date that exists, written YYYY-MM-DD")
			continue
		}
		w.Holidays = append(w.Holidays, d)
	}
	f.done()
	return w
}

func (f form) timeOfDay(field string) window.TimeOfDay {
	text := f.text(field, required, 5)
	if text == "" {
		return 0
	}
	t, err := window.ParseTimeOfDay(text)
	if err != nil {
		f.fail(field, "invalid_time", "must be a time of day written HH:MM, from 00:00 to 24:00")
	}
	return t
}

// mergeErrors adds the field errors of a rule to those of the JSON, except
// for fields that are known to be wrong already.
func mergeErrors(errs *fieldErrors, err error) {
	if err == nil {
		return
	}
	var e *engine.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		errs.add("settings", "invalid", "are not valid")
		return
	}
	for _, fe := range e.Fields {
		known := false
		for _, have := range errs.list {
			known = known || have.Field == fe.Field || strings.HasPrefix(have.Field, fe.Field+".") ||
				strings.HasPrefix(fe.Field, have.Field+".") || strings.HasPrefix(fe.Field, have.Field+"[") ||
				strings.HasPrefix(have.Field, fe.Field+"[")
		}
		if !known {
			errs.add(fe.Field, fe.Code, fe.Message)
		}
	}
}
