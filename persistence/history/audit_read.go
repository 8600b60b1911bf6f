package history

import (
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// storedEvent is an event with the columns stored beside its fields.
type storedEvent struct {
	journal.Event
	leg      int
	activity bool
	data     string // JSON as the database prints it
	digest   []byte // nil without
}

// eventPlace is a position in the order of a campaign's events; each number should occur once, but
// an audit does not rely on it.
type eventPlace struct {
	seq int64
	at  time.Time
}

func (e *storedEvent) place() eventPlace { return eventPlace{e.Seq, e.At} }

// record returns the event in the form that is hashed.
func (e *storedEvent) record() chain.Record {
	return chain.Record{Campaign: e.Campaign, Run: e.Run, Seq: e.Seq, At: e.At, Type: string(e.Type),
		Version: e.Version,
		Contact: e.Contact, Attempt: e.Attempt, Leg: e.leg, Activity: e.activity, Data: []byte(e.data)}
}

// whole says whether the event matches its digest.
func (e *storedEvent) whole() bool {
	r := e.record()
	text, err := r.AppendText(nil)
	if err != nil {
		return false
	}
	d := chain.Digest(text)
	return string(d[:]) == string(e.digest)
}

var selectStored = "SELECT " + column.Names(table.EventColumns, "e") +
	", e.leg, e.activity, e.data::text, e.digest FROM events e "

func scanStored(row pgx.CollectableRow) (e storedEvent, err error) {
	err = row.Scan(append(column.Targets(table.EventColumns, &table.EventRow{Event: &e.Event}, nil), &e.leg,
		&e.activity, &e.data, &e.digest)...)
	return e, err
}

// page reads the campaign's events after a position, in order.
func (a *auditor) page(from eventPlace) ([]storedEvent, error) {
	rows, _ := a.tx.Query(a.ctx, selectStored+"WHERE e.campaign_id = $1 AND e.seq > 0 AND (e.seq, e.at) > ($2, $3) "+
		"ORDER BY e.seq, e.at LIMIT $4",
		string(a.id), from.seq, from.at, auditPage)
	return pgx.CollectRows(rows, scanStored)
}

// batchRow is a batch, with those of its events that still exist in the run, in order.
type batchRow struct {
	run     int
	n       int64
	hash    chain.Hash
	seqs    []int64
	present []int64
	digests []byte
	rows    []byte // entries of rows
	code    []byte
}

func scanBatch(row pgx.CollectableRow) (b batchRow, err error) {
	var hash []byte
	err = row.Scan(&b.run, &b.n, &hash, &b.seqs, &b.present, &b.digests, &b.rows, &b.code)
	copy(b.hash[:], hash)
	return b, err
}

// batches calls f with every batch of the campaign, in order. Those of no campaign have digests and
// name no events.
func (a *auditor) batches(f func(*batchRow) error) error {
	sql := `SELECT b.run, b.n, b.hash, b.seqs, x.seqs, x.digests, b.rows, b.code
		FROM event_batches b CROSS JOIN LATERAL (
			SELECT array_agg(e.seq ORDER BY e.seq, e.at, e.digest) AS seqs, string_agg(e.digest, ''
			ORDER BY e.seq, e.at, e.digest) AS digests FROM events e
			WHERE e.campaign_id = b.campaign_id AND e.run = b.run AND e.seq > 0 AND e.seq = ANY (b.seqs)
			AND e.digest IS NOT NULL
		) x`
	if a.id == "" {
		sql = `SELECT b.run, b.n, b.hash, NULL::bigint[], NULL::bigint[], b.digests, b.rows, b.code
			FROM event_batches b`
	}
	args := []any{string(a.id)}
	since := ""
	if a.from != nil {
		runs, ns := a.starts()
		since = " JOIN unnest($2::integer[], $3::bigint[]) AS f(run, n) ON f.run = b.run AND b.n > f.n"
		args = append(args, runs, ns)
	}
	rows, err := a.tx.Query(a.ctx, sql+since+" WHERE b.campaign_id = $1 ORDER BY b.run, b.n", args...)
	return each(rows, err, scanBatch, f)
}

// heads reads where the chains end.
func (a *auditor) heads() (map[int]chain.Verifier, error) {
	rows, _ := a.tx.Query(a.ctx, "SELECT run, n, hash FROM event_heads WHERE campaign_id = $1", string(a.id))
	out := map[int]chain.Verifier{}
	var run int
	var n int64
	var hash []byte
	_, err := pgx.ForEachRow(rows, []any{&run, &n, &hash}, func() error {
		v := chain.Verifier{N: n}
		copy(v.Hash[:], hash)
		out[run] = v
		return nil
	})
	return out, err
}
