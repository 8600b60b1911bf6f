package contacts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence/history"
	"dialler/persistence/table"
)

// Between runs: the transition that package contact's machine makes for one contact (RunReset),
// made here for a whole campaign in one statement; a test compares the two.

var errRunMoved = engine.Conflict("run_moved", "")

// begins clears the facts of the previous run that counters count.
const begins = "callback = '', callback_of = NULL, callback_at = NULL, callback_extra = false, calling_back = false, " +
	"callbacks_cancelled = 0, ends = 0"

// leaveOut carries the contacts that were connected before into a run for the unreached, as final.
const leaveOut = `UPDATE contacts SET run = $2, due_pass = 0, due_at = NULL, due_otherwise = NULL, result_due_at = NULL,
	exclude_after_call = false,
		state = CASE WHEN state NOT IN ('pending', 'unanswered', 'connected') THEN state
			WHEN has_result THEN 'completed' ELSE 'failed' END,
		reason = CASE WHEN state NOT IN ('pending', 'unanswered', 'connected') THEN reason WHEN has_result THEN ''
			ELSE 'connected_no_result' END,
		` + begins + `,
		attempt_id = NULL, updated_at = $3, version = version + 1
	WHERE campaign_id = $1 AND run < $2 AND connected_once AND state <> 'excluded'
	AND NOT starts_with(number, '` + engine.ErasedPrefix + `')`

// outOfRuns covers excluded contacts and erased persons, who have no number and are never dialled;
// in the next run both count as excluded.
const outOfRuns = "(c.state = 'excluded' OR starts_with(c.number, '" + engine.ErasedPrefix + "'))"

// callsBack covers those whose call to us keeps them from being dialled.
const callsBack = "(c.calls_back_until > greatest($3::timestamptz, c.not_before))"

// stopped is the mark of a person who asked not to be called; choiceKept is what stays of a contact's choice
// among its numbers.
var (
	stopped    = strconv.Itoa(int(contact.ChoiceStopped))
	choiceKept = strconv.Itoa(int(contact.ChoiceKept))
)

// ResetContacts prepares the contacts for a run: 0 attempts, pending and due at now, except for the
// excluded and the erased, and with unreached also those that were connected before. Their state in
// the previous run is kept for RestoreContacts and for its counters. The campaign's row must be in
// the new run already. ev is a contacts.reset, which records the contacts' initial state. A
// repeated call changes nothing more.
func (s *Roster) ResetContacts(ctx context.Context, id engine.CampaignID, run int, unreached bool, now time.Time,
	ev journal.Event) error {
	return s.db.InTx(ctx, "contacts not prepared for the next run", func(tx pgx.Tx) error {
		if err := inRun(ctx, tx, id, run); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO contact_runs SELECT * FROM contacts WHERE campaign_id = $1 AND run < $2 "+
			"ON CONFLICT DO NOTHING",
			string(id), run)
		if err != nil {
			return err
		}
		if unreached {
			if _, err := tx.Exec(ctx, leaveOut, string(id), run, now); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `UPDATE contacts c SET run = $2, used = 0, unconsumed = 0,
				max = coalesce((k.settings->>'max_attempts')::integer, c.max),
				last_outcome = '', last_disposition = '', last_talk = 0, longest_talk = 0, tries = 0,
					choice = c.choice & `+choiceKept+`, connected_once = false,
					has_result = false, rang_unanswered = false,
				due_pass = 1, result_due_at = NULL, exclude_after_call = false, last_conversation = NULL, `+begins+`,
				reason = CASE WHEN c.state = 'excluded' THEN c.reason
					WHEN `+outOfRuns+` THEN '`+history.ErasedReason+`'
					WHEN `+callsBack+` THEN '`+contact.ReasonCallsBack+`' ELSE '' END,
				due_at = CASE WHEN `+outOfRuns+` THEN NULL
					ELSE greatest($3::timestamptz, c.not_before, c.calls_back_until) END,
				due_otherwise = CASE WHEN NOT `+outOfRuns+` AND `+callsBack+` THEN greatest($3::timestamptz, c.not_before) END,
				due_class = CASE WHEN `+outOfRuns+` THEN c.due_class ELSE 2 END,
				state = CASE WHEN `+outOfRuns+` THEN 'excluded' ELSE 'pending' END,
				attempt_id = NULL, updated_at = $3, version = c.version + 1
			FROM campaigns k WHERE k.id = $1 AND c.campaign_id = $1 AND c.run < $2`, string(id), run, now)
		if err != nil {
			return err
		}
		if ev.Data.Moves, err = table.MovesOfReset(ctx, tx, id, run); err != nil {
			return err
		}
		return s.tellRun(ctx, tx, s.db.Written(), id, run, ev)
	})
}

// tellRun writes the event of a change of all contacts of a run, with their rows.
func (s *Roster) tellRun(ctx context.Context, tx pgx.Tx, rows *table.Rows, id engine.CampaignID, run int,
	ev journal.Event) error {
	err := rows.Add(ctx, tx, table.Owner{Campaign: string(id), Run: run}, table.PartContact,
		"t.campaign_id = $1 AND t.run = $2", string(id), run)
	if err != nil {
		return err
	}
	return s.db.TellWritten(ctx, tx, rows, ev)
}

// inRun locks the campaign's row, which must be in the given run.
func inRun(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int) error {
	rows, _ := tx.Query(ctx, "SELECT run FROM campaigns WHERE id = $1 FOR NO KEY UPDATE", string(id))
	stored, err := pgx.CollectOneRow(rows, pgx.RowTo[int])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return table.ErrCampaignNotFound
	case err == nil && stored != run:
		return errRunMoved
	}
	return err
}

// RunOfContacts is the run that all of the campaign's contacts are in; 0 when there are none.
func (s *Roster) RunOfContacts(ctx context.Context, id engine.CampaignID) (run int, err error) {
	err = s.db.Read.QueryRow(ctx, "SELECT coalesce((SELECT run FROM contacts WHERE campaign_id = $1 "+
		"ORDER BY position LIMIT 1), 0)", string(id)).Scan(&run)
	return run, s.db.Wrap("run of the contacts not read", err)
}

// endOf is contact.EndOf for a row.
func endOf(alias string) string {
	s := "CASE " + alias + ".state"
	for _, state := range contact.States {
		if end := contact.EndOf(state); end != 0 {
			s += fmt.Sprintf(" WHEN '%s' THEN %d", state, end)
		}
	}
	return s + " ELSE 0 END"
}

// restored are the columns that go back to their values in the previous run; an exclusion made
// meanwhile stays, and so does what a person asked for.
var restored = func() string {
	var b strings.Builder
	since := func(column, value string) { // the value after a later exclusion
		b.WriteString(column + " = CASE WHEN c.state = 'excluded' AND r.state <> 'excluded' THEN " + value +
			" ELSE r." + column + " END, ")
	}
	for _, c := range table.ContactColumns {
		switch c.Name {
		case "id", "campaign_id", "number", "alternates", "position", "created_at", "version", "calls_back",
			"calls_back_until":
			continue
		case "choice":
			b.WriteString("choice = r.choice | (c.choice & " + choiceKept + "), ")
		case "state":
			b.WriteString("state = CASE WHEN c.state = 'excluded' THEN c.state ELSE r.state END, ")
		case "due_at", "due_otherwise", "result_due_at":
			since(c.Name, "NULL")
		case "callback":
			since(c.Name, "CASE WHEN r.callback IN ('requested', 'pending') THEN 'cancelled' ELSE r.callback END")
		case "callback_extra", "exclude_after_call":
			since(c.Name, "false")
		case "ends":
			since(c.Name, "r.ends | "+endOf("r"))
		case "reason":
			since(c.Name, "c.reason")
		default:
			b.WriteString(c.Name + " = r." + c.Name + ", ")
		}
	}
	return b.String() + "version = greatest(c.version, r.version) + 1"
}()

// RestoreContacts restores the contacts as they were in the given run, when the one prepared after
// it is cancelled. The campaign's row must be in the given run again. ev is a contacts.restored,
// which will record who was excluded meanwhile. A repeated call changes nothing more.
func (s *Roster) RestoreContacts(ctx context.Context, id engine.CampaignID, run int, ev journal.Event) error {
	return s.db.InTx(ctx, "contacts of the previous run not restored", func(tx pgx.Tx) error {
		if err := inRun(ctx, tx, id, run); err != nil {
			return err
		}
		rows := s.db.Written()
		err := rows.Remove(ctx, tx, table.Owner{Campaign: string(id), Run: run}, table.PartContact,
			"t.campaign_id = $1 AND t.run > $2", string(id), run)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE contacts c SET "+restored+` FROM contact_runs r
			WHERE r.campaign_id = $1 AND r.run = $2 AND c.id = r.id AND c.run > $2`, string(id), run)
		if err == nil {
			ev.Data.Moves, err = table.MovesOfRestored(ctx, tx, id, run)
		}
		if err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM contact_runs WHERE campaign_id = $1 AND run >= $2", string(id), run)
		}
		if err != nil {
			return err
		}
		return s.tellRun(ctx, tx, rows, id, run, ev)
	})
}
