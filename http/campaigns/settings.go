package campaigns

import (
	"math"
	"strconv"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/window"
	"dialler/http/form"
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
		AbandonCapPct: float64(c.AbandonCapPPM) / 10_000, PacingMode: c.PacingMode, MaxLines: c.MaxLines,
		Weight:            max(c.Weight, 1),
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
func readSettings(f form.Form) campaign.Settings {
	s := campaign.Defaults()
	s.Name = f.Text("name", form.Optional, 200)
	s.Bot = engine.BotID(f.Text("bot_id", form.Optional, 64))
	s.Concurrency = f.Whole("concurrency", 0)
	s.SingleDay = f.Flag("single_day", s.SingleDay)
	s.AlwaysOn = f.Flag("always_on", s.AlwaysOn)

	s.MaxAttempts = f.Whole("max_attempts", s.MaxAttempts)
	s.RetryDelaySec = f.Whole("retry_delay_s", s.RetryDelaySec)
	s.StopRedialsAfterSec = f.Whole("stop_redials_after_s", s.StopRedialsAfterSec)
	s.RedialOnlyUnderSec = f.Whole("redial_only_under_s", s.RedialOnlyUnderSec)
	s.RingTimeoutSec = f.Whole("ring_timeout_s", s.RingTimeoutSec)
	s.CallLimitSec = f.Whole("call_limit_s", s.CallLimitSec)
	s.ResultTimeoutSec = f.Whole("result_timeout_s", s.ResultTimeoutSec)
	s.MaxLines = f.Whole("max_lines", s.MaxLines)
	s.Weight = f.Whole("weight", s.Weight)
	s.RecordingRetentionDays = f.Whole("recording_retention_days", s.RecordingRetentionDays)

	s.AMDSensitivity = f.Whole("amd_sensitivity", s.AMDSensitivity)
	s.AMDListenMS = f.Whole("amd_listen_ms", s.AMDListenMS)
	s.AMDReviseSec = f.Whole("amd_revise_s", s.AMDReviseSec)
	s.AMDReviewPPM = readShare(f, "amd_review_share")
	s.Voicemail = engine.VoicemailID(f.Text("voicemail_id", form.Optional, 64))
	if amd := f.Term("amd", ""); amd != "" {
		s.AMD = engine.AMDMode(amd)
	}
	if mode := f.Term("pacing_mode", ""); mode != "" {
		s.PacingMode = mode
	}
	if rec := f.Term("recording", ""); rec != "" {
		s.Recording = rec
	}
	s.CallbackDetection = f.Flag("callback_detection", s.CallbackDetection)
	s.StickyExclusion = f.Flag("sticky_exclusion", s.StickyExclusion)
	s.StickyNumber = f.Flag("sticky_number", s.StickyNumber)
	s.LocalMatch = f.Flag("local_match", s.LocalMatch)
	s.StopEndsCalls = f.Flag("stop_ends_calls", s.StopEndsCalls)
	s.ConfigURL = f.Text("config_url", form.Optional, 2048)
	s.EligibilityURL = f.Text("eligibility_url", form.Optional, 2048)
	s.EligibilityFail = f.Term("eligibility_fail", "")
	if list := f.Words("transfer_targets", attempt.TransferTargetsCap); list != nil {
		s.TransferTargets = list
	}
	s.TransferLimit = f.Whole("transfer_limit", s.TransferLimit)
	if f.Has("abandon_cap_pct") {
		s.AbandonCapPPM = readAbandonCap(f)
	}
	s.FalsePositivePPM = readShare(f, "false_positive_share")
	if list := f.Words("retry_on_custom", 200); list != nil {
		s.RetryOnCustom = list
	}
	if list := f.Words("retry_on_system", len(engine.Outcomes)); list != nil {
		s.RetryOnSystem = make([]engine.Outcome, len(list))
		for i, o := range list {
			s.RetryOnSystem[i] = engine.Outcome(o)
		}
	}
	for _, n := range f.Words("number_pool", campaign.NumberPoolCap) {
		s.Numbers = append(s.Numbers, engine.PhoneNumber(n))
	}
	if !f.Has("window") {
		f.Fail("window", "required", "is required")
	} else if w, ok := f.Object("window"); ok {
		s.Window = readWindow(w)
	}
	return s
}

// readAbandonCap reads the cap in millionths: rounded, and clamped so that nonsense
// stays out of range.
func readAbandonCap(f form.Form) (ppm int) {
	pct := f.Decimal("abandon_cap_pct", 0)
	ppm = int(math.Round(math.Max(-1000, math.Min(1000, pct)) * 10_000))
	if pct < 0 && ppm == 0 {
		ppm = -1
	}
	return ppm
}

// readShare reads a share from 0 to 1 in millionths; nonsense stays out of range.
func readShare(f form.Form, field string) (ppm int) {
	if !f.Has(field) {
		return 0
	}
	share := f.Decimal(field, 0)
	ppm = int(math.Round(math.Max(-1, math.Min(2, share)) * 1_000_000))
	if share < 0 && ppm == 0 {
		ppm = -1
	}
	return ppm
}

// readWindow reads the calling window in the form of engine/window.
func readWindow(f form.Form) window.Window {
	w := window.Window{
		Zone:        f.Text("zone", form.Required, 64),
		Start:       readTimeOfDay(f, "start"),
		End:         readTimeOfDay(f, "end"),
		ContactZone: f.Flag("contact_zone", false),
	}
	if list := f.Words("days", 7); list != nil {
		w.Days = make([]window.Day, len(list))
		for i, d := range list {
			w.Days[i] = window.Day(d)
		}
	}
	for i, text := range f.Words("holidays", 1000) {
		d, err := window.ParseDate(text)
		if err != nil {
			f.Fail("holidays["+strconv.Itoa(i)+"]", "invalid_date", "must be a date that exists, written YYYY-MM-DD")
			continue
		}
		w.Holidays = append(w.Holidays, d)
	}
	f.Done()
	return w
}

func readTimeOfDay(f form.Form, field string) window.TimeOfDay {
	text := f.Text(field, form.Required, 5)
	if text == "" {
		return 0
	}
	t, err := window.ParseTimeOfDay(text)
	if err != nil {
		f.Fail(field, "invalid_time", "must be a time of day written HH:MM, from 00:00 to 24:00")
	}
	return t
}
