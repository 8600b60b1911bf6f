package table

import (
	"dialler/engine/journal"
	"dialler/persistence/column"
)

// How events get into their chain (package chain): every statement that writes events ends with
// Chained. An event that exists already is not inserted and so is not added to a batch again; the
// inserted events form one batch per chain.

// The chains of events outside a campaign's sequence: enough per month to keep writers from waiting
// for each other. A connection that commits always uses its own; other writes pick one at random,
// so that a transaction that cannot wait for another (CloneCampaign) can retry with another.
const (
	OwnSlot    = "pg_backend_pid() % 16"
	ChanceSlot = "16 + floor(random() * 16)::integer"
)

// looseChain numbers a chain by the month of the event and the slot: so dropping a month's
// partition of events never cuts a chain in two.
const looseChain = "(to_char(t.at AT TIME ZONE 'UTC', 'YYYYMM')::integer * 100 + (SELECT "

// TellEvents writes events from an array of rows.
func TellEvents(slot string) string {
	return "WITH told AS (" + column.InsertFrom("events", EventColumns) + Told(slot) + ")" + Chained
}

// Told is the end of an INSERT INTO events AS t.
func Told(slot string) string {
	return ` ON CONFLICT DO NOTHING RETURNING t.seq, t.digest, t.at, t.attempt_id, CASE
		WHEN t.seq > 0 THEN t.campaign_id ELSE '' END COLLATE "C" AS owner,
	CASE WHEN t.seq > 0 THEN t.run ELSE ` + looseChain + slot + `)) END AS chain`
}

// Chained continues after the CTE told. The head is locked last of all, until the commit.
const Chained = `, batch AS (
		SELECT o.owner, o.chain, CASE WHEN o.owner <> '' THEN array_agg(o.seq) END AS seqs, string_agg(o.digest,
		'') AS digests,
			CASE WHEN o.owner = '' THEN array_agg(DISTINCT o.attempt_id) FILTER (WHERE o.attempt_id IS NOT NULL) END AS
			attempts
		FROM (SELECT * FROM told ORDER BY owner, chain, seq, at, digest) o GROUP BY o.owner, o.chain
	), head AS (
		INSERT INTO event_heads AS h (campaign_id, run, n, hash)
		SELECT owner, chain, 1, sha256('\x0000000000000000000000000000000000000000000000000000000000000000' || digests)
		FROM batch ORDER BY 1, 2
		ON CONFLICT (campaign_id, run) DO UPDATE SET n = h.n + 1,
			hash = sha256(h.hash || (SELECT b.digests FROM batch b WHERE b.owner = excluded.campaign_id
				AND b.chain = excluded.run))
		RETURNING h.campaign_id, h.run, h.n, h.hash
	)
	INSERT INTO event_batches (campaign_id, run, n, seqs, digests, hash, attempts)
	SELECT h.campaign_id, h.run, h.n, b.seqs, CASE WHEN h.campaign_id = '' THEN b.digests END, h.hash, b.attempts
	FROM head h JOIN batch b ON b.owner = h.campaign_id AND b.chain = h.run`

// Nearly every group commit has new events of a single run. For those a statement that appends one
// batch to one chain is enough, and costs the server a third of the one above: the program builds
// the batch. The insert fails when one of the events exists already; then the group is retried with
// the statement above.
var (
	FreshEvents = column.InsertFrom("events", EventColumns)
	AppendBatch = `WITH head AS (
		INSERT INTO event_heads AS h (campaign_id, run, n, hash)
		VALUES ($1::text, $2::integer, 1, sha256('\x0000000000000000000000000000000000000000000000000000000000000000' ||
		$4::bytea))
		ON CONFLICT (campaign_id, run) DO UPDATE SET n = h.n + 1, hash = sha256(h.hash || $4::bytea)
		RETURNING h.n, h.hash
	) INSERT INTO event_batches (campaign_id, run, n, seqs, hash) SELECT $1::text, $2::integer, n, $3::bigint[], hash
		FROM head`
)

// ChainsCap is how many chains a group may append to in this way; with more, one statement for all
// of them is cheaper.
const ChainsCap = 4

// tellMoved writes the single event of a statement that computes the event's data itself: the CTE
// moved has campaign_id, seq, run, at and data. Its digest is computed here as in chain.Record; a
// test compares the two.
func tellMoved(t string) string {
	return `, told AS (
		INSERT INTO events AS t (campaign_id, seq, run, at, type, version, leg, activity, data, digest)
		SELECT m.campaign_id, m.seq, m.run, m.at, ` + t + `, 1, 0, false, m.data, sha256(convert_to(
			'{"activity":false,"at":"' || to_char(m.at AT TIME ZONE 'UTC',
				'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '","attempt_id":"","campaign_id":'
			|| to_json(m.campaign_id)::text || ',"contact_id":"","data":' || canonical_json(m.data) || ',"leg":0,"run":'
			|| m.run
			|| ',"seq":' || m.seq || ',"type":"' || ` + t + ` || '","version":1}', 'UTF8'))
		FROM moved m` + Told(ChanceSlot) + ")" + Chained
}

func quoted(t journal.Type) string { return "'" + string(t) + "'" }
