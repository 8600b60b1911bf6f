package http

import (
	"context"
	"io"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/sim"
	"dialler/engine/trunk"
	"dialler/engine/webhook"
	"dialler/http/access"
	"dialler/http/wire"
)

// This file is all that the API knows of the rest of the dialler. Every call
// blocks until its answer is final, obeys ctx, and gives errors of package
// engine where the caller can do something about them; any other error is an
// internal one and its text stays in the log.

// Campaigns is the campaign tree and what is stored of it.
type Campaigns interface {
	// Create makes a draft. The settings have passed Settings.Validate.
	Create(ctx context.Context, cmd campaign.Create) (campaign.Detail, error)
	// Detail: NotFound "campaign_not_found" when there is none.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// List gives one page, newest first, and how many there are. Page.Filter is
	// a campaign state or "".
	List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error)
	// AddContacts adds all rows or none.
	AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error)
	// AddBatch adds those of a list that can be added, in one transaction with
	// the reply when the command carries an Idempotency; see Trigger.
	AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error)
	// Act carries out a lifecycle command and gives the campaign after it; for
	// ActionDelete the detail is not used.
	Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error)
	// Preflight says whether Start or Resume would be accepted and what is ahead.
	Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error)
	// Runs gives one page of the campaign's runs, newest first, with their
	// counters as they stand, and how many there are.
	Runs(ctx context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.RunRecord, int, error)
	// Clone copies a campaign in any state into a new draft; with a million
	// contacts it takes a while, which ctx bounds.
	Clone(ctx context.Context, cmd campaign.Clone) (campaign.Detail, error)
	// Contacts gives one page in list order. Page.Filter is a contact state or "".
	Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (campaign.ContactList, error)
	// Contact gives one contact and why it is not dialled now; NotFound
	// "contact_not_found" when the campaign has no such contact.
	Contact(ctx context.Context, id engine.CampaignID, cid engine.ContactID) (campaign.ContactDetail, error)
	// ActOnContact has an operator's word on one contact carried out; it is durable
	// then, with who it was. NotFound "contact_not_found"; Conflict or Invalid when
	// the contact, as it stands, does not allow it.
	ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error
	// Trigger and Exclude commit the reply with what they did when the command
	// carries an Idempotency; journal.ErrReplyExists when such a reply is
	// already stored. Past its Deadline a command is dropped unexecuted
	// (engine.KindUnavailable).
	Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error)
	Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error)
	// ListExclusions gives one page of a campaign's exclusions, newest first, and
	// how many there are: all, or the one of a number.
	ListExclusions(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber, page campaign.Page) ([]journal.Exclusion, int, error)
	// ExclusionsAfter gives up to limit exclusions of a campaign behind one, ordered
	// by number and metadata; the zero value comes before all.
	ExclusionsAfter(ctx context.Context, id engine.CampaignID, after journal.Exclusion, limit int) ([]journal.Exclusion, error)
	// ExclusionsImported tells the activity log who had a file excluded.
	ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error
	// Lift takes an exclusion back. NotFound "exclusion_not_found"; Conflict
	// "run_over", "exclusion_in_progress".
	Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error)
}

// Imports brings files of contacts into campaigns.
type Imports interface {
	// Import reads a file to its end and makes contacts of its rows, all by one
	// switch; the file is not looked at when the campaign takes no contacts. An
	// error of the file's reader comes back as it is; with any error no row is
	// in the campaign. ctx ends the reading and the waiting for the switch.
	Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error)
	// ImportByRequest gives the import that a request with an Idempotency-Key
	// began and that did not fail; ok is false when there is none.
	ImportByRequest(ctx context.Context, id engine.CampaignID, request engine.Idempotency) (imp campaign.Import, ok bool, err error)
	// CancelImport ends an import that has not come to its end, whichever process
	// has it; of it no row is in the campaign then. It gives it as it stands.
	CancelImport(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// Imports gives one page of a campaign's imports, newest first.
	Imports(ctx context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.Import, int, error)
	// ImportByID: NotFound "import_not_found" when there is none.
	ImportByID(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// RejectedRows gives one page of the rows that did not become contacts, in
	// the order of the file, and how many are listed.
	RejectedRows(ctx context.Context, id engine.ImportID, page campaign.Page) ([]campaign.RejectedRow, int, error)
}

// Activity reads the history of what somebody did.
type Activity interface {
	// Activity gives one page, newest first, and how much there is: of one
	// campaign, or with "" of what is configured for all. types filters when
	// given.
	Activity(ctx context.Context, id engine.CampaignID, types []journal.Type, page campaign.Page) ([]journal.Event, int, error)
}

// Reports reads what the Attempt Report consists of.
type Reports interface {
	// AttemptsPage gives a part of the report; NotFound "campaign_not_found" for
	// the first part when there is no such campaign, "cursor_not_found" when it
	// has no attempt behind which the report is to begin.
	AttemptsPage(ctx context.Context, q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error)
	// ReportVariables gives the names of the contacts' variables in
	// alphabetical order, at most limit.
	ReportVariables(ctx context.Context, id engine.CampaignID, limit int) ([]string, error)
	// Series gives how a run went over a time, Breakdown what its dials came to.
	// NotFound "campaign_not_found", "run_not_found"; Unavailable "chart_too_long"
	// when there is too much to be counted.
	Series(ctx context.Context, q campaign.SeriesQuery) (campaign.Series, error)
	Breakdown(ctx context.Context, id engine.CampaignID, run int) (campaign.Breakdown, error)
}

// Suppressions is the list of numbers that the installation leaves alone.
type Suppressions interface {
	// Suppressions gives one page, newest first, and how many there are: all, or
	// the one of a number.
	Suppressions(ctx context.Context, n engine.PhoneNumber, page campaign.Page) ([]journal.Suppression, int, error)
	// Suppress says how many of the numbers were not on the list. From its return
	// on no call to them is begun; ringing ones are cancelled. Unavailable
	// "suppression_unconfirmed": they are on the list, but not everybody confirmed.
	Suppress(ctx context.Context, numbers []engine.PhoneNumber, reason string, who engine.Who) (added int, err error)
	// Unsuppress: found is false when the number is not on the list.
	Unsuppress(ctx context.Context, n engine.PhoneNumber, who engine.Who) (found bool, err error)
}

// Persons are those whom the dialler calls.
type Persons interface {
	// ErasePerson takes a person out of everything that is stored. suppress says
	// whether the number is kept as a hash so that it is not called again; nil: if
	// it was suppressed or excluded. Conflict "person_in_call",
	// "person_in_import", "recording_in_progress".
	ErasePerson(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error)
}

// Calls is the attempts as bots and API callers see them.
type Calls interface {
	// Dialout places one call; the rules of Trigger for Idempotency and Deadline.
	Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error)
	// Calls gives calls without their legs, newest first, at most q.Limit, and the
	// cursor that leads on to older ones, "" at the end; of a query that is Narrow
	// there may be older ones behind fewer, too. NotFound "cursor_not_found".
	Calls(ctx context.Context, q attempt.Query) (list []attempt.Attempt, next engine.AttemptID, err error)
	// Call: NotFound "call_not_found" when there is none.
	Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error)
	// Ladder gives the SIP messages of a call, oldest first; none when they are
	// not kept (any more).
	Ladder(ctx context.Context, id engine.CallID) ([]engine.SIPMessage, error)
	// SubmitResult upserts; the call exists.
	SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error
	// HangUp ends a live call; NotFound when it is unknown or has ended.
	HangUp(ctx context.Context, id engine.CallID) error
	// SendDigits sends keys to the callee; NotFound as HangUp, Conflict
	// "call_not_answered" before the answer.
	SendDigits(ctx context.Context, id engine.CallID, digits string) error
	// Transfer hands a live call over to a number or SIP address; Forbidden,
	// Conflict or Invalid when that is not allowed, or not now.
	Transfer(ctx context.Context, id engine.CallID, to string) error
}

// Evidence makes the records of runs.
type Evidence interface {
	// RunExists: NotFound "campaign_not_found", "run_not_found"; Conflict
	// "record_dropped" when calls or events of the run were dropped in their time.
	RunExists(ctx context.Context, id engine.CampaignID, run int) error
	// OpenEvidence makes the record of a run as a file of its own, which is gone
	// once it is closed.
	OpenEvidence(ctx context.Context, id engine.CampaignID, run int, who engine.Who) (RecordingFile, error)
}

// Recordings are the audio of calls.
type Recordings interface {
	// OpenRecording opens an attempt's recording, which the caller closes, and
	// says whose it is, with an error too when that is known. NotFound
	// "recording_not_found" or "recording_deleted", Conflict
	// "recording_in_progress".
	OpenRecording(ctx context.Context, id engine.AttemptID) (RecordingFile, engine.CampaignID, error)
	// DeleteRecording deletes an attempt's recording, which exists.
	DeleteRecording(ctx context.Context, id engine.AttemptID, who engine.Who) error
}

// Classification is what people say of who answered, and what is left on
// machines.
type Classification interface {
	// Voicemails lists the messages that can be left on machines, newest first.
	Voicemails(ctx context.Context) ([]engine.Voicemail, error)
	// AddVoicemail keeps a WAV file. Invalid "invalid_audio", Conflict
	// "too_many_voicemails".
	AddVoicemail(ctx context.Context, id engine.VoicemailID, name string, wav []byte, who engine.Who) (engine.Voicemail, error)
	// VoicemailFile gives a message as a WAV file; NotFound "voicemail_not_found".
	VoicemailFile(ctx context.Context, id engine.VoicemailID) ([]byte, error)
	// DeleteVoicemail: Conflict "voicemail_in_use".
	DeleteVoicemail(ctx context.Context, id engine.VoicemailID, who engine.Who) error

	// AMDReviews gives one page of the verdicts that people are asked about, newest
	// first, and how many there are.
	AMDReviews(ctx context.Context, q engine.AMDReviewQuery, page campaign.Page) ([]engine.AMDReview, int, error)
	// AMDReview: NotFound "review_not_found".
	AMDReview(ctx context.Context, id engine.AttemptID) (engine.AMDReview, error)
	// LabelAMDReview keeps what somebody says that a call was; "" takes it back.
	LabelAMDReview(ctx context.Context, id engine.AttemptID, label engine.Verdict, who engine.Who) error
	// AMDConfusion counts the labelled verdicts, ordered by trunk, country, label.
	AMDConfusion(ctx context.Context, q engine.AMDReviewQuery) ([]engine.AMDConfusion, error)
	// AMDAudio is the callee's side of a call's first minute, a WAV file. Errors of
	// OpenRecording.
	AMDAudio(ctx context.Context, id engine.AttemptID) ([]byte, error)
	// OpenAMDExport makes a zipped folder of labelled calls, which is gone once it is
	// closed.
	OpenAMDExport(ctx context.Context, q engine.AMDReviewQuery) (RecordingFile, error)
}

// RecordingFile is a WAV file.
type RecordingFile = io.ReadSeekCloser

// Replies stores the answers to requests with an Idempotency-Key for 24 h.
// Key, Route and Token of the Idempotency identify a reply.
type Replies interface {
	FindReply(ctx context.Context, id engine.Idempotency) (reply journal.Reply, ok bool, err error)
	// StoreReply: journal.ErrReplyExists when there is one already.
	StoreReply(ctx context.Context, reply journal.Reply) error
}

// Bots stores configured bots.
type Bots interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
	// PutBot creates or replaces by id, CreatedAt aside. With keepSecret the
	// stored AuthToken stays. It gives the bot as stored.
	PutBot(ctx context.Context, bot engine.Bot, keepSecret bool, who engine.Who) (stored engine.Bot, created bool, err error)
	// DeleteBot: NotFound "bot_not_found"; Conflict "bot_in_use" while campaigns
	// that run or are paused use it, unless force: they fail then.
	DeleteBot(ctx context.Context, id engine.BotID, force bool, who engine.Who) error
	// BotStatuses tells how bots stand; one that it does not know was made this
	// moment.
	BotStatuses(ctx context.Context) (map[engine.BotID]BotStatus, error)
}

// BotStatus is how a bot stands: whether its endpoints take calls, the best of
// them first, and the seats that are granted now.
type BotStatus struct {
	Health    fleet.EndpointHealth
	Held      int
	Endpoints []fleet.EndpointStatus
}

// Trunks stores carrier connections.
type Trunks interface {
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	// PutTrunk creates or replaces by id; with keepSecret the stored Password stays.
	PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (created bool, err error)
	// DeleteTrunk: NotFound "trunk_not_found".
	DeleteTrunk(ctx context.Context, id engine.TrunkID, who engine.Who) error
	// TrunkStatuses tells how trunks stand; one that it does not know was made
	// this moment.
	TrunkStatuses(ctx context.Context) (map[engine.TrunkID]TrunkStatus, error)
}

// TrunkStatus is how a trunk stands: what its owner grants, and what the
// telephony adapter found when it last asked the carrier.
type TrunkStatus struct {
	// Its Reason is that of the last answer to OPTIONS or REGISTER where calls have
	// shown nothing worse.
	trunk.Status
	CheckedAt       *time.Time // when the carrier last answered or failed to; nil before the first time
	RegisteredUntil *time.Time // nil unless the trunk is registered
}

// Numbers stores outbound numbers.
type Numbers interface {
	Numbers(ctx context.Context) ([]engine.NumberSettings, error)
	// NumberStatuses tells how numbers stand; one that it does not know was not
	// used.
	NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error)
	PutNumber(ctx context.Context, number engine.NumberSettings, who engine.Who) (created bool, err error)
}

// Webhooks stores the endpoints that are told what happens, and has messages
// sent to them. NotFound "webhook_not_found" of each that names one.
type Webhooks interface {
	// Webhooks lists every endpoint, oldest first.
	Webhooks(ctx context.Context) ([]webhook.Endpoint, error)
	Webhook(ctx context.Context, id webhook.EndpointID) (webhook.Endpoint, error)
	// CreateWebhook: Conflict "too_many_webhooks".
	CreateWebhook(ctx context.Context, e webhook.Endpoint, secret string, who engine.Who) error
	// ChangeWebhook has change applied to the endpoint as it is stored.
	ChangeWebhook(ctx context.Context, id webhook.EndpointID, change func(*webhook.Endpoint), who engine.Who) (webhook.Endpoint, error)
	DeleteWebhook(ctx context.Context, id webhook.EndpointID, who engine.Who) error
	// RotateWebhookSecret: the secret before signs too until then.
	RotateWebhookSecret(ctx context.Context, id webhook.EndpointID, secret string, until time.Time, who engine.Who) (webhook.Endpoint, error)
	// TestWebhook sends a message to an endpoint, active or not.
	TestWebhook(ctx context.Context, id webhook.EndpointID, m webhook.Message, who engine.Who) (webhook.Delivery, error)
	// Deliveries gives a part of the log, newest first.
	Deliveries(ctx context.Context, id webhook.EndpointID, q webhook.DeliveryQuery) ([]webhook.Delivery, error)
	// Replay: NotFound "delivery_not_found", Conflict "webhook_inactive".
	Replay(ctx context.Context, id webhook.EndpointID, delivery int64, who engine.Who) (webhook.Delivery, error)
	// ReplayFailed says how many were queued; Conflict "webhook_inactive".
	ReplayFailed(ctx context.Context, id webhook.EndpointID, since time.Time, who engine.Who) (int, error)
}

// Simulations knows how the people on a campaign's list behaved.
type Simulations interface {
	// Behaviour is what the campaign's latest attempts came to, at most
	// sim.MeasuredMost of them and of any run.
	Behaviour(ctx context.Context, id engine.CampaignID) (sim.Past, error)
}

// Health answers the probes.
type Health interface {
	// Alive is nil while the process decides; an error makes /healthz fail
	// (a decision loop stale for more than 30 s).
	Alive() error
	// Checks are what /readyz reports by name: database, trunks, rtp_ports,
	// draining.
	Checks(ctx context.Context) []Check
}

// NoTrunk is the warning that no trunk is active.
const NoTrunk = "no_trunk"

// Check is one condition of readiness.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Warning is the code of what somebody has to see to though the check passes.
	Warning string `json:"warning,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Since is when it failed, nil when that is not known.
	Since *time.Time `json:"since,omitempty"`
}

// Deps are the rest of the dialler.
type Deps struct {
	Campaigns Campaigns
	Imports   Imports
	Reports   Reports
	Activity  Activity
	Calls     Calls
	Keys      access.Keys
	Users     access.Users
	Sessions  access.Sessions
	Replies   Replies
	Bots      Bots
	Trunks    Trunks
	Numbers   Numbers
	Health    Health

	Destinations wire.Destinations
	Suppressions Suppressions
	Recordings   Recordings

	Classification Classification
	Evidence       Evidence
	Persons        Persons
	Webhooks       Webhooks
	Simulations    Simulations
}
