package campaign

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/eligibility"
	"dialler/engine/number"
	"dialler/engine/redial"
)

// Limits of what an operator may choose. The floors of ring timeout and the
// ceiling of the abandon cap protect the people called; the ceilings of the
// others only catch slips of the keyboard.
const (
	NumberPoolCap = 1000

	nameCap          = 200
	concurrencyCap   = 100_000
	maxAttemptsCap   = 50
	retryDelayMin    = 1
	retryDelayMax    = 30 * 24 * 3600
	ringTimeoutMin   = 15 // SEMANTICS §4: "never under 15 s"
	ringTimeoutMax   = 120
	callLimitMin     = 10
	callLimitMax     = 4 * 3600
	resultTimeMin    = 1
	resultTimeMax    = 7 * 24 * 3600
	abandonCapMax    = 50_000 // 5 %
	falsePositiveMax = 50_000 // 5 %
	customCap        = 200
	weightCap        = 100
	configURLCap     = 2048
	dispositionCap   = 255
	redialRuleCap    = 24 * 3600
	defaultRetry     = 30 * 60
	defaultAttempts  = 3
	retentionCap     = 3650 // days
	sensitivityMax   = 100
	sensitivityMid   = 50
	listenMin        = 1500 // ms
	listenMax        = 8000
	defaultListen    = 4000
	reviseMax        = 60
	defaultRevise    = 20
	voicemailIDCap   = 64
	// biasMost is what the ends of the sensitivity add to the log-odds.
	biasMost         = 3
	defaultRetention = 30
)

// Pacing modes.
const (
	PacingStrict      = "strict"
	PacingHybrid      = "hybrid"
	PacingProgressive = "progressive"
)

// Values of Settings.Recording.
const (
	RecordingOff = "off"
	RecordingOn  = "on"
)

// Defaults are the settings of a campaign of which nothing is said. Name, bot,
// concurrency and window have none: an operator must choose them.
func Defaults() Settings {
	return Settings{
		MaxAttempts:      defaultAttempts,
		RetryDelaySec:    defaultRetry,
		RetryOnSystem:    redial.DefaultOnSystem(),
		RetryOnCustom:    []string{},
		RingTimeoutSec:   30,
		CallLimitSec:     15 * 60,
		ResultTimeoutSec: 15 * 60,
		AMD:              engine.AMDOff,
		AMDSensitivity:   sensitivityMid,
		AMDListenMS:      defaultListen,
		AMDReviseSec:     defaultRevise,
		AbandonCapPPM:    30_000, // 3 %
		PacingMode:       PacingStrict,
		Weight:           1,
		TransferTargets:  []string{},
		TransferLimit:    1,
		// The safe side: whoever said no stays undisturbed.
		StickyExclusion: true,
		Recording:       RecordingOff, RecordingRetentionDays: defaultRetention,
	}
}

// WithDefaults fills what is zero and cannot be meant so. A zero abandon cap
// is a choice (every dial holds a seat) and stays; so do an empty Retry On
// System, which redials nothing, and booleans.
func (s Settings) WithDefaults() Settings {
	d := Defaults()
	fill := func(field *int, def int) {
		if *field == 0 {
			*field = def
		}
	}
	fill(&s.MaxAttempts, d.MaxAttempts)
	fill(&s.RetryDelaySec, d.RetryDelaySec)
	fill(&s.RingTimeoutSec, d.RingTimeoutSec)
	fill(&s.CallLimitSec, d.CallLimitSec)
	fill(&s.ResultTimeoutSec, d.ResultTimeoutSec)
	fill(&s.Weight, d.Weight)
	fill(&s.AMDSensitivity, d.AMDSensitivity)
	fill(&s.AMDListenMS, d.AMDListenMS)
	fill(&s.RecordingRetentionDays, d.RecordingRetentionDays)
	if s.Recording == "" {
		s.Recording = d.Recording
	}
	fill(&s.TransferLimit, d.TransferLimit)
	if s.TransferTargets == nil {
		s.TransferTargets = d.TransferTargets
	}
	if s.RetryOnSystem == nil {
		s.RetryOnSystem = d.RetryOnSystem
	}
	if s.RetryOnCustom == nil {
		s.RetryOnCustom = d.RetryOnCustom
	}
	if s.AMD == "" {
		s.AMD = d.AMD
	}
	if s.PacingMode == "" {
		s.PacingMode = d.PacingMode
	}
	return s
}

// Listen gives the rules of answer classification that the settings mean.
func (s *Settings) Listen() engine.AMDRules {
	r := engine.AMDRules{
		Timeout: time.Duration(s.AMDListenMS) * time.Millisecond, Revise: time.Duration(s.AMDReviseSec) * time.Second, Voicemail: s.Voicemail,
	}
	if s.AMDSensitivity > 0 {
		r.Bias = biasMost * float64(s.AMDSensitivity-sensitivityMid) / sensitivityMid
	}
	return r
}

// Validate names every mistake at once, by the field's name in JSON. It judges
// the settings alone: whether the bot exists, or a number of the pool is
// usable, is preflight's business (SEMANTICS §2), since a draft may wait for
// them.
func (s Settings) Validate() error {
	var fields []engine.FieldError
	wrong := func(field, code, message string) {
		fields = append(fields, engine.FieldError{Field: field, Code: code, Message: message})
	}
	within := func(field string, n, low, high int) {
		if n < low || n > high {
			wrong(field, "out_of_range", "must be from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
		}
	}

	switch name := strings.TrimSpace(s.Name); {
	case name == "":
		wrong("name", "required", "is required")
	case utf8.RuneCountInString(s.Name) > nameCap:
		wrong("name", "too_long", "must have at most "+strconv.Itoa(nameCap)+" characters")
	}
	if s.Bot == "" {
		wrong("bot_id", "required", "is required")
	}
	within("concurrency", s.Concurrency, 1, concurrencyCap)

	var e *engine.Error
	if err := s.Window.Validate(); errors.As(err, &e) {
		fields = append(fields, e.Fields...)
	}
	// spec: an always-on campaign never auto-completes; a single-day one
	// completes when its window ends. SEMANTICS §2: "Always-on requires
	// multi-day (422 otherwise)".
	if s.AlwaysOn && s.SingleDay {
		wrong("always_on", "requires_multi_day", "an always-on campaign must not be single-day")
	}
	fields = append(fields, s.wrongNumbers()...)

	within("max_attempts", s.MaxAttempts, 1, maxAttemptsCap)
	within("retry_delay_s", s.RetryDelaySec, retryDelayMin, retryDelayMax)
	within("stop_redials_after_s", s.StopRedialsAfterSec, 0, redialRuleCap)
	within("redial_only_under_s", s.RedialOnlyUnderSec, 0, redialRuleCap)
	fields = append(fields, s.wrongRedials()...)
	within("ring_timeout_s", s.RingTimeoutSec, ringTimeoutMin, ringTimeoutMax)
	within("call_limit_s", s.CallLimitSec, callLimitMin, callLimitMax)
	within("result_timeout_s", s.ResultTimeoutSec, resultTimeMin, resultTimeMax)
	fields = append(fields, s.wrongRetries()...)

	switch s.AMD {
	case engine.AMDOff, engine.AMDSequential, engine.AMDParallel:
	default:
		wrong("amd", "unknown_value", "must be one of off, sequential, parallel")
	}
	within("amd_sensitivity", s.AMDSensitivity, 1, sensitivityMax)
	within("amd_listen_ms", s.AMDListenMS, listenMin, listenMax)
	within("amd_revise_s", s.AMDReviseSec, 0, reviseMax)
	if s.AMDReviewPPM < 0 || s.AMDReviewPPM > 1_000_000 {
		wrong("amd_review_share", "out_of_range", "must be from 0 to 1")
	}
	if s.AMDReviewPPM > 0 && s.Recording != RecordingOn {
		wrong("amd_review_share", "requires_recording", "needs recording: on; verdicts are reviewed by their audio")
	}
	if len(s.Voicemail) > voicemailIDCap {
		wrong("voicemail_id", "too_long", "must have at most "+strconv.Itoa(voicemailIDCap)+" characters")
	}
	switch s.PacingMode {
	case PacingStrict, PacingHybrid, PacingProgressive:
	default:
		wrong("pacing_mode", "unknown_value", "must be one of strict, hybrid, progressive")
	}
	if s.AbandonCapPPM < 0 || s.AbandonCapPPM > abandonCapMax {
		wrong("abandon_cap_pct", "out_of_range", "must be from 0 to 5")
	}
	if s.FalsePositivePPM < 0 || s.FalsePositivePPM > falsePositiveMax {
		wrong("false_positive_share", "out_of_range", "must be from 0 to 0.05")
	}
	within("max_lines", s.MaxLines, 0, concurrencyCap)
	within("weight", s.Weight, 1, weightCap)
	switch s.Recording {
	case RecordingOff, RecordingOn:
	default:
		wrong("recording", "unknown_value", "must be one of off, on")
	}
	within("recording_retention_days", s.RecordingRetentionDays, 1, retentionCap)
	within("transfer_limit", s.TransferLimit, 1, attempt.TransfersCap)
	judgeTransferTargets(s.TransferTargets, wrong)
	if !wellFormed(s.ConfigURL) {
		wrong("config_url", "invalid_format", "must be an http or https address")
	}
	if !askable(s.EligibilityURL) {
		wrong("eligibility_url", "invalid_format", "must be an http or https address without user, password and fragment")
	}
	switch s.EligibilityFail {
	case "", eligibility.Open, eligibility.Closed:
	default:
		wrong("eligibility_fail", "unknown_value", "must be one of open, closed")
	}
	if fields != nil {
		return engine.Invalid("invalid_settings", "The campaign's settings are not valid; see errors.", fields...)
	}
	return nil
}

// wellFormed says whether a Config URL can be fetched at all; "" is none.
func wellFormed(configURL string) bool {
	if configURL == "" {
		return true
	}
	u, err := url.Parse(configURL)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && len(configURL) <= configURLCap
}

// askable says whether a campaign's eligibility hook can be asked at all; "" is none.
func askable(hook string) bool {
	u, err := url.Parse(hook)
	return hook == "" || wellFormed(hook) && err == nil && u.User == nil && u.Fragment == ""
}

// wrongNumbers judges the number pool; an empty one is a draft's right.
func (s *Settings) wrongNumbers() []engine.FieldError {
	var fields []engine.FieldError
	if len(s.Numbers) > NumberPoolCap {
		fields = append(fields, engine.FieldError{Field: "number_pool", Code: "too_long",
			Message: "must have at most " + strconv.Itoa(NumberPoolCap) + " numbers"})
	}
	seen := make(map[engine.PhoneNumber]bool, len(s.Numbers))
	for i, n := range s.Numbers {
		at := "number_pool[" + strconv.Itoa(i) + "]"
		var e *engine.Error
		if _, err := number.Parse(n.E164()); errors.As(err, &e) {
			fields = append(fields, engine.FieldError{Field: at, Code: e.Code, Message: e.Detail})
		} else if seen[n] {
			fields = append(fields, engine.FieldError{Field: at, Code: "duplicate", Message: "is in the pool already"})
		}
		seen[n] = true
	}
	return fields
}

// wrongRedials: SEMANTICS §4 "with both set, Redial Only Under ≤ Stop Redials
// After, else 422". A conversation cannot both end the redials and be too short.
func (s *Settings) wrongRedials() []engine.FieldError {
	if s.StopRedialsAfterSec <= 0 || s.RedialOnlyUnderSec <= s.StopRedialsAfterSec {
		return nil
	}
	return []engine.FieldError{{Field: "redial_only_under_s", Code: "exceeds_stop_redials_after",
		Message: "must not be above stop_redials_after_s (" + strconv.Itoa(s.StopRedialsAfterSec) + "); lower it, raise stop_redials_after_s, or set one of them to 0"}}
}

// CheckCopy refuses to copy settings that contradict each other. They were stored
// before such settings were refused.
func (s *Settings) CheckCopy() error {
	if fields := s.wrongRedials(); fields != nil {
		return engine.Invalid("invalid_settings", "The campaign's settings contradict each other and are not copied. "+
			"Correct them in the original, which can be edited as a draft and while it is paused, then copy it.", fields...)
	}
	return nil
}

// wrongRetries judges the two retry lists.
func (s *Settings) wrongRetries() []engine.FieldError {
	var fields []engine.FieldError
	for i, o := range s.RetryOnSystem {
		if !redial.Listable(o) {
			fields = append(fields, engine.FieldError{
				Field: "retry_on_system[" + strconv.Itoa(i) + "]", Code: "unknown_value",
				Message: "must be one of " + listable(),
			})
		}
	}
	if len(s.RetryOnCustom) > customCap {
		fields = append(fields, engine.FieldError{Field: "retry_on_custom", Code: "too_long",
			Message: "must have at most " + strconv.Itoa(customCap) + " dispositions"})
	}
	for i, d := range s.RetryOnCustom {
		if strings.TrimSpace(d) == "" || utf8.RuneCountInString(d) > dispositionCap {
			fields = append(fields, engine.FieldError{
				Field: "retry_on_custom[" + strconv.Itoa(i) + "]", Code: "invalid_format",
				Message: "must be the name of a disposition, 1 to " + strconv.Itoa(dispositionCap) + " characters",
			})
		}
	}
	return fields
}

func listable() string {
	list := redial.ListableOutcomes()
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = string(o)
	}
	return strings.Join(names, ", ")
}

func judgeTransferTargets(list []string, wrong func(field, code, message string)) {
	if len(list) > attempt.TransferTargetsCap {
		wrong("transfer_targets", "too_long", "must have at most "+strconv.Itoa(attempt.TransferTargetsCap)+" entries")
	}
	for i, t := range list {
		if !attempt.CheckTransferTarget(t) {
			wrong("transfer_targets["+strconv.Itoa(i)+"]", "invalid_format", "must be an E.164 number or its beginning with * (+4930*), sip:user@host, or sip:*@host")
		}
	}
}

// ValidateTransfers says what is wrong with the transfers of a dialout.
func ValidateTransfers(r attempt.TransferRules) (wrong []engine.FieldError) {
	add := func(field, code, message string) {
		wrong = append(wrong, engine.FieldError{Field: field, Code: code, Message: message})
	}
	if r.Limit < 1 || r.Limit > attempt.TransfersCap {
		add("transfer_limit", "out_of_range", "must be 1 to "+strconv.Itoa(attempt.TransfersCap))
	}
	judgeTransferTargets(r.Allowed, add)
	return wrong
}
