package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
)

// Effect is something to be done, in the order given: one of the types of this file.
type Effect any

// To contacts.
type (
	// Spawn brings a contact up from its row, with an attempt of an earlier owner or
	// nil, and the first commands; call.Up follows.
	Spawn struct {
		Row   contact.Contact
		Lost  *attempt.Attempt
		Rules *call.Rules
		First []any
	}
	// Tell gives a command to a contact that is up.
	Tell struct {
		Contact engine.ContactID
		Command any
	}
	// CallRoster asks who of the contacts is up; RosterCalled follows, and each of
	// them reports.
	CallRoster struct{ Life int64 }
)

// To the writer, which keeps their order.
type (
	// PassOn is a contact's write, whose events have their places now.
	PassOn struct{ *call.Persist }
	// Write is the run's own. WriteRefused follows a refusal if the write says so.
	Write struct {
		Write  *journal.Write
		Revoke bool
		Then   *Continuation // Written brings it back; nil: nobody waits
	}
	// Fence: Durable follows once everything written before is.
	Fence struct{ Ticket int64 }
	// PassFence is a Fence of which a contact hears.
	PassFence struct{ Request engine.Request }
)

// Leases.
type (
	// ReserveTrunks asks for a channel and a token for each leg.
	ReserveTrunks struct {
		Round int
		Legs  []engine.LegID
	}
	// ReleaseTrunk gives them back.
	ReleaseTrunk struct {
		Trunk engine.TrunkID
		Leg   engine.LegID
	}
	// ReserveNumbers asks the pool for a caller ID for each attempt.
	ReserveNumbers struct {
		Round int
		Want  []NumberWant
	}
	NumberWant struct {
		Attempt engine.AttemptID
		To      engine.PhoneNumber
		Sticky  engine.PhoneNumber // the number that called the contact before, if it matters
	}
	// ReleaseNumber gives it back.
	ReleaseNumber struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		End     numberpool.End
	}
	// DemandSeats asks the fleet for seats, and gives some back.
	DemandSeats struct {
		Bot                     engine.BotID
		Want, Weight, GiveUp, N int
		Epoch                   int64
		// Keep: Want is to be asked for by the next life.
		Keep bool
	}
	// OpenSocket opens a socket of the bot ahead of its call, its endpoints in the order
	// in which they are tried now; engine.SocketEvent follows. CloseSocket closes it, or
	// gives up opening it, unless a call has taken it. *call.BotTried tells the fleet.
	OpenSocket struct {
		Bot  engine.BotID
		Open engine.OpenSocket
	}
	CloseSocket struct {
		Socket engine.SocketID
		Node   engine.Incarnation
	}
	// CloseSockets closes all that an earlier life of the run has opened here.
	CloseSockets struct{}
	// SetPool gives the pool its numbers.
	SetPool struct {
		Numbers    []engine.PhoneNumber
		LocalMatch bool
	}
	// PoolChanged tells the pool of an edited number.
	PoolChanged struct{ Number engine.PhoneNumber }
)

// Questions to the tables, each with the event that answers it.
type (
	Load        struct{ Life int64 } // Loaded
	ReadContact struct {             // ContactRead
		Contact engine.ContactID
		After   time.Duration
	}
	ReadDue struct { // DueRead
		Run    int
		Order  contact.Order
		Limit  int
		Except []engine.ContactID
		Ends   bool // the campaign ends with its last contact
	}
	ReadOverdue struct { // OverdueRead
		Read Read
		All  bool // whose results are awaited, not those that are overdue alone
	}
	FindContacts struct { // ContactsFound
		Read   Read
		Op     int
		Number engine.PhoneNumber // or else
		Match  map[string]string
	}
	ReadExcluded struct { // ExcludedRead
		Read  Read
		Again []campaign.NewContact
		Left  []campaign.NewContact
	}
	ReadSuppressed struct { // SuppressedRead
		Read    Read
		Run     int
		Numbers []engine.PhoneNumber
		After   engine.ContactID
		Limit   int
	}
	FindTrigger struct { // TriggerFound
		Read       Read
		Request    engine.Request
		Command    campaign.Trigger
		Live       bool // only the stored reply is asked for
		Unanswered bool // the stored reply is not
		Importing  engine.ImportID
	}
	FindOperated struct { // OperateFound
		Read    Read
		Request engine.Request
		Command campaign.ActOnContact
		Calls   bool // it has the contact called: its number must not be suppressed
	}
	AddContacts struct { // RowsAdded
		Read    Read
		Request engine.Request
		Command campaign.AddContacts
		Batch   *campaign.AddBatch
		Insert  journal.ContactInsert
		// Became says what became of each contact of the list; "" those of Insert.
		Became  []campaign.BatchResult
		Lifting bool
	}
	CheckStart struct { // ActReady
		Command campaign.Act
		Request engine.Request
		Run     int
		Pool    []engine.PhoneNumber
	}
	FetchConfig struct { // ActReady
		Ready *ActReady
		URL   string
	}
	CheckReady struct { // PreflightReady
		Request  engine.Request
		Run      int
		Settings campaign.Settings
	}
	// Prepare resets, restores or removes the contacts.
	Prepare struct { // Prepared
		Of       campaign.Effect
		At       time.Time // from when on the contacts are due
		Campaign campaign.Campaign
		Event    journal.Event
	}
	ReadBulk struct{ Seq, Epoch int64 } // BulkRead
	ReadOpen struct{ Life int64 }       // OpenListed
	// Recover reads the contacts of attempts that nobody has.
	Recover struct { // Recovered
		Life int64
		Lost []attempt.Attempt
	}
	// SavePacing stores what pacing has learnt.
	SavePacing struct {
		Epoch int64
		State pacing.State
	}
)

// To others.
type (
	// Reply answers whoever asked.
	Reply struct {
		Request engine.Request
		Value   any
		Err     error
	}
	// Arm starts a timer. TimerFired follows.
	Arm struct {
		Timer Timer
		Epoch int64
		After time.Duration
		// Owed is what the timer is for when the next life of the run owes it too, nil:
		// it does not. TimerFired brings it back.
		Owed *Deferred
	}
	// Disarm stops the timer that is alone of its name.
	Disarm struct{ Timer Timer }
	// SendPulse has a Pulse sent, behind what waits already.
	SendPulse struct{ At engine.BootTime }
	// Publish gives the campaign's figures for the metrics, nil: it has none.
	Publish struct{ Figures *Figures }
	// Leave has the campaign's actors stopped in a moment: it does not exist, or
	// another node acts for it.
	Leave struct{}
	// SayLastWord answers LastWord: all that came before is answered. The campaign
	// Stays when it exists on this node, again.
	SayLastWord struct{ Stays bool }
)

// Facts to be noted: in the log, in the figures, or by the other campaigns.
type (
	// Abandoned: a live answer was.
	Abandoned struct {
		Number engine.PhoneNumber
		Cause  engine.AbandonCause
	}
	// Illegal: a machine refused an event.
	Illegal struct{}
	// Overloaded: a command was refused because too many wait.
	Overloaded struct{}
	// Failed: something was not done and is tried again, or given up as it says.
	Failed struct {
		What string
		Err  error
	}
	// ClockStepped: the wall clock was.
	ClockStepped struct{ By time.Duration }
	// RoundLost: a reservation was not answered; its contacts go back.
	RoundLost struct{}
	// Closing: so many attempts of an earlier process life are being closed.
	Closing struct{ Attempts int }
)

// Figures are what a campaign publishes for the metrics.
type Figures struct {
	Campaign engine.CampaignID
	Dialling, Ringing, Waiting, InProgress,
	Seats int
	Contacts     map[contact.State]int
	Pending      int
	RetriesLeft  int
	AbandonRates map[pacing.Period]float64 // of the periods that had a live answer
	AbandonCap   float64
	Due          int
	Constraint   engine.Constraint
}
