package promise

import (
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Fact is something that happened.
type Fact interface {
	// rank orders facts of one instant: what ends goes before what begins.
	rank() int
}

const (
	first = iota // limits, and what ends
	stored
	happens
	confirmed // an INVITE of the same instant was not later
)

type (
	// Stands is a campaign as it is durable from now on.
	Stands struct{ Row *campaign.Campaign }
	// TrunkCaps are those of a trunk, a cap of 0 is none; Within is over what its calls a
	// second are counted, 0: a second.
	TrunkCaps struct {
		Trunk         engine.TrunkID
		CPS, Channels int
		Within        time.Duration
	}
	// NumberCaps are those of one of our numbers; a cap of 0 is none.
	NumberCaps struct{ engine.NumberSettings }
	// BotSeats is how many conversations the bot can hold.
	BotSeats struct{ Seats int }
	// ClockStepped: the wall clock jumped.
	ClockStepped struct{ By time.Duration }

	// Begun: the intent of an attempt is durable.
	Begun struct {
		Campaign engine.CampaignID // "" for a dialout
		Contact  engine.ContactID
		Attempt  engine.AttemptID
		Run      int
		To       engine.PhoneNumber
		Reserved time.Time // by the wall clock
	}
	// LegStored: a leg of an attempt is durable; so are its Answer, and that it is Over.
	LegStored struct {
		Leg          engine.LegID
		Answer, Over bool
	}
	// LiveAnswer: a live answer was served, or abandoned with a cause.
	LiveAnswer struct {
		Attempt   engine.AttemptID
		Abandoned bool
		Cause     engine.AbandonCause
	}
	// Ended: the end of an attempt is durable.
	Ended struct {
		Attempt  engine.AttemptID
		Outcome  engine.Outcome
		Consumed bool
	}
	// Forgotten: nothing that is told of the attempt from now on counts.
	Forgotten struct{ Attempt engine.AttemptID }

	// Invited: an INVITE leaves us.
	Invited struct {
		Campaign engine.CampaignID // "" for a dialout
		Leg      engine.LegID
		Trunk    engine.TrunkID
		From, To engine.PhoneNumber
		Zones    []string // of the callee
	}
	// Arrived: the far side has the call; Over: it is free again.
	Arrived struct {
		Leg      engine.LegID
		Trunk    engine.TrunkID
		From, To engine.PhoneNumber
	}
	Over struct{ Leg engine.LegID }
	// Acknowledged: the ACK of a leg's answer leaves.
	Acknowledged struct{ Leg engine.LegID }
	// Acted: somebody acts for what it owns under an epoch.
	Acted struct {
		Identity string
		Epoch    int64
		By       string
	}

	// Excluded: an exclusion that was asked for at Asked is confirmed.
	Excluded struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
		Asked    time.Time
	}
	// Suppressed: everybody confirmed that the number is on the suppression list.
	Suppressed struct{ Number engine.PhoneNumber }
	// Adding: somebody begins to add a number on purpose, which undoes what kept it
	// away and gives it its attempts anew; Added: that has ended.
	Adding struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
	}
	Added struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
	}
	// CalledFor: an operator wants the contact called once more.
	CalledFor struct {
		Campaign engine.CampaignID
		Number   engine.PhoneNumber
	}

	// Lent: one of our numbers was granted to an attempt, whose dial counts from then on.
	Lent struct {
		Number  engine.PhoneNumber
		Attempt engine.AttemptID
	}
	// Granted is how many seats a campaign has.
	Granted struct {
		Campaign engine.CampaignID
		Seats    int
	}
	// BotOn: a conversation with the bot begins; BotOff: it is over.
	BotOn struct {
		Campaign     engine.CampaignID
		Attempt      engine.AttemptID // "" when nobody can tell
		Conversation string
	}
	BotOff struct{ Conversation string }
	// OwnersGone: the process that counted seats, channels and concurrent calls is no
	// more. The next one counts from nothing: it does not know the calls that go on.
	OwnersGone struct{}

	// Excused: the line was in flight when a process, or all bots of its campaign, were
	// lost. What that takes from it is the one thing that the abandon cap does not hold
	// for (SEMANTICS §6); it counts all the same.
	Excused struct{ Attempt engine.AttemptID }

	// Starting: Start or Resume is asked for; Started: that is answered. Paused: a
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
