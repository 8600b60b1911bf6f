package leg

import (
	"dialler/engine"
	"dialler/sipstack/timing"

	"github.com/rs/zerolog"
)

// Config is what legs need to know and whom they tell.
type Config struct {
	Timers timing.Timers
	Log    zerolog.Logger
	// OnLegOver hears the final event of every leg of this life, whether it was
	// answered, and can ask for the messages of the leg, only while it runs. It
	// must not block nor call the table; nil is allowed.
	OnLegOver func(final engine.LegEvent, answered bool, messages func() []engine.SIPMessage)
	// Media negotiates sessions that change after their first answer; nil
	// allows only offers that leave the media where it is.
	Media Negotiator
	// Transfers tells the owner of a leg of a REFER (engine.LegReferred) and
	// waits for its AnswerRefer; without it every REFER is declined.
	Transfers bool
}
