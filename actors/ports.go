package actors

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// Store is what the tree needs from the database. Calls block and run outside
// Receive; their results come back as messages.
type Store interface {
	// Commit makes a group of writes durable in one transaction and says of
	// each whether it was accepted (nil) or refused by the database (one of
	// journal's errors). A non-nil err means that nothing is known to be
	// durable and the same group may be given again: writes are idempotent.
	Commit(ctx context.Context, group []journal.Write) (refused []error, err error)
	// Ping says whether the database takes commits: nil when it does.
	Ping(ctx context.Context) error

	// AcquireCampaign takes ownership: it increments the fencing epoch and
	// gives the campaign's row. ErrCampaignNotFound when there is none.
	AcquireCampaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error)
	// ActiveCampaigns lists the campaigns that are running, paused, have live
	// attempts or results owed, or are completed with contacts that wait.
	ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error)
	// Counters counts the campaign's tables by the formulas of engine/tally.
	Counters(ctx context.Context, id engine.CampaignID, run int) (campaign.Counters, error)

	// EventAt gives the event at a place of a campaign's sequence.
	EventAt(ctx context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error)

	// Outlook counts the contacts of a campaign by whether and why not they are
	// dialled in the run, and what its latest attempts came to.
	Outlook(ctx context.Context, id engine.CampaignID, run int) (campaign.Outlook, error)
	// WaitingNumbers groups the numbers that Outlook calls waiting by their first
	// digits: one of each group, and how many it has.
	WaitingNumbers(ctx context.Context, id engine.CampaignID, run int) ([]campaign.NumberGroup, error)

	// AbandonLedger counts the campaign's live answers (served and abandoned),
	// the abandoned among them, and the machines since a time, in all its runs.
	// AbandonHours gives the same by the hour (pacing.HourOf).
	AbandonLedger(ctx context.Context, id engine.CampaignID, since time.Time) (pacing.Counts, error)
	AbandonHours(ctx context.Context, id engine.CampaignID, since time.Time) (map[int64]pacing.Counts, error)

	// SavePacing keeps what the pacing of a campaign has learnt, and Pacing
	// gives it back.
	SavePacing(ctx context.Context, id engine.CampaignID, epoch int64, state pacing.State, at time.Time) error
	Pacing(ctx context.Context, id engine.CampaignID) (state pacing.State, ok bool, err error)

	// RunOfContacts is the run that the campaign's contacts are in, all of them;
	// 0 when there are none.
	RunOfContacts(ctx context.Context, id engine.CampaignID) (int, error)
	// ResetContacts prepares every contact for a run (with unreached only those
	// that were never connected): 0 attempts, pending and
	// due, the excluded left out. The previous run's states are kept for
	// RestoreContacts, whose run must be the campaign's again. Both write ev, to
	// which they add the moves. RemoveCampaign deletes a campaign that never ran.
	ResetContacts(ctx context.Context, id engine.CampaignID, run int, unreached bool, now time.Time, ev journal.Event) error
	RestoreContacts(ctx context.Context, id engine.CampaignID, run int, ev journal.Event) error
	RemoveCampaign(ctx context.Context, id engine.CampaignID, who engine.Who) error

	// AddContacts inserts contacts with ascending positions; duplicates by number
	// and, while exclusions are sticky, excluded contacts are skipped and counted.
	AddContacts(ctx context.Context, add ContactInsert) (campaign.AddReport, error)
	// DueContacts gives up to limit contacts that are due at order.Now, in that
	// order, live attempts excepted. Held numbers are left out; a suppressed one is
	// not: its intent is refused, which makes the contact final.
	DueContacts(ctx context.Context, id engine.CampaignID, run int, order contact.Order, limit int, except []engine.ContactID) ([]contact.Contact, error)
	// AbandonedSince says of each number when a call to it was last abandoned, in
	// any campaign, if that is since the given time.
	AbandonedSince(ctx context.Context, numbers []engine.PhoneNumber, since time.Time) (map[engine.PhoneNumber]time.Time, error)
	// NextDue is the earliest due time of any waiting contact, nil when no
	// contact waits for a dial. Open counts the contacts that are not final and
	// wait for a dial, for the end of a live attempt, or for a result: exactly up
	// to 10,000, and at least that beyond.
	NextDue(ctx context.Context, id engine.CampaignID, run int) (next *time.Time, open int, err error)
	// Callable says whether a contact of the run waits for a dial that no suppression
	// forbids, or has a call or a result under way.
	Callable(ctx context.Context, id engine.CampaignID, run int) (bool, error)
	// Exhausted says whether a contact of the run failed because it had used up
	// its attempts.
	Exhausted(ctx context.Context, id engine.CampaignID, run int) (bool, error)
	// Suppressed gives those of the numbers that are on the suppression list.
	Suppressed(ctx context.Context, numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error)
	// SuppressedContacts gives, by their identifiers, up to limit contacts behind one
	// that wait for a dial in the run and whose number is on the suppression list: of
	// these numbers, or of all when there are none.
	SuppressedContacts(ctx context.Context, id engine.CampaignID, run int, numbers []engine.PhoneNumber, after engine.ContactID, limit int) ([]contact.Contact, error)
	// ContactByNumber and ContactByID: ok is false when there is none.
	ContactByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) (c contact.Contact, ok bool, err error)
	ContactByID(ctx context.Context, id engine.ContactID) (c contact.Contact, ok bool, err error)
	// ContactsMatching lists contacts whose variables contain all pairs.
	ContactsMatching(ctx context.Context, id engine.CampaignID, match map[string]string) ([]contact.Contact, error)
	// ExcludedContacts lists the contacts with one of the numbers that are
	// excluded.
	ExcludedContacts(ctx context.Context, id engine.CampaignID, numbers []engine.PhoneNumber) ([]contact.Contact, error)
	Exclusions(ctx context.Context, id engine.CampaignID) ([]journal.Exclusion, error)
	// FindReply gives the stored reply of a request; ok is false when there is none.
	FindReply(ctx context.Context, id engine.Idempotency) (r journal.Reply, ok bool, err error)
	// ResultsOverdue lists contacts whose result time-out has passed.
	ResultsOverdue(ctx context.Context, id engine.CampaignID, now time.Time, limit int) ([]contact.Contact, error)

	// OpenAttempts lists every attempt that has not ended, with its legs;
	// campaign "" means dialouts only when all is false.
	OpenAttempts(ctx context.Context) ([]attempt.Attempt, error)
	Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error)
	// OpenLegs lists legs without a final answer of attempts that ended
	// (lost), so that they are watched until their hold ends.
	OpenLegs(ctx context.Context) ([]attempt.Attempt, error)

	Imports

	Bots(ctx context.Context) ([]Bot, error)
	Trunks(ctx context.Context) ([]TrunkSettings, error)
	Numbers(ctx context.Context) ([]engine.NumberSettings, error)
	// NumberDials counts the dials since a time from the numbers whose dials are
	// capped.
	NumberDials(ctx context.Context, since time.Time) ([]engine.NumberDials, error)
	// NumberEnds tells how the last calls of every number ended since a time, at
	// most so many of each, the oldest first.
	NumberEnds(ctx context.Context, since time.Time, most int) ([]engine.NumberEnd, error)
	// QuarantineNumber takes a number out of use until an operator ends that.
	QuarantineNumber(ctx context.Context, n engine.PhoneNumber) error
}

// Imports stages files of contacts and makes contacts of them. An import that
// was begun is closed in the end.
type Imports interface {
	// BeginImport: Conflict "import_in_progress" while the campaign has another
	// open one; journal.ErrImportRequest when one that did not fail has the same
	// Idempotency.
	BeginImport(ctx context.Context, imp campaign.Import) error
	// StageImport adds rows; total and invalid are the file's figures so far.
	StageImport(ctx context.Context, id engine.ImportID, rows []journal.StagedRow, rejected []campaign.RejectedRow, total, invalid int) error
	// ActivateImport inserts the staged rows as contacts and calls gate before
	// it commits. After an error it may be active all the same.
	ActivateImport(ctx context.Context, a journal.Activation, gate func(context.Context) (journal.Gate, error)) (journal.Activated, error)
	// CheckImport counts and lists what would become of the staged rows.
	CheckImport(ctx context.Context, c journal.Check) (campaign.Import, error)
	// FailImport leaves an import that is active as it is, and waits for a
	// commit of it that is under way.
	FailImport(ctx context.Context, id engine.ImportID, problem campaign.ImportProblem, at time.Time) error
	CloseImport(ctx context.Context, id engine.ImportID) error
	Import(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// StagedNumber says whether an open import has a row with the number.
	StagedNumber(ctx context.Context, id engine.ImportID, n engine.PhoneNumber) (bool, error)
}

// ContactInsert adds contacts to a campaign.
type ContactInsert = journal.ContactInsert

// IdentifiedContact is a new contact with its identifier.
type IdentifiedContact = journal.IdentifiedContact

// Spool keeps on disk what a database that is away cannot take: one lane for each
// writer. Its calls block on the disk and run outside Receive.
type Spool interface {
	// Append makes writes durable in their order and says how many of them, from
	// the first on, it took: there is no room for the others. After an error none
	// was taken.
	Append(lane int, writes []journal.Write) (n int, err error)
	// Release forgets the oldest n writes of a lane, which the database took or, so
	// many of them, refused.
	Release(lane, n, refused int) error
	// Replay gives what an earlier life left to commit, at most so many writes at
	// a time, in the order in which each lane took them, and forgets it.
	Replay(most int, commit func(group []journal.Write) (refused int, err error)) error
}

// Telephony places and ends SIP legs; every call returns at once and what
// happens comes as engine.LegEvent to the sink.
type Telephony interface {
	PlaceLeg(cmd engine.PlaceLeg, sink func(engine.LegEvent))
	ConfirmLeg(leg engine.LegID)
	CancelLeg(leg engine.LegID) engine.CancelOutcome
	HangUpLeg(leg engine.LegID, cause engine.HangUpCause)
	// SendDigit sends a key of an answered leg by INFO; false: it cannot.
	SendDigit(leg engine.LegID, key byte, duration time.Duration) bool
	// AnswerRefer accepts or declines the REFER of LegReferred; NotifyRefer tells
	// who sent it how the call to the target goes.
	AnswerRefer(leg engine.LegID, accept bool) bool
	NotifyRefer(leg engine.LegID, code int, reason string)
	// AttachLeg gives the attempt's legs a new owner and replays their events
	// from the first; it lists the legs that are known here.
	AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) []engine.LegID
	ForgetLegs(a engine.AttemptID)
	RecoverLeg(leg engine.RecoveredLeg, sink func(engine.LegEvent))
	// Ask blocks until a SIP address has answered whether it takes calls (nil),
	// or ctx ends.
	Ask(ctx context.Context, uri string) error
}

// Media carries the audio of attempts and connects them to bots; every call
// returns at once and what happens comes as engine.MediaEvent to the sink.
type Media interface {
	Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) (offer []byte, err error)
	Answer(a engine.AttemptID, sdp []byte, at time.Time)
	AttachBot(cmd engine.AttachBot)
	// AskBot blocks until an endpoint has answered whether it takes connections
	// (nil), or ctx ends.
	AskBot(ctx context.Context, cmd engine.AskBot) error
	DetachBot(a engine.AttemptID)
	PlayMessage(a engine.AttemptID)
	LeaveVoicemail(cmd engine.LeaveVoicemail)
	HearDigit(a engine.AttemptID, digit byte) (by engine.LegID)
	// SendDigits sends keys to the callee of an answered call. bySIP: none was
	// sent, they have to go by Telephony.SendDigit.
	SendDigits(a engine.AttemptID, digits string) (bySIP bool, err error)
	CloseMedia(a engine.AttemptID) engine.MediaQuality
	AttachMedia(a engine.AttemptID, sink func(engine.MediaEvent)) bool
	// OpenPeer reserves a second path of an answered call, for a far leg, and
	// gives its SDP offer; JoinPeer connects the callee with it by its answer;
	// ClosePeer ends it.
	OpenPeer(a engine.AttemptID, leg engine.LegID, profile engine.MediaProfile) (offer []byte, err error)
	JoinPeer(a engine.AttemptID, leg engine.LegID, sdp []byte) error
	ClosePeer(a engine.AttemptID, leg engine.LegID)
}

// Elsewhere is what the tree needs beside Telephony and Media when legs can be on
// other nodes of a cluster (package gateway): what those ports answer at once of
// a call that is here, it answers later. then is called once, from any goroutine.
type Elsewhere interface {
	// Carrier is the node that is to carry a new call over a trunk, this one's
	// incarnation if the call is to be carried here.
	Carrier(trunk engine.TrunkID) engine.Incarnation
	// Here is this node's incarnation.
	Here() engine.Incarnation
	// Away says that the attempt's legs are on another node.
	Away(a engine.AttemptID) bool
	// Unheard says that they are, and that so little is heard of the node that it
	// may be dead.
	Unheard(a engine.AttemptID) bool
	// AdoptLegs makes this node the owner of an open attempt whose legs are on
	// at.Node, so that AttachLeg knows them; at.Epoch is the one with which it acts
	// for the campaign. It answers within seconds; an error says that the legs are
	// not to be reached.
	AdoptLegs(at *attempt.Attempt, then func(known []engine.LegID, err error))
	JoinPeerThen(a engine.AttemptID, leg engine.LegID, sdp []byte, then func(error))
	// SendDigitsThen sends keys to the callee, by INFO of the leg where they cannot
	// go on the media path.
	SendDigitsThen(a engine.AttemptID, leg engine.LegID, digits string, then func(error))
	// Settled waits until all that was told of the attempt so far was carried out,
	// or never will be.
	Settled(a engine.AttemptID, then func())
}

// Clock gives the wall time (with Go's monotonic reading) and the boot-time
// clock.
type Clock interface {
	Now() time.Time
	Boot() engine.BootTime
}

// Bot is a configured voice bot.
type Bot = engine.Bot

// TrunkSettings are a trunk's limits and order.
type TrunkSettings = engine.TrunkSettings
