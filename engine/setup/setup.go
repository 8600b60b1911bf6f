// Package setup says what an installation still lacks before a bot of its own talks to somebody.
//
// What it must not know: how a trunk or a bot is asked, who looks.
//
// Invariants:
//
//   - A step that is done names what does it, one that is not names what is there so far.
//   - An installation that has called needs no set-up, whatever has become of its trunks since.
package setup

// Step is one step to the first conversation.
type Step string

const (
	Carrier  Step = "carrier"   // an active trunk that answers
	CallerID Step = "caller_id" // a number that may be dialled from
	Bot      Step = "bot"       // an active bot that takes calls
	Call     Step = "call"      // a call that a bot served, or a campaign that was started
)

// Thing is a trunk, a number or a bot.
type Thing struct {
	ID     string
	Usable bool // calls may use it: it is not switched off
	Proved bool // it was asked, and answered
}

// Known is what is known of an installation, each list in the order in which it is shown.
type Known struct {
	Trunks, Numbers, Bots []Thing
	Called                bool // a bot has served a call, or a campaign was started
}

// Progress is how far a step is.
type Progress struct {
	Step Step   `json:"step"`
	Done bool   `json:"done"`
	With string `json:"with,omitempty"` // what does it, or is there so far
}

// Steps are all steps in their order.
func Steps(k Known) []Progress {
	return []Progress{
		progress(Carrier, k.Trunks), progress(CallerID, k.Numbers), progress(Bot, k.Bots),
		{Step: Call, Done: k.Called},
	}
}

func progress(s Step, things []Thing) Progress {
	best, rank := Progress{Step: s}, 0
	for _, t := range things {
		of := 1
		switch {
		case t.Usable && t.Proved:
			of = 3
		case t.Usable:
			of = 2
		}
		if of > rank {
			best.With, best.Done, rank = t.ID, of == 3, of
		}
	}
	return best
}

// Model is a model carrier and a model bot that run beside the dialler, for whoever has none yet.
type Model struct {
	Host     string `json:"host"` // of the carrier
	Port     int    `json:"port"`
	Endpoint string `json:"endpoint"`  // of the bot
	CallerID string `json:"caller_id"` // a number that the carrier lets us show
	Callee   string `json:"callee"`    // somebody who answers
}
