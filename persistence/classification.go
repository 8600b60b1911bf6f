package persistence

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/number"
)

// --- messages for machines -----------------------------------------------------

// voicemailsCap bounds how many messages are kept.
const voicemailsCap = 200

var errNoVoicemail = engine.NotFound("voicemail_not_found", "There is no such message.")

// Voicemails lists the messages that can be left on machines, newest first.
func (s *Store) Voicemails(ctx context.Context) ([]engine.Voicemail, error) {
	rows, _ := s.read.Query(ctx, "SELECT id, name, length(audio), created_at, created_by FROM voicemails ORDER BY created_at DESC, id")
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v engine.Voicemail, err error) {
		var bytes int
		err = row.Scan(&v.ID, &v.Name, &bytes, &v.CreatedAt, &v.CreatedBy)
		v.Duration = time.Duration(bytes) * time.Second / 8000
		return v, err
	})
	return list, s.wrap("messages for machines not read", err)
}

// VoicemailAudio gives a message as it is played, μ-law at 8 kHz; NotFound
// "voicemail_not_found".
func (s *Store) VoicemailAudio(ctx context.Context, id engine.VoicemailID) (audio []byte, err error) {
	err = s.read.QueryRow(ctx, "SELECT audio FROM voicemails WHERE id = $1", string(id)).Scan(&audio)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNoVoicemail
	}
	return audio, s.wrap("message for machines not read", err)
}

// AddVoicemail keeps a message; Conflict "too_many_voicemails".
func (s *Store) AddVoicemail(ctx context.Context, v engine.Voicemail, audio []byte, who engine.Who) error {
	return s.inTx(ctx, "message for machines not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO voicemails (id, name, audio, created_at, created_by)
			SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM voicemails) < $6`, string(v.ID), v.Name, audio, v.CreatedAt, v.CreatedBy, voicemailsCap)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return engine.Conflict("too_many_voicemails", "200 messages are kept already; delete one that no campaign uses.")
		}
		return s.note(ctx, tx, journal.VoicemailAdded, string(v.ID), who)
	})
}

// DeleteVoicemail: NotFound "voicemail_not_found", Conflict "voicemail_in_use"
// while a campaign names it.
func (s *Store) DeleteVoicemail(ctx context.Context, id engine.VoicemailID, who engine.Who) error {
	return s.inTx(ctx, "message for machines not deleted", func(tx pgx.Tx) error {
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
		return s.note(ctx, tx, journal.VoicemailDeleted, string(id), who)
	})
}

// --- reviews -------------------------------------------------------------------

// queueReviews puts a sample of the verdicts on recorded calls that ended before
// people.
func (t *commit) queueReviews() {
	ids, dice, campaigns := t.arrayOf(0, pgtype.UUIDOID), t.arrayOf(1, pgtype.Int8OID), t.texts(2)
	trunks, countries, verdicts, before := t.texts(3), t.texts(4), t.texts(5), t.texts(6)
	confidence, took, answered := t.arrayOf(7, pgtype.Int8OID), t.arrayOf(8, pgtype.Int8OID), t.arrayOf(9, pgtype.TimestamptzOID)
	n := 0
	for _, a := range t.g.rows.attempts {
		if !reviewable(a) {
			continue
		}
		n++
		ids.id(string(a.ID))
		dice.int8(int64(engine.AMDDice(a.ID)))
		campaigns.text(string(a.Campaign))
		trunks.text(string(a.Trunk))
		countries.text(number.Region(a.To))
		verdicts.text(string(a.Verdict))
		before.text(string(a.RevisedFrom))
		confidence.int8(int64(a.Confidence * 1e6))
		took.int8(a.AMDTook.Milliseconds())
		answered.instant(*a.AnsweredAt)
	}
	if n > 0 {
		t.queue("reviews", [][]byte{ids.param(), dice.param(), campaigns.param(), trunks.param(), countries.param(), verdicts.param(), before.param(),
			confidence.param(), took.param(), answered.param()}, nothing)
	}
}

func reviewable(a *attempt.Attempt) bool {
	return !a.Live() && a.Campaign != "" && a.Verdict != "" && a.AnsweredAt != nil && a.Quality != nil && a.Quality.Recording != nil
}

const insertReviews = `INSERT INTO amd_reviews (attempt_id, campaign_id, trunk, country, verdict, revised_from, confidence, amd_ms, answered_at)
	SELECT u.id, u.campaign, u.trunk, u.country, u.verdict, u.before, u.confidence / 1e6, u.took, u.answered
	FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::timestamptz[])
		AS u(id, dice, campaign, trunk, country, verdict, before, confidence, took, answered)
	JOIN campaigns c ON c.id = u.campaign AND u.dice < coalesce((c.settings->>'amd_review_ppm')::bigint, 0)
	ON CONFLICT (attempt_id) DO NOTHING`

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
	v.Attempt, v.Took = engine.AttemptID(formatID(id)), time.Duration(ms)*time.Millisecond
	return v, err
}

// AMDReviews gives one page of the verdicts that people are asked about, newest
// first, and how many there are.
func (s *Store) AMDReviews(ctx context.Context, q engine.AMDReviewQuery, page campaign.Page) (list []engine.AMDReview, total int, err error) {
	args := chosen(&q)
	if err = s.read.QueryRow(ctx, "SELECT count(*)"+reviewsChosen, args...).Scan(&total); err != nil {
		return nil, 0, s.wrap("reviews not counted", err)
	}
	rows, _ := s.read.Query(ctx, "SELECT "+reviewColumns+reviewsChosen+" ORDER BY v.answered_at DESC, v.attempt_id LIMIT $6 OFFSET $7", append(args, page.Size, offset(page))...)
	list, err = pgx.CollectRows(rows, scanReview)
	return list, total, s.wrap("reviews not read", err)
}

var errNoReview = engine.NotFound("review_not_found", "Nobody is asked about this call.")

// AMDReview gives one; NotFound "review_not_found".
func (s *Store) AMDReview(ctx context.Context, id engine.AttemptID) (v engine.AMDReview, err error) {
	if !isID(string(id)) {
		return v, errNoReview
	}
	rows, _ := s.read.Query(ctx, "SELECT "+reviewColumns+" FROM amd_reviews v LEFT JOIN recordings r ON r.attempt_id = v.attempt_id WHERE v.attempt_id = $1", string(id))
	v, err = pgx.CollectExactlyOneRow(rows, scanReview)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, errNoReview
	}
	return v, s.wrap("review not read", err)
}

// LabelAMDReview keeps what a person says that a call was; "" takes it back.
func (s *Store) LabelAMDReview(ctx context.Context, id engine.AttemptID, label engine.Verdict, who engine.Who) error {
	if !isID(string(id)) {
		return errNoReview
	}
	return s.inTx(ctx, "label not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE amd_reviews SET label = $2, labelled_by = CASE WHEN $2 = '' THEN '' ELSE $3 END,
			labelled_at = CASE WHEN $2 = '' THEN NULL ELSE now() END WHERE attempt_id = $1`, string(id), string(label), who.Name)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoReview
		}
		return s.note(ctx, tx, journal.VerdictLabelled, string(id), who)
	})
}

// AMDConfusion counts the labelled verdicts by trunk, country and label.
func (s *Store) AMDConfusion(ctx context.Context, q engine.AMDReviewQuery) ([]engine.AMDConfusion, error) {
	yes := true
	q.Labelled = &yes
	rows, _ := s.read.Query(ctx, "SELECT v.trunk, v.country, v.label, v.verdict, count(*)"+reviewsChosen+" GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", chosen(&q)...)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c engine.AMDConfusion, err error) {
		err = row.Scan(&c.Trunk, &c.Country, &c.Label, &c.Verdict, &c.Count)
		return c, err
	})
	return list, s.wrap("labelled verdicts not counted", err)
}
