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

// Effect is something to be done, in the given order: one of the types of this file.
type Effect any

// To contacts.
type (
	// Spawn starts a contact's actor from its row, with an attempt of an earlier owner or nil, and
	// the first commands; call.Up follows.
	Spawn struct {
		Row   contact.Contact
		Lost  *attempt.Attempt
		Rules *call.Rules
		First []any
	}
	// Tell gives a command to a contact whose actor is running.
	Tell struct {
		Contact engine.ContactID
		Command any
	}
	// CallRoster asks which contacts have a running actor; RosterCalled follows, and each of them
	// reports.
	CallRoster struct{ Life int64 }
)

// To the writer, which keeps their order.
type (
	// PassOn is a contact's write whose events are now numbered.
	PassOn struct{ *call.Persist }
	// Write is a write of the run itself. WriteRefused follows a refusal if the write says so.
	Write struct {
		Write  *journal.Write
		Revoke bool
		Then   *Continuation // Written returns it; nil means nobody waits
	}
	// Fence asks for Durable once everything written before it is durable.
	Fence struct{ Ticket int64 }
	// PassFence is a Fence that is reported to a contact.
	PassFence struct{ Request engine.Request }
)

// Leases.
type (
	// ReserveTrunks asks for a channel and a token for each leg; its draw decides among trunks of equal
	// priority.
	ReserveTrunks struct {
		Round int
		Legs  []engine.LegID
		Draws []uint64
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
		Sticky  engine.PhoneNumber // the number that called the contact before, when it is to be used again
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
		// Keep says that the next instance of the run must ask for Want again.
		Keep bool
	}
	// OpenSocket opens a socket of the bot ahead of its call and tries the endpoints in the given
	// order; engine.SocketEvent follows. CloseSocket closes it, or gives up opening it, unless a
	// call has taken it. *call.BotTried tells the fleet.
	OpenSocket struct {
		Bot  engine.BotID
		Open engine.OpenSocket
	}
	CloseSocket struct {
		Socket engine.SocketID
		Node   engine.Incarnation
	}
	// CloseSockets closes all sockets that an earlier instance of the run opened on this node.
	CloseSockets struct{}
	// SetPool gives the pool its numbers.
	SetPool struct {
		Numbers    []engine.PhoneNumber
		LocalMatch bool
	}
	// PoolChanged tells the pool that a number was edited.
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
		All  bool // everybody whose result is awaited, not only the overdue
	}
	ReadExpired struct { // ExpiredRead
		Read  Read
		Run   int
		Limit int
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
		Unanswered bool // no reply is stored, so it is not asked for
		Importing  engine.ImportID
	}
	FindOperated struct { // OperateFound
		Read    Read
		Request engine.Request
		Command campaign.ActOnContact
		Calls   bool // the contact is to be called: its number must not be suppressed
	}
	AddContacts struct { // RowsAdded
		Read    Read
		Request engine.Request
		Command campaign.AddContacts
		Batch   *campaign.AddBatch
		Insert  journal.ContactInsert
		// Became says what became of each contact of the list; "" for those in Insert.
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
		At       time.Time // when the contacts become due
		Campaign campaign.Campaign
		Event    journal.Event
	}
	ReadBulk struct{ Seq, Epoch int64 }      // BulkRead
	TakeBack struct{ Page journal.TakeBack } // TookBack
	ReadOpen struct{ Life int64 }            // OpenListed
	// Recover reads the contacts of attempts without an owner.
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
	// Reply answers a request.
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
		// Owed is the event to be raised when the next instance of the run must raise it too; nil
		// means that it need not. TimerFired returns it.
		Owed *Deferred
	}
	// Disarm stops the timer of that name, of which there is only one.
	Disarm struct{ Timer Timer }
	// SendPulse sends a Pulse behind the messages that already wait.
	SendPulse struct{ At engine.BootTime }
	// Publish gives the campaign's figures for the metrics; nil means that it has none.
	Publish struct{ Figures *Figures }
	// Leave stops the campaign's actors in a moment: the campaign does not exist, or another node
	// owns it.
	Leave struct{}
	// SayLastWord answers LastWord once everything before it is answered. Stays is true when the
	// campaign exists on this node, again.
	SayLastWord struct{ Stays bool }
)

// Facts for the log, the figures, or the other campaigns.
type (
	// Abandoned reports an abandoned live answer.
	Abandoned struct {
		Number engine.PhoneNumber
		Cause  engine.AbandonCause
	}
	// Illegal reports that a machine refused an event.
	Illegal struct{}
	// Overloaded reports that a command was refused because too many wait.
	Overloaded struct{}
	// Failed reports something that failed and is retried, or given up, as it says.
	Failed struct {
		What string
		Err  error
	}
	// ClockStepped reports a step of the wall clock.
	ClockStepped struct{ By time.Duration }
	// RoundLost reports that a reservation was not answered; its contacts go back to the queue.
	RoundLost struct{}
	// Closing reports how many attempts of an earlier process are being closed.
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
	AbandonRates map[pacing.Period]float64 // only periods that had a live answer
	AbandonCap   float64
	Due          int
	Constraint   engine.Constraint
}
