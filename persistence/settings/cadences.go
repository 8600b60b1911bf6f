package settings

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/journal"
	"dialler/persistence/table"
)

// cadencesCap bounds how many cadences are stored: every run has them in memory.
const cadencesCap = 200

const cadenceColumns = "id, name, rules, version, created_at, updated_at"

var errNoCadence = engine.NotFound("cadence_not_found", "")

func scanCadence(row pgx.CollectableRow) (c cadence.Named, err error) {
	var rules string
	if err = row.Scan(&c.ID, &c.Name, &rules, &c.Version, &c.CreatedAt, &c.UpdatedAt); err != nil {
		return c, err
	}
	var wrong *engine.FieldError
	if c.Cadence, wrong = cadence.Parse("rules", rules); wrong != nil {
		err = errors.New("cadence " + string(c.ID) + ": " + wrong.Message)
	}
	return c, err
}

// Cadences lists every cadence by name.
func (s *Configuration) Cadences(ctx context.Context) ([]cadence.Named, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+cadenceColumns+" FROM cadences ORDER BY name, id")
	list, err := pgx.CollectRows(rows, scanCadence)
	return list, s.db.Wrap("cadences not read", err)
}

// PutCadence creates a cadence with Version 0, or replaces the one of that version; it returns it as
// stored. Conflict "version_conflict", with the stored one, when it has another version; "too_many_cadences".
func (s *Configuration) PutCadence(ctx context.Context, c cadence.Named, at time.Time,
	who engine.Who) (stored cadence.Named, created bool, err error) {
	err = s.db.InTx(ctx, "cadence not stored", func(tx pgx.Tx) error {
		absent, err := table.Absent(ctx, tx, "cadences", "id", string(c.ID))
		if err != nil {
			return err
		}
		var rows pgx.Rows
		if created = c.Version == 0; created && absent {
			rows, _ = tx.Query(ctx, `INSERT INTO cadences (`+cadenceColumns+`)
				SELECT $1, $2, $3, 1, $4, $4 WHERE (SELECT count(*) FROM cadences) < $5 RETURNING `+cadenceColumns,
				string(c.ID), c.Name, c.String(), at, cadencesCap)
		} else {
			rows, _ = tx.Query(ctx, `UPDATE cadences SET name = $2, rules = $3, version = version + 1, updated_at = $4
				WHERE id = $1 AND version = $5 RETURNING `+cadenceColumns, string(c.ID), c.Name, c.String(), at, c.Version)
		}
		stored, err = pgx.CollectExactlyOneRow(rows, scanCadence)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && created && absent:
			return engine.Conflict("too_many_cadences", "")
		case errors.Is(err, pgx.ErrNoRows) && absent:
			return errNoCadence
		case errors.Is(err, pgx.ErrNoRows):
			rows, _ := tx.Query(ctx, "SELECT "+cadenceColumns+" FROM cadences WHERE id = $1", string(c.ID))
			current, err := pgx.CollectExactlyOneRow(rows, scanCadence)
			if err != nil {
				return err
			}
			conflict := engine.Conflict("version_conflict", "")
			conflict.Current = current
			return conflict
		case err != nil:
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartCadence, string(c.ID), table.Verb("cadence", created), string(c.ID), who)
	})
	return stored, created, err
}

// DeleteCadence removes a cadence; NotFound "cadence_not_found", Conflict "cadence_in_use", which
// names the campaigns, while any uses it.
func (s *Configuration) DeleteCadence(ctx context.Context, id engine.CadenceID, who engine.Who) error {
	return s.deleteUnused(ctx, table.PartCadence, string(id), "settings->>'cadence_id' = $1", errNoCadence,
		engine.Conflict("cadence_in_use", ""), "cadence.deleted", who)
}

// deleteUnused removes a thing that campaigns share: it is missing, or used where the condition holds for a
// campaign.
func (s *Configuration) deleteUnused(ctx context.Context, of *table.Part, id, usedWhere string, missing error,
	used *engine.Error, event journal.Type, who engine.Who) error {
	return s.db.InTx(ctx, strings.TrimSuffix(of.Name, "s")+" not deleted", func(tx pgx.Tx) error {
		gone, err := table.Absent(ctx, tx, of.Table, "id", id)
		if err != nil {
			return err
		}
		if gone {
			return missing
		}
		users, err := usedBy(ctx, tx, usedWhere, id)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			used.Fields = users
			return used
		}
		rows, err := s.db.Going(ctx, tx, of, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM "+of.Table+" WHERE id = $1", id); err != nil {
			return err
		}
		return s.db.NoteWritten(ctx, tx, rows, event, id, who)
	})
}
