package recordings

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

const (
	reviewColumns = `v.attempt_id, v.campaign_id, v.trunk, v.country, v.verdict, v.revised_from, v.confidence, v.amd_ms,
		v.answered_at,
		r.attempt_id IS NOT NULL AND r.deleted_at IS NULL, v.label, v.labelled_by, v.labelled_at`
	reviewsChosen = ` FROM amd_reviews v LEFT JOIN recordings r ON r.attempt_id = v.attempt_id
		WHERE ($1 = '' OR v.campaign_id = $1) AND ($2 = '' OR v.trunk = $2) AND ($3 = '' OR v.country = $3) AND ($4 = ''
		OR v.verdict = $4)
		AND ($5::boolean IS NULL OR (v.label <> '') = $5)`
)

func chosen(q *engine.AMDReviewQuery) []any {
	return []any{string(q.Campaign), string(q.Trunk), q.Country, string(q.Verdict), q.Labelled}
}

func scanReview(row pgx.CollectableRow) (v engine.AMDReview, err error) {
	var id [16]byte
	var ms int64
	err = row.Scan(&id, &v.Campaign, &v.Trunk, &v.Country, &v.Verdict, &v.RevisedFrom, &v.Confidence, &ms,
		&v.AnsweredAt, &v.Audio, &v.Label, &v.LabelledBy, &v.LabelledAt)
	v.Attempt, v.Took = engine.AttemptID(column.FormatID(id)), time.Duration(ms)*time.Millisecond
	return v, err
}

// AMDReviews returns one page of the verdicts that await or have had a review, newest first, and
// the total.
func (s *Recordings) AMDReviews(ctx context.Context, q engine.AMDReviewQuery,
	page campaign.Page) (list []engine.AMDReview, total int, err error) {
	args := chosen(&q)
	if err = s.db.Read.QueryRow(ctx, "SELECT count(*)"+reviewsChosen, args...).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("reviews not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+reviewColumns+reviewsChosen+" "+
		"ORDER BY v.answered_at DESC, v.attempt_id LIMIT $6 OFFSET $7", append(args, page.Size, pool.Offset(page))...)
	list, err = pgx.CollectRows(rows, scanReview)
	return list, total, s.db.Wrap("reviews not read", err)
}

var errNoReview = engine.NotFound("review_not_found", "")

// AMDReview returns one review; NotFound "review_not_found".
func (s *Recordings) AMDReview(ctx context.Context, id engine.AttemptID) (v engine.AMDReview, err error) {
	if !column.IsID(string(id)) {
		return v, errNoReview
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+reviewColumns+" FROM amd_reviews v LEFT "+
		"JOIN recordings r ON r.attempt_id = v.attempt_id WHERE v.attempt_id = $1", string(id))
	v, err = pgx.CollectExactlyOneRow(rows, scanReview)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, errNoReview
	}
	return v, s.db.Wrap("review not read", err)
}

// LabelAMDReview stores a reviewer's label for a call; "" removes it.
func (s *Recordings) LabelAMDReview(ctx context.Context, id engine.AttemptID, label engine.Verdict,
	who engine.Who) error {
	if !column.IsID(string(id)) {
		return errNoReview
	}
	return s.db.InTx(ctx, "label not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE amd_reviews SET label = $2, labelled_by = CASE WHEN $2 = '' THEN ''
			ELSE $3 END,
			labelled_at = CASE WHEN $2 = '' THEN NULL ELSE now() END WHERE attempt_id = $1`, string(id), string(label),
			who.Name)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoReview
		}
		rows := s.db.Written()
		if err := rows.Add(ctx, tx, table.Owner{}, table.PartReview, "t.attempt_id = $1", string(id)); err != nil {
			return err
		}
		return s.db.NoteWritten(ctx, tx, rows, journal.VerdictLabelled, string(id), who)
	})
}

// AMDConfusion counts the labelled verdicts by trunk, country and label.
func (s *Recordings) AMDConfusion(ctx context.Context, q engine.AMDReviewQuery) ([]engine.AMDConfusion, error) {
	yes := true
	q.Labelled = &yes
	rows, _ := s.db.Read.Query(ctx, "SELECT v.trunk, v.country, v.label, v.verdict, count(*)"+reviewsChosen+" "+
		"GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", chosen(&q)...)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c engine.AMDConfusion, err error) {
		err = row.Scan(&c.Trunk, &c.Country, &c.Label, &c.Verdict, &c.Count)
		return c, err
	})
	return list, s.db.Wrap("labelled verdicts not counted", err)
}
