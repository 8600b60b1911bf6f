package settings

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/persistence/table"
)

// calendarsCap bounds how many calendars are stored: every run has them in memory.
const calendarsCap = 100

const calendarColumns = "id, name, hours, sets, url, holidays, read_at, tried_at, problem, version, created_at, " +
	"updated_at"

var errNoCalendar = engine.NotFound("calendar_not_found", "")

func scanCalendar(row pgx.CollectableRow) (c calendar.Named, err error) {
	var hours, days []byte
	var read, tried *time.Time
	if err = row.Scan(&c.ID, &c.Name, &hours, &c.Sets, &c.URL, &days, &read, &tried, &c.File.Problem, &c.Version,
		&c.CreatedAt, &c.UpdatedAt); err != nil {
		return c, err
	}
	if err = json.Unmarshal(hours, &c.Hours); err == nil {
		err = json.Unmarshal(days, &c.File.Holidays)
	}
	if err != nil {
		return c, errors.New("calendar " + string(c.ID) + ": " + err.Error())
	}
	if read != nil {
		c.File.ReadAt = *read
	}
	if tried != nil {
		c.File.TriedAt = *tried
	}
	c.Complete()
	return c, nil
}

// Calendars lists every calendar by name, without the texts of their files.
func (s *Configuration) Calendars(ctx context.Context) ([]calendar.Named, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+calendarColumns+" FROM calendars ORDER BY name, id")
	list, err := pgx.CollectRows(rows, scanCalendar)
	return list, s.db.Wrap("calendars not read", err)
}

// StaleCalendars are the names of the calendars whose files cannot be fetched again.
func (s *Configuration) StaleCalendars(ctx context.Context, now time.Time) ([]string, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT name FROM calendars WHERE problem <> '' AND (problem <> $1 OR tried_at < $2)
		ORDER BY name, id`, calendar.BeingFetched, now.Add(-calendar.FetchTakes))
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, s.db.Wrap("calendars not read", err)
}

// CalendarFile is the text of a calendar's file; NotFound "calendar_not_found".
func (s *Configuration) CalendarFile(ctx context.Context, id engine.CalendarID) (text string, err error) {
	err = s.db.Read.QueryRow(ctx, "SELECT file FROM calendars WHERE id = $1", string(id)).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", errNoCalendar
	}
	return text, s.db.Wrap("file of holidays not read", err)
}

// written are what people wrote of a calendar, and the days of its file, as JSON.
func written(c *calendar.Named) (hours, days []byte, err error) {
	of := c.Hours
	of.Holidays = nil
	if hours, err = json.Marshal(&of); err != nil {
		return nil, nil, err
	}
	days, err = json.Marshal(table.List(c.File.Holidays))
	return hours, days, err
}

// PutCalendar creates a calendar with Version 0, or replaces the one of that version; it returns it as
// stored. Without keepFile its file is stored too. Conflict "version_conflict", with the stored one, when
// it has another version; "too_many_calendars".
func (s *Configuration) PutCalendar(ctx context.Context, c calendar.Named, keepFile bool, at time.Time,
	who engine.Who) (stored calendar.Named, created bool, err error) {
	hours, days, err := written(&c)
	if err != nil {
		return stored, false, err
	}
	err = s.db.InTx(ctx, "calendar not stored", func(tx pgx.Tx) error {
		absent, err := table.Absent(ctx, tx, "calendars", "id", string(c.ID))
		if err != nil {
			return err
		}
		var rows pgx.Rows
		if created = c.Version == 0; created && absent {
			rows, _ = tx.Query(ctx, `INSERT INTO calendars (`+calendarColumns+`, file)
				SELECT $1, $2, $3, $4, $5, $6, $7, $8, '', 1, $9, $9, $10
				WHERE (SELECT count(*) FROM calendars) < $11 RETURNING `+calendarColumns,
				string(c.ID), c.Name, hours, table.List(c.Sets), c.URL, days, moment(c.File.ReadAt), moment(c.File.TriedAt), at,
				c.File.Text, calendarsCap)
		} else {
			rows, _ = tx.Query(ctx, `UPDATE calendars SET name = $2, hours = $3, sets = $4, url = $5,
					holidays = CASE WHEN $11 THEN holidays ELSE $6 END, read_at = CASE WHEN $11 THEN read_at ELSE $7 END,
					tried_at = CASE WHEN $11 THEN tried_at ELSE $8 END, problem = CASE WHEN $11 THEN problem ELSE '' END,
					file = CASE WHEN $11 THEN file ELSE $12 END, version = version + 1, updated_at = $9
				WHERE id = $1 AND version = $10 RETURNING `+calendarColumns,
				string(c.ID), c.Name, hours, table.List(c.Sets), c.URL, days, moment(c.File.ReadAt), moment(c.File.TriedAt), at,
				c.Version, keepFile, c.File.Text)
		}
		stored, err = pgx.CollectExactlyOneRow(rows, scanCalendar)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && created && absent:
			return engine.Conflict("too_many_calendars", "")
		case errors.Is(err, pgx.ErrNoRows) && absent:
			return errNoCalendar
		case errors.Is(err, pgx.ErrNoRows):
			rows, _ := tx.Query(ctx, "SELECT "+calendarColumns+" FROM calendars WHERE id = $1", string(c.ID))
			current, err := pgx.CollectExactlyOneRow(rows, scanCalendar)
			if err != nil {
				return err
			}
			conflict := engine.Conflict("version_conflict", "")
			conflict.Current = current
			return conflict
		case err != nil:
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartCalendar, string(c.ID), table.Verb("calendar", created), string(c.ID), who)
	})
	return stored, created, err
}

// ClaimCalendarFile gives one node a calendar whose file is due (calendar.Named.Due), with the text of
// its file; nobody else gets it until it is due again: in an hour if nothing is kept (KeepCalendarFile).
func (s *Configuration) ClaimCalendarFile(ctx context.Context, now time.Time) (c calendar.Named, ok bool, err error) {
	list, err := s.Calendars(ctx)
	if err != nil {
		return c, false, err
	}
	for i := range list {
		c := &list[i]
		if !c.Due(now) {
			continue
		}
		claimed := true
		err := s.db.InTx(ctx, "file of holidays not claimed", func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, `UPDATE calendars SET tried_at = $2, problem = CASE problem WHEN '' THEN $4 ELSE problem END
				WHERE id = $1 AND tried_at IS NOT DISTINCT FROM $3 RETURNING file`, string(c.ID), now, moment(c.File.TriedAt),
				calendar.BeingFetched).Scan(&c.File.Text)
			if errors.Is(err, pgx.ErrNoRows) { // another node has it, or it was edited
				claimed, err = false, nil
			}
			return err
		})
		if err == nil && !claimed {
			continue
		}
		return *c, err == nil, err
	}
	return c, false, nil
}

// KeepCalendarFile stores what became of a claimed file: the file as it is now, or the problem alone if
// there is one, so that the last good one stays. changed says that the calendar's days are others; the
// history has it then.
func (s *Configuration) KeepCalendarFile(ctx context.Context, c *calendar.Named, problem string,
	who engine.Who) (changed bool, err error) {
	_, days, err := written(c)
	if err != nil {
		return false, err
	}
	err = s.db.InTx(ctx, "file of holidays not stored", func(tx pgx.Tx) error {
		if problem != "" {
			_, err := tx.Exec(ctx, "UPDATE calendars SET problem = $2 WHERE id = $1 AND version = $3", string(c.ID), problem,
				c.Version)
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE calendars SET problem = '' WHERE id = $1 AND version = $2 AND problem <> ''",
			string(c.ID), c.Version); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE calendars SET file = $2, holidays = $3, read_at = $4
			WHERE id = $1 AND version = $5 AND (file <> $2 OR holidays <> $3)`,
			string(c.ID), c.File.Text, days, moment(c.File.ReadAt), c.Version)
		if changed = tag.RowsAffected() > 0; err != nil || !changed {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartCalendar, string(c.ID), "calendar.refreshed", string(c.ID), who)
	})
	return changed, err
}

// DeleteCalendar removes a calendar; NotFound "calendar_not_found", Conflict "calendar_in_use", which
// names the campaigns, while any uses it.
func (s *Configuration) DeleteCalendar(ctx context.Context, id engine.CalendarID, who engine.Who) error {
	return s.deleteUnused(ctx, table.PartCalendar, string(id), "settings->'calendar_ids' ? $1", errNoCalendar,
		engine.Conflict("calendar_in_use", ""), "calendar.deleted", who)
}

// moment is a time for the database, nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
