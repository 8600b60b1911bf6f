package callee

import (
	"time"

	"dialler/engine"
)

// Bot describes how bots behave, and what else happens to answered calls, as shares of calls (0…1).
type Bot struct {
	Connect       time.Duration // mean time to connect
	Late          float64       // connects too late; a socket ahead of its call after 4 s
	Fails         float64       // no endpoint takes the call, or the socket ahead of it
	Falls         float64       // sockets that are lost while they wait for their call
	Dies          float64       // conversations in which the bot dies
	EndsCall      float64       // the bot hangs up, not the callee
	ResultInCall  float64       // the result comes before the end of the call
	ResultLate    float64       // it comes after the result timeout
	ResultNever   float64
	ResultTwice   float64 // a second, different result follows
	Callback      float64 // of results
	DoNotCall     float64 // of results
	Dispositions  []string
	VerdictWrong  float64 // persons taken for machines
	VerdictNever  float64
	HangsUpEarly  float64 // callees who hang up before the bot is there
	LastsTooLong  float64 // conversations that only the call limit ends
	CrossedCancel float64 // cancels that a 200 crosses
	NoMedia       float64 // no media path can be opened
	Revised       float64 // persons whose verdict a beep revises
	OptsOut       float64 // of those who hear the information message
}

// Draws of one dial beyond those of a Fate.
const (
	drawBotFails = iota + 20
	drawBotLate
	drawBotTime
	drawVerdictWrong
	drawVerdictNever
	drawVerdictTime
	drawVerdictKind
	drawHangsUp
	drawHangsUpTime
	drawEndsCall
	drawLasts
	drawResult
	drawResultTime
	drawResultTwice
	drawDisposition
	drawCallback
	drawCallbackTime
	drawDoNotCall
	drawCode
	drawProgress
	drawCross
	drawCross2
)

// Draws that were added later; those above keep their indexes, so that a seed still meets the same
// people.
const (
	drawNoMedia = iota + 5000
	drawRevised
	drawRevisedTime
	drawOptsOut
	drawResultInCall
	drawDies
	drawDiesTime
)

// Draws of one socket.
const (
	drawSocketFails = iota + 1
	drawSocketLate
	drawSocketTime
	drawSocketFalls
	drawSocketLife
)

// lateBy is how long a late bot takes to open a socket.
const lateBy = 4 * time.Second

// part is the fraction u of a duration.
func part(u float64, of time.Duration) time.Duration { return time.Duration(u * float64(of)) }

// Opens gives the fate of a socket that is opened ahead of its call: when it opens or is refused,
// and how long it then stays open before it is lost (0 means that it is not lost).
func (b *Bot) Opens(u Chance, timeout time.Duration) (in time.Duration, stands bool, lost time.Duration) {
	took := part(0.5+u.At(drawSocketTime), b.Connect)
	if u.At(drawSocketLate) < b.Late {
		took += lateBy
	}
	if u.At(drawSocketFalls) < b.Falls {
		lost = part(u.At(drawSocketLife), 10*time.Second)
	}
	return min(took, timeout), u.At(drawSocketFails) >= b.Fails && took <= timeout, lost
}

// Connects says when the bot gets a call without a socket, or when and why it fails.
func (b *Bot) Connects(u Chance, within time.Duration) (in time.Duration, failure string) {
	took := part(0.5+u.At(drawBotTime), b.Connect)
	switch {
	case u.At(drawBotFails) < b.Fails:
		return min(within, 500*time.Millisecond), "refused"
	case u.At(drawBotLate) < b.Late:
		return within + time.Millisecond, "deadline"
	case took >= within: // all tries together end at the deadline
		return within, "deadline"
	}
	return took, ""
}

// NoPath says whether no media path can be opened.
func (b *Bot) NoPath(u Chance) bool { return u.At(drawNoMedia) < b.NoMedia }

// PressesKey says whether the key is pressed during the information message.
func (b *Bot) PressesKey(u Chance) bool { return u.At(drawOptsOut) < b.OptsOut }

// Gone says when a callee who does not wait for the bot hangs up.
func (b *Bot) Gone(u Chance) (in time.Duration, early bool) {
	return part(u.At(drawHangsUpTime), 2*time.Second), u.At(drawHangsUp) < b.HangsUpEarly
}

// Crosses says whether an answer crosses a CANCEL, and whether our side then waits before it ends
// the call.
func (b *Bot) Crosses(u Chance) (crosses, waits bool) {
	return u.At(drawCross) < b.CrossedCancel, u.At(drawCross2) >= 0.5
}

// Cancelled is how long the network takes for a CANCEL.
func Cancelled(u Chance) time.Duration {
	return 20*time.Millisecond + part(u.At(drawProgress), 300*time.Millisecond).Truncate(time.Millisecond)
}

// Verdict is the classification of an answered call, and when it comes; "" for none. A beep revises
// a verdict of a person at the time revised, within the limit; 0 means never.
func (b *Bot) Verdict(f *Fate, u Chance, limit time.Duration) (v engine.Verdict, took, revised time.Duration) {
	if u.At(drawVerdictNever) < b.VerdictNever {
		return "", 0, 0
	}
	if f.Kind != nil {
		return f.Kind.Verdict, f.Took, 0
	}
	machine, k := f.Machine != (u.At(drawVerdictWrong) < b.VerdictWrong), u.At(drawVerdictKind)
	took = 600*time.Millisecond + part(u.At(drawVerdictTime), 3*time.Second)
	switch {
	case machine && k < 0.05:
		return engine.VerdictFax, took, 0
	case machine && k < 0.1:
		return engine.VerdictSIT, took, 0
	case machine:
		return engine.VerdictMachine, took, 0
	case k < 0.1:
		v = engine.VerdictSilence
	default:
		v = engine.VerdictHuman
	}
	if limit > took && u.At(drawRevised) < b.Revised {
		revised = took + part(u.At(drawRevisedTime), limit-took)
	}
	return v, took, revised
}

// Conversation is how a conversation proceeds.
type Conversation struct {
	Talk    time.Duration
	Dies    time.Duration // when the bot dies; 0 means that it does not
	BotEnds bool          // at the end of Talk; else the callee does
	Results []time.Duration
}

// Converse says how a conversation proceeds with a callee who has time for talk; results are due
// limit after its end.
func (b *Bot) Converse(u Chance, talk, limit time.Duration) Conversation {
	c := Conversation{Talk: max(talk, 100*time.Millisecond), BotEnds: u.At(drawEndsCall) < b.EndsCall}
	if u.At(drawLasts) < b.LastsTooLong {
		c.Talk = 100 * time.Hour
	}
	if u.At(drawDies) < b.Dies {
		c.Dies = part(u.At(drawDiesTime), min(c.Talk, time.Minute)) + 1
	}
	at := c.Talk + part(u.At(drawResultTime), 20*time.Second)
	switch r := u.At(drawResult); {
	case r < b.ResultNever:
		return c
	case r < b.ResultNever+b.ResultInCall:
		at = part(0.8, min(c.Talk, time.Hour))
	case r < b.ResultNever+b.ResultInCall+b.ResultLate:
		at = c.Talk + limit + part(u.At(drawResultTime), 2*limit)
	}
	c.Results = []time.Duration{at}
	if u.At(drawResultTwice) < b.ResultTwice {
		c.Results = append(c.Results, at+time.Minute)
	}
	return c
}

// Said is what a bot reports about a conversation.
type Said struct {
	Disposition string
	DoNotCall   bool
	Callback    bool
	CallbackIn  time.Duration // 0: any time
}

// Says draws the nth result of a conversation, from 0.
func (b *Bot) Says(u Chance, n int) Said {
	again, words := 100*uint64(n), len(b.Dispositions) //nolint:gosec // a count
	s := Said{Disposition: b.Dispositions[min(int(u.At(drawDisposition+again)*float64(words)), words-1)],
		DoNotCall: u.At(drawDoNotCall+again) < b.DoNotCall, Callback: u.At(drawCallback+again) < b.Callback}
	if t := u.At(drawCallbackTime + again); t < 0.8 {
		s.CallbackIn = part(t*t, 6*time.Hour)
	}
	return s
}

// Reports says when, if at all, the measured bot posts its result of a conversation that lasts for
// talk.
func (p *People) Reports(u Chance, talk time.Duration) (in time.Duration, ok bool) {
	in = talk + p.Result.At(u.At(drawResultTime))
	if u.At(drawResultInCall) < p.InCall.Rate() {
		in = talk * 8 / 10
	}
	return in, u.At(drawResult) >= p.NoResult.Rate()
}

// Says draws the result.
func (p *People) Says(u Chance) Said {
	return Said{Disposition: p.Word(u.At(drawDisposition)), DoNotCall: u.At(drawDoNotCall) < p.DoNotCall.Rate(),
		Callback: u.At(drawCallback) < p.Callback.Rate(), CallbackIn: max(p.CallbackIn.At(u.At(drawCallbackTime)), 1)}
}

// Refusal draws the final response of a far side that refuses the call.
func Refusal(u Chance) (code int, reason string, blocked bool) {
	for _, k := range []struct {
		upTo   float64
		code   int
		reason string
	}{
		{0.45, 486, "Busy Here"},
		{0.6, 480, "Temporarily Unavailable"},
		{0.72, 404, "Not Found"},
		{0.8, 603, "Decline"},
		{0.86, 503, "Service Unavailable"},
		{0.9, 500, "Server Internal Error"},
		{0.93, 403, "Forbidden"},
		{0.95, 408, "Request Timeout"},
		{0.97, 488, "Not Acceptable Here"},
	} {
		if u.At(drawCode) < k.upTo {
			return k.code, k.reason, false
		}
	}
	return 603, "Declined", true
}
