package persistence

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
)

// --- messages for machines -----------------------------------------------------

// voicemailsCap bounds how many messages are kept.
const voicemailsCap = 200

var errNoVoicemail = engine.NotFound("voicemail_not_found", "There is no such message.")

// Voicemails lists the messages that can be left on machines, newest first.
func (s *Store) Voicemails(ctx context.Context) ([]engine.Voicemail, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT id, name, length(audio), created_at, created_by FROM voicemails ORDER BY created_at DESC, id")
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v engine.Voicemail, err error) {
		var bytes int
		err = row.Scan(&v.ID, &v.Name, &bytes, &v.CreatedAt, &v.CreatedBy)
		v.Duration = time.Duration(bytes) * time.Second / 8000
		return v, err
	})
	return list, s.db.Wrap("messages for machines not read", err)
}

// VoicemailAudio gives a message as it is played, μ-law at 8 kHz; NotFound
// "voicemail_not_found".
func (s *Store) VoicemailAudio(ctx context.Context, id engine.VoicemailID) (audio []byte, err error) {
	err = s.db.Read.QueryRow(ctx, "SELECT audio FROM voicemails WHERE id = $1", string(id)).Scan(&audio)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNoVoicemail
	}
	return audio, s.db.Wrap("message for machines not read", err)
}

// AddVoicemail keeps a message; Conflict "too_many_voicemails".
func (s *Store) AddVoicemail(ctx context.Context, v engine.Voicemail, audio []byte, who engine.Who) error {
	return s.db.InTx(ctx, "message for machines not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO voicemails (id, name, audio, created_at, created_by)
			SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM voicemails) < $6`, string(v.ID), v.Name, audio, v.CreatedAt, v.CreatedBy, voicemailsCap)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return engine.Conflict("too_many_voicemails", "200 messages are kept already; delete one that no campaign uses.")
		}
		return s.db.Note(ctx, tx, journal.VoicemailAdded, string(v.ID), who)
	})
}

// DeleteVoicemail: NotFound "voicemail_not_found", Conflict "voicemail_in_use"
// while a campaign names it.
func (s *Store) DeleteVoicemail(ctx context.Context, id engine.VoicemailID, who engine.Who) error {
	return s.db.InTx(ctx, "message for machines not deleted", func(tx pgx.Tx) error {
		var used bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM campaigns WHERE settings->>'voicemail_id' = $1)", string(id)).Scan(&used); err != nil {
			return err
		}
		if used {
			return engine.Conflict("voicemail_in_use", "A campaign leaves this message; give it another one first.")
		}
		tag, err := tx.Exec(ctx, "DELETE FROM voicemails WHERE id = $1", string(id))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoVoicemail
		}
		return s.db.Note(ctx, tx, journal.VoicemailDeleted, string(id), who)
	})
}

// --- reviews -------------------------------------------------------------------

const (
	reviewColumns = `v.attempt_id, v.campaign_id, v.trunk, v.country, v.verdict, v.revised_from, v.confidence, v.amd_ms, v.answered_at,
		r.attempt_id IS NOT NULL AND r.deleted_at IS NULL, v.label, v.labelled_by, v.labelled_at`
	reviewsChosen = ` FROM amd_reviews v LEFT JOIN recordings r ON r.attempt_id = v.attempt_id
		WHERE ($1 = '' OR v.campaign_id = $1) AND ($2 = '' OR v.trunk = $2) AND ($3 = '' OR v.country = $3) AND ($4 = '' OR v.verdict = $4)
		AND ($5::boolean IS NULL OR (v.label <> '') = $5)`
)

func chosen(q *engine.AMDReviewQuery) []any {
	return []any{string(q.Campaign), string(q.Trunk), q.Country, string(q.Verdict), q.Labelled}
}

func scanReview(row pgx.CollectableRow) (v engine.AMDReview, err error) {
	var id [16]byte
	var ms int64
	err = row.Scan(&id, &v.Campaign, &v.Trunk, &v.Country, &v.Verdict, &v.RevisedFrom, &v.Confidence, &ms, &v.AnsweredAt, &v.Audio, &v.Label, &v.LabelledBy, &v.LabelledAt)
	v.Attempt, v.Took = engine.AttemptID(column.FormatID(id)), time.Duration(ms)*time.Millisecond
	return v, err
}

// AMDReviews gives one page of the verdicts that people are asked about, newest
// first, and how many there are.
func (s *Store) AMDReviews(ctx context.Context, q engine.AMDReviewQuery, page campaign.Page) (list []engine.AMDReview, total int, err error) {
	args := chosen(&q)
	if err = s.db.Read.QueryRow(ctx, "SELECT count(*)"+reviewsChosen, args...).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("reviews not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+reviewColumns+reviewsChosen+" ORDER BY v.answered_at DESC, v.attempt_id LIMIT $6 OFFSET $7", append(args, page.Size, pool.Offset(page))...)
	list, err = pgx.CollectRows(rows, scanReview)
	return list, total, s.db.Wrap("reviews not read", err)
}

var errNoReview = engine.NotFound("review_not_found", "Nobody is asked about this call.")

// AMDReview gives one; NotFound "review_not_found".
func (s *Store) AMDReview(ctx context.Context, id engine.AttemptID) (v engine.AMDReview, err error) {
	if !column.IsID(string(id)) {
		return v, errNoReview
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+reviewColumns+" FROM amd_reviews v LEFT JOIN recordings r ON r.attempt_id = v.attempt_id WHERE v.attempt_id = $1", string(id))
	v, err = pgx.CollectExactlyOneRow(rows, scanReview)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, errNoReview
	}
	return v, s.db.Wrap("review not read", err)
}

// LabelAMDReview keeps what a person says that a call was; "" takes it back.
func (s *Store) LabelAMDReview(ctx context.Context, id engine.AttemptID, label engine.Verdict, who engine.Who) error {
	if !column.IsID(string(id)) {
		return errNoReview
	}
	return s.db.InTx(ctx, "label not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE amd_reviews SET label = $2, labelled_by = CASE WHEN $2 = '' THEN '' ELSE $3 END,
			labelled_at = CASE WHEN $2 = '' THEN NULL ELSE now() END WHERE attempt_id = $1`, string(id), string(label), who.Name)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoReview
		}
		return s.db.Note(ctx, tx, journal.VerdictLabelled, string(id), who)
	})
}

// AMDConfusion counts the labelled verdicts by trunk, country and label.
func (s *Store) AMDConfusion(ctx context.Context, q engine.AMDReviewQuery) ([]engine.AMDConfusion, error) {
	yes := true
	q.Labelled = &yes
	rows, _ := s.db.Read.Query(ctx, "SELECT v.trunk, v.country, v.label, v.verdict, count(*)"+reviewsChosen+" GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", chosen(&q)...)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c engine.AMDConfusion, err error) {
		err = row.Scan(&c.Trunk, &c.Country, &c.Label, &c.Verdict, &c.Count)
		return c, err
	})
	return list, s.db.Wrap("labelled verdicts not counted", err)
}
