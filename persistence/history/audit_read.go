package history

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/persistence/column"
)

// storedEvent is an event with the columns stored beside its fields, without its Data: those are decoded
// where they are needed.
type storedEvent struct {
	journal.Event
	leg      int
	activity bool
	data     []byte // JSON as the database prints it; valid until the next event is read
	digest   []byte // nil without; like data
	text     []byte // memory
}

// eventPlace is a position in the order of a campaign's events; each number should occur once, but
// an audit does not rely on it.
type eventPlace struct {
	seq int64
	at  time.Time
}

func (e *storedEvent) place() eventPlace { return eventPlace{e.Seq, e.At} }

// appendText makes the text that is hashed. It is valid until the next event is read.
func (e *storedEvent) appendText() (text []byte, err error) {
	r := chain.Record{Campaign: e.Campaign, Run: e.Run, Seq: e.Seq, At: e.At, Type: string(e.Type),
		Version: e.Version,
		Contact: e.Contact, Attempt: e.Attempt, Leg: e.leg, Activity: e.activity, Data: e.data}
	e.text, err = r.AppendText(e.text[:0])
	return e.text, err
}

// whole says whether the event matches its digest.
func (e *storedEvent) whole() bool {
	text, err := e.appendText()
	if err != nil {
		return false
	}
	d := chain.Digest(text)
	return string(d[:]) == string(e.digest)
}

// eachEvent calls f with every event that the rest of a query, from its FROM on, finds. It is read from the
// wire as it arrives, in the memory of one: an audit reads millions.
func eachEvent(ctx context.Context, tx pgx.Tx, from string, f func(*storedEvent) error, args ...any) error {
	rows, err := tx.Query(ctx, "SELECT e.campaign_id, e.seq, e.run, e.at, e.type, e.version, e.contact_id, e.attempt_id, "+
		"e.leg, e.activity, e.data::text, e.digest "+from, append([]any{pgx.QueryResultFormats{1}}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names := map[string]string{} // few campaigns and types occur in many events
	name := func(b []byte) string {
		s, ok := names[string(b)]
		if !ok {
			s = string(b)
			names[s] = s
		}
		return s
	}
	int4 := func(b []byte) int { return int(int32(binary.BigEndian.Uint32(b))) } //nolint:gosec // the wire form
	var e storedEvent
	for rows.Next() {
		v := rows.RawValues()
		e.Campaign, e.Run, e.Type = engine.CampaignID(name(v[0])), int4(v[2]), journal.Type(name(v[4]))
		e.Seq = int64(binary.BigEndian.Uint64(v[1])) //nolint:gosec // the wire form
		e.At, e.Version = column.InstantOf(v[3]), int4(v[5])
		e.Contact, e.Attempt = engine.ContactID(column.IDOf(v[6])), engine.AttemptID(column.IDOf(v[7]))
		e.leg, e.activity, e.data, e.digest = int4(v[8]), v[9][0] != 0, v[10], v[11]
		if err := f(&e); err != nil {
			return err
		}
	}
	return rows.Err()
}

// decoder decodes the Data of events. Many are the same, byte by byte.
type decoder map[string]*journal.Data

const (
	decodedCap     = 4096 // how many are remembered
	decodedLongest = 1024 // bytes
)

func (d *decoder) decode(e *storedEvent) error {
	if known := (*d)[string(e.data)]; known != nil {
		e.Data = *known
		return nil
	}
	e.Data = journal.Data{}
	if err := json.Unmarshal(e.data, &e.Data); err != nil || len(e.data) > decodedLongest {
		return err
	}
	if *d == nil || len(*d) >= decodedCap {
		*d = decoder{}
	}
	data := e.Data
	(*d)[string(e.data)] = &data
	return nil
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
