package settings

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/table"
)

// voicemailsCap bounds how many messages are stored.
const voicemailsCap = 200

var errNoVoicemail = engine.NotFound("voicemail_not_found", "")

// Voicemails lists the messages that can be left on machines, newest first.
func (s *Configuration) Voicemails(ctx context.Context) ([]engine.Voicemail, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT id, name, length(audio), created_at, created_by FROM voicemails "+
		"ORDER BY created_at DESC, id")
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v engine.Voicemail, err error) {
		var bytes int
		err = row.Scan(&v.ID, &v.Name, &bytes, &v.CreatedAt, &v.CreatedBy)
		v.Duration = time.Duration(bytes) * time.Second / 8000
		return v, err
	})
	return list, s.db.Wrap("messages for machines not read", err)
}

// VoicemailAudio returns a message's audio, μ-law at 8 kHz; NotFound "voicemail_not_found".
func (s *Configuration) VoicemailAudio(ctx context.Context, id engine.VoicemailID) (audio []byte, err error) {
	err = s.db.Read.QueryRow(ctx, "SELECT audio FROM voicemails WHERE id = $1", string(id)).Scan(&audio)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNoVoicemail
	}
	return audio, s.db.Wrap("message for machines not read", err)
}

// AddVoicemail stores a message; Conflict "too_many_voicemails".
func (s *Configuration) AddVoicemail(ctx context.Context, v engine.Voicemail, audio []byte, who engine.Who) error {
	return s.db.InTx(ctx, "message for machines not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO voicemails (id, name, audio, created_at, created_by)
			SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM voicemails) < $6`, string(v.ID), v.Name, audio,
			v.CreatedAt, v.CreatedBy, voicemailsCap)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return engine.Conflict("too_many_voicemails", "200 messages are kept already; delete one that no "+
				"campaign uses.")
		}
		return s.db.NoteRow(ctx, tx, table.PartVoicemail, string(v.ID), journal.VoicemailAdded, string(v.ID), who)
	})
}

// DeleteVoicemail removes a message; NotFound "voicemail_not_found", Conflict "voicemail_in_use"
// while a campaign or a number uses it.
func (s *Configuration) DeleteVoicemail(ctx context.Context, id engine.VoicemailID, who engine.Who) error {
	return s.db.InTx(ctx, "message for machines not deleted", func(tx pgx.Tx) error {
		var used bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM campaigns WHERE $1 IN (settings->>'voicemail_id',
			settings->>'callback_message_id')) OR EXISTS (SELECT FROM numbers WHERE callback_message = $1)`,
			string(id)).Scan(&used); err != nil {
			return err
		}
		if used {
			return engine.Conflict("voicemail_in_use", "")
		}
		rows, err := s.db.Going(ctx, tx, table.PartVoicemail, string(id))
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, "DELETE FROM voicemails WHERE id = $1", string(id))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoVoicemail
		}
		return s.db.NoteWritten(ctx, tx, rows, journal.VoicemailDeleted, string(id), who)
	})
}
