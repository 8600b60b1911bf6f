package table

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// A bulk change of a campaign's contacts is recorded by one event, whose moves are counted where
// the rows change. Its facts are those of contact.Facts, as JSON.

// factsOf returns a row's facts; the alias must have the columns of contacts.
func factsOf(alias, open string) string {
	return "jsonb_build_object('state', " + alias + ".state, 'used', " + alias + ".used, 'max', " + alias +
		".max, 'open', " + open +
		", 'connected', " + alias + ".connected_once, 'result', " + alias + ".has_result, 'unanswered', " + alias +
		".rang_unanswered" +
		", 'live', " + alias + ".attempt_id IS NOT NULL, 'awaits', " + Awaits(alias) + ", 'callback', " + alias +
		".callback, 'callback_superseded', " + Superseded(alias) + ", 'callbacks_cancelled', " + alias +
		".callbacks_cancelled, 'ends', " + alias + ".ends)"
}

// Superseded says that the callback being dialled has been replaced by a newer one.
func Superseded(alias string) string {
	return "(" + alias + ".calling_back AND " + alias + ".callback <> 'pending')"
}

// Awaits is the pass for which a contact is waiting, 0 when none.
func Awaits(alias string) string {
	return "CASE WHEN " + alias + ".due_pass = " + alias + ".used + 1 AND " + alias + ".attempt_id IS NULL AND " +
		alias +
		".state <> 'excluded' THEN " + alias + ".due_pass ELSE 0 END"
}

// Decided says that an attempt can no longer change whether it was answered (tally.Figures); every
// answer rate is computed over these.
func Decided(alias string) string {
	return "(" + alias + ".answered_at IS NOT NULL OR " + alias + ".consumed AND NOT " + alias + ".live)"
}

// kind lists the columns from which a contact's facts are derived: rows are grouped by them before
// anything else.
const kind = "state, used, max, connected_once, has_result, rang_unanswered, attempt_id, due_pass, callback, " +
	"calling_back, callbacks_cancelled, ends"

// sweep changes the contacts of a run at rest that where selects and returns the moves of the event
// that records it, and the contacts. A move contains what change does to state and callback, and the
// other facts that after sets. The rows are found by an array of keys: the planner cannot know how
// many rows a join would return, and would read the whole table for a part of it.
func sweep(where, change, after string) string {
	return `WITH found AS MATERIALIZED (
		SELECT id, ` + kind + ` FROM contacts c
		WHERE campaign_id = $1 AND run = $5::integer AND attempt_id IS NULL AND ` + whatOpen("c") + ` AND ` + where + `
			AND id <> ALL ($6::uuid[]) AND NOT EXISTS (SELECT FROM events e WHERE e.campaign_id = $1
			AND e.seq = $4::bigint AND e.at = $3)
		LIMIT nullif($7::integer, 0)
	), changed AS (
		UPDATE contacts c SET updated_at = $3, version = c.version + 1, ` + change + `
		WHERE c.id = ANY (ARRAY(SELECT id FROM found)) RETURNING c.id, c.state AS to_state, c.callback AS to_callback
	), kinds AS (
		SELECT ` + kind + `, to_state, to_callback, count(*) AS n FROM changed JOIN found USING (id)
		GROUP BY ` + kind + `, to_state, to_callback
	), moves AS (
		SELECT ` + factsOf("k", "true") + ` AS before, jsonb_build_object('state', k.to_state, 'callback',
		k.to_callback,
			'open', k.to_state IN ('pending', 'unanswered', 'connected')` + after + `) AS change, k.n FROM kinds k
	)
	SELECT (SELECT coalesce(jsonb_agg(jsonb_build_object('before', before, 'after', before || change, 'count', n)),
		'[]') FROM moves)::text, ARRAY(SELECT id FROM changed)`
}

// ReadSweep reads what a sweep returned, in binary form.
func ReadSweep(row [][]byte, ev *journal.Event) (contacts [][16]byte, err error) {
	if err = pgtype.NewMap().Scan(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, row[1], &contacts); err != nil {
		return nil, err
	}
	return contacts, json.Unmarshal(row[0], &ev.Data.Moves)
}

// CloseWaiting applies the end of a run, as the machine of a contact does, to the contacts that
// wait for a dial; the others have an actor or a pending result.
var CloseWaiting = sweep("due_at IS NOT NULL", `state = CASE WHEN `+owed+` THEN c.state ELSE $2 END, due_at = NULL,
	due_otherwise = NULL, reason = `+withoutCallBack+`,
	callback = CASE WHEN c.callback IN ('requested', 'pending') THEN 'cancelled'
		ELSE c.callback END, callback_extra = false`, "")

// Retune applies an edit of Max Attempts as the machine of a contact does.
var Retune = sweep("max <> $2::text::integer", `max = $2::text::integer,
	state = CASE WHEN NOT `+usedUp+` OR `+owed+` THEN c.state WHEN `+heard+` THEN 'completed' ELSE 'failed' END,
	reason = CASE WHEN NOT `+usedUp+` OR `+owed+` THEN reason WHEN `+heard+` THEN '' ELSE 'attempts_exhausted' END,
	due_at = CASE WHEN `+usedUp+` THEN NULL ELSE due_at END,
	due_otherwise = CASE WHEN `+usedUp+` THEN NULL ELSE due_otherwise END,
	callback = CASE WHEN `+usedUp+` AND c.callback = 'requested' THEN 'cancelled' ELSE c.callback END,
	callback_extra = c.callback = 'pending' AND c.used >= $2::text::integer`, ", 'max', $2::text::integer")

// usedUp means that the contact waits for an attempt that it no longer has; owed, that its attempt
// was a short conversation whose result is pending; heard, that it waits for an attempt that its
// result asked for.
const (
	owed   = "(c.result_due_at IS NOT NULL)"
	usedUp = "(c.due_at IS NOT NULL AND c.used >= $2::text::integer AND c.callback <> 'pending')"
	heard  = "(c.state = 'connected' AND c.has_result)"
)

// withoutCallBack is the reason of a contact that does not wait for a call back any more.
const withoutCallBack = "CASE WHEN c.reason = '" + contact.ReasonCallsBack + "' THEN '' ELSE c.reason END"

// whatOpen is contact.Open for a row.
func whatOpen(alias string) string { return alias + ".state IN ('pending', 'unanswered', 'connected')" }

// MovesOfReset are the contacts' states at the start of a run.
func MovesOfReset(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int) ([]journal.Move, error) {
	return moves(ctx, tx, "SELECT NULL::jsonb AS before, "+factsOf("k", whatOpen("k"))+` AS after, k.n FROM (
			SELECT `+kind+`, count(*) AS n FROM contacts WHERE campaign_id = $1 AND run = $2 GROUP BY `+kind+`) k`,
		string(id), run)
}

// MovesOfRestored are the contacts that are not as the run left them: those that were excluded since.
func MovesOfRestored(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int) ([]journal.Move, error) {
	return moves(ctx, tx, `SELECT `+factsOf("r", whatOpen("r"))+` AS before, `+factsOf("c",
		whatOpen("c"))+` AS after, count(*) AS n
		FROM contact_runs r JOIN contacts c ON c.id = r.id WHERE r.campaign_id = $1 AND r.run = $2 AND c.run = $2
			AND c.state = 'excluded' AND r.state <> 'excluded' GROUP BY 1, 2`, string(id), run)
}

func moves(ctx context.Context, tx pgx.Tx, of string, args ...any) (list []journal.Move, err error) {
	err = tx.QueryRow(ctx, `SELECT coalesce(jsonb_agg(jsonb_strip_nulls(
		jsonb_build_object('before', m.before, 'after', m.after, 'count', m.n))), '[]') FROM (`+of+") m",
		args...).Scan(&list)
	return list, err
}
