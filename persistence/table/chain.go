package table

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine/chain"
	"dialler/persistence/column"
)

// How events and the digests of rows get into their chain (package chain): the events that a
// transaction inserted and the rows that it wrote are one batch per chain, appended at its end. An
// event that exists already is not inserted and so is in no batch again.

// The chains of what is outside a campaign's sequence: enough per month to keep writers from waiting
// for each other. A connection that commits always uses its own; other writes pick one at random,
// so that a transaction that cannot wait for another (CloneCampaign) can retry with another.
const ownSlots = 16

// OwnSlot is the slot of a connection that commits, by its backend.
func OwnSlot(backend uint32) int { return int(backend % ownSlots) }

func chanceSlot() int { return ownSlots + rand.IntN(ownSlots) } //nolint:gosec // any slot will do

// LooseChain numbers a chain by the month of its events and the slot: so dropping a month's
// partition of events never cuts a chain in two.
func LooseChain(at time.Time, slot int) int {
	at = at.UTC()
	return (at.Year()*100+int(at.Month()))*100 + slot
}

// FreshEvents inserts events that are new; it fails if one exists already. InsertEvents leaves that
// one out and returns those that it inserted, for ReadLinks.
var (
	FreshEvents  = column.InsertFrom("events", EventColumns)
	InsertEvents = FreshEvents + ReturnLinks
)

// ReturnLinks is the end of an INSERT INTO events AS t for ReadLinks.
const ReturnLinks = " ON CONFLICT DO NOTHING RETURNING t.campaign_id, t.run, t.seq, t.at, t.digest, t.attempt_id"

// AppendBatch appends one batch to one chain: owner, chain, seqs, digests, rows, code, attempts. The
// head is locked until the commit.
const AppendBatch = `WITH head AS (
		INSERT INTO event_heads AS h (campaign_id, run, n, hash)
		VALUES ($1::text, $2::integer, 1, sha256('\x0000000000000000000000000000000000000000000000000000000000000000' ||
			$4::bytea || ` + rowsCovered + `))
		ON CONFLICT (campaign_id, run) DO UPDATE SET n = h.n + 1, hash = sha256(h.hash || $4::bytea || ` +
	rowsCovered + `)
		RETURNING h.n, h.hash
	) INSERT INTO event_batches (campaign_id, run, n, seqs, digests, hash, attempts, rows, code)
		SELECT $1::text, $2::integer, n, $3::bigint[], CASE WHEN $1::text = '' THEN $4::bytea END, hash, $7::uuid[],
			$5::bytea, $6::bytea FROM head`

const rowsCovered = `coalesce($5::bytea || int4send(length($5::bytea)), ''::bytea)`

// Link is what an event's batch needs of it.
type Link struct {
	Owner   string // its campaign, "" outside a campaign's sequence
	Chain   int    // the run, or the number of a loose chain
	Seq, At int64  // At in microseconds
	Digest  chain.Hash
	Attempt [16]byte // zero without
}

// NewLink takes from an event what its batch needs; slot is used outside a campaign's sequence.
func NewLink(campaign string, run int, seq int64, at time.Time, digest chain.Hash, slot int) Link {
	l := Link{Owner: campaign, Chain: run, Seq: seq, At: at.UnixMicro(), Digest: digest}
	if seq <= 0 {
		l.Owner, l.Chain = "", LooseChain(at, slot)
	}
	return l
}

// ReadLink reads a row of ReturnLinks in binary form.
func ReadLink(r [][]byte, slot int) Link {
	run, seq := int(binary.BigEndian.Uint32(r[1])), int64(binary.BigEndian.Uint64(r[2])) //nolint:gosec // wire form
	l := NewLink(string(r[0]), run, seq, column.InstantOf(r[3]), chain.Hash(r[4]), slot)
	copy(l.Attempt[:], r[5])
	return l
}

func (l *Link) before(m *Link) int {
	return cmp.Or(cmp.Compare(l.Owner, m.Owner), cmp.Compare(l.Chain, m.Chain), cmp.Compare(l.Seq, m.Seq),
		cmp.Compare(l.At, m.At), bytes.Compare(l.Digest[:], m.Digest[:]))
}

// Owner is the chain that rows belong to. Run 0 of a campaign is its chain for rows that are of no
// run; the zero value stands for a chain of no campaign.
type Owner struct {
	Campaign string
	Run      int
}

// Batch is what one transaction adds to one chain.
type Batch struct {
	Owner
	Links []Link
	Rows  []byte
}

// batchRows is how many bytes of entries a batch has at most: a change of a million contacts makes
// several.
const batchRows = 1 << 20

// Batches puts events and rows together, in the order in which the heads of their chains are locked.
func Batches(links []Link, rows map[Owner][]byte) []Batch {
	slices.SortFunc(links, func(a, b Link) int { return a.before(&b) })
	var out []Batch
	for len(links) > 0 {
		o, n := Owner{links[0].Owner, links[0].Chain}, 1
		for n < len(links) && links[n].Owner == o.Campaign && links[n].Chain == o.Run {
			n++
		}
		first, rest := chain.Cut(rows[o], batchRows)
		out = append(out, Batch{o, links[:n], first})
		if links = links[n:]; rest == nil {
			continue
		}
		if rows[o] = rest; len(rest) == 0 {
			delete(rows, o)
		}
	}
	for o, entries := range rows {
		for len(entries) > 0 {
			var first []byte
			first, entries = chain.Cut(entries, batchRows)
			out = append(out, Batch{Owner: o, Rows: first})
		}
	}
	slices.SortStableFunc(out, func(a, b Batch) int {
		return cmp.Or(cmp.Compare(a.Campaign, b.Campaign), cmp.Compare(a.Run, b.Run))
	})
	return out
}

// Params are the parameters of AppendBatch. dig is nil without the installation's key.
func (b *Batch) Params(dig *chain.Digester) [][]byte {
	var seqs, attempts column.Array
	digests := make([]byte, 0, len(b.Links)*chain.HashSize)
	loose := b.Campaign == ""
	seqs.Reset(pgtype.Int8OID)
	attempts.Reset(pgtype.UUIDOID)
	var seen map[[16]byte]bool
	if loose {
		seen = map[[16]byte]bool{{}: true}
	}
	for i := range b.Links {
		l := &b.Links[i]
		digests = append(digests, l.Digest[:]...)
		seqs.Int8(l.Seq)
		if loose && !seen[l.Attempt] {
			seen[l.Attempt] = true
			attempts.UUID(l.Attempt)
		}
	}
	run := binary.BigEndian.AppendUint32(nil, uint32(int32(b.Run))) //nolint:gosec // two's complement is the wire form
	p := [][]byte{[]byte(b.Campaign), run, seqs.Param(), digests, nil, nil, nil}
	if loose {
		p[2] = nil
		if !attempts.Empty() {
			p[6] = attempts.Param()
		}
	}
	if len(b.Rows) > 0 {
		p[4] = b.Rows
	}
	if dig != nil {
		code := dig.Batch(b.Campaign, b.Run, digests, b.Rows)
		p[5] = code[:]
	}
	return p
}

// appendBatches is the last step of a transaction: from here on the heads of the chains are locked.
func (d *DB) appendBatches(ctx context.Context, tx pgx.Tx, batches []Batch) error {
	dig := d.Digester()
	for i := range batches {
		_, err := tx.Conn().PgConn().ExecParams(ctx, AppendBatch, batches[i].Params(dig), nil, column.Binary,
			nil).Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Chain appends the events that a statement with ReturnLinks inserted, and the rows that the
// transaction wrote, as batches. It must be the last step of a transaction.
func (d *DB) Chain(ctx context.Context, tx pgx.Tx, inserted [][][]byte, rows *Rows) error {
	slot := chanceSlot()
	links := make([]Link, len(inserted))
	for i, r := range inserted {
		links[i] = ReadLink(r, slot)
	}
	if rows == nil {
		return d.appendBatches(ctx, tx, Batches(links, nil))
	}
	return d.appendBatches(ctx, tx, Batches(links, rows.Loose(LooseChain(d.Config.Now(), slot))))
}

// Loose are the entries with those of no campaign in the given chain.
func (r *Rows) Loose(chain int) map[Owner][]byte {
	for o, b := range r.of {
		if o == (Owner{}) {
			o.Run = chain
		}
		r.loose[o] = *b
	}
	return r.loose
}
