package persistence

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"
)

// CampaignAttempts lists every attempt of a campaign, of all runs, with its
// legs, oldest first. It holds them all in memory: for campaigns of a few
// thousand contacts.
func (s *Store) CampaignAttempts(ctx context.Context, id engine.CampaignID) ([]attempt.Attempt, error) {
	return s.attempts(ctx, "WHERE a.campaign_id = $1 ORDER BY a.id", string(id))
}
