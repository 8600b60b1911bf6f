package call

import (
	"time"

	"dialler/engine/attempt"
)

// Stage of an answered call whose time is measured.
type Stage string

const (
	StageVerdict    Stage = "verdict"         // classification decided
	StageBot        Stage = "bot_connected"   // the bot's path is up
	StageFirstAudio Stage = "bot_first_audio" // the callee hears the bot
	StageMessage    Stage = "message"         // the information message of an abandoned call begins
)

// Stages lists every stage.
var Stages = []Stage{StageVerdict, StageBot, StageFirstAudio, StageMessage}

// stages are the measured times of an attempt.
type stages [3]*time.Time

func stagesOf(a *attempt.Attempt) stages {
	return stages{a.VerdictAt, a.BotConnectedAt, a.BotFirstAudioAt}
}
