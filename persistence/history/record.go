package history

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/anchor"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/chain"
	"dialler/engine/evidence"
	"dialler/engine/journal"
	"dialler/engine/seal"
	"dialler/persistence/table"
)

// EvidenceWriter receives the record of a run, in this order (evidence.Writer).
type EvidenceWriter interface {
	// Begin passes the campaign and its rulesOf events, of all runs up to this one.
	Begin(c *campaign.Campaign, changes []journal.Event) error
	// Attempt also passes the SHA-256 of its recording's file, nil when there is none.
	Attempt(a *attempt.Attempt, recording []byte) error
	Exclusion(x journal.Exclusion) error
	Suppression(x journal.Suppression) error
	Event(text []byte, chained bool) error
	Batch(n int64, events int, hash chain.Hash, rows, code []byte) error
	// CampaignBatch passes a batch of the campaign's chain of no run; Rows says whether rows have
	// digests, and the types of their columns by table; Row passes one.
	CampaignBatch(n int64, hash chain.Hash, rows, code []byte) error
	Rows(digests bool, types map[string]map[string]string)
	Row(r *evidence.Row) error
	// SpineEntry passes the text of an entry of the spine, Receipt that of a witness who was shown the last
	// one; it fails when that is of another.
	SpineEntry(text []byte) error
	Receipt(r *anchor.Receipt) error
	// Answer passes the events of the run that may count for the abandon rate, in their order.
	Answer(e *journal.Event) error
	// Began passes when the installation's record began, and how many rows are older than digests.
	Began(at *time.Time, older int)
	// Finding passes what does not match between the history and the tables that the rest is from.
	Finding(what string)
}

// rulesCap bounds how many changes of a campaign's rules are included: the newest.
const rulesCap = 10_000

// ErrRecordDropped means that the record of the run can no longer be complete.
var ErrRecordDropped = engine.Conflict("record_dropped", "")

// RecordOf says whether the record of a run can be made: nil,
// ErrCampaignNotFound, ErrRunNotFound or ErrRecordDropped.
func (s *Records) RecordOf(ctx context.Context, id engine.CampaignID, run int) error {
	rows, _ := s.db.Read.Query(ctx, recordOf, string(id), run)
	return s.recordOf(run, rows)
}

const recordOf = `SELECT c.run, EXISTS (SELECT FROM run_checkpoints k WHERE k.campaign_id = $1 AND k.run = $2
	AND (k.attempts_gone OR k.events_gone))
	FROM campaigns c WHERE c.id = $1`

func (s *Records) recordOf(run int, rows pgx.Rows) error {
	var present int
	var dropped bool
	tag, err := pgx.ForEachRow(rows, []any{&present, &dropped}, func() error { return nil })
	switch {
	case err != nil:
		return s.db.Wrap("run not read", err)
	case tag.RowsAffected() == 0:
		return table.ErrCampaignNotFound
	case run < 1 || run > present:
		return table.ErrRunNotFound
	case dropped:
		return ErrRecordDropped
	}
	return nil
}

// Evidence passes the record of one run to w, in one snapshot of the database and part by part: it
// is never in memory as a whole. The run is audited in the same snapshot, with trusted signers of
// checkpoints. Errors are those of RecordOf.
func (s *Records) Evidence(ctx context.Context, id engine.CampaignID, run int, w EvidenceWriter,
	trusted ...seal.Public) error {
	err := pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			rows, _ := tx.Query(ctx, table.SelectCampaign+"WHERE c.id = $1", string(id))
			c, err := pgx.CollectExactlyOneRow(rows, table.ScanCampaign)
			if errors.Is(err, pgx.ErrNoRows) {
				return table.ErrCampaignNotFound
			}
			if err != nil {
				return err
			}
			rows, _ = tx.Query(ctx, recordOf, string(id), run)
			if err := s.recordOf(run, rows); err != nil {
				return err
			}
			e := evidenceReader{ctx: ctx, tx: tx, id: string(id), run: run, w: w}
			for _, part := range []func() error{
				func() error { return e.rules(&c) }, e.attempts, e.exclusions, e.suppressions, e.unchained, e.events,
				e.batches, e.campaignBatches, func() error { return e.rows(s.db) }, e.anchors, e.answers,
			} {
				if err := part(); err != nil {
					return err
				}
			}
			audit, err := s.auditIn(ctx, tx, id, trusted)
			var began *time.Time
			if b, err := readBegun(ctx, tx); err == nil && b != nil {
				began = &b.at
			}
			w.Began(began, audit.Unattested)
			for _, what := range audit.Of(run) {
				w.Finding(what)
			}
			return err
		})
	var known *engine.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return s.db.Wrap("evidence not read", err)
}

type evidenceReader struct {
	ctx context.Context
	tx  pgx.Tx
	id  string
	run int
	w   EvidenceWriter
}

func (e *evidenceReader) rules(c *campaign.Campaign) error {
	rows, _ := e.tx.Query(e.ctx, "SELECT * FROM ("+table.SelectEvent+`WHERE e.campaign_id = $1 AND e.seq > 0
		AND e.run <= $2 AND e.type = ANY ($3)
		ORDER BY e.seq DESC LIMIT $4) e ORDER BY seq`, e.id, e.run, []journal.Type{journal.CampaignCreated,
		journal.CampaignEdited, journal.CampaignStarted, journal.CampaignPaused,
		journal.CampaignResumed, journal.CampaignStopped, journal.CampaignCompleted, journal.CampaignFailed,
		journal.CampaignRestarted, journal.CampaignRestartCancelled}, rulesCap)
	changes, err := pgx.CollectRows(rows, table.ScanEvent)
	if err != nil {
		return err
	}
	return e.w.Begin(c, changes)
}

// each calls f with every row of a query as it arrives.
func each[T any](rows pgx.Rows, err error, scan func(pgx.CollectableRow) (T, error), f func(*T) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return err
		}
		if err := f(&row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (e *evidenceReader) attempts() error {
	type recorded struct {
		attempt.Attempt
		sum []byte
	}
	rows, err := e.tx.Query(e.ctx, "SELECT "+table.AttemptNames+", (SELECT r.sha256 FROM recordings r "+
		"WHERE r.attempt_id = a.id) FROM attempts a WHERE a.campaign_id = $1 AND a.run = $2 "+
		"ORDER BY a.reserved_at, a.id", e.id, e.run)
	return each(rows, err, func(row pgx.CollectableRow) (x recorded, err error) {
		err = row.Scan(append(table.AttemptTargets(&x.Attempt), &x.sum)...)
		return x, err
	}, func(x *recorded) error { return e.w.Attempt(&x.Attempt, x.sum) })
}

func (e *evidenceReader) exclusions() error {
	rows, err := e.tx.Query(e.ctx, "SELECT number, match, reason, lifted, created_at FROM exclusions "+
		"WHERE campaign_id = $1 ORDER BY created_at, number", e.id)
	return each(rows, err, func(row pgx.CollectableRow) (x journal.Exclusion, err error) {
		err = row.Scan(&x.Number, &x.Match, &x.Reason, &x.Lifted, &x.CreatedAt)
		return x, err
	}, func(x *journal.Exclusion) error { return e.w.Exclusion(*x) })
}

func (e *evidenceReader) suppressions() error {
	rows, err := e.tx.Query(e.ctx, `SELECT s.number, s.reason, s.created_at FROM suppressions s
		JOIN contacts c ON c.number = s.number WHERE c.campaign_id = $1
		UNION SELECT s.number, s.reason, s.created_at FROM suppressions s
		JOIN contact_numbers n ON n.number = s.number WHERE n.campaign_id = $1 ORDER BY 3, 1`, e.id)
	return each(rows, err, table.ScanSuppression, func(x *journal.Suppression) error { return e.w.Suppression(*x) })
}

func (e *evidenceReader) tell(x *storedEvent) error {
	text, err := x.appendText()
	if err != nil {
		return fmt.Errorf("event %d: %w", x.Seq, err)
	}
	return e.w.Event(text, x.digest != nil)
}

func (e *evidenceReader) unchained() error {
	return eachEvent(e.ctx, e.tx, "FROM events e WHERE e.campaign_id = $1 AND e.seq > 0 AND e.run = $2 "+
		"AND e.digest IS NULL ORDER BY e.seq, e.at", e.tell, e.id, e.run)
}

// answers are the events of the run that may count for the abandon rate.
func (e *evidenceReader) answers() error {
	rows, err := e.tx.Query(e.ctx, table.SelectEvent+`WHERE e.campaign_id = $1 AND e.seq > 0 AND e.run = $2
		AND (e.type = ANY ($3) OR e.type = $4 AND e.data->>'outcome' = $5) ORDER BY e.seq`, e.id, e.run,
		[]journal.Type{journal.AttemptConnected, journal.AttemptRevised}, journal.AttemptEnded, engine.OutcomeAbandoned)
	return each(rows, err, table.ScanEvent, e.w.Answer)
}

// events come in the order of their batches, in the form that is hashed.
func (e *evidenceReader) events() error {
	const part = 500 // batches
	for from := int64(0); ; from += part {
		n := 0
		err := eachEvent(e.ctx, e.tx, `FROM event_batches b
			JOIN events e ON e.campaign_id = b.campaign_id AND e.run = b.run AND e.seq > 0 AND e.seq = ANY (b.seqs)
			AND e.digest IS NOT NULL
			WHERE b.campaign_id = $1 AND b.run = $2 AND b.n > $3 AND b.n <= $4 ORDER BY b.n, e.seq, e.at, e.digest`,
			func(x *storedEvent) error { n++; return e.tell(x) }, e.id, e.run, from, from+part)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
	}
}

func (e *evidenceReader) batches() error {
	rows, err := e.tx.Query(e.ctx, "SELECT 0, n, hash, seqs, NULL::bigint[], NULL::bytea, rows, code FROM event_batches "+
		"WHERE campaign_id = $1 AND run = $2 ORDER BY n", e.id, e.run)
	return each(rows, err, scanBatch, func(b *batchRow) error {
		return e.w.Batch(b.n, len(b.seqs), b.hash, b.rows, b.code)
	})
}

func (e *evidenceReader) campaignBatches() error {
	rows, err := e.tx.Query(e.ctx, "SELECT 0, n, hash, seqs, NULL::bigint[], NULL::bytea, rows, code FROM event_batches "+
		"WHERE campaign_id = $1 AND run = 0 ORDER BY n", e.id)
	return each(rows, err, scanBatch, func(b *batchRow) error { return e.w.CampaignBatch(b.n, b.hash, b.rows, b.code) })
}

// exported are the rows of a run, by SQL with its campaign as $1 and the run as $2.
var exported = []struct {
	part  *table.Part
	where string
}{
	{table.PartCampaign, "t.id = $1 AND $2 > 0"},
	{table.PartAttempt, "t.campaign_id = $1 AND t.run = $2 AND NOT t.live"},
	{table.PartResult, "t.campaign_id = $1 AND t.run = $2 AND NOT t.live"},
	{table.PartQuality, "t.campaign_id = $1 AND t.run = $2 AND NOT t.live AND t.quality IS NOT NULL"},
	{table.PartLeg, "t.attempt_id IN (SELECT a.id FROM attempts a WHERE a.campaign_id = $1 AND a.run = $2)"},
	{table.PartContact, "t.campaign_id = $1 AND t.run = $2"},
	{table.PartKept, "t.campaign_id = $1 AND t.run = $2"},
	{table.PartVariables, "t.contact_id IN (SELECT c.id FROM contacts c WHERE c.campaign_id = $1) AND $2 > 0"},
	{table.PartExclusion, "t.campaign_id = $1 AND $2 > 0"},
	{table.PartImport, "t.campaign_id = $1 AND t.state = 'active' AND $2 > 0"},
}

func (e *evidenceReader) rows(db *table.DB) error {
	dig := db.Digester()
	types := map[string]map[string]string{}
	if dig == nil {
		e.w.Rows(false, nil)
		return nil
	}
	for _, x := range exported {
		db.Types(x.part, types)
	}
	e.w.Rows(true, types)
	for _, x := range exported {
		err := db.Values(e.ctx, e.tx, x.part, dig, x.where, func(r chain.Row, columns map[string][]byte) error {
			key := dig.KeyOf(r)
			out := evidence.Row{Part: r.Part, Table: x.part.Table, ID: hex.EncodeToString(r.ID[:]),
				Key: hex.EncodeToString(key[:]), Columns: map[string]json.RawMessage{}}
			for name, value := range columns {
				v, err := evidence.ColumnValue(types[x.part.Table][name], value)
				if err != nil {
					return fmt.Errorf("%s.%s: %w", x.part.Table, name, err)
				}
				out.Columns[name] = v
			}
			return e.w.Row(&out)
		}, e.id, e.run)
		if err != nil {
			return err
		}
	}
	return nil
}
