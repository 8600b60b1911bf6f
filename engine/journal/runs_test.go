package journal

import (
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestRunsAreWhatTheHistorySaysOfThem(t *testing.T) {
	t0 := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	ada, system := engine.Who{Name: "ada@example.org"}, engine.System
	var events []Event
	add := func(t Type, run int, who engine.Who, reason string) {
		events = append(events, Event{Type: t, Run: run, At: t0.Add(time.Duration(len(events)) * time.Hour),
			Data: Data{Who: &who, Reason: reason}})
	}
	at := func(n int) *time.Time { x := t0.Add(time.Duration(n) * time.Hour); return &x }
	c := campaign.Campaign{Run: 1}
	want := func(runs ...campaign.RunRecord) {
		t.Helper()
		if got := Runs(&c, events); !reflect.DeepEqual(got, runs) {
			t.Fatalf("\n got %+v\nwant %+v", got, runs)
		}
	}
	want(campaign.RunRecord{Run: 1, State: campaign.RunDraft})
	add(CampaignStarted, 1, ada, "")
	one := campaign.RunRecord{Run: 1, State: campaign.RunRunning, StartedAt: at(0), StartedBy: &ada}
	want(one)
	c.State = campaign.Paused
	one.State = campaign.RunPaused
	want(one)
	add(CampaignStopped, 1, ada, "manually_stopped")
	one.State, one.CompletedAt, one.EndedBy, one.CompletionReason =
		campaign.RunCompleted, at(1), &ada, campaign.ReasonManuallyStopped
	want(one)

	add(CampaignRestarted, 2, ada, campaign.OnlyUnreached)
	two := campaign.RunRecord{Run: 2, State: campaign.RunPrepared, RestartedAt: at(2), RestartedBy: &ada,
		OnlyUnreached: true}
	want(two, one)
	add(CampaignRestartCancelled, 1, ada, "")
	want(one)
	add(CampaignRestarted, 2, ada, "")
	add(CampaignStarted, 2, ada, "")
	add(CampaignFailed, 2, system, "bot_deleted")
	two = campaign.RunRecord{Run: 2, State: campaign.RunFailed, RestartedAt: at(4), RestartedBy: &ada, StartedAt: at(5),
		StartedBy:   &ada,
		CompletedAt: at(6), EndedBy: &system, FailureReason: "bot_deleted"}
	want(two, one)
}
