package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/pacing"
)

// SavePacing stores what a campaign's pacing has learnt; it ignores an earlier owner.
func (s *Store) SavePacing(ctx context.Context, id engine.CampaignID, epoch int64, state pacing.State,
	at time.Time) error {
	b, err := json.Marshal(state)
	if err != nil {
		return err
	}
	_, err = s.db.Write.Exec(ctx, `INSERT INTO pacing AS p (campaign_id, epoch, state, at) SELECT id, $2, $3, $4
		FROM campaigns WHERE id = $1
		ON CONFLICT (campaign_id) DO UPDATE SET epoch = excluded.epoch, state = excluded.state, at = excluded.at
		WHERE p.epoch <= excluded.epoch`, string(id), epoch, b, at)
	return s.db.Wrap("pacing not kept", err)
}

// Pacing returns the stored state; ok is false when there is none, or this program cannot read it.
func (s *Store) Pacing(ctx context.Context, id engine.CampaignID) (state pacing.State, ok bool, err error) {
	var b []byte
	err = s.db.Read.QueryRow(ctx, "SELECT state FROM pacing WHERE campaign_id = $1", string(id)).Scan(&b)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return state, false, nil
	case err != nil:
		return state, false, s.db.Wrap("pacing not read", err)
	}
	if json.Unmarshal(b, &state) != nil {
		return pacing.State{}, false, nil
	}
	return state, true, nil
}
