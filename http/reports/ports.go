package reports

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Reports reads the data of the Attempt Report.
type Reports interface {
	// AttemptsPage returns a part of the report; for the first part, NotFound "campaign_not_found"
	// for an unknown campaign, or "cursor_not_found" if it has no such attempt to start after.
	AttemptsPage(ctx context.Context, q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error)
	// ReportVariables gives the names of the contacts' variables in
	// alphabetical order, at most limit.
	ReportVariables(ctx context.Context, id engine.CampaignID, limit int) ([]string, error)
}

// Evidence makes the records of runs.
type Evidence interface {
	// RunExists returns NotFound "campaign_not_found", "run_not_found"; Conflict "record_dropped"
	// if calls or events of the run have passed their retention.
	RunExists(ctx context.Context, id engine.CampaignID, run int) error
	// OpenEvidence makes the record of a run as a file, which is deleted when it is closed.
	OpenEvidence(ctx context.Context, id engine.CampaignID, run int, who engine.Who) (io.ReadSeekCloser, error)
}
