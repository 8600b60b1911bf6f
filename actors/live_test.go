package actors_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/memstore"
	"dialler/engine/pacing"
	"dialler/engine/window"
)

func near(t *testing.T, name string, got *float64, want, within float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > within {
		v := math.NaN()
		if got != nil {
			v = *got
		}
		t.Errorf("%s: %v, want %v", name, v, want)
	}
}

func TestAvgRingTimeIsFromTheInviteToTheAnswerAndKnownBeforeTheCallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(4*time.Second, 10*time.Minute), nil)
		defer r.tree.Close()
		r.results()
		r.add(5)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "in conversation", func() bool { return r.detail().Live.InProgress == 5 })
		l := r.detail().Live
		near(t, "ring time", l.AvgRingSeconds, 4, 0.2)
		passed := l.At.Sub(*l.LastDialAt).Seconds() // the five were dialled within a second
		near(t, "dials/s", l.DialsPerSec, 5/passed, 1.5/passed)
		near(t, "connected/h", l.ConnectedPerHour, 5*3600/passed, 1.5*3600/passed)
		if l.Ringing != 0 || l.LastDialAt == nil {
			t.Errorf("%+v", l)
		}
		time.Sleep(2 * time.Minute) // virtual
		if l := r.detail().Live; l.AvgRingSeconds != nil {
			t.Errorf("of the last 60 s: %v", *l.AvgRingSeconds)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
	})
}

// spec: Dials/sec and Connected/hr display -- when idle; idle is no dial for
// about 30 seconds; outside the window and paused have their own words.
func TestRatesAreAbsentWhenIdleAndTheIndicatorSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Minute), func(s *campaign.Settings) {
			s.AlwaysOn = true
			s.Window = window.Window{Zone: "UTC", Start: 0, End: 60} // it is midnight
		})
		defer r.tree.Close()
		if v := r.detail().Live.Indicator; v != campaign.IndicatorNone {
			t.Errorf("draft: %s", v)
		}
		r.add(3)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "in conversation", func() bool { return r.detail().Live.InProgress == 3 })
		if l := r.detail().Live; l.Indicator != campaign.IndicatorLive || l.DialsPerSec == nil || l.ConnectedPerHour == nil {
			t.Errorf("dialling: %s", l.Indicator)
		}
		time.Sleep(35 * time.Second) // virtual
		if l := r.detail().Live; l.Indicator != campaign.IndicatorIdle || l.DialsPerSec != nil || l.ConnectedPerHour != nil {
			t.Errorf("nothing left to dial: %s, %v", l.Indicator, l.DialsPerSec)
		}
		r.act(campaign.ActionPause)
		if v := r.detail().Live.Indicator; v != campaign.IndicatorPaused {
			t.Errorf("paused: %s", v)
		}
		r.act(campaign.ActionResume)
		time.Sleep(time.Hour) // virtual
		if v := r.detail().Live.Indicator; v != campaign.IndicatorOutside {
			t.Errorf("after its window: %s", v)
		}
		r.act(campaign.ActionStop)
	})
}

func TestDialsAreThoseWhoseInviteLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, time.Minute), nil)
		defer r.tree.Close()
		r.results()
		r.store.View(func() {
			r.store.Holds[number(0)] = memstore.Hold{Attempt: "somebody else's", Until: time.Now().Add(time.Hour)}
		})
		r.add(2)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "the other is in conversation", func() bool { return r.detail().Live.InProgress == 1 })
		l := r.detail().Live
		near(t, "dials/s", l.DialsPerSec, 1/l.At.Sub(*l.LastDialAt).Seconds(), 1e-3)
		r.act(campaign.ActionStop)
		r.until(time.Hour, "over", func() bool { return len(r.openAttempts()) == 0 })
		time.Sleep(time.Second) // virtual: its result is in flight
		r.threeWays()
	})
}

func TestTheLedgersShowWhatWasAbandonedAndSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			n++
			s := actortest.Script{Ring: time.Second, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
				BotIn: 100 * time.Millisecond, Talk: 5 * time.Second}
			switch n {
			case 1:
				s.BotIn = -1 // the bot does not come
			case 2, 3:
				s.Verdict = engine.VerdictMachine
			}
			return s
		}, func(s *campaign.Settings) { s.FalsePositivePPM = 50_000; s.Concurrency = 1 })
		r.results()
		r.add(10)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		look := func(when string) {
			t.Helper()
			l := r.detail().Live
			if len(l.Ledgers) != 3 || l.Ledgers[0].Period != pacing.PeriodRun || l.Ledgers[1].Period != pacing.PeriodDay ||
				l.Ledgers[2].Period != pacing.Period30Days {
				t.Fatalf("%s: %+v", when, l.Ledgers)
			}
			for _, x := range append([]campaign.CountsView{l.Rolling.Day, l.Rolling.Month}, l.Ledgers[0].CountsView,
				l.Ledgers[1].CountsView, l.Ledgers[2].CountsView) {
				if x.LiveAnswers != 8 || x.Abandoned != 1 || x.Machines != 2 || x.CapacityLoss != 0 {
					t.Errorf("%s: %+v", when, x)
				}
				near(t, "rate", x.AbandonRate, 1.0/8, 1e-9)
			}
			if c := l.Ledgers[0].Credit; c != 0 {
				t.Errorf("%s: credit %d", when, c)
			}
		}
		look("one life")
		r.kill()
		r.start()
		defer func() { r.tree.Close() }()
		look("the next")
	})
}

func TestARunWhoseLastContactsUsedUpTheirAttemptsEndsWithThatReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: 20 * time.Second, Code: 200}
		}, nil)
		defer r.tree.Close()
		r.add(3)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if d := r.detail(); d.Campaign.CompletionReason != campaign.ReasonRetriesDone || d.Counters.Unanswered != 3 ||
			d.Counters.Failed != 3 {
			t.Errorf("%s: %+v", d.Campaign.CompletionReason, d.Counters)
		}
	})
}

func TestARunningCampaignEstimatesItsEndAndAFinishedOneShowsItsTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(5*time.Second, 25*time.Second), func(s *campaign.Settings) { s.MaxAttempts = 1 })
		defer func() { r.tree.Close() }()
		r.results()
		r.add(400) // ten at a time, half a minute each: twenty minutes
		if r.detail().Live.ETASeconds != nil {
			t.Error("a draft has an estimate")
		}
		r.act(campaign.ActionStart)
		time.Sleep(6 * time.Minute) // virtual
		near(t, "eta", r.detail().Live.ETASeconds, 14*60, 120)
		r.act(campaign.ActionPause)
		if r.detail().Live.ETASeconds != nil {
			t.Error("a paused campaign has an estimate")
		}
		time.Sleep(time.Hour) // virtual
		r.kill()
		r.start()
		r.act(campaign.ActionResume)
		r.until(time.Hour, "campaign completed", r.completed)
		r.threeWays()
		d := r.detail()
		if d.Live.ETASeconds != nil {
			t.Error("a finished campaign has an estimate")
		}
		v := campaign.TotalsOf(&d.Campaign, &d.Counters)
		if v == nil || v.Connected != 400 || v.DiallingSeconds < 19*60 || v.DiallingSeconds > 23*60 {
			t.Fatalf("%+v", v)
		}
		near(t, "dials/s", v.DialsPerSec, 400/v.DiallingSeconds, 1e-9)
	})
}

func TestARunningCampaignPublishesItsFiguresAndAFinishedOneDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, time.Minute), nil)
		defer r.tree.Close()
		r.results()
		if n := len(r.tree.Figures()); n != 0 {
			t.Errorf("%d campaigns at rest", n)
		}
		r.add(15)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		time.Sleep(2 * time.Second) // virtual: a tick
		list := r.tree.Figures()
		if len(list) != 1 || list[0].Campaign != r.id || list[0].InProgress != 10 || list[0].Pending != 5 ||
			list[0].Contacts[contact.Connected] != 10 ||
			list[0].AbandonRates[pacing.PeriodRun] != 0 || len(list[0].AbandonRates) != 3 {
			t.Errorf("%+v", list)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if n := len(r.tree.Figures()); n != 0 {
			t.Errorf("%d campaigns after the end", n)
		}
	})
}
