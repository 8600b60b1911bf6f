package lists

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// CampaignAttempts lists every attempt of a campaign, of all runs, with its legs, oldest first. It
// loads all of them into memory: use it for campaigns of a few thousand contacts.
func (s *Lists) CampaignAttempts(ctx context.Context, id engine.CampaignID) ([]attempt.Attempt, error) {
	return s.db.Attempts(ctx, "WHERE a.campaign_id = $1 ORDER BY a.id", string(id))
}

// AttemptsPage returns a part of the Attempt Report: whole attempts in the order of their
// reservation, each with the variables of its contact. Each part is a separate query, so that a
// slow reader holds no connection or transaction; an attempt's position never changes, so none is
// missed or repeated. For the first part it returns ErrCampaignNotFound when there is no such
// campaign, and ErrCursorNotFound when the campaign does not have the attempt of the cursor.
func (s *Lists) AttemptsPage(ctx context.Context, q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
	after := q.After.ReservedAt
	id := string(q.After.ID)
	switch {
	case id == "":
		after, id = time.Unix(0, 0), firstID
	case after.IsZero():
		var err error
		if after, err = s.reservedAt(ctx, q); err != nil {
			return nil, err
		}
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+table.AttemptNames+`, v.variables FROM attempts a
		LEFT JOIN contact_variables v ON v.contact_id = a.contact_id
		WHERE a.campaign_id = $1 AND ($2 = 0 OR a.run = $2) AND a.reserved_at <= $3
		AND (a.reserved_at, a.id) > ($4, $5::uuid)
		ORDER BY a.reserved_at, a.id LIMIT $6`, string(q.Campaign), q.Run, q.Until, after, id, q.Limit)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r campaign.ReportedAttempt, err error) {
		err = row.Scan(append(table.AttemptTargets(&r.Attempt), &r.ContactVariables)...)
		return r, err
	})
	if err != nil {
		return nil, s.db.Wrap("attempts not read", err)
	}
	if len(list) == 0 && q.After.ReservedAt.IsZero() {
		_, err = s.db.Campaign(ctx, q.Campaign)
	}
	return list, err
}

// ErrCursorNotFound means that the attempt of a cursor no longer exists.
var ErrCursorNotFound = engine.NotFound("cursor_not_found", "")

// reservedAt is the position of an attempt in the report.
func (s *Lists) reservedAt(ctx context.Context, q campaign.AttemptsQuery) (at time.Time, err error) {
	if !column.IsID(string(q.After.ID)) {
		return at, ErrCursorNotFound
	}
	err = s.db.Read.QueryRow(ctx, "SELECT reserved_at FROM attempts WHERE id = $1 AND campaign_id = $2",
		string(q.After.ID), string(q.Campaign)).Scan(&at)
	if !errors.Is(err, pgx.ErrNoRows) {
		return at, s.db.Wrap("attempt not read", err)
	}
	if _, err := s.db.Campaign(ctx, q.Campaign); err != nil {
		return at, err
	}
	return at, ErrCursorNotFound
}

const firstID = "00000000000000000000000000000000"

// ReportVariables returns the names of the variables of the campaign's contacts in alphabetical
// order, at most limit.
func (s *Lists) ReportVariables(ctx context.Context, id engine.CampaignID, limit int) ([]string, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT DISTINCT k FROM contacts c
		JOIN contact_variables v ON v.contact_id = c.id, jsonb_object_keys(v.variables) k
		WHERE c.campaign_id = $1 ORDER BY k LIMIT $2`, string(id), limit)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return list, s.db.Wrap("variables not read", err)
}
