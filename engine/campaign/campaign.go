package campaign

import (
	"time"

	"dialler/engine"
	"dialler/engine/window"
)

// State of a campaign, as stored and shown.
type State string

const (
	Draft     State = "draft"
	Running   State = "running"
	Paused    State = "paused"
	Completed State = "completed"
	Failed    State = "failed"
)

// States lists every state.
var States = []State{Draft, Running, Paused, Completed, Failed}

// CompletionReason says why a run completed.
type CompletionReason string

const (
	ReasonAllFinal        CompletionReason = "all_contacts_final"
	ReasonRetriesDone     CompletionReason = "max_retries_completed"
	ReasonWindowEnded     CompletionReason = "window_ended"
	ReasonManuallyStopped CompletionReason = "manually_stopped"
	ReasonNoCallable      CompletionReason = "no_callable_contacts"
)

// Failure reasons: conditions that do not pass by waiting.
const (
	FailureBotDeleted = "bot_deleted"
)

// Settings are what an operator chooses. Durations travel as whole seconds in
// JSON where the field name ends in _s, minutes where it ends in _min.
type Settings struct {
	Name        string        `json:"name"`
	Bot         engine.BotID  `json:"bot_id"`
	Concurrency int           `json:"concurrency"`
	Window      window.Window `json:"window"` // zone, start, end, days, holidays
	// Calendars are those within which the window is, see Narrow.
	Calendars []engine.CalendarID  `json:"calendar_ids,omitempty"`
	SingleDay bool                 `json:"single_day"`
	AlwaysOn  bool                 `json:"always_on"`
	Numbers   []engine.PhoneNumber `json:"number_pool"`

	MaxAttempts         int              `json:"max_attempts"`
	RetryDelaySec       int              `json:"retry_delay_s"`
	Cadence             engine.CadenceID `json:"cadence_id,omitempty"` // "" = Retry Delay alone
	BestHour            bool             `json:"best_hour,omitempty"`
	RetryOnSystem       []engine.Outcome `json:"retry_on_system"` // nil = default list, empty = none
	RetryOnCustom       []string         `json:"retry_on_custom"`
	StopRedialsAfterSec int              `json:"stop_redials_after_s"` // 0 = rule off
	RedialOnlyUnderSec  int              `json:"redial_only_under_s"`  // 0 = rule off
	RingTimeoutSec      int              `json:"ring_timeout_s"`
	CallLimitSec        int              `json:"call_limit_s"`
	ResultTimeoutSec    int              `json:"result_timeout_s"`

	AMD engine.AMDMode `json:"amd"`
	// AMDSensitivity is how readily an answer is taken for a machine, 1 to 100; 0 counts as 50.
	// AMDListenMS is the longest time of listening; 0 is the classifier's default. AMDReviseSec is
	// for how long after the answer a beep revises a verdict that sent the call to the bot; 0 means
	// never.
	AMDSensitivity int `json:"amd_sensitivity,omitempty"`
	AMDListenMS    int `json:"amd_listen_ms,omitempty"`
	AMDReviseSec   int `json:"amd_revise_s,omitempty"`
	// AMDReviewPPM is the share of the verdicts on recorded calls that people are asked to review.
	AMDReviewPPM int `json:"amd_review_ppm,omitempty"`
	// Voicemail is the message that is left on machines, "" = none.
	Voicemail     engine.VoicemailID `json:"voicemail_id,omitempty"`
	AbandonCapPPM int                `json:"abandon_cap_ppm"` // 30000 = 3 %
	PacingMode    string             `json:"pacing_mode"`     // strict, hybrid, progressive
	// Weight is the campaign's share of its bot's seats when several campaigns
	// want more than there are, 1 to 100; 0 counts as 1.
	Weight   int `json:"weight"`
	MaxLines int `json:"max_lines"` // cap of ringing lines, 0 = none of its own
	// FalsePositivePPM is φ: the share of calls classified as machines that were persons. They
	// count against the abandon cap.
	FalsePositivePPM int `json:"false_positive_ppm,omitempty"`

	CallbackDetection bool `json:"callback_detection"`
	// CallbackPolicy is what becomes of a contact who calls back (engine/inbound), "" = what the number
	// says; CallbackMessage is the message for it.
	CallbackPolicy  string             `json:"callback_policy,omitempty"`
	CallbackMessage engine.VoicemailID `json:"callback_message_id,omitempty"`
	StickyExclusion bool               `json:"sticky_exclusion"`
	StickyNumber    bool               `json:"sticky_number"`
	LocalMatch      bool               `json:"local_match"`
	StopEndsCalls   bool               `json:"stop_ends_calls"`
	ConfigURL       string             `json:"config_url,omitempty"`

	// EligibilityURL is asked before each dial, in addition to the installation's hook;
	// EligibilityFail is open, closed, or empty for the installation's setting.
	EligibilityURL  string `json:"eligibility_url,omitempty"`
	EligibilityFail string `json:"eligibility_fail,omitempty"`

	// Recording is off (also when empty) or on, which records both sides of every answered call
	// from the answer on. The second setting is how many days they are kept; 0 counts as 30.
	Recording              string `json:"recording"`
	RecordingRetentionDays int    `json:"recording_retention_days"`
	// TransferTargets are the targets to which a bot may hand its calls over
	// (attempt.TransferRules), by default none. TransferLimit is how often that may happen in one
	// call.
	TransferTargets []string `json:"transfer_targets"`
	TransferLimit   int      `json:"transfer_limit"`
}

// Campaign is the exported state of the campaign machine, stored as one row.
type Campaign struct {
	ID       engine.CampaignID
	Settings Settings
	State    State
	Version  int64 // of the settings, for edits
	Run      int   // the original run is 1
	EverRun  bool
	Prepared bool  // draft prepared by Restart
	Epoch    int64 // fencing epoch of the owner
	Seq      int64 // last event sequence of the campaign

	CompletionReason CompletionReason
	FailureReason    string

	CreatedAt   time.Time
	CreatedBy   engine.Who
	StartedAt   *time.Time // of the current run
	RestartedAt *time.Time
	RestartedBy *engine.Who
	CompletedAt *time.Time
	// External is what the Config URL set at the last Start, nil when there was
	// none.
	External *External
	// Previous is what Cancel Restart restores, while a restart is prepared.
	Previous *Previous
	// WindowEndsAt is the end of a single-day campaign's window, set at Start.
	WindowEndsAt *time.Time
	// Dialled is the dialling time of the run: how long it was running inside its window, up to
	// RunningSince, since when it has been running (nil when it is not).
	Dialled      time.Duration
	RunningSince *time.Time
}

// Previous is what a prepared restart would otherwise lose of the previous run.
type Previous struct {
	Settings    Settings    `json:"settings"`
	RestartedAt *time.Time  `json:"restarted_at,omitempty"`
	RestartedBy *engine.Who `json:"restarted_by,omitempty"`
	External    *External   `json:"external,omitempty"`
	// Unreached says that the prepared run is for contacts that no call has reached.
	Unreached bool `json:"only_unreached,omitempty"`
}
