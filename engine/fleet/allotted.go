package fleet

import "dialler/engine"

// Allotted is the fleet's answer about a holder's seats of a bot.
type Allotted struct {
	Bot    engine.BotID
	Seats  int
	Target int // below Seats: give back as calls end
	N      int // number of the demand that this answers, 0 if unsolicited
	// Outage says that the bot has no seats to give because it takes no calls.
	Outage *Outage
	// Until is when the seats may no longer be used for dials unless they are allotted again; 0
	// means that they stay until the next message. Away says that the node that counts the seats
	// does not answer, and that the rest is unchanged.
	Until engine.BootTime
	Away  bool
}
