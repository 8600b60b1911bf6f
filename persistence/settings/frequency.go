package settings

import (
	"context"
	"encoding/json"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"

	"github.com/jackc/pgx/v5"
)

// NoteCallFrequency records in the history that the rules on how often a number may be called are
// others than those that it says last ("none" at first), and says whether they were.
func (s *Configuration) NoteCallFrequency(ctx context.Context, rules string, who engine.Who) (changed bool, err error) {
	err = s.db.InTx(ctx, "rules on calls not noted", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('call_frequency'))"); err != nil {
			return err
		}
		var last string
		if err := tx.QueryRow(ctx, `SELECT coalesce((SELECT data->'changes'->0->>'to' FROM events
			WHERE campaign_id = '' AND activity AND type = $1 ORDER BY at DESC LIMIT 1), 'none')`,
			string(journal.CallFrequencyChanged)).Scan(&last); err != nil {
			return err
		}
		if changed = last != rules; !changed {
			return nil
		}
		from, _ := json.Marshal(last) // strings
		to, _ := json.Marshal(rules)
		return s.db.Tell(ctx, tx, journal.Event{At: time.Now(), Type: journal.CallFrequencyChanged, Version: 1,
			Data: journal.Data{Who: &who, Changes: []campaign.Change{{Field: "call_frequency", From: from, To: to}}}})
	})
	return changed, err
}
