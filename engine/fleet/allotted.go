package fleet

import "dialler/engine"

// Allotted is the fleet's word on a holder's seats of a bot.
type Allotted struct {
	Bot    engine.BotID
	Seats  int
	Target int // below Seats: give back as calls end
	N      int // of the demand that this answers, 0 for news
	// Outage: the bot has no seats to give because it takes no call.
	Outage *Outage
	// Until is when nothing is dialled with the seats any more unless they are
	// allotted anew, 0: they stay until others are told. Away: the node that keeps
	// the count does not answer, and the rest is as it was.
	Until engine.BootTime
	Away  bool
}
