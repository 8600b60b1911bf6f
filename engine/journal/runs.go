package journal

import (
	"dialler/engine/campaign"
)

// RunTypes are the events from which Runs builds the history of a campaign's runs.
var RunTypes = []Type{CampaignStarted, CampaignStopped, CampaignCompleted, CampaignFailed, CampaignRestarted,
	CampaignRestartCancelled}

// Runs folds a campaign's events of RunTypes, in order, into its runs, the newest first. They do
// not include counters. A run that was prepared and cancelled leaves nothing.
func Runs(c *campaign.Campaign, events []Event) []campaign.RunRecord {
	runs := []campaign.RunRecord{{Run: 1, State: campaign.RunDraft}}
	at := func(n int) *campaign.RunRecord {
		for len(runs) < n {
			runs = append(runs, campaign.RunRecord{Run: len(runs) + 1, State: campaign.RunPrepared})
		}
		return &runs[max(n, 1)-1]
	}
	for i := range events {
		e := &events[i]
		r, when, d := at(e.Run), e.At, &e.Data
		switch e.Type {
		case CampaignRestarted:
			*r = campaign.RunRecord{Run: e.Run, State: campaign.RunPrepared, RestartedAt: &when, RestartedBy: d.Who,
				OnlyUnreached: d.Reason == campaign.OnlyUnreached}
		case CampaignRestartCancelled:
			runs = runs[:e.Run] // it belongs to the run that is shown again
		case CampaignStarted:
			r.State, r.StartedAt, r.StartedBy = campaign.RunRunning, &when, d.Who
		case CampaignStopped, CampaignCompleted:
			r.State, r.CompletedAt, r.EndedBy = campaign.RunCompleted, &when, d.Who
			r.CompletionReason = campaign.CompletionReason(d.Reason)
		case CampaignFailed:
			r.State, r.CompletedAt, r.EndedBy, r.FailureReason = campaign.RunFailed, &when, d.Who, d.Reason
		default: // not about runs
		}
	}
	if last := at(c.Run); last.State == campaign.RunRunning && c.State == campaign.Paused {
		last.State = campaign.RunPaused
	}
	newest := make([]campaign.RunRecord, 0, len(runs))
	for i := len(runs) - 1; i >= 0; i-- {
		newest = append(newest, runs[i])
	}
	return newest
}
