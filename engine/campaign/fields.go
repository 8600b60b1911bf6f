package campaign

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/calendar"
	"dialler/engine/eligibility"
	"dialler/engine/inbound"
	"dialler/engine/redial"
	"dialler/engine/window"
)

// Field defines one setting of campaigns, except the code that applies it. Defaults, bounds, the
// list of an edit's changes, what a Config URL may set, the API, its document, the console's form
// and its card, and docs/settings.md all use it or are generated from it.
type Field struct {
	Name  string // in requests and answers; also the JSON name in Settings, unless Unit converts
	Group Group
	// At points to the setting: *int, *bool, *string, List or *window.Window.
	At func(*Settings) any
	// Default is the value that applies when none is given: int, bool, string or []string; nil
	// means none, or, with Required, that an operator must choose.
	Default  any
	Required bool
	// Min and Max bound a whole number, in its stored unit. Max is also the most characters of a
	// text, or entries of a list.
	Min, Max int
	Unit     Unit
	Choices  []Choice // the allowed values
	// Judge reports other mistakes, also in relation to other settings.
	Judge func(*Settings, Wrong)

	External bool   // a document at a Config URL may set it: it is about how to dial, not the operator's decision
	Locked   bool   // it is fixed once the campaign has run
	WhatIf   bool   // a simulation may change it
	Address  bool   // an address; its user, password and query stay out of the activity log
	Items    string // for a list: the schema of its entries in the API's document

	Label string   // its name for people
	Help  string   // help text beside its field in the console
	API   string   // text in the API's document; "" means Help
	Zero  string   // what 0 means
	Says  []string // words for false and true; nil means Off, On
	Shown int      // how many stored units make one in the console: 60 s are a minute
	First int      // for a rule that 0 turns off: the initial value when it is turned on
	Under string   // relevant only while the setting of this name has a value other than off
	Quiet bool     // the console's card omits it while it is empty
	// Unasked says that the console's form has no field for it; it is set through the API.
	Unasked bool

	// Source is the sentence of the specification, or the page of docs, that defines it.
	Source string
}

// Wrong reports a mistake in a setting.
type Wrong func(field, code, message string)

// Group is the section of the console's form for a setting.
type Group string

const (
	GroupBasics  Group = "basics"
	GroupPool    Group = "pool"
	GroupWindow  Group = "window"
	GroupRetries Group = "retries"
	GroupCare    Group = "care"
	GroupMore    Group = "more"
)

// Unit is the unit of a whole number.
type Unit string

const (
	Seconds      Unit = "s"
	Milliseconds Unit = "ms"
	Days         Unit = "days"
	PerCent      Unit = "%"     // stored in millionths
	Share        Unit = "share" // from 0 to 1, stored in millionths
)

// Scale is how many stored units make one on the wire.
func (u Unit) Scale() int {
	switch u {
	case PerCent:
		return 10_000
	case Share:
		return 1_000_000
	case Seconds, Milliseconds, Days:
	}
	return 1
}

// Choice is one of a few values of a setting.
type Choice struct{ Value, Label, About string }

// List gives access to a list of texts.
type List interface {
	Get() []string // nil when the list is nil
	Set(list []string)
}

type listOf[T ~string] struct{ at *[]T }

func list[T ~string](at *[]T) List { return listOf[T]{at} }

func (l listOf[T]) Get() []string {
	if *l.at == nil {
		return nil
	}
	texts := make([]string, len(*l.at))
	for i, v := range *l.at {
		texts[i] = string(v)
	}
	return texts
}

func (l listOf[T]) Set(texts []string) {
	*l.at = make([]T, len(texts))
	for i, v := range texts {
		(*l.at)[i] = T(v)
	}
}

// Fields are all settings, in the order of the API's document and of the console's lists.
var Fields = []Field{
	{
		Name: "name", Group: GroupBasics, Required: true, Max: nameCap, Locked: true,
		At: func(s *Settings) any { return &s.Name }, Label: "Name", Source: "| name |",
	}, {
		Name: "bot_id", Group: GroupBasics, Required: true, Max: 64, Locked: true,
		At:    func(s *Settings) any { return (*string)(&s.Bot) },
		Label: "Bot", Source: "| Bot ID |",
	}, {
		Name: "concurrency", Group: GroupBasics, Required: true, Min: 1, Max: concurrencyCap, External: true, WhatIf: true,
		At:    func(s *Settings) any { return &s.Concurrency },
		Label: "Concurrency", Help: "Simultaneous connected calls",
		Source: "Maximum number of simultaneous connected calls.",
	}, {
		Name: "window", Group: GroupWindow, Required: true, External: true, WhatIf: true,
		At:    func(s *Settings) any { return &s.Window },
		Label: "Time Window", Source: "| Time Window |",
	}, {
		Name: "single_day", Group: GroupWindow, Default: false, External: true, WhatIf: true,
		At:    func(s *Settings) any { return &s.SingleDay },
		Label: "Calling window", Says: []string{"Multi-day", "Single-day"}, Source: "Single-day or multi-day.",
	}, {
		Name: "always_on", Group: GroupBasics, Default: false, External: true,
		At: func(s *Settings) any { return &s.AlwaysOn }, Judge: wrongAlwaysOn,
		Label: "Always-on", API: "Requires multi-day.",
		Help:   "Never completes by itself: stays running and accepts contacts until somebody stops it",
		Source: "Always-on requires multi-day",
	}, {
		Name: "calendar_ids", Group: GroupWindow, Max: calendar.OfCampaign, Quiet: true,
		At:    func(s *Settings) any { return list(&s.Calendars) },
		Label: "Calendars", Help: "Opening hours and holidays within which the campaign calls",
		API:    "Calendars (`/api/v1/calendars`): the campaign calls when its window and all of them are open.",
		Source: "docs/calendars.md",
	}, {
		Name: "number_pool", Group: GroupPool, Max: NumberPoolCap, Items: "E164", External: true,
		At: func(s *Settings) any { return list(&s.Numbers) }, Judge: wrongNumbers,
		Label:  "Number Pool",
		Help:   "Outbound numbers; each call takes the least recently used one",
		Source: "| Number Pool |",
	}, {
		Name: "max_attempts", Group: GroupRetries, Default: 3, Min: 1, Max: 50, External: true, WhatIf: true,
		At:    func(s *Settings) any { return &s.MaxAttempts },
		Label: "Max Attempts", Help: "Per contact, the first one included",
		Source: "Retry ceiling per contact.",
	}, {
		Name: "retry_delay_s", Group: GroupRetries, Default: 30 * 60, Min: 1, Max: 30 * 24 * 3600, Unit: Seconds, Shown: 60,
		At: func(s *Settings) any { return &s.RetryDelaySec }, External: true, WhatIf: true,
		Label: "Retry Delay", Help: "From the end of an attempt to the next", API: "From the end of the attempt.",
		Source: "Minutes between retry attempts.",
	}, {
		Name: "cadence_id", Group: GroupRetries, Max: 64, Quiet: true,
		At:    func(s *Settings) any { return (*string)(&s.Cadence) },
		Label: "Cadence", Help: "When each outcome is redialled, in place of one Retry Delay",
		API: "A cadence (`/api/v1/cadences`): when each outcome is redialled. Absent: after `retry_delay_s` alone, which " +
			"outcomes that the cadence leaves out keep.",
		Source: "docs/cadences.md",
	}, {
		Name: "best_hour", Group: GroupRetries, Default: false, External: true, Quiet: true,
		At:    func(s *Settings) any { return &s.BestHour },
		Label: "Best hour", Help: "Those more likely to answer now than at other hours are dialled first",
		API: "Among contacts of equal priority and attempt number, those more likely to answer now than at other hours " +
			"are dialled first, as learned from this installation's attempts. A tenth of the contacts is dialled without " +
			"it, for comparison (`/api/v1/campaigns/{campaign_id}/best-hour`).",
		Source: "docs/best-hour.md",
	}, {
		Name: "retry_on_system", Group: GroupRetries, Default: texts(redial.DefaultOnSystem()), Max: len(engine.Outcomes),
		At: func(s *Settings) any { return list(&s.RetryOnSystem) }, Judge: wrongRetriesOnSystem,
		External: true, Items: "Outcome",
		Label: "Retry On System", Help: "Outcomes that are redialled automatically; may be empty",
		API: "Left out = the default list; empty = none.", Source: "System outcomes that trigger an automatic redial",
	}, {
		Name: "retry_on_custom", Group: GroupRetries, Default: []string{}, Max: 200, External: true,
		At: func(s *Settings) any { return list(&s.RetryOnCustom) }, Judge: wrongRetriesOnCustom,
		Label: "Retry On Custom", Help: "Bot dispositions that are redialled; may be empty",
		Source: "Custom disposition names that trigger a redial",
	}, {
		Name: "stop_redials_after_s", Group: GroupRetries, Default: 0, Max: 24 * 3600, Unit: Seconds, External: true,
		At:    func(s *Settings) any { return &s.StopRedialsAfterSec },
		Label: "Stop Redials After", Zero: "Rule off", First: 30, Quiet: true,
		Help: "A conversation at least this long ends the redials of its contact in this run; callbacks are still made",
		API: "Stop after a meaningful connect: a conversation at least this long makes the contact final, in this and " +
			"every later attempt of the run; callbacks apart. It wins over `redial_only_under_s`. 0 = rule off.",
		Source: "Threshold for the rule stop after a meaningful connect",
	}, {
		Name: "redial_only_under_s", Group: GroupRetries, Default: 0, Max: 24 * 3600, Unit: Seconds, External: true,
		At: func(s *Settings) any { return &s.RedialOnlyUnderSec }, Judge: wrongRedials,
		Label: "Redial Only Under", Zero: "Rule off", First: 10, Quiet: true,
		Help: "A shorter conversation is redialled whatever its disposition; longer ones follow Retry on custom",
		API: "Redial after a short connect: a conversation shorter than this is redialled after the retry delay while " +
			"attempts remain, whatever its disposition, or without one; a callback, `do_not_call` and an exclusion come " +
			"first. Longer ones are left to `retry_on_custom`. At most `stop_redials_after_s` when both are set, else 422. 0 " +
			"= rule off.",
		Source: "Threshold for the rule redial after a short connect",
	}, {
		Name: "ring_timeout_s", Group: GroupMore, Default: 30, Min: 15, Max: 120, Unit: Seconds, External: true, WhatIf: true,
		At:    func(s *Settings) any { return &s.RingTimeoutSec },
		Label: "Ring time-out", Source: "Ring timeout default 30 s, never under 15 s.",
	}, {
		Name: "call_limit_s", Group: GroupMore, Default: 15 * 60, Min: 10, Max: 4 * 3600, Unit: Seconds, External: true,
		At:    func(s *Settings) any { return &s.CallLimitSec },
		Label: "Longest call", Source: "Call limit default 15 min.",
	}, {
		Name: "result_timeout_s", Group: GroupMore, Default: 15 * 60, Min: 1, Max: 7 * 24 * 3600, Unit: Seconds,
		At: func(s *Settings) any { return &s.ResultTimeoutSec }, External: true,
		Label: "Wait for a result", Source: "the result timeout (default 15 min after the end)",
	}, {
		Name: "amd", Group: GroupCare, Default: string(engine.AMDOff), External: true,
		At: func(s *Settings) any { return (*string)(&s.AMD) },
		Choices: []Choice{
			{string(engine.AMDOff), "Off", "Every answer goes to the bot."},
			{string(engine.AMDSequential), "Sequential", "The bot joins once a person is heard."},
			{string(engine.AMDParallel), "Parallel", "The bot talks at once; a machine is torn down once heard."},
		},
		Label: "Answering machine detection", Source: "`off`, `sequential` (listen first, then attach the bot)",
	}, {
		Name: "amd_sensitivity", Group: GroupCare, Default: sensitivityMid, Min: 1, Max: 100, Under: "amd",
		At:    func(s *Settings) any { return &s.AMDSensitivity },
		Label: "Sensitivity to machines", Help: "1 to 100; 50 is the rule as tuned",
		API:    "How readily somebody is taken for a machine; 50 is the rule as tuned.",
		Source: "docs/amd.md",
	}, {
		Name: "amd_listen_ms", Group: GroupCare, Default: 4000, Min: 1500, Max: 8000, Unit: Milliseconds, Shown: 1000,
		At: func(s *Settings) any { return &s.AMDListenMS }, Under: "amd",
		Label: "Longest listening", API: "The longest time to listen after the answer.", Source: "docs/amd.md",
	}, {
		Name: "amd_revise_s", Group: GroupCare, Default: 10, Max: 60, Unit: Seconds, Under: "amd",
		At:    func(s *Settings) any { return &s.AMDReviseSec },
		Label: "Late beep window", Help: "A beep within this time of the answer makes it voicemail; 0: off", Zero: "Off",
		API: "For how long after the answer a beep takes back a verdict that sent the call to the bot: the bot is " +
			"taken off, the outcome is `machine`. The abandon rate counts the answer only then. 0: not at all.",
		Source: "docs/amd.md",
	}, {
		Name: "amd_review_share", Group: GroupCare, Default: 0, Max: 1_000_000, Unit: Share, Under: "amd", Quiet: true,
		At: func(s *Settings) any { return &s.AMDReviewPPM }, Judge: wrongReview, Unasked: true,
		Label: "Verdicts to review",
		API: "Share of the verdicts on recorded calls that people are asked to review (`/api/v1/amd/reviews`); needs " +
			"recording.",
		Source: "docs/amd.md",
	}, {
		Name: "voicemail_id", Group: GroupCare, Max: 64, Quiet: true, Unasked: true,
		At:    func(s *Settings) any { return (*string)(&s.Voicemail) },
		Label: "Message left on machines",
		API: "The message that is left on machines after the beep (`/api/v1/voicemails`); absent: none, machines are " +
			"hung up on.",
		Source: "docs/amd.md",
	}, {
		Name: "abandon_cap_pct", Group: GroupCare, Default: 30_000, Max: 50_000, Unit: PerCent, External: true, WhatIf: true,
		At:    func(s *Settings) any { return &s.AbandonCapPPM },
		Label: "Abandon cap", API: "0 = every dial holds a seat.",
		Help:   "Share of answered calls that may find no free worker; 0 % holds a worker for every dial",
		Source: "the strictest configured cap rules (default 3 %)",
	}, {
		Name: "pacing_mode", Group: GroupCare, Default: PacingStrict, External: true, WhatIf: true,
		At: func(s *Settings) any { return &s.PacingMode },
		Choices: []Choice{
			{PacingStrict, "Strict", "Never over the abandon cap, at any moment."},
			{PacingHybrid, "Hybrid", "More calls; statistically within the cap at the end of the day."},
			{PacingProgressive, "Progressive", "No dial without a free worker: nobody is abandoned."},
		},
		Label: "Pacing",
		API: "strict: never over the abandon cap, at any moment. hybrid: more calls, statistically within the cap at " +
			"the end of the day. progressive: no dial without a free seat.",
		Source: "Guaranteed by mode `strict` (default) after every event",
	}, {
		Name: "false_positive_share", Group: GroupCare, Default: 0, Max: 50_000, Unit: Share, External: true, Quiet: true,
		At:    func(s *Settings) any { return &s.FalsePositivePPM },
		Label: "People taken for machines", Unasked: true,
		API:    "Share of the calls taken for machines that were people; they count against the abandon cap.",
		Source: "φ = configured false-positive share",
	}, {
		Name: "max_lines", Group: GroupMore, Default: 0, Max: concurrencyCap, External: true, WhatIf: true, Quiet: true,
		At:    func(s *Settings) any { return &s.MaxLines },
		Label: "Maximum ringing lines", Help: "0: no limit of its own", Zero: "No limit of its own",
		API:    "Cap of ringing lines; 0 = none of its own.",
		Source: "Ringing does not count and has its own cap.",
	}, {
		Name: "weight", Group: GroupMore, Default: 1, Min: 1, Max: 100, External: true,
		At:    func(s *Settings) any { return &s.Weight },
		Label: "Weight", Help: "Its share of the bot's seats when campaigns want more than there are",
		Source: "docs/architecture.md",
	}, {
		Name: "callback_detection", Group: GroupCare, Default: false, External: true,
		At:    func(s *Settings) any { return &s.CallbackDetection },
		Label: "Callback detection", Help: "Contacts who ask for it are called back at the time they name",
		Says: []string{"Disabled", "Enabled"}, Source: "Enabled or disabled in the dialler configuration.",
	}, {
		// The safe default: whoever said no stays undisturbed.
		Name: "callback_policy", Group: GroupCare, Quiet: true,
		At: func(s *Settings) any { return &s.CallbackPolicy },
		Choices: []Choice{
			{string(inbound.Reject), "Refused", "The call is refused, as the trunk says."},
			{string(inbound.Message), "A message", "They hear a message, then the call ends."},
			{string(inbound.Bot), "The bot", "The bot of the campaign talks to them."},
		},
		Label: "Calls back", Help: "What becomes of a contact who calls the number that called; empty: as the number says",
		API: "What becomes of a contact who calls the number that called within 30 days: reject, message (see " +
			"`callback_message_id`) or bot, which is told `direction`: `inbound`. Absent: as the number says.",
		Source: "docs/sip.md",
	}, {
		Name: "callback_message_id", Group: GroupCare, Max: 64, Quiet: true, Unasked: true,
		At:    func(s *Settings) any { return (*string)(&s.CallbackMessage) },
		Label: "Message to those who call back",
		API: "The message (`/api/v1/voicemails`) for `callback_policy` message; absent: the information message of the " +
			"installation.",
		Source: "docs/sip.md",
	}, {
		Name: "sticky_exclusion", Group: GroupCare, Default: true, External: true,
		At:    func(s *Settings) any { return &s.StickyExclusion },
		Label: "Sticky Exclusion", Help: "An excluded contact stays so, even when added again by file or API",
		Source: "Boolean; when on, an excluded contact stays suppressed even if re-added by CSV or API",
	}, {
		Name: "sticky_number", Group: GroupPool, Default: false, External: true, Quiet: true,
		At:    func(s *Settings) any { return &s.StickyNumber },
		Label: "Same number for a contact", Help: "A contact is called again from the number that called first",
		Source: "sticky number of the contact (option)",
	}, {
		Name: "transfer_targets", Group: GroupMore, Default: []string{}, Max: attempt.TransferTargetsCap, External: true,
		At: func(s *Settings) any { return list(&s.TransferTargets) }, Quiet: true,
		Judge: func(s *Settings, wrong Wrong) { judgeTransferTargets(s.TransferTargets, wrong) },
		Label: "Transfer targets", Help: "Where the bot may transfer calls: +4930…, +4930*, sip:user@host",
		API: "Where a bot may transfer its calls: E.164 numbers, their prefixes (+4930*), sip:user@host, sip:*@host. " +
			"Empty: nowhere.",
		Source: "docs/architecture.md",
	}, {
		Name: "transfer_limit", Group: GroupMore, Default: 1, Min: 1, Max: attempt.TransfersCap, External: true,
		At: func(s *Settings) any { return &s.TransferLimit }, Under: "transfer_targets", Unasked: true,
		Label: "Transfers per call", API: "Transfers of one call, failed ones included.", Source: "docs/architecture.md",
	}, {
		Name: "local_match", Group: GroupPool, Default: false, External: true, Quiet: true,
		At:     func(s *Settings) any { return &s.LocalMatch },
		Label:  "Local numbers first",
		Help:   "Numbers of the contact's country and area are used before others",
		Source: "local match (same country and area, option)",
	}, {
		Name: "stop_ends_calls", Group: GroupMore, Default: false, External: true, Quiet: true,
		At:    func(s *Settings) any { return &s.StopEndsCalls },
		Label: "Stop ends conversations", Help: "Stop hangs up calls in progress instead of letting them finish",
		Source: "conversations finish (an option ends them too)",
	}, {
		Name: "config_url", Group: GroupMore, Max: configURLCap, Address: true,
		At: func(s *Settings) any { return &s.ConfigURL }, Judge: wrongConfigURL,
		Label: "Config URL", Help: "URL of a document that sets the configuration when a run starts",
		API: "URL of a document that sets the configuration when a run starts. Who may not change campaigns " +
			"sees it, and eligibility_url, with *** for user, password and query.",
		Source: "Present only when the campaign uses an externally managed configuration.",
	}, {
		Name: "eligibility_url", Group: GroupMore, Max: configURLCap, Address: true, Quiet: true,
		At: func(s *Settings) any { return &s.EligibilityURL }, Judge: wrongHook,
		Label: "Asked before each dial",
		Help:  "A system of yours that says whether a contact may be called now, in addition to the installation's",
		API: "A system that is asked before each dial of this campaign whether the contact may be called now, beside " +
			"the installation's own, and the stricter answer holds. https, on the public internet; http and private " +
			"addresses only where the installation allows them.",
		Source: "docs/eligibility.md",
	}, {
		Name: "eligibility_fail", Group: GroupMore, Under: "eligibility_url", Quiet: true,
		At: func(s *Settings) any { return &s.EligibilityFail },
		Choices: []Choice{
			{eligibility.Open, "The contact is called", ""},
			{eligibility.Closed, "It is asked again a minute later", ""},
		},
		Label: "If it does not answer", Zero: "As the installation does",
		API: "If it does not answer within 300 ms: open, the contact is called; closed, the hook is asked again a " +
			"minute later. As the installation says when left out.",
		Source: "docs/eligibility.md",
	}, {
		// Legal requirements are the operator's decision: no document sets it.
		Name: "recording", Group: GroupMore, Default: RecordingOff,
		At:      func(s *Settings) any { return &s.Recording },
		Choices: []Choice{{RecordingOff, "Off", ""}, {RecordingOn, "On", ""}},
		Label:   "Recording",
		Help:    "In most countries the people called must know or agree: the bot has to say so.",
		API: "on: both sides of every answered call are recorded from the answer on, abandoned calls and machines too. " +
			"In most countries the people called must know or agree: the bot has to say so.",
		Source: "docs/recordings.md",
	}, {
		Name: "recording_retention_days", Group: GroupMore, Default: 30, Min: 1, Max: 3650, Unit: Days,
		At:    func(s *Settings) any { return &s.RecordingRetentionDays },
		Label: "Recordings are kept", API: "How long recordings are kept.", Source: "docs/recordings.md",
	},
}

func texts[T ~string](list []T) []string { return listOf[T]{&list}.Get() }

// FieldOf finds a setting by its name, nil when there is none.
func FieldOf(name string) *Field {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &Fields[i]
}

// Optional says whether the setting may have no value: a text without a default that is not
// required.
func (f *Field) Optional() bool {
	_, text := f.At(&Settings{}).(*string)
	return text && f.Default == nil && !f.Required
}

// Stored converts a number on the wire to its stored form. It is clamped, so that extreme values
// stay out of range.
func (f *Field) Stored(v float64) int {
	n := int(math.Round(math.Max(-1000, math.Min(1000, v)) * float64(f.Unit.Scale())))
	if v < 0 && n == 0 {
		return -1
	}
	return n
}

// Wire converts a stored number to its form on the wire.
func (f *Field) Wire(n int) float64 { return float64(n) / float64(f.Unit.Scale()) }

// Value is the setting as it goes on the wire: int, float64, bool, string, []string (never nil) or
// window.Window; nil for an optional one without a value.
func (f *Field) Value(s *Settings) any {
	switch at := f.At(s).(type) {
	case *int:
		if f.Unit.Scale() > 1 {
			return f.Wire(*at)
		}
		return *at
	case *bool:
		return *at
	case *string:
		if *at == "" && f.Optional() {
			return nil
		}
		return *at
	case List:
		return append([]string{}, at.Get()...)
	case *window.Window:
		return *at
	}
	return nil
}

// fill gives a setting without a value its default. A zero within the bounds is a choice and stays,
// and so does an empty list.
func (f *Field) fill(s *Settings) {
	switch at := f.At(s).(type) {
	case *int:
		if *at == 0 && f.Min > 0 {
			*at, _ = f.Default.(int)
		}
	case *string:
		if *at == "" {
			*at, _ = f.Default.(string)
		}
	case List:
		if def, ok := f.Default.([]string); ok && at.Get() == nil {
			at.Set(def)
		}
	}
}

// reset sets the default, whatever the present value.
func (f *Field) reset(s *Settings) {
	switch at := f.At(s).(type) {
	case *int:
		*at, _ = f.Default.(int)
	case *bool:
		*at, _ = f.Default.(bool)
	default:
		f.fill(s)
	}
}

// take sets the setting from JSON, a list and the window as a whole; false for a wrong type.
func (f *Field) take(s *Settings, v json.RawMessage) bool {
	switch at := f.At(s).(type) {
	case *int:
		var n float64
		if json.Unmarshal(v, &n) != nil || f.Unit.Scale() == 1 && json.Unmarshal(v, at) != nil {
			return false
		}
		if f.Unit.Scale() > 1 {
			*at = f.Stored(n)
		}
		return true
	case List:
		var list []string
		if json.Unmarshal(v, &list) != nil {
			return false
		}
		at.Set(list)
		return true
	case *window.Window:
		fresh, in := window.Window{}, json.NewDecoder(strings.NewReader(string(v)))
		in.DisallowUnknownFields()
		if in.Decode(&fresh) != nil {
			return false
		}
		*at = fresh
		return true
	default:
		return json.Unmarshal(v, at) == nil
	}
}

// judge reports what is wrong with the setting.
func (f *Field) judge(s *Settings, wrong Wrong) {
	switch at := f.At(s).(type) {
	case *int:
		if *at < f.Min || *at > f.Max {
			wrong(f.Name, "out_of_range", "must be from "+f.figure(f.Min)+" to "+f.figure(f.Max))
		}
	case *string:
		f.judgeText(*at, wrong)
	case List:
		if len(at.Get()) > f.Max {
			wrong(f.Name, "too_long", "must have at most "+strconv.Itoa(f.Max)+" entries")
		}
	case *window.Window:
		judgeWindow(at, wrong)
	}
	if f.Judge != nil {
		f.Judge(s, wrong)
	}
}

func (f *Field) judgeText(text string, wrong Wrong) {
	switch {
	case f.Required && strings.TrimSpace(text) == "":
		wrong(f.Name, "required", "is required")
	case f.Choices != nil:
		values := make([]string, len(f.Choices))
		for i, c := range f.Choices {
			values[i] = c.Value
		}
		if !slices.Contains(values, text) && !(text == "" && f.Optional()) {
			wrong(f.Name, "unknown_value", "must be one of "+strings.Join(values, ", "))
		}
	case !f.Address && utf8.RuneCountInString(text) > f.Max:
		wrong(f.Name, "too_long", "must have at most "+strconv.Itoa(f.Max)+" characters")
	}
}

// figure writes a bound in the form in which clients send it.
func (f *Field) figure(n int) string { return strconv.FormatFloat(f.Wire(n), 'f', -1, 64) }
