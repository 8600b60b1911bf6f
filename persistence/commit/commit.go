// Package commit is the hot path: groups of writes of many calls, each made durable in one
// transaction.
//
// # How Commit works
//
// Two round trips. The first asks everything on which the database may refuse a write (epochs,
// suppression, holds, replies) and which contacts' variables changed. If it refuses one, the
// transaction is rolled back and begins again without that write. The second sends the rows and
// COMMIT: one statement per table, with all rows in one array of the table's row type. All
// statements are prepared, rows are encoded straight from the structs, and locks that groups may
// share are taken in one order. A write that the server can never accept (a broken constraint)
// makes its group commit one by one, so that only it is refused.
//
// Contacts are updated several times per call and are therefore narrow; their variables are in a
// table of their own and are sent only when their hash changed. No index of attempts covers a
// column that changes while the call is live, so that updates stay on their page (HOT).
//
// Measured (BenchmarkCalls: PostgreSQL 15, the five writes and five events of an answered call, one
// writer, shared 2-core machine): server 0.27 ms of CPU per call with groups of 10 writes, 0.17 ms
// with 50 and more; client 0.12 and 0.06 ms. A commit of a single write costs the server about 0.25
// ms.
package commit

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/failure"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// The statements of a group commit, prepared on every connection used for it.
var statements = map[string]string{
	"begin":    "BEGIN",
	"commit":   "COMMIT",
	"rollback": "ROLLBACK",

	// Taking ownership of a campaign locks the row FOR UPDATE: it waits for the commits in flight,
	// and later ones see the new epoch. KEY SHARE does not block other commits of the campaign, or
	// updates of its row.
	"epochs": "SELECT id, epoch FROM campaigns WHERE id = ANY($1::text[]) FOR KEY SHARE",
	// The nodes whose dialouts another node has taken over, or that are gone without a successor.
	"dialouts": `SELECT n.incarnation FROM nodes n LEFT JOIN owners w ON w.kind = 'dialouts' AND
		w.identity = n.incarnation::text
		WHERE n.incarnation = ANY($1::integer[]) AND (w.incarnation IS NOT NULL OR n.left_at IS NOT NULL)
		AND w.incarnation IS DISTINCT FROM ($2::integer[])[1]`,
	"ends":       "SELECT id, ended_at FROM attempts WHERE id = ANY($1::uuid[]) AND NOT live",
	"suppressed": "SELECT number, until FROM suppressions WHERE number = ANY($1::text[])",
	// The first contact at or after each position in the index by number: with an equality a plan
	// made while the table was nearly empty could read a whole campaign.
	"known": `SELECT u.id FROM unnest($1::text[], $2::text[], $3::uuid[]) AS u(campaign_id, number, id)
		CROSS JOIN LATERAL (
			SELECT id, campaign_id, number FROM contacts WHERE (campaign_id, number) >= (u.campaign_id, u.number)
			ORDER BY campaign_id, number LIMIT 1
		) c WHERE c.campaign_id = u.campaign_id AND c.number = u.number AND c.id <> u.id
		UNION ALL SELECT u.id FROM unnest($1::text[], $2::text[], $3::uuid[]) AS u(campaign_id, number, id)
		CROSS JOIN LATERAL (
			SELECT contact_id, campaign_id, number FROM contact_numbers
			WHERE (campaign_id, number) >= (u.campaign_id, u.number)
			ORDER BY campaign_id, number LIMIT 1
		) c WHERE c.campaign_id = u.campaign_id AND c.number = u.number AND c.contact_id <> u.id`,
	// An attempt that is stored as ended is a repeat of an old write: it takes no hold and is not
	// refused.
	"holds": `WITH done AS (
			SELECT id FROM attempts WHERE id = ANY($2::uuid[]) AND NOT live
		), held AS (
			INSERT INTO number_holds AS h (number, attempt_id, bound)
			SELECT u.number, u.attempt, now() + u."left" * interval '1 microsecond'
			FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS u(number, attempt, "left")
			WHERE NOT EXISTS (SELECT FROM done WHERE done.id = u.attempt)
			ORDER BY u.number
			ON CONFLICT (number) DO UPDATE SET attempt_id = excluded.attempt_id, hold_until = NULL,
			bound = CASE WHEN h.attempt_id = excluded.attempt_id THEN greatest(h.bound, excluded.bound)
				ELSE excluded.bound END
			WHERE h.attempt_id = excluded.attempt_id OR h.hold_until <= now()
			RETURNING attempt_id
		) SELECT attempt_id FROM held UNION ALL SELECT id FROM done`,
	// Dialouts of one key are counted one after another: each sees the earlier ones, whichever node
	// writes them.
	"keylock": "SELECT id FROM api_keys WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE",
	// What is stored already is a repeat, and not refused for a limit or its time.
	"stored": "SELECT id FROM attempts WHERE id = ANY($1::uuid[])",
	// How many dialouts each key has placed, and the start of the one whose period has to end before there is
	// room again.
	"keycalls": `SELECT u.key, count(*), min(a.reserved_at) FILTER (WHERE a.n <= u.cap)
		FROM unnest($1::text[], $2::integer[], $3::timestamptz[]) AS u(key, cap, since)
		CROSS JOIN LATERAL (
			SELECT reserved_at, row_number() OVER (ORDER BY reserved_at DESC) AS n FROM attempts
			WHERE key_id = u.key AND key_id <> '' AND reserved_at > u.since AND (consumed OR live)
		) a GROUP BY u.key`,
	// What makes a limit on calls to a number full. An attempt that is stored already is a repeat and
	// not refused. A call that began a day before the period may have ended in it.
	"capped": `SELECT u.attempt, u.n, a.at FROM unnest($1::text[], $2::uuid[], $3::integer[], $4::text[], $5::integer[],
			$6::timestamptz[]) AS u(number, attempt, n, what, most, since)
		CROSS JOIN LATERAL (
			SELECT at, row_number() OVER (ORDER BY at DESC) AS n FROM (
				SELECT CASE u.what
					WHEN 'attempts' THEN CASE WHEN consumed OR live THEN reserved_at END
					WHEN 'conversations' THEN CASE WHEN served_at IS NOT NULL THEN ended_at END
					WHEN 'abandons' THEN CASE WHEN outcome = 'abandoned' THEN ended_at END END AS at
				FROM attempts WHERE to_number = u.number AND NOT inbound AND reserved_at > u.since - interval '1 day') t
			WHERE at > u.since
		) a
		WHERE a.n = u.most AND NOT EXISTS (SELECT FROM attempts WHERE id = u.attempt)`,
	// Dialouts are scheduled one transaction after another, so that no more wait than may.
	"schedulelock": "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.scheduled_dialouts', 0))",
	"scheduled":    "SELECT count(*) FROM scheduled_dialouts",
	"scheduled again": `SELECT id FROM scheduled_dialouts WHERE id = ANY($1::uuid[])
		UNION ALL SELECT id FROM attempts WHERE id = ANY($1::uuid[])`,
	"schedule": `INSERT INTO scheduled_dialouts (id, bot_id, to_number, command, not_before, expires_at, precedence,
		created_at, next_at, reason)
		SELECT u.* FROM unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::timestamptz[], $6::timestamptz[],
			$7::integer[], $8::timestamptz[], $9::timestamptz[], $10::text[]) AS u(id)
		WHERE NOT EXISTS (SELECT FROM attempts a WHERE a.id = u.id) ORDER BY u.id ON CONFLICT (id) DO NOTHING`,
	// A dialout that waits goes; of one that has an attempt only the write that made it, or a later one of
	// the same dial, is accepted (it comes again).
	"unscheduled": `WITH asked AS (
			SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[])
				AS u(id, reserved_at, send_by, ended_at, incarnation)
		), gone AS (
			DELETE FROM scheduled_dialouts s WHERE s.id IN (
				SELECT w.id FROM scheduled_dialouts w JOIN asked u ON u.id = w.id
				WHERE NOT EXISTS (SELECT FROM attempts a WHERE a.id = w.id) ORDER BY w.id FOR UPDATE OF w)
			RETURNING s.id
		) SELECT id FROM gone UNION ALL SELECT a.id FROM asked u JOIN attempts a ON a.id = u.id
			AND a.reserved_at = u.reserved_at AND a.send_by = u.send_by AND a.incarnation = u.incarnation
			AND (u.ended_at IS NULL OR a.ended_at IS NULL OR a.ended_at = u.ended_at)`,
	"replies": KeepReplies,
	"stalevars": `SELECT u.id FROM unnest($1::uuid[], $2::bigint[]) AS u(id, hash)
		LEFT JOIN contact_variables v ON v.contact_id = u.id WHERE v.hash IS DISTINCT FROM u.hash`,

	"contacts": column.UpsertInto("contacts", table.ContactColumns, "id", "excluded.version > t.version"),
	// Contacts as an earlier run left them. A contact that is no longer kept, because that run is
	// current again, does not come back.
	"kept": column.UpdateInto("contact_runs", "contacts", table.ContactColumns,
		"t.campaign_id = u.campaign_id AND t.run = u.run AND t.id = u.id AND u.version > t.version"),
	// After the contacts: only the stored version brings its variables, and an erased person gets
	// none back.
	"variables": `INSERT INTO contact_variables AS t (contact_id, hash, variables)
		SELECT u.id, u.hash, u.variables FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::jsonb[])
		AS u(id, version, hash, variables)
		JOIN contacts c ON c.id = u.id AND c.version = u.version
		AND NOT starts_with(c.number, '` + engine.ErasedPrefix + `')
		ON CONFLICT (contact_id) DO UPDATE SET hash = excluded.hash, variables = excluded.variables`,
	"attempts": column.UpsertInto("attempts", table.AttemptColumns, "id", table.AttemptNewer),
	"recordings": `INSERT INTO recordings (attempt_id, campaign_id, place, started_at)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) ON CONFLICT (attempt_id)
		DO NOTHING`,
	"reviews":      insertReviews,
	"legs":         column.UpsertInto("legs", table.LegColumns, "attempt_id, n", table.LegNewer),
	"told events":  table.InsertEvents,
	"fresh events": table.FreshEvents,
	"append batch": table.AppendBatch,
	"campaigns":    column.UpsertInto("campaigns", table.CampaignColumns, "id", "excluded.seq >= t.seq"),
	"released": `DELETE FROM number_holds h USING unnest($1::text[], $2::uuid[]) AS u(number, attempt)
		WHERE h.number = u.number AND h.attempt_id = u.attempt`,
	// Uses the server's clock, which decides when the hold ends: the program's may differ. The
	// bound of an intent written by the previous release belongs to an earlier call, or is missing:
	// then the bound given by the node that lost the call counts. The same holds for a missing
	// hold, on a server that lost its latest commits. The end of the session (null: not known)
	// limits all of them.
	"lost": `INSERT INTO number_holds AS h (number, attempt_id, hold_until, bound)
		SELECT u.number, u.attempt, least(now() + u.session * interval '1 microsecond', greatest(
			now() + u."left" * interval '1 microsecond',
			(SELECT b.bound FROM number_holds b WHERE u.owed AND b.number = u.number AND b.attempt_id = u.attempt))),
			CASE WHEN u.owed THEN now() + u."left" * interval '1 microsecond' END
		FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::boolean[], $5::bigint[])
			AS u(number, attempt, "left", owed, session)
		ORDER BY u.number
		ON CONFLICT (number) DO UPDATE SET attempt_id = excluded.attempt_id, hold_until = excluded.hold_until,
			bound = CASE WHEN h.attempt_id = excluded.attempt_id THEN coalesce(h.bound, excluded.bound)
				ELSE excluded.bound END
		WHERE h.attempt_id = excluded.attempt_id OR h.hold_until <= now()`,
	"exclusions": `INSERT INTO exclusions AS t (campaign_id, number, match, reason, lifted, created_at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::jsonb[], $4::text[], $5::boolean[], $6::timestamptz[])
		ON CONFLICT (campaign_id, number, match) DO UPDATE SET reason = excluded.reason, lifted = excluded.lifted,
		created_at = excluded.created_at
		WHERE excluded.created_at >= t.created_at`,
	"suppressions": `INSERT INTO suppressions (number, reason, created_at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[]) ON CONFLICT (number) DO NOTHING`,
	"statuses": `INSERT INTO webhook_callbacks AS t (subject, webhook_id, url, types, created_at)
		SELECT u.subject, u.webhook, u.url, string_to_array(u.types, ','), u.at
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
			AS u(subject, webhook, url, types, at)
		ON CONFLICT (subject) DO UPDATE SET webhook_id = excluded.webhook_id, url = excluded.url, types = excluded.types,
		created_at = excluded.created_at
		WHERE excluded.created_at >= t.created_at`,
	"mentioned": table.Mention,

	"bulk":   table.CloseWaiting,
	"retune": table.Retune,
}

// Writer makes groups of writes durable.
type Writer struct {
	db     *table.DB
	groups sync.Pool // of *group
	marks  marks
	renewals
	// Replies to any request with an Idempotency-Key.
	replies pool.Together[replyKey, journal.Reply]
}

// NewWriter returns a Writer for a database whose connections prepareCommit has prepared.
func NewWriter(db *table.DB) *Writer {
	w := &Writer{db: db, groups: sync.Pool{New: func() any { return newGroup() }}}
	db.Forget = w.marks.forget
	w.replies.Ask = w.repliesOf
	return w
}

func Prepare(ctx context.Context, c *pgx.Conn) error {
	for name, sql := range statements {
		if _, err := c.PgConn().Prepare(ctx, name, sql, nil); err != nil {
			return failure.New("schema_mismatch", "the database's schema does not match this program: statement "+name,
				err)
		}
	}
	return nil
}

// commitTries bounds how often one group is tried when the server picks it as a deadlock victim.
const commitTries = 4

// Commit makes a group of writes durable in one transaction and says of each whether it was
// accepted (nil) or refused by the database (one of journal's errors). A refused write is dropped
// as a whole; the others are not affected. When err is not nil, nothing is known to be durable and
// the same group may be given again: everything in it is idempotent.
//
// It takes two round trips. The first asks everything on which the database may refuse a write; if
// it refuses one, the transaction is rolled back and begins again without that write, so that
// nothing of it stays. The second sends the rows of the accepted writes, one statement per table,
// and COMMIT.
func (w *Writer) Commit(ctx context.Context, writes []journal.Write) (refused []error, err error) {
	return w.commitTo(ctx, writes, "")
}

// commitTo is Commit on one given server, for the writes that come before all others there; ""
// means any server.
func (w *Writer) commitTo(ctx context.Context, writes []journal.Write, to pool.Server) (refused []error, err error) {
	refused = make([]error, len(writes))
	if len(writes) == 0 {
		return refused, nil
	}
	repeated := false
	for try := 1; ; try++ {
		err = w.commitOnce(ctx, writes, refused, repeated, to)
		if err == nil {
			return refused, nil
		}
		state, _ := failure.SQLState(err)
		switch {
		case state == "23505" && !repeated: // most likely events that are stored already
			repeated = true
			clear(refused)
			continue
		case pool.Yielded(err):
			if try < commitTries {
				clear(refused)
				continue
			}
		case state == "42804" || state == "0A000":
			// A column was added while we run: the rows now have another shape, or the prepared
			// statements another result.
			if try < commitTries && w.db.Reshape(ctx) == nil {
				clear(refused)
				continue
			}
		}
		if v, _ := failure.Judge(err); v == failure.Unacceptable {
			return w.commitApart(ctx, writes, to, err)
		}
		return nil, w.db.Failed("commit_failed", "the database did not commit; it is tried again", err)
	}
}

// commitApart commits every write in a transaction of its own, so that one that the database cannot
// accept does not block the others.
func (w *Writer) commitApart(ctx context.Context, writes []journal.Write, to pool.Server,
	cause error) ([]error, error) {
	refused := make([]error, len(writes))
	if len(writes) == 1 {
		refused[0] = rejected(cause)
		w.db.Config.Log.Error().Str("code", engine.ErrorCode(refused[0])).Str("sqlstate", stateOf(cause)).
			Str("campaign_id", string(writes[0].Campaign)).Msg("the database cannot take a write")
		return refused, nil
	}
	for i := range writes {
		r, err := w.commitTo(ctx, writes[i:i+1], to)
		if err != nil {
			return nil, err
		}
		refused[i] = r[0]
	}
	return refused, nil
}

func stateOf(err error) string {
	state, _ := failure.SQLState(err)
	return state
}

// rejected describes what is wrong with a write that can never be stored. The server's text may
// contain a phone number and is not passed on.
func rejected(cause error) error {
	if state, constraint := failure.SQLState(cause); state == "23505" && constraint == "contacts_number" {
		return journal.ErrContactExists
	}
	return &engine.Error{Kind: engine.KindInternal, Code: "write_rejected",
		Detail: "the database cannot store this write"}
}

func (w *Writer) commitOnce(ctx context.Context, writes []journal.Write, refused []error, repeated bool,
	to pool.Server) error {
	server := w.marks.of()
	conn, err := w.acquire(ctx, to)
	if err != nil {
		return err
	}
	defer conn.Release()
	g := w.groups.Get().(*group)
	g.shapes = w.db.Shapes.Load()
	g.sent, g.ended = g.sent[:0], g.ended[:0]
	g.written = w.db.WrittenAgain(g.written)
	defer func() {
		g.rows.reset()
		w.groups.Put(g)
	}()
	tx := &commit{ctx: ctx, now: w.db.Config.Now(), pgx: conn.Conn(), conn: conn.Conn().PgConn(), g: g,
		writes: writes, refused: refused,
		repeated: repeated, hashed: w.db.Hashed, marks: &w.marks, written: g.written, staleEpoch: w.db.Epochs.Stale,
		acting: engine.Incarnation(w.db.Acting.Load())}
	if err := tx.run(); err != nil {
		if !tx.conn.IsClosed() && tx.conn.TxStatus() != 'I' {
			_ = tx.rollback()
		}
		return err
	}
	w.marks.put(server, g.sent, g.ended)
	return nil
}

// commit is one group commit on one connection.
type commit struct {
	ctx     context.Context
	now     time.Time // of the program
	pgx     *pgx.Conn
	conn    *pgconn.PgConn
	g       *group
	written *table.Rows
	swept   []swept
	writes  []journal.Write
	refused []error
	// repeated means some of it may be stored already.
	repeated bool
	batch    pgconn.Batch
	answers  []func(rows [][][]byte) error // one per queued statement
	stale    map[engine.ContactID]struct{} // contacts whose variables changed
	hashed   func(engine.PhoneNumber) string
	marks    *marks
	// staleEpoch is the refusal of a write whose epoch is not the stored one. acting is the node
	// that this process is; 0 means it runs alone.
	acting     engine.Incarnation
	staleEpoch func(id engine.CampaignID, stored int64) error
}

func (t *commit) run() error {
	for {
		t.gather()
		if len(t.g.rows.order) == 0 {
			return nil
		}
		more, err := t.check()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := t.rollback(); err != nil {
			return err
		}
	}
	return t.store()
}

func nothing([][][]byte) error { return nil }

func (t *commit) queue(name string, params [][]byte, answer func(rows [][][]byte) error) {
	t.batch.ExecPrepared(name, params, column.Binary, column.Binary)
	t.answers = append(t.answers, answer)
}

// send sends the queued statements in one round trip.
func (t *commit) send() error {
	mrr := t.conn.ExecBatch(t.ctx, &t.batch)
	results, err := mrr.ReadAll()
	answers := t.answers
	t.batch, t.answers = pgconn.Batch{}, nil
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err != nil {
			return r.Err
		}
		if err := answers[i](r.Rows); err != nil {
			return err
		}
	}
	return nil
}

func (t *commit) rollback() error {
	ctx, cancel := context.WithTimeout(t.ctx, 5*time.Second)
	defer cancel()
	_, err := t.conn.ExecPrepared(ctx, "rollback", nil, nil, nil).Close()
	return err
}

// gather collects the rows of the accepted writes.
func (t *commit) gather() {
	rows := &t.g.rows
	rows.reset()
	for i := range t.writes {
		if t.refused[i] == nil {
			rows.order = append(rows.order, i)
			rows.add(&t.writes[i])
		}
	}
	rows.sort()
}
