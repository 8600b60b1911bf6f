package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// only returns the campaign's only attempt.
func (r *rig) only() (a attempt.Attempt) {
	r.store.View(func() {
		for x := range r.store.AllAttempts() {
			a = x
		}
	})
	return a
}

// A late beep turns a live answer into a machine: the bot is disconnected, and the abandon rate has
// never counted it (SEMANTICS §5).
func TestALaterBeepMakesAMachineOfALiveAnswer(t *testing.T) {
	for _, mode := range []engine.AMDMode{engine.AMDParallel, engine.AMDSequential} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
					return actortest.Script{Ring: time.Second, Code: 200, Verdict: engine.VerdictUnknown, VerdictIn: time.Second,
						BotIn: 20 * time.Millisecond, BeepIn: 9 * time.Second}
				}, func(s *campaign.Settings) { s.AMD, s.AMDReviseSec, s.AlwaysOn = mode, 20, true })
				defer r.tree.Close()
				r.add(1)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "connected", func() bool { return r.detail().Counters.ConnectedCalls == 1 })
				// The call is shown with its current verdict; the cap's ledger does not include it.
				if l := r.detail().Live; l.Ledgers[0].LiveAnswers != 1 || l.Rolling.Day.LiveAnswers != 0 {
					t.Errorf("%d live answers, %d that count, while a beep may revise it",
						l.Ledgers[0].LiveAnswers, l.Rolling.Day.LiveAnswers)
				}
				r.until(time.Minute, "a machine", func() bool { return r.detail().Counters.MachineDetected == 1 })
				r.over()
				a := r.only()
				if a.Outcome != engine.OutcomeMachine || a.Verdict != engine.VerdictMachine ||
					a.RevisedFrom != engine.VerdictUnknown || a.WasConnected() {
					t.Errorf("%s, %s from %s, connected %v", a.Outcome, a.Verdict, a.RevisedFrom, a.WasConnected())
				}
				if c := r.contactOf(number(0)); c.State != contact.MachineDetected {
					t.Errorf("the contact is %s", c.State)
				}
				d := r.detail()
				if d.Counters.LiveAnswers != 0 || d.Counters.ConnectedCalls != 0 || d.Live.Ledgers[0].LiveAnswers != 0 ||
					d.Live.Ledgers[0].Machines != 1 {
					t.Errorf("live answers %d and %d, connected %d, machines %d", d.Counters.LiveAnswers,
						d.Live.Ledgers[0].LiveAnswers, d.Counters.ConnectedCalls, d.Live.Ledgers[0].Machines)
				}
				r.act(campaign.ActionStop)
				r.check()
			})
		})
	}
}

// A bot's report turns a conversation into a machine's at any time. What the abandon rate has
// counted by then stays counted (SEMANTICS §5).
func TestTheBotsWordMakesAMachineOfALiveAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		live  int
	}{"while the answer is tentative": {8 * time.Second, 0}, "when it has counted": {2 * time.Minute, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
					return actortest.Script{Ring: time.Second, Code: 200, Verdict: engine.VerdictHuman,
						VerdictIn: time.Second, BotIn: 20 * time.Millisecond, BotSays: engine.VerdictMachine,
						BotSaysIn: c.after}
				}, func(s *campaign.Settings) {
					s.AMD, s.AMDReviseSec, s.AlwaysOn, s.RedialOnlyUnderSec = engine.AMDParallel, 20, true, 600
				})
				defer r.tree.Close()
				r.add(1)
				r.act(campaign.ActionStart)
				r.until(5*time.Minute, "a machine", func() bool { return r.detail().Counters.MachineDetected == 1 })
				r.over()
				a := r.only()
				if a.Outcome != engine.OutcomeMachine || a.RevisedFrom != engine.VerdictHuman ||
					a.WasConnected() != (c.live == 1) {
					t.Errorf("%s from %s, connected %v", a.Outcome, a.RevisedFrom, a.WasConnected())
				}
				if got := r.contactOf(number(0)); got.State != contact.MachineDetected {
					t.Errorf("the contact is %s", got.State)
				}
				d := r.detail()
				if d.Counters.LiveAnswers != c.live || d.Counters.ConnectedCalls != c.live ||
					d.Live.Ledgers[0].LiveAnswers != c.live || d.Live.Ledgers[0].Machines != 1-c.live {
					t.Errorf("live answers %d and %d, connected %d, machines %d", d.Counters.LiveAnswers,
						d.Live.Ledgers[0].LiveAnswers, d.Counters.ConnectedCalls, d.Live.Ledgers[0].Machines)
				}
				r.act(campaign.ActionStop)
				r.check()
			})
		})
	}
}

func TestALiveAnswerCountsWhenItsTimeForABeepIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: time.Second, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
				BotIn: 20 * time.Millisecond, BotTalk: time.Minute}
		}, func(s *campaign.Settings) { s.AMD, s.AMDReviseSec, s.AlwaysOn = engine.AMDParallel, 20, true })
		defer r.tree.Close()
		r.add(1)
		r.act(campaign.ActionStart)
		live := func() int { return r.detail().Live.Rolling.Day.LiveAnswers }
		r.until(time.Minute, "connected", func() bool { return r.detail().Counters.ConnectedCalls == 1 })
		answered := *r.only().AnsweredAt
		if n := live(); n != 0 {
			t.Errorf("%d count before that", n)
		}
		r.until(time.Minute, "counted", func() bool { return live() == 1 })
		if took := time.Since(answered); took < 20*time.Second || took > 30*time.Second {
			t.Errorf("it counts %v after the answer", took)
		}
		r.act(campaign.ActionStop)
	})
}

func TestAMessageIsLeftOnAMachine(t *testing.T) {
	for name, failed := range map[string]string{"left": "", "not left": "no beep"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
					return actortest.Script{Ring: time.Second, Code: 200, Verdict: engine.VerdictMachine, VerdictIn: time.Second,
						BotIn: 20 * time.Millisecond, NoVoicemail: failed}
				}, func(s *campaign.Settings) { s.AMD, s.Voicemail, s.AlwaysOn = engine.AMDParallel, "vm1", true })
				defer r.tree.Close()
				r.add(1)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "a machine", func() bool { return r.detail().Counters.MachineDetected == 1 })
				r.over()
				a := r.only()
				if len(r.world.Left) != 1 || r.world.Left[0].Message != "vm1" || a.Outcome != engine.OutcomeMachine ||
					(a.VoicemailLeftAt != nil) != (failed == "") {
					t.Errorf("%d messages, %s, left at %v", len(r.world.Left), a.Outcome, a.VoicemailLeftAt)
				}
				if r.world.HungUp() != 1 {
					t.Error("the call is not ended by us")
				}
				r.act(campaign.ActionStop)
				r.check()
			})
		})
	}
}
