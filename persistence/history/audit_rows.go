package history

import (
	"github.com/jackc/pgx/v5"

	"dialler/engine/journal"
)

// What events say of single rows is compared in the database, which returns only the differences.

// auditAttempts compares ended attempts with their attempt.ended. A result turns the outcome into
// completed. Runs whose calls or events were dropped have checkpoints.
const auditAttempts = `WITH dropped AS MATERIALIZED (
		SELECT run FROM run_checkpoints WHERE campaign_id = $1 AND (attempts_gone OR events_gone)
	), told AS (
		SELECT e.attempt_id, min(e.run) AS run, min(e.seq) AS seq, bool_or(e.type = 'attempt.reserved') AS reserved,
			bool_or(e.type = 'result.stored') AS result, (array_agg(e.data
				ORDER BY e.seq) FILTER (WHERE e.type = 'attempt.ended'))[1] AS d
		FROM events e WHERE e.campaign_id = $1 AND e.seq > 0 AND e.attempt_id IS NOT NULL
		AND e.type IN ('attempt.reserved', 'attempt.ended', 'result.stored')
			AND e.run NOT IN (SELECT run FROM dropped)
		GROUP BY e.attempt_id
	), kept AS ( -- both comparisons sort it: no column that they do not need
		SELECT id, run, live, result IS NOT NULL AS result, outcome, cause, consumed, answered_at, served_at, pass, number,
			trunk, sip_code, verdict, reserved_at, bot_connected_at, ended_at
		FROM attempts WHERE campaign_id = $1 AND run NOT IN (SELECT run FROM dropped)
	)
	SELECT coalesce(a.run, t.run), coalesce(t.seq, 0), replace(coalesce(a.id, t.attempt_id)::text, '-', ''), f.figure,
	coalesce(f.told, 'none'), coalesce(f.kept, 'none')
	FROM told t FULL JOIN kept a ON a.id = t.attempt_id CROSS JOIN LATERAL (VALUES
		('row', CASE WHEN t.attempt_id IS NULL THEN 'none' ELSE 'one' END, CASE WHEN a.id IS NULL THEN 'none'
			ELSE 'one' END),
		('run', t.run::text, CASE WHEN t.attempt_id IS NULL OR a.id IS NULL THEN t.run ELSE a.run END::text),
		('live', CASE WHEN t.attempt_id IS NULL OR a.id IS NULL THEN a.live ELSE t.d IS NULL END::text, a.live::text),
		('result', CASE WHEN t.attempt_id IS NULL OR a.id IS NULL THEN a.result
			ELSE t.result END::text, a.result::text)
	) f(figure, told, kept) WHERE f.told IS DISTINCT FROM f.kept
	UNION ALL
	SELECT a.run, t.seq, replace(a.id::text, '-', ''), f.figure, coalesce(f.told, 'none'), coalesce(f.kept, 'none')
	FROM told t JOIN kept a ON a.id = t.attempt_id AND t.d IS NOT NULL CROSS JOIN LATERAL (VALUES
		('outcome', CASE WHEN a.result AND a.outcome = 'completed' THEN a.outcome
			ELSE coalesce(t.d->>'outcome', '') END, a.outcome),
		('cause', coalesce(t.d->>'cause', ''), a.cause),
		('consumed', coalesce(t.d->>'consumed', 'false'), a.consumed::text),
		('answered_at', coalesce(t.d->>'answered', 'false'), (a.answered_at IS NOT NULL)::text),
		('served_at', coalesce(t.d->>'connected', 'false'), (a.served_at IS NOT NULL)::text),
		('pass', coalesce(t.d->>'pass', '0'), a.pass::text),
		('number', coalesce(t.d->>'number', '0'), a.number::text),
		('trunk', coalesce(t.d->>'trunk', ''), a.trunk),
		('sip_code', coalesce(t.d->>'sip_code', '0'), a.sip_code::text),
		('verdict', coalesce(t.d->>'verdict', ''), a.verdict),
		-- The event has it to the nanosecond.
		('reserved_at', CASE WHEN (t.d->>'reserved_at')::timestamptz - a.reserved_at BETWEEN interval '0'
			AND interval '1 microsecond'
			THEN a.reserved_at ELSE (t.d->>'reserved_at')::timestamptz END::text, a.reserved_at::text),
		('talk_ms', coalesce(t.d->>'talk_ms', '0'), CASE WHEN a.served_at IS NULL THEN 0
			ELSE coalesce(floor(extract(epoch FROM greatest(interval '0', a.ended_at - a.bot_connected_at)) * 1000),
			0) END::bigint::text)
	) f(figure, told, kept) WHERE f.told IS DISTINCT FROM f.kept
	LIMIT $2`

// auditContacts compares contacts with the state that their last event gave them. Contacts covered
// by a later bulk event are compared by the figures only.
var auditContacts = `WITH told AS (
		SELECT DISTINCT ON (e.contact_id) e.contact_id, e.run, e.seq, e.data->'after' AS after FROM events e
		WHERE e.campaign_id = $1 AND e.seq > 0 AND e.contact_id IS NOT NULL AND e.data ? 'after' AND NOT e.data ? 'kept'
			AND NOT EXISTS (SELECT FROM events d WHERE d.seq <= 0 AND d.type = 'campaign.deleted' AND d.data->>'reason' = $1)
		ORDER BY e.contact_id, e.seq DESC
	), swept AS (
		SELECT coalesce(max(seq), 0) AS seq FROM events WHERE campaign_id = $1 AND seq > 0 AND type = ANY ($3)
	)
	SELECT t.run, t.seq, replace(t.contact_id::text, '-', ''), f.figure, coalesce(f.told, 'none'), coalesce(f.kept,
	'none')
	FROM told t JOIN swept s ON t.seq > s.seq LEFT JOIN contacts c ON c.id = t.contact_id AND c.campaign_id = $1
	CROSS JOIN LATERAL (VALUES
		('row', 'one', CASE WHEN c.id IS NULL THEN 'none' ELSE 'one' END),
		('run', t.run::text, CASE WHEN c.id IS NULL THEN t.run ELSE c.run END::text)
	) f(figure, told, kept) WHERE f.told IS DISTINCT FROM f.kept
	UNION ALL
	SELECT t.run, t.seq, replace(t.contact_id::text, '-', ''), f.figure, coalesce(f.told, 'none'), coalesce(f.kept,
	'none')
	FROM told t JOIN swept s ON t.seq > s.seq JOIN contacts c ON c.id = t.contact_id AND c.campaign_id = $1
	AND c.run = t.run CROSS JOIN LATERAL (VALUES
		('state', t.after->>'state', c.state),
		('used', coalesce(t.after->>'used', '0'), c.used::text),
		('max', coalesce(t.after->>'max', '0'), c.max::text),
		('connected_once', coalesce(t.after->>'connected', 'false'), c.connected_once::text),
		('has_result', coalesce(t.after->>'result', 'false'), c.has_result::text),
		('rang_unanswered', coalesce(t.after->>'unanswered', 'false'), c.rang_unanswered::text),
		('attempt_id', coalesce(t.after->>'live', 'false'), (c.attempt_id IS NOT NULL)::text),
		('callback', coalesce(t.after->>'callback', ''), c.callback),
		('callbacks_cancelled', coalesce(t.after->>'callbacks_cancelled', '0'), c.callbacks_cancelled::text),
		('ends', coalesce(t.after->>'ends', '0'), c.ends::text)
	) f(figure, told, kept) WHERE f.told IS DISTINCT FROM f.kept
	LIMIT $2`

// attempts compares attempts one by one.
func (a *auditor) attempts() error {
	a.tell("calls, and what events say of them")
	return a.told(auditAttempts, Finding{Table: "attempts"}, func(f *Finding) any { return &f.Attempt },
		string(a.id), findingsCap)
}

// contacts compares contacts one by one.
func (a *auditor) contacts() error {
	return a.told(auditContacts, Finding{Table: "contacts"}, func(f *Finding) any { return &f.Contact },
		string(a.id), findingsCap, []journal.Type{journal.ContactsClosed, journal.ContactsRetuned, journal.ContactsReset,
			journal.ContactsRestored})
}

// sorting is memory of the server for the comparison of events with rows: it would sort gigabytes in the
// few megabytes of a common query.
const sorting = "SET LOCAL work_mem = '64MB'"

func (a *auditor) told(sql string, f Finding, of func(*Finding) any, args ...any) error {
	if a.apart {
		if _, err := a.tx.Exec(a.ctx, sorting); err != nil {
			return err
		}
	}
	var figure, told, kept string
	rows, _ := a.tx.Query(a.ctx, sql, args...)
	_, err := pgx.ForEachRow(rows, []any{&f.Run, &f.Seq, of(&f), &figure, &told, &kept}, func() error {
		f.What = figure + ": events " + told + ", tables " + kept
		a.found(f)
		return nil
	})
	return err
}
