package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/redial"
	"dialler/engine/window"
)

// Rules are a campaign's settings in the form that its contacts and their calls use; immutable once
// handed out.
type Rules struct {
	Campaign engine.CampaignID
	Epoch    int64
	Run      int
	Bot      engine.Bot
	Hook     eligibility.Hook
	Sticky   bool // Sticky Exclusion: adding an excluded contact again does not undo the exclusion

	Attempt attempt.Config
	Policy  contact.Policy
	Before  contact.State      // for a prepared run: what waiting contacts became with the previous run
	Paused  bool               // no INVITE leaves, not even of a call that waits for another trunk
	of      *campaign.Campaign // the campaign whose rules these are
}

// RulesOf derives the rules from a campaign's current state; the caller adds its bot, its cadence
// and the opt-out digit.
func RulesOf(c campaign.Campaign) Rules {
	c.Seq = 0 // it changes without affecting the rules
	s := &c.Settings
	sec := func(n int) time.Duration { return time.Duration(n) * time.Second }
	rl := Rules{
		Campaign: c.ID, Epoch: c.Epoch, Run: c.Run, Sticky: s.StickyExclusion,
		Hook:   eligibility.Hook{URL: s.EligibilityURL, Fail: s.EligibilityFail},
		Paused: c.State == campaign.Paused,
		Attempt: attempt.Config{RingTimeout: sec(s.RingTimeoutSec), CallLimit: sec(s.CallLimitSec), AMD: s.AMD,
			Listen: s.Listen(), Record: s.Recording == campaign.RecordingOn,
			Transfers: attempt.TransferRules{Allowed: s.TransferTargets, Limit: max(s.TransferLimit, 1)}},
		Policy: contact.Policy{
			MaxAttempts: s.MaxAttempts,
			Redial: redial.Rule{Delay: sec(s.RetryDelaySec), OnSystem: s.RetryOnSystem, OnCustom: s.RetryOnCustom,
				StopAfter: sec(s.StopRedialsAfterSec), OnlyUnder: sec(s.RedialOnlyUnderSec)},
			ResultTimeout: sec(s.ResultTimeoutSec), Callbacks: s.CallbackDetection,
			Clip: campaign.Clip(&c, window.Home{}), Ends: c.WindowEndsAt, Window: s.Window,
		},
		of: &c,
	}
	switch {
	case c.State == campaign.Completed:
		rl.Policy.ClosedAs = closedAs(&c)
	case c.Prepared:
		rl.Before = closedAs(&c)
	}
	return rl
}

// closedAs is the state that waiting contacts get at the end of their run. Those of a failed run
// keep their state.
func closedAs(c *campaign.Campaign) contact.State {
	switch {
	case c.CompletionReason == campaign.ReasonWindowEnded:
		return contact.WindowClosed
	case c.FailureReason == "":
		return contact.ManuallyStopped
	}
	return ""
}

// PolicyFor is the policy with the window of one contact; home says where a number is at home
// (engine/number).
func (rl *Rules) PolicyFor(n engine.PhoneNumber, home func(engine.PhoneNumber) window.Home) contact.Policy {
	p := rl.Policy
	if rl.of != nil && rl.of.Settings.Window.Own() {
		at := home(n)
		p.Clip, p.Window = campaign.Clip(rl.of, at), p.Window.For(at)
	}
	return p
}
