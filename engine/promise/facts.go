package promise

import (
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/window"
)

// Fact is something that happened.
type Fact interface {
	// rank orders facts of one instant: ends come before beginnings.
	rank() int
}

const (
	first = iota // limits, and ends
	stored
	happens
	confirmed // an INVITE of the same instant was not later
)

type (
	// Stands says that a campaign's row is durable.
	Stands struct{ Row *campaign.Campaign }
	// TrunkCaps are the caps of a trunk, 0 for none; Within is the period of its CPS cap, 0 for a
	// second.
	TrunkCaps struct {
		Trunk         engine.TrunkID
		CPS, Channels int
		Within        time.Duration
	}
	// NumberCaps are the caps of one of our numbers, 0 for none.
	NumberCaps struct{ engine.NumberSettings }
	// BotSeats is how many conversations the bot can hold.
	BotSeats struct{ Seats int }
	// ClockStepped says that the wall clock jumped.
	ClockStepped struct{ By time.Duration }

	// Begun says that the intent of an attempt is durable.
	Begun struct {
		Campaign engine.CampaignID // "" for a dialout
		Contact  engine.ContactID
		Attempt  engine.AttemptID
		Run      int
		To       engine.PhoneNumber
		Reserved time.Time // by the wall clock
		Inbound  bool      // somebody called us
	}
	// LegStored says that a leg of an attempt is durable, and with Answer and Over that its answer
	// and its end are.
	LegStored struct {
		Leg          engine.LegID
		Answer, Over bool
	}
	// LiveAnswer says that a live answer was served, or abandoned with a cause.
	LiveAnswer struct {
		Attempt   engine.AttemptID
		Abandoned bool
		Cause     engine.AbandonCause
	}
	// Ended says that the end of an attempt is durable.
	Ended struct {
		Attempt  engine.AttemptID
		Outcome  engine.Outcome
		Consumed bool
	}
	// Forgotten says that later facts about the attempt do not count.
	Forgotten struct{ Attempt engine.AttemptID }

	// Invited says that an INVITE leaves.
	Invited struct {
		Campaign engine.CampaignID // "" for a dialout
		Leg      engine.LegID
		Trunk    engine.TrunkID
		From, To engine.PhoneNumber
		Home     window.Home // of the callee
	}
	// Arrived says that the far side has the call; Over, that it is free again.
	Arrived struct {
		Leg      engine.LegID
		Trunk    engine.TrunkID
		From, To engine.PhoneNumber
	}
	Over struct{ Leg engine.LegID }
	// CameIn says that the intent of a call that came in is durable: until Over nobody is to call that person.
	CameIn struct {
		Leg engine.LegID
		To  engine.PhoneNumber // the person's, "" when it is withheld
	}
	// Acknowledged says that the ACK of a leg's answer leaves.
	Acknowledged struct{ Leg engine.LegID }
	// Acted says that a node acts for an identity under an epoch.
	Acted struct {
		Identity string
		Epoch    int64
		By       string
	}

	// Excluded says that an exclusion requested at Asked is confirmed.
	Excluded struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
		Asked    time.Time
	}
	// Suppressed says that everybody has confirmed that the number is on the suppression list.
	Suppressed struct{ Number engine.PhoneNumber }
	// Adding says that a number is being added on purpose, which undoes its exclusion and gives it
	// fresh attempts; Added, that this has ended.
	Adding struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
	}
	Added struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
	}
	// CalledFor says that an operator wants the contact called once more.
	CalledFor struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
	}

	// Lent says that one of our numbers was granted to an attempt, whose dial counts from then on.
	Lent struct {
		Number  engine.PhoneNumber
		Attempt engine.AttemptID
	}
	// Granted is how many seats a campaign has.
	Granted struct {
		Campaign engine.CampaignID
		Seats    int
	}
	// BotOn says that a conversation with the bot begins; BotOff, that it is over.
	BotOn struct {
		Campaign     engine.CampaignID
		Attempt      engine.AttemptID // "" if unknown
		Conversation string
	}
	BotOff struct{ Conversation string }
	// OwnersGone says that the process that counted seats, channels and concurrent calls is gone.
	// The next one counts from zero: it does not know the calls in progress.
	OwnersGone struct{}

	// Excused says that the line was in flight when a process, or all bots of its campaign, were
	// lost. The resulting abandon is the only exception to the abandon cap (SEMANTICS §6); it still
	// counts.
	Excused struct{ Attempt engine.AttemptID }

	// Starting says that Start or Resume is requested; Started, that it is answered; Paused, that a
	// pause is confirmed.
	Starting struct{ Campaign engine.CampaignID }
	Started  struct{ Campaign engine.CampaignID }
	Paused   struct{ Campaign engine.CampaignID }
)

func (Stands) rank() int       { return first }
func (TrunkCaps) rank() int    { return first }
func (NumberCaps) rank() int   { return first }
func (BotSeats) rank() int     { return first }
func (ClockStepped) rank() int { return first }
func (Over) rank() int         { return first }
func (BotOff) rank() int       { return first }
func (OwnersGone) rank() int   { return first }
func (Ended) rank() int        { return first }
func (Begun) rank() int        { return stored }
func (LegStored) rank() int    { return stored }
func (Lent) rank() int         { return stored }
func (Granted) rank() int      { return stored }
func (LiveAnswer) rank() int   { return happens }
func (Invited) rank() int      { return happens }
func (Arrived) rank() int      { return happens }
func (CameIn) rank() int       { return happens }
func (Acknowledged) rank() int { return happens }
func (Acted) rank() int        { return happens }
func (BotOn) rank() int        { return happens }
func (Excused) rank() int      { return happens }
func (Starting) rank() int     { return happens }
func (Adding) rank() int       { return happens }
func (CalledFor) rank() int    { return happens }
func (Forgotten) rank() int    { return confirmed }
func (Excluded) rank() int     { return confirmed }
func (Suppressed) rank() int   { return confirmed }
func (Added) rank() int        { return confirmed }
func (Started) rank() int      { return confirmed }
func (Paused) rank() int       { return confirmed }
