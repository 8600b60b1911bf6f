package persistence_test

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// reviewed returns a store with a campaign that has a share of its verdicts reviewed.
func reviewed(t *testing.T, share int) (s *persistence.Store,
	put func(n byte, change func(*attempt.Attempt)) engine.AttemptID) {
	s = storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	set := campaign.Settings{AMDReviewPPM: share, Voicemail: "vm_1"}
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", Settings: set, State: campaign.Running, Run: 1,
		CreatedAt: now}); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	return s, func(n byte, change func(*attempt.Attempt)) engine.AttemptID {
		t.Helper()
		id := engine.AttemptID("0123456789abcdef0123456789abcd" + string([]byte{'a' + n/16, "0123456789abcdef"[n%16]}))
		at := now.Add(time.Duration(n) * time.Second)
		a := attempt.Attempt{ID: id, Campaign: "cmp_1", Contact: "fedcba9876543210fedcba9876543210", Run: 1, Trunk: "main",
			To: "+4930123456", State: attempt.Ended,
			Outcome: engine.OutcomeMachine, Verdict: engine.VerdictMachine, RevisedFrom: engine.VerdictUnknown, Confidence: 0.75,
			AMDTook:    2400 * time.Millisecond,
			ReservedAt: &at, AnsweredAt: &at, VerdictAt: &at, EndedAt: &at,
			Quality: &engine.MediaQuality{Recording: &engine.Recording{ID: string(id), StartedAt: at}}}
		if change != nil {
			change(&a)
		}
		refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch,
			Attempts: []attempt.Attempt{a}}})
		if err != nil || refused[0] != nil {
			t.Fatal(err, refused)
		}
		return id
	}
}

func TestVerdictsOnRecordedCallsAreReviewedAndLabelled(t *testing.T) {
	t.Parallel()
	s, put := reviewed(t, 1_000_000)
	first := put(1, nil)
	put(1, nil) // written again
	put(2, func(a *attempt.Attempt) { a.Trunk, a.To = "other", "+33123456789" })
	put(3, func(a *attempt.Attempt) { a.Quality.Recording = nil })
	put(4, func(a *attempt.Attempt) { a.Verdict = "" })
	ctx := t.Context()
	list, total, err := s.Recordings.AMDReviews(
		ctx,
		engine.AMDReviewQuery{Campaign: "cmp_1"},
		campaign.Page{Number: 1, Size: 10},
	)
	if err != nil || total != 2 || len(list) != 2 || list[0].Trunk != "other" || list[0].Country != "FR" {
		t.Fatalf("%v, %d of %d: %+v", err, len(list), total, list)
	}
	if v := list[1]; v.Attempt != first || v.Country != "DE" || v.Verdict != engine.VerdictMachine ||
		v.RevisedFrom != engine.VerdictUnknown || v.Confidence != 0.75 || v.Took != 2400*time.Millisecond || !v.Audio ||
		v.Label != "" {
		t.Errorf("%+v", v)
	}
	if err := s.Recordings.LabelAMDReview(ctx, first, engine.VerdictHuman,
		engine.Who{Name: "ann@example.org"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Recordings.RecordingsDeleted(ctx, []engine.AttemptID{first}, time.Now()); err != nil {
		t.Fatal(err)
	}
	v, err := s.Recordings.AMDReview(ctx, first)
	if err != nil || v.Label != engine.VerdictHuman || v.LabelledBy != "ann@example.org" || v.LabelledAt == nil ||
		v.Audio {
		t.Errorf("%v %+v", err, v)
	}
	cells, err := s.Recordings.AMDConfusion(ctx, engine.AMDReviewQuery{Country: "DE"})
	if want := (engine.AMDConfusion{Trunk: "main", Country: "DE", Label: engine.VerdictHuman,
		Verdict: engine.VerdictMachine, Count: 1}); err != nil || len(cells) != 1 || cells[0] != want {
		t.Errorf("%v %+v", err, cells)
	}
	no := false
	if _, n, err := s.Recordings.AMDReviews(ctx, engine.AMDReviewQuery{Labelled: &no},
		campaign.Page{Number: 1, Size: 10}); err != nil ||
		n != 1 {
		t.Errorf("%v: %d without a label", err, n)
	}
	if err := s.Recordings.LabelAMDReview(ctx, "0123456789abcdef0123456789abcdff", engine.VerdictHuman,
		engine.Who{}); engine.ErrorCode(
		err,
	) != "review_not_found" {
		t.Error(err)
	}
}

func TestOnlyTheCampaignsShareOfVerdictsIsReviewed(t *testing.T) {
	t.Parallel()
	s, put := reviewed(t, 300_000)
	want := 0
	for n := range byte(60) {
		if id := put(n, nil); engine.AMDDice(id) < 300_000 {
			want++
		}
	}
	_, got, err := s.Recordings.AMDReviews(t.Context(), engine.AMDReviewQuery{}, campaign.Page{Number: 1, Size: 1})
	if err != nil || got != want || want < 5 || want > 35 {
		t.Errorf("%v: %d of 60 are reviewed, want %d", err, got, want)
	}
}

func TestAnAnswerThatABeepMayTakeBackIsInNoLedger(t *testing.T) {
	t.Parallel()
	s, put := reviewed(t, 0)
	live := func(want pacing.Counts) {
		t.Helper()
		got, err := s.AbandonLedger(t.Context(), "cmp_1", time.Now().Add(-time.Hour))
		if err != nil || got != want {
			t.Errorf("%v: %+v, want %+v", err, got, want)
		}
	}
	served := func(a *attempt.Attempt) {
		later := a.AnsweredAt.Add(20 * time.Second)
		a.State, a.Outcome, a.Verdict, a.RevisedFrom, a.EndedAt, a.ServedAt, a.RevisableUntil =
			attempt.Connected, "", engine.VerdictHuman, "", nil, a.AnsweredAt, &later
	}
	put(1, served)
	put(2, served)
	live(pacing.Counts{})
	put(1, func(a *attempt.Attempt) {
		end := a.EndedAt
		served(a)
		a.State, a.EndedAt, a.Outcome, a.MediaSeq = attempt.Ended, end, engine.OutcomeConnectedNoResult, 1
	})
	put(2, func(a *attempt.Attempt) { a.MediaSeq = 1 }) // a machine after all
	live(pacing.Counts{Live: 1, Machines: 1})
}

func TestAMessageForMachinesIsDeletedWhenNoCampaignLeavesIt(t *testing.T) {
	t.Parallel()
	s, _ := reviewed(t, 0)
	ctx, who := t.Context(), engine.Who{Name: "ann@example.org"}
	for _, id := range []engine.VoicemailID{"vm_1", "vm_2", "vm_3"} {
		if err := s.AddVoicemail(ctx, engine.Voicemail{ID: id, Name: "Reminder", CreatedAt: time.Now(), CreatedBy: who.Name},
			make([]byte, 12000), who); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Voicemails(ctx)
	if err != nil || len(list) != 3 || list[0].Duration != 1500*time.Millisecond || list[0].Name != "Reminder" {
		t.Errorf("%v %+v", err, list)
	}
	if audio, err := s.VoicemailAudio(ctx, "vm_1"); err != nil || len(audio) != 12000 {
		t.Errorf("%v, %d bytes", err, len(audio))
	}
	if _, err := s.PutNumber(ctx, engine.NumberSettings{Number: "+4930111", State: "active", CallbackMessage: "vm_3"},
		who); err != nil {
		t.Fatal(err)
	}
	for _, used := range []engine.VoicemailID{"vm_1", "vm_3"} {
		if err := s.DeleteVoicemail(ctx, used, who); engine.ErrorCode(err) != "voicemail_in_use" {
			t.Error(used, err)
		}
	}
	if err := s.DeleteVoicemail(ctx, "vm_2", who); err != nil {
		t.Error(err)
	}
	if _, err := s.VoicemailAudio(ctx, "vm_2"); engine.ErrorCode(err) != "voicemail_not_found" {
		t.Error(err)
	}
}
