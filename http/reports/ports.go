package reports

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Reports reads what the Attempt Report consists of.
type Reports interface {
	// AttemptsPage gives a part of the report; NotFound "campaign_not_found" for
	// the first part when there is no such campaign, "cursor_not_found" when it
	// has no attempt behind which the report is to begin.
	AttemptsPage(ctx context.Context, q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error)
	// ReportVariables gives the names of the contacts' variables in
	// alphabetical order, at most limit.
	ReportVariables(ctx context.Context, id engine.CampaignID, limit int) ([]string, error)
}

// Evidence makes the records of runs.
type Evidence interface {
	// RunExists: NotFound "campaign_not_found", "run_not_found"; Conflict
	// "record_dropped" when calls or events of the run were dropped in their time.
	RunExists(ctx context.Context, id engine.CampaignID, run int) error
	// OpenEvidence makes the record of a run as a file of its own, which is gone
	// once it is closed.
	OpenEvidence(ctx context.Context, id engine.CampaignID, run int, who engine.Who) (io.ReadSeekCloser, error)
}
