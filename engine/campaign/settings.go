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
	"dialler/engine/number"
	"dialler/engine/redial"
	"dialler/engine/window"
)

// Limits that concern more than one setting.
const (
	NumberPoolCap = 1000

	nameCap        = 200
	concurrencyCap = 100_000
	configURLCap   = 2048
	dispositionCap = 255
	sensitivityMid = 50
	// biasMost is what the extremes of the sensitivity add to the log-odds.
	biasMost = 3
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

// Defaults are the settings of a campaign without any given values. Name, bot, concurrency and
// window have no default: an operator must choose them.
func Defaults() (s Settings) {
	for i := range Fields {
		Fields[i].reset(&s)
	}
	return s
}

// WithDefaults fills in zero values that cannot be intended. A zero abandon cap is a choice (every
// dial holds a seat) and stays; so do an empty Retry On System, which redials nothing, and
// booleans.
func (s Settings) WithDefaults() Settings {
	for i := range Fields {
		Fields[i].fill(&s)
	}
	return s
}

// Listen returns the rules of answer classification that the settings define.
func (s *Settings) Listen() engine.AMDRules {
	r := engine.AMDRules{
		Timeout: time.Duration(s.AMDListenMS) * time.Millisecond, Revise: time.Duration(s.AMDReviseSec) * time.Second,
		Voicemail: s.Voicemail,
	}
	if s.AMDSensitivity > 0 {
		r.Bias = biasMost * float64(s.AMDSensitivity-sensitivityMid) / sensitivityMid
	}
	return r
}

// Validate names every mistake at once, by the field's JSON name. It judges only the settings:
// whether the bot exists, or a number of the pool is usable, is checked by preflight (SEMANTICS
// §2), since a draft may wait for them.
func (s Settings) Validate() error {
	var fields []engine.FieldError
	for i := range Fields {
		Fields[i].judge(&s, func(field, code, message string) {
			fields = append(fields, engine.FieldError{Field: field, Code: code, Message: message})
		})
	}
	if fields != nil {
		return engine.Invalid("invalid_settings", "The campaign's settings are not valid; see errors.", fields...)
	}
	return nil
}

func judgeWindow(w *window.Window, wrong Wrong) {
	var e *engine.Error
	if err := w.Validate(); errors.As(err, &e) {
		for _, f := range e.Fields {
			wrong(f.Field, f.Code, f.Message)
		}
	}
}

// wrongAlwaysOn checks the rules for always-on campaigns. Spec: an always-on campaign never
// auto-completes; a single-day one completes when its window ends. SEMANTICS §2: "Always-on
// requires multi-day (422 otherwise)".
func wrongAlwaysOn(s *Settings, wrong Wrong) {
	if s.AlwaysOn && s.SingleDay {
		wrong("always_on", "requires_multi_day", "an always-on campaign must not be single-day")
	}
}

func wrongReview(s *Settings, wrong Wrong) {
	if s.AMDReviewPPM > 0 && s.Recording != RecordingOn {
		wrong("amd_review_share", "requires_recording", "needs recording: on; verdicts are reviewed by their audio")
	}
}

func wrongConfigURL(s *Settings, wrong Wrong) {
	if !wellFormed(s.ConfigURL) {
		wrong("config_url", "invalid_format", "must be an http or https address")
	}
}

func wrongHook(s *Settings, wrong Wrong) {
	if !askable(s.EligibilityURL) {
		wrong("eligibility_url", "invalid_format",
			"must be an http or https address without user, password and fragment")
	}
}

// wellFormed says whether a Config URL can be fetched at all; "" means that there is none.
func wellFormed(configURL string) bool {
	if configURL == "" {
		return true
	}
	u, err := url.Parse(configURL)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && len(configURL) <= configURLCap
}

// askable says whether a campaign's eligibility hook can be called at all; "" means that there is
// none.
func askable(hook string) bool {
	u, err := url.Parse(hook)
	return hook == "" || wellFormed(hook) && err == nil && u.User == nil && u.Fragment == ""
}

// wrongNumbers validates the number pool, which may be empty in a draft.
func wrongNumbers(s *Settings, wrong Wrong) {
	seen := make(map[engine.PhoneNumber]bool, len(s.Numbers))
	for i, n := range s.Numbers {
		at := "number_pool[" + strconv.Itoa(i) + "]"
		var e *engine.Error
		if _, err := number.Parse(n.E164()); errors.As(err, &e) {
			wrong(at, e.Code, e.Detail)
		} else if seen[n] {
			wrong(at, "duplicate", "is in the pool already")
		}
		seen[n] = true
	}
}

// wrongRedials checks SEMANTICS §4 "with both set, Redial Only Under ≤ Stop Redials After, else
// 422". A conversation cannot both end the redials and be too short.
func wrongRedials(s *Settings, wrong Wrong) {
	if s.StopRedialsAfterSec > 0 && s.RedialOnlyUnderSec > s.StopRedialsAfterSec {
		wrong("redial_only_under_s", "exceeds_stop_redials_after", "must not be above stop_redials_after_s ("+
			strconv.Itoa(s.StopRedialsAfterSec)+"); lower it, raise stop_redials_after_s, or set one of them to 0")
	}
}

// CheckCopy refuses to copy settings that contradict each other; they were stored before such
// settings were refused.
func (s *Settings) CheckCopy() error {
	var fields []engine.FieldError
	wrongRedials(s, func(field, code, message string) {
		fields = append(fields, engine.FieldError{Field: field, Code: code, Message: message})
	})
	if fields != nil {
		return engine.Invalid("invalid_settings", "The campaign's settings contradict each other and are not copied. "+
			"Correct them in the original, which can be edited as a draft and while it is paused, then copy it.", fields...)
	}
	return nil
}

func wrongRetriesOnSystem(s *Settings, wrong Wrong) {
	for i, o := range s.RetryOnSystem {
		if !redial.Listable(o) {
			wrong("retry_on_system["+strconv.Itoa(i)+"]", "unknown_value", "must be one of "+listable())
		}
	}
}

func wrongRetriesOnCustom(s *Settings, wrong Wrong) {
	for i, d := range s.RetryOnCustom {
		if strings.TrimSpace(d) == "" || utf8.RuneCountInString(d) > dispositionCap {
			wrong("retry_on_custom["+strconv.Itoa(i)+"]", "invalid_format",
				"must be the name of a disposition, 1 to "+strconv.Itoa(dispositionCap)+" characters")
		}
	}
}

func listable() string { return strings.Join(texts(redial.ListableOutcomes()), ", ") }

func judgeTransferTargets(list []string, wrong Wrong) {
	for i, t := range list {
		if !attempt.CheckTransferTarget(t) {
			wrong("transfer_targets["+strconv.Itoa(i)+"]", "invalid_format",
				"must be an E.164 number or its beginning with * (+4930*), sip:user@host, or sip:*@host")
		}
	}
}

// ValidateTransfers reports mistakes in the transfers of a dialout.
func ValidateTransfers(r attempt.TransferRules) (wrong []engine.FieldError) {
	add := func(field, code, message string) {
		wrong = append(wrong, engine.FieldError{Field: field, Code: code, Message: message})
	}
	if r.Limit < 1 || r.Limit > attempt.TransfersCap {
		add("transfer_limit", "out_of_range", "must be 1 to "+strconv.Itoa(attempt.TransfersCap))
	}
	if len(r.Allowed) > attempt.TransferTargetsCap {
		add("transfer_targets", "too_long", "must have at most "+strconv.Itoa(attempt.TransferTargetsCap)+" entries")
	}
	judgeTransferTargets(r.Allowed, add)
	return wrong
}
