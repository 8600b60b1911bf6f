package actors_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// The abandon cap applies per run: served calls of an earlier run earn the next one no credit, both
// within one process and when the process ends between Restart and Start.
func TestTheAbandonCapIsKeptAnewInEveryRun(t *testing.T) {
	for _, mode := range []string{campaign.PacingStrict, campaign.PacingHybrid} {
		for _, killed := range []bool{false, true} {
			t.Run(mode+map[bool]string{true: " restarted", false: ""}[killed], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { abandonCapInASecondRun(t, mode, killed) })
			})
		}
	}
}

func abandonCapInASecondRun(t *testing.T, mode string, killed bool) {
	const cap5 = 50_000
	var second atomic.Bool
	r := newRig(t, func(to engine.PhoneNumber, _ int) actortest.Script {
		s := actortest.Script{Ring: 4 * time.Second, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
			BotIn: 50 * time.Millisecond, Talk: 3 * time.Second}
		switch {
		case second.Load():
			s.Talk = time.Minute // everyone answers and talks
		case to[len(to)-1] >= '3':
			s.Ring = time.Hour
		}
		return s
	}, func(s *campaign.Settings) {
		s.PacingMode, s.AbandonCapPPM, s.MaxAttempts = campaign.PacingProgressive, cap5, 1
	})
	defer func() { r.tree.Close() }()
	r.results()
	r.add(500)
	r.act(campaign.ActionStart)
	r.until(3*time.Hour, "the first run is over", r.completed)
	r.over()
	ledger := func() campaign.LedgerView {
		t.Helper()
		l := r.detail().Live.Ledgers[0]
		if l.Period != pacing.PeriodRun {
			t.Fatalf("the first ledger is that of %s", l.Period)
		}
		return l
	}
	if l := ledger(); l.LiveAnswers != 150 || l.Abandoned != 0 {
		t.Fatalf("the first run: %+v", l)
	}
	r.act(campaign.ActionRestart)
	if l := ledger(); l.LiveAnswers != 0 {
		t.Errorf("the prepared run: %+v", l)
	}
	second.Store(true)
	r.mustEdit(func(s *campaign.Settings) { s.PacingMode = mode })
	if killed {
		r.kill()
		r.start()
		if l := ledger(); l.LiveAnswers != 0 {
			t.Errorf("the prepared run after a restart of the process: %+v", l)
		}
	}
	began := len(r.attempts())
	d := r.act(campaign.ActionStart)
	if l := ledger(); l.LiveAnswers != 0 || !l.Since.Equal(*d.Campaign.StartedAt) {
		t.Errorf("the second run begins with %+v", l)
	}
	// Strict keeps the cap at every event, hybrid at the end of the run.
	live, abandoned, said := 0, 0, false
	r.store.View(func() {
		results := r.store.OnWrite
		r.store.OnWrite = func(w *journal.Write) {
			for _, e := range w.Events {
				switch e.Type {
				case journal.AttemptConnected:
					live++
				case journal.AttemptAbandoned:
					live, abandoned = live+1, abandoned+1
				}
			}
			if over := abandoned*1_000_000 > live*cap5; over && !said && mode == campaign.PacingStrict {
				said = true
				t.Errorf("%d of %d live answers abandoned", abandoned, live)
			}
			results(w)
		}
	})
	r.until(3*time.Hour, "the second run is over", r.completed)
	r.over()
	if n := len(r.attempts()) - began; n != 500 || abandoned*1_000_000 > live*cap5 {
		t.Errorf("%d dials in the second run, %d of %d live answers abandoned", n, abandoned, live)
	}
	if l := ledger(); l.LiveAnswers != live || l.Abandoned != abandoned {
		t.Errorf("%d of %d live answers abandoned, the ledger has %+v", abandoned, live, l)
	}
}

// Cancel Restart shows the previous run as it was, including its ledger.
func TestCancelRestartBringsTheLedgerOfTheRunBack(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(map[bool]string{true: "restarted", false: "one life"}[killed], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(time.Second, 2*time.Second), nil)
				defer func() { r.tree.Close() }()
				r.results()
				r.add(12)
				r.act(campaign.ActionStart)
				r.until(time.Hour, "campaign completed", r.completed)
				r.over()
				was := r.detail().Live.Ledgers[0]
				if was.LiveAnswers != 12 {
					t.Fatalf("the run's ledger: %+v", was)
				}
				time.Sleep(time.Hour) // virtual
				r.act(campaign.ActionRestart)
				if killed {
					r.kill()
					r.start()
				}
				if l := r.detail().Live.Ledgers[0]; l.LiveAnswers != 0 {
					t.Errorf("the prepared run's ledger: %+v", l)
				}
				if l := r.act(campaign.ActionCancelRestart).Live.Ledgers[0]; l.LiveAnswers != 12 || !l.Since.Equal(was.Since) {
					t.Errorf("%+v after Cancel Restart, was %+v", l, was)
				}
			})
		})
	}
}
